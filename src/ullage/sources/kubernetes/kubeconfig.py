"""Which cluster is meant and who asks: kubeconfig files as kubectl reads them, or a pod's service account.

The hard thing is that `$KUBECONFIG` may name several files, which count as one: what an earlier file says of
a name holds, and a path in a file is relative to that file. Nothing here talks to a cluster.
"""

import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from ullage.model.errors import InputError
from ullage.sources.documents import read_documents
from ullage.sources.limits import POLICY_LIMITS
from ullage.sources.places import one_line, shown

DEFAULT_FILE: Final = "~/.kube/config"
SERVICE_ACCOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
FILES_MAX: Final = 100
IN_CLUSTER: Final = "in-cluster"
_NAMED_MAX: Final = 5
_OTHERWISE: Final = "use --kubeconfig FILE, or read a dump with -c FILE (try: ullage status -c demo)"


class _Entry(msgspec.Struct, rename="kebab"):
    """A part of a kubeconfig; other fields are ignored."""


class ClusterEntry(_Entry):
    """Where an API server is and how it proves itself."""

    server: str | None = None
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool | None = None
    tls_server_name: str | None = None
    proxy_url: str | None = None


class NameValue(_Entry):
    """A variable of a plugin's environment."""

    name: str = ""
    value: str = ""


class ExecEntry(_Entry):
    """A program that gives credentials."""

    api_version: str = msgspec.field(default="", name="apiVersion")
    command: str = ""
    args: list[str] | None = None
    env: list[NameValue] | None = None
    install_hint: str | None = msgspec.field(default=None, name="installHint")
    provide_cluster_info: bool | None = msgspec.field(default=None, name="provideClusterInfo")


class UserEntry(_Entry):
    """Who asks: the one way to prove it that is given."""

    token: str | None = None
    token_file: str | None = msgspec.field(default=None, name="tokenFile")
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    username: str | None = None
    password: str | None = None
    exec: ExecEntry | None = None
    auth_provider: dict[str, Any] | None = None
    impersonate: str | None = msgspec.field(default=None, name="as")


class ContextEntry(_Entry):
    """A cluster, a user and a namespace under one name."""

    cluster: str = ""
    user: str | None = None
    namespace: str | None = None


class _NamedCluster(_Entry):
    name: str
    cluster: ClusterEntry | None = None


class _NamedUser(_Entry):
    name: str
    user: UserEntry | None = None


class _NamedContext(_Entry):
    name: str
    context: ContextEntry | None = None


class _File(_Entry):
    current_context: str | None = None
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None


_FILE: Final = msgspec.json.Decoder(_File)
Entry = TypeVar("Entry", ClusterEntry, UserEntry, ContextEntry)


class Access(NamedTuple):
    """One cluster as one user may reach it; paths of its entries are absolute."""

    name: str
    cluster: ClusterEntry
    user: UserEntry
    user_name: str = ""
    namespace: str = ""


def find_access(context: str = "", kubeconfig: str = "", *, service_account: str = SERVICE_ACCOUNT) -> Access:
    """Return the access that a context gives: the one that is named, else the current one.

    Without any kubeconfig the service account counts that a pod is given; raises an InputError.
    """
    files = _present_files(kubeconfig)
    if files:
        return _Merged(files).access(context)
    if not context and _is_in_cluster(service_account):
        return _service_account(Path(service_account))
    looked = kubeconfig or os.environ.get("KUBECONFIG", "") or DEFAULT_FILE
    raise InputError("there is no kubeconfig", where=one_line(looked), remedy=_OTHERWISE)


def has_access(*, service_account: str = SERVICE_ACCOUNT) -> bool:
    """Whether a kubeconfig or a service account is there, without reading it."""
    return bool(_present_files("")) or _is_in_cluster(service_account)


def _is_in_cluster(service_account: str) -> bool:
    """Whether this is a pod that has been given a service account."""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and Path(service_account, "token").is_file()


def _service_account(folder: Path) -> Access:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    try:
        namespace = (folder / "namespace").read_text(encoding="utf-8").strip()
    except OSError:
        namespace = ""
    return Access(
        IN_CLUSTER,
        ClusterEntry(server=server, certificate_authority=str(folder / "ca.crt")),
        UserEntry(token_file=str(folder / "token")),
        "of the service account",
        namespace,
    )


def _present_files(kubeconfig: str) -> list[str]:
    """Return the files that count, the first one most; those that are not there are passed over."""
    if kubeconfig:
        # A file that somebody names is read even where it is missing, so that the reader says so.
        return [str(Path(kubeconfig).expanduser())]
    given = os.environ.get("KUBECONFIG", "")
    named = [each for each in given.split(os.pathsep) if each] if given else [DEFAULT_FILE]
    if len(named) > FILES_MAX:
        raise InputError(f"more than {FILES_MAX} files", where="KUBECONFIG", remedy="name fewer")
    paths = (Path(each).expanduser() for each in named)
    return [str(path) for path in paths if path.exists()]


class _Merged:
    """Several kubeconfig files as one."""

    def __init__(self, files: Sequence[str]) -> None:
        self._place = one_line(files[0]) if len(files) == 1 else "KUBECONFIG"
        self._current = ""
        self._clusters: dict[str, ClusterEntry] = {}
        self._users: dict[str, UserEntry] = {}
        self._contexts: dict[str, ContextEntry] = {}
        for file in files:
            self._add(Path(file), _read(file))

    def _add(self, path: Path, read: _File) -> None:
        self._current = self._current or read.current_context or ""
        for cluster in read.clusters or ():
            entry = cluster.cluster or ClusterEntry()
            self._clusters.setdefault(cluster.name, _absolute(entry, path, "certificate_authority"))
        for user in read.users or ():
            proof = user.user or UserEntry()
            proof = _absolute(proof, path, "client_certificate", "client_key", "token_file")
            if proof.exec is not None and "/" in proof.exec.command:
                proof.exec = msgspec.structs.replace(proof.exec, command=_beside(proof.exec.command, path))
            self._users.setdefault(user.name, proof)
        for context in read.contexts or ():
            self._contexts.setdefault(context.name, context.context or ContextEntry())

    def access(self, context: str) -> Access:
        """Return what a context stands for, else say what is missing."""
        name = context or self._current
        if not name:
            raise InputError(
                "no context is current",
                where=self._place,
                remedy="use --context NAME, or kubectl config use-context NAME, or -c demo",
            )
        where = f"{self._place}: context {shown(name)}"
        found = self._contexts.get(name)
        if found is None:
            what = (
                f"no context {shown(name)!r}"
                if context
                else f"the current context {shown(name)!r} is not there"
            )
            raise InputError(what, where=self._place, remedy=_offer(name, self._contexts))
        cluster = self._clusters.get(found.cluster)
        if cluster is None:
            raise InputError(
                f"no cluster {shown(found.cluster)!r}", where=where, remedy="correct the context"
            )
        if not cluster.server:
            raise InputError(
                f"cluster {shown(found.cluster)} has no server", where=where, remedy="add its URL"
            )
        user = self._users.get(found.user) if found.user else UserEntry()
        if user is None:
            raise InputError(
                f"no user {shown(found.user or '')!r}", where=where, remedy="correct the context"
            )
        return Access(
            one_line(found.cluster), cluster, user, one_line(found.user or ""), found.namespace or ""
        )


def _read(path: str) -> _File:
    if path != "-" and not os.path.lexists(path):
        raise InputError("there is no such kubeconfig", where=one_line(path), remedy=_OTHERWISE)
    documents = list(read_documents(path, limits=POLICY_LIMITS))
    if len(documents) > 1:
        raise InputError(
            f"{len(documents)} documents where one is expected",
            where=one_line(path),
            remedy="name one kubeconfig",
        )
    return documents[0].decode(_FILE)


def _absolute(entry: Entry, path: Path, *fields: str) -> Entry:
    """Return an entry with its paths as seen from everywhere."""
    given = {field: getattr(entry, field) for field in fields}
    return msgspec.structs.replace(
        entry, **{name: _beside(file, path) for name, file in given.items() if file}
    )


def _beside(file: str, path: Path) -> str:
    return str(path.parent.absolute() / file)


def _offer(name: str, known: Mapping[str, object]) -> str:
    if not known:
        return _OTHERWISE
    near = get_close_matches(name, known, n=3, cutoff=0.5) or sorted(known)[:_NAMED_MAX]
    return f"use --context {' or '.join(shown(each) for each in near)}"
