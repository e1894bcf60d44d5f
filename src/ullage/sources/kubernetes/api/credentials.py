"""How a process proves who it is, for as long as it runs.

The hard thing is that proofs expire: a pod's token file is replaced every hour, a program's token by asking
it again, certificates are written anew beside a running process. So a header is made anew for each request,
from a file that is read again once in a while, and a refusal makes the next request ask again at once; and
each new connection is made with the certificates as they are on disk.
"""

import base64
import binascii
import contextlib
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from ullage.model.errors import InputError
from ullage.sources.kubernetes.api.connection import Address
from ullage.sources.kubernetes.exec_plugin import exec_credential
from ullage.sources.kubernetes.kubeconfig import Access, UserEntry
from ullage.sources.places import one_line

TOKEN_SECONDS_MAX: Final = 60
"""How long the content of a token file is believed."""
PROGRAM_SECONDS_MAX: Final = 600
"""How long the token of a program is: asking it stops all else, and clouds give 15 minutes or more."""
FAILED_SECONDS_MAX: Final = 1.0
"""How long a program is not asked again that gave no token: all else waits until it has failed."""
_HTTPS_PORT: Final = 443
_HTTP_PORT: Final = 80
_TOKEN_CHARACTERS_MAX: Final = 1 << 16


class Credentials:
    """The proof of one user."""

    def __init__(self, access: Access, now: Callable[[], float] = time.monotonic) -> None:
        self._access = access
        self._now = now
        self._header = ""
        self._until = -1.0
        self._failure: InputError | None = None
        self._failed_until = -1.0
        self._address: Address | None = None
        self._stamps: tuple[object, ...] = ()

    def address(self) -> Address:
        """Return where and how the server is reached; raises an InputError.

        Certificates that have changed on disk are read again. Those that cannot be used, because they are
        replaced at this very moment, are looked at again the next time.
        """
        stamps = _stamps(self._access)
        if self._address is None or stamps != self._stamps:
            try:
                self._address = address_of(self._access)
            except InputError:
                if self._address is None:
                    raise
            else:
                self._stamps = stamps
        return self._address

    def header(self) -> str:
        """Return the header line that proves who asks, empty where a certificate does; an InputError."""
        if self._now() >= self._until:
            self._header = self._read_unless_it_failed()
            asks_program = self._access.user.exec is not None
            self._until = self._now() + (PROGRAM_SECONDS_MAX if asks_program else TOKEN_SECONDS_MAX)
        return self._header

    def doubt(self) -> None:
        """Read the proof again before the next request: it was refused."""
        self._until = -1.0

    def _read_unless_it_failed(self) -> str:
        """Read the proof, or raise again what went wrong a moment ago."""
        if self._failure is not None and self._now() < self._failed_until:
            raise self._failure
        try:
            header = self._read()
        except InputError as error:
            if self._access.user.exec is not None:
                self._failure, self._failed_until = error, self._now() + FAILED_SECONDS_MAX
            raise
        self._failure = None
        return header

    def _read(self) -> str:
        user = self._access.user
        if user.auth_provider is not None:
            raise InputError(
                "auth-provider is no longer supported by Kubernetes",
                where=f"{self._access.name}: user {self._access.user_name}",
                remedy="use a service account",
            )
        token = user.token or ""
        if user.token_file:
            try:
                token = Path(user.token_file).read_text(encoding="utf-8", errors="replace").strip()
            except OSError as error:
                raise InputError(
                    f"the token cannot be read: {error.strerror}",
                    where=user.token_file,
                    remedy="mount the service account, or correct tokenFile",
                ) from None
            if not token:
                raise InputError(
                    "the token file is empty", where=user.token_file, remedy="write the token there"
                )
        if not token and user.exec is not None:
            token = exec_credential(user.exec, self._access.cluster).token
            if not token:
                raise InputError(
                    "the credential plugin gives a certificate where a process that stays needs a token",
                    where=f"{self._access.name}: user {self._access.user_name}",
                    remedy="use a service account",
                )
        if token:
            return _line(f"Bearer {_printable(token, self._access)}")
        if user.username:
            pair = f"{user.username}:{user.password or ''}".encode()
            return _line(f"Basic {base64.b64encode(pair).decode()}")
        return ""


def _line(value: str) -> str:
    return f"Authorization: {value}\r\n"


def _printable(token: str, access: Access) -> str:
    if len(token) > _TOKEN_CHARACTERS_MAX or not token.isascii() or not token.isprintable():
        raise InputError(
            "the token is not one line of text",
            where=f"{access.name}: user {access.user_name}",
            remedy="correct the token in the kubeconfig",
        )
    return token


def address_of(access: Access) -> Address:
    """Return where and how a server is reached; raises an InputError."""
    cluster = access.cluster
    where = access.name
    if cluster.proxy_url:
        raise InputError(
            "a proxy-url is not supported by processes that watch",
            where=where,
            remedy="reach the server directly, or through kubectl proxy",
        )
    try:
        parts = urlsplit(cluster.server or "")
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/"):
        raise InputError(
            f"{one_line(str(cluster.server))} is no address of an API server",
            where=where,
            remedy="use https://HOST:PORT",
        )
    if parts.scheme == "http":
        return Address(parts.hostname, port or _HTTP_PORT, None)
    return Address(parts.hostname, port or _HTTPS_PORT, _context(access), cluster.tls_server_name or "")


def _stamps(access: Access) -> tuple[object, ...]:
    """Return what changes when one of the files of certificates is replaced."""
    found: list[object] = []
    for file in (
        access.cluster.certificate_authority,
        access.user.client_certificate,
        access.user.client_key,
    ):
        try:
            known = Path(file).stat() if file else None
        except OSError:
            known = None
        found.append(known and (known.st_mtime_ns, known.st_ino, known.st_size))
    return tuple(found)


def _context(access: Access) -> ssl.SSLContext:
    cluster, user = access.cluster, access.user
    try:
        for file in (cluster.certificate_authority, user.client_certificate, user.client_key):
            if file:
                Path(file).open("rb").close()  # ssl does not say which file it does not find
        context = ssl.create_default_context(
            cafile=None if cluster.certificate_authority_data else cluster.certificate_authority,
            cadata=_decoded(cluster.certificate_authority_data).decode("ascii")
            if cluster.certificate_authority_data
            else None,
        )
        if cluster.insecure_skip_tls_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        with _certificate(user) as pair:
            if pair is not None:
                context.load_cert_chain(*pair)
    except (OSError, ValueError) as error:
        # ssl.SSLError and binascii.Error are among these.
        raise InputError(
            f"a certificate cannot be used: {one_line(str(error))}",
            where=access.name,
            remedy="correct the cluster and the user in the kubeconfig",
        ) from None
    return context


@contextlib.contextmanager
def _certificate(user: UserEntry) -> Iterator[tuple[str, str] | None]:
    """Give the files of a certificate and its key; what is given as text is a file for a moment."""
    if user.client_certificate_data and user.client_key_data:
        with tempfile.TemporaryDirectory(prefix="ullage-") as folder:
            certificate, key = Path(folder, "certificate"), Path(folder, "key")
            certificate.write_bytes(_decoded(user.client_certificate_data))
            key.touch(mode=0o600)
            key.write_bytes(_decoded(user.client_key_data))
            yield str(certificate), str(key)
    elif user.client_certificate and user.client_key:
        yield user.client_certificate, user.client_key
    else:
        yield None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from None
