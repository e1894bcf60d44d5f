"""Credentials from a program that the kubeconfig names, as the managed clusters of most clouds need.

The hard thing is what the program may do: hang, ask questions, or print anything. So it gets no input, a time
limit and a bound on its output, and whatever goes wrong is one line that ends with what it said itself. A
reading takes seconds and credentials live for minutes, so it runs once.
"""

import os
from typing import Final, NamedTuple

import msgspec

from ullage.model.errors import InputError
from ullage.sources.host.process import Completed, run_bounded
from ullage.sources.kubernetes.kubeconfig import ClusterEntry, ExecEntry
from ullage.sources.places import one_line, shown

API_GROUP: Final = "client.authentication.k8s.io/"
EXEC_SECONDS_MAX: Final = 60
OUTPUT_BYTES_MAX: Final = 1 << 20
_LINE_CHARACTERS_MAX: Final = 200


class Credential(NamedTuple):
    """What a program gave: a token, or a certificate with its key as PEM text."""

    token: str = ""
    certificate: str = ""
    key: str = ""


class _Status(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: _Status | None = None


_DECODER: Final = msgspec.json.Decoder(_ExecCredential)


def exec_credential(
    entry: ExecEntry, cluster: ClusterEntry, *, seconds_max: float = EXEC_SECONDS_MAX
) -> Credential:
    """Run the program of a user's entry and return what it gives; raises an InputError."""
    where = f"exec {shown(entry.command)}"
    if not entry.command or not entry.api_version.startswith(API_GROUP):
        raise InputError(
            "a credential plugin without a command or with an unknown apiVersion",
            where=where,
            remedy=f"use apiVersion {API_GROUP}v1",
        )
    environment = dict(os.environ)
    environment.update({each.name: each.value for each in entry.env or ()})
    environment["KUBERNETES_EXEC_INFO"] = _information(entry, cluster)
    try:
        done = run_bounded(
            [entry.command, *(entry.args or ())],
            environment=environment,
            timeout_seconds=seconds_max,
            stdout_bytes_max=OUTPUT_BYTES_MAX,
        )
    except InputError as error:
        hint = _last_line(entry.install_hint or "")
        raise InputError(
            error.what, where=where, remedy=hint or "install it, or log in with it first"
        ) from None
    return _credential(done, where)


def _credential(done: Completed, where: str) -> Credential:
    if done.status:
        said = _last_line(done.stderr)
        what = f"exit status {done.status}" + (f": {said}" if said else "")
        raise InputError(what, where=where, remedy="log in with it first, then ask again")
    try:
        read = _DECODER.decode(done.stdout)
    except (msgspec.DecodeError, RecursionError):
        read = _ExecCredential()
    status = read.status or _Status()
    if status.token:
        return Credential(token=status.token)
    if status.client_certificate_data and status.client_key_data:
        return Credential(certificate=status.client_certificate_data, key=status.client_key_data)
    raise InputError(
        "no ExecCredential with a token or a certificate in its output",
        where=where,
        remedy="run it by hand to see what it says",
    )


def _information(entry: ExecEntry, cluster: ClusterEntry) -> str:
    """Return what the program is told: which version is spoken, and of the cluster what it asks for."""
    specification: dict[str, object] = {"interactive": False}
    if entry.provide_cluster_info:
        known = {
            "server": cluster.server,
            "tls-server-name": cluster.tls_server_name,
            "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
            "certificate-authority-data": cluster.certificate_authority_data,
            "proxy-url": cluster.proxy_url,
        }
        specification["cluster"] = {name: value for name, value in known.items() if value}
    information = {"apiVersion": entry.api_version, "kind": "ExecCredential", "spec": specification}
    return msgspec.json.encode(information).decode()


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return one_line(lines[-1])[:_LINE_CHARACTERS_MAX] if lines else ""
