"""The webhook's certificate on the cluster: kept in a Secret, and made known to the API server.

Every replica serves the webhook with what the Secret holds; the one that leads makes it, renews it, and tells
the API server by whom it is signed. The hard thing is the order: a new certificate is used only when an
earlier look has found the API server told of it, so that no moment is left in which it is not trusted.
"""

import asyncio
import base64
import contextlib
import ssl
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from ullage.kube.operator.certificates import (
    Certificate,
    are_certificates,
    is_good,
    make,
    service_names,
)
from ullage.sources.kubernetes.api.client import JSON_PATCH, ApiClient, RefusedError, segment
from ullage.sources.kubernetes.api.connection import BrokenError

SECRET: Final = "ullage-webhook-certificate"  # noqa: S105 - the name of a Secret
CONFIGURATION: Final = "ullage"
SERVICE: Final = "ullage-webhook"
LOOK_SECONDS: Final = 10.0
_FIELDS: Final = ("tls.crt", "tls.key", "ca.crt")


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _Secret(msgspec.Struct):
    metadata: _Metadata
    data: dict[str, str] | None = None


class _ClientConfig(msgspec.Struct, rename="camel"):
    ca_bundle: str | None = None


class _Hook(msgspec.Struct, rename="camel"):
    client_config: _ClientConfig


class _Configuration(msgspec.Struct):
    webhooks: list[_Hook] | None = None


_SECRET: Final = msgspec.json.Decoder(_Secret)
_CONFIGURATION: Final = msgspec.json.Decoder(_Configuration)


def _now() -> datetime:
    return datetime.now(UTC)


class Trust:
    """The certificate as a replica uses it."""

    def __init__(
        self,
        client: ApiClient,
        namespace: str,
        *,
        leads: Callable[[], bool],
        names: tuple[str, ...] = (),
        now: Callable[[], datetime] = _now,
    ) -> None:
        """`names` are those under which it is reached besides those of the service."""
        self._client = client
        self._secrets = f"/api/v1/namespaces/{segment(namespace)}/secrets"
        self._names = (*service_names(SERVICE, namespace), *names)
        self._leads = leads
        self._now = now
        self._loaded: Certificate | None = None
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.ready = asyncio.Event()

    async def run(self) -> None:
        """Keep the certificate good until cancelled."""
        while True:
            with contextlib.suppress(RefusedError, BrokenError):
                await self.look()
            await asyncio.sleep(LOOK_SECONDS if self.ready.is_set() else 1.0)

    async def look(self) -> None:
        """Use what the Secret holds; as the leader, see to it that it is good and trusted."""
        found, revision = await self._read()
        if self._leads() and (found is None or not is_good(found, self._names, self._now())):
            known = self._loaded if found is None or not are_certificates(found.authorities) else found
            found = make(self._names, self._now(), known.authorities if known else b"")
            await self._write(found, revision)
        if found is None:
            return
        was_told = await self._tell(found.authorities)
        if found != self._loaded and (was_told or self._loaded is None):
            self._load(found)
        if self._loaded is not None:
            self.ready.set()

    async def _read(self) -> tuple[Certificate | None, str]:
        try:
            secret = _SECRET.decode(await self._client.get(f"{self._secrets}/{SECRET}"))
        except RefusedError as error:
            if error.is_absent:
                return None, ""
            raise
        data = secret.data or {}
        try:
            parts = [base64.b64decode(data[name], validate=True) for name in _FIELDS]
        except (KeyError, ValueError):
            return None, secret.metadata.resource_version
        return Certificate(*parts), secret.metadata.resource_version

    async def _write(self, made: Certificate, revision: str) -> None:
        values = zip(_FIELDS, made, strict=True)
        document: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "Opaque",
            "metadata": {"name": SECRET, "labels": {"app.kubernetes.io/name": "ullage"}},
            "data": {name: base64.b64encode(value).decode() for name, value in values},
        }
        if not revision:
            await self._client.create(self._secrets, document)
            return
        document["metadata"]["resourceVersion"] = revision
        await self._client.replace(f"{self._secrets}/{SECRET}", document)

    def _load(self, found: Certificate) -> None:
        """Use a certificate for all new connections; one that is none is left for the leader to replace."""
        with tempfile.TemporaryDirectory(prefix="ullage-") as folder:
            certificate, key = Path(folder, "certificate"), Path(folder, "key")
            certificate.write_bytes(found.certificate)
            key.touch(mode=0o600)
            key.write_bytes(found.key)
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
            except ssl.SSLError:
                return
            self.context.load_cert_chain(certificate, key)
        self._loaded = found

    async def _tell(self, authorities: bytes) -> bool:
        """Tell the API server whom to trust, as the leader; return whether it was told so before."""
        path = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{CONFIGURATION}"
        try:
            found = _CONFIGURATION.decode(await self._client.get(path))
        except RefusedError as error:
            if error.is_absent:
                return True
            raise
        bundle = base64.b64encode(authorities).decode()
        changes = [
            {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": bundle}
            for index, hook in enumerate(found.webhooks or ())
            if hook.client_config.ca_bundle != bundle
        ]
        if changes and self._leads():
            await self._client.patch(path, changes, JSON_PATCH)
        return not changes
