"""One request to a server of ours, and its answer; whatever goes wrong is one line that says what to do.

The hard thing is whom to trust with a token: it is sent to the address that was named and to no other (a
server that leads elsewhere is not followed), after its certificate was checked, and no message shows it. An
answer is bounded in size and time before it is believed.
"""

import http.client
import os
import socket
import ssl
import time
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlencode

import msgspec

from ullage import __version__
from ullage.model.errors import InputError
from ullage.sources.limits import MIB, size_text
from ullage.sources.server_access import Access, reached
from ullage.sources.server_address import Address, cluster_path, parse_address

TOKEN_VARIABLE: Final = "ULLAGE_TOKEN"  # noqa: S105 - the name of a variable
TOKEN_CHARACTERS_MAX: Final = 4096
CONNECT_SECONDS_MAX: Final = 15
SILENT_SECONDS_MAX: Final = 330
READ_SECONDS_MAX: Final = 900
ANSWER_BYTES_MAX: Final = 1024 * MIB
NAMES_MAX: Final = 20
_CHUNK_BYTES: Final = 1 << 20
_PROBLEM: Final = "application/problem+json"
_NO_TOKEN: Final = f"give a token in ${TOKEN_VARIABLE} or with --token-file FILE"
_NOT_OURS: Final = "name the address at which `ullage serve` listens"


class RefusedError(InputError):
    """What a server has refused, with the status of its answer."""

    status = 0


class Reply(NamedTuple):
    """An answer; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Problem(msgspec.Struct, rename="camel"):
    title: str = ""
    detail: str = ""
    what: str = ""
    where: str = ""
    remedy: str = ""
    retry_after_seconds: int = 0


class _Named(msgspec.Struct):
    name: str


class _Clusters(msgspec.Struct):
    items: list[_Named]


class _Info(msgspec.Struct, frozen=True):
    title: str = ""
    version: str = ""


class _Description(msgspec.Struct):
    info: _Info = _Info()


class ServerClient:
    """A server, as whoever has a token may use it."""

    def __init__(self, address: Address, access: Access | None = None) -> None:
        self.address = address
        self._access = reached().access if access is None else access

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str | bytes] | None = None,
        body: bytes | None = None,
    ) -> Reply:
        """Return the answer to a request; a RefusedError where it is none."""
        token = _token(self._access.token_file)
        sent: dict[str, str | bytes] = {"User-Agent": f"ullage/{__version__}", **(headers or {})}
        if token:
            sent["Authorization"] = f"Bearer {token}"
        reply = self._exchange(method, f"{path}?{urlencode(query)}" if query else path, sent, body)
        if 200 <= reply.status < 300:
            return reply
        raise self._refused(reply, has_token=bool(token))

    def clusters(self) -> list[str]:
        """Return the names of the clusters of the server."""
        reply = self.ask("GET", "/v1/clusters")
        try:
            return [each.name for each in msgspec.json.decode(reply.body, type=_Clusters).items]
        except msgspec.DecodeError:
            raise self.error("this is no list of clusters", _NOT_OURS) from None

    def error(self, what: str, remedy: str) -> InputError:
        """Return an error about this server."""
        return InputError(what, where=self.address.name, remedy=remedy)

    def unreadable(self, what: str) -> InputError:
        """Return why an answer cannot be used: perhaps the server is of another version."""
        try:
            found = msgspec.json.decode(self.ask("GET", "/openapi.json").body, type=_Description).info
        except (InputError, msgspec.DecodeError):
            found = _Info()
        if found.version and found.version != __version__:
            return self.error(
                f"it is ullage {found.version}, and this is {__version__}: {what}",
                "use the same version on both sides",
            )
        return self.error(what, "ask again; if it stays so, look at the log of the server")

    def _refused(self, reply: Reply, *, has_token: bool) -> RefusedError:
        told = _Problem()
        is_ours = reply.headers.get("content-type", "").startswith(_PROBLEM)
        if is_ours:
            try:
                told = msgspec.json.decode(reply.body, type=_Problem)
            except msgspec.DecodeError:
                is_ours = False
        what, where, remedy = self._meaning(reply.status, told, is_ours=is_ours, has_token=has_token)
        error = RefusedError(what, where=where, remedy=remedy)
        error.status = reply.status
        return error

    def _meaning(
        self, status: int, told: _Problem, *, is_ours: bool, has_token: bool
    ) -> tuple[str, str, str]:
        """Return what is wrong, where, and what helps."""
        here = self.address.name
        if 300 <= status < 400:
            return f"it leads elsewhere (HTTP status {status}), where nobody goes", here, _NOT_OURS
        if not is_ours:
            return f"HTTP status {status}, and not from a server of ullage", here, _NOT_OURS
        if status == 401:
            what = "the token is not known there, or has ended" if has_token else "it wants a token"
            return what, here, "have another one made: ullage token add" if has_token else _NO_TOKEN
        if told.what:
            return told.what, told.where, told.remedy
        if status == 503:
            wait = told.retry_after_seconds or 1
            return told.title, here, f"ask again in {wait} s"
        return told.title or f"HTTP status {status}", here, told.detail

    def _exchange(
        self, method: str, target: str, headers: Mapping[str, str | bytes], body: bytes | None
    ) -> Reply:
        until = time.monotonic() + READ_SECONDS_MAX
        connection = self._connection()
        try:
            connection.connect()
            connection.sock.settimeout(SILENT_SECONDS_MAX)
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, found, self._body(response, until))
        except (OSError, http.client.HTTPException) as error:
            raise self._broken(error) from None
        finally:
            connection.close()

    def _body(self, response: http.client.HTTPResponse, until: float) -> bytes:
        data = bytearray()
        while chunk := response.read(_CHUNK_BYTES):
            data += chunk
            if len(data) > ANSWER_BYTES_MAX:
                raise self.error(f"an answer of more than {size_text(ANSWER_BYTES_MAX)}", "ask for less")
            if time.monotonic() > until:
                raise self.error(f"not read after {READ_SECONDS_MAX} s", "ask nearer to it")
        if response.length:
            raise self.error(f"the answer ends {response.length} bytes too early", "ask again")
        return bytes(data)

    def _connection(self) -> http.client.HTTPConnection:
        address = self.address
        if address.scheme == "http":
            return http.client.HTTPConnection(address.host, address.port, timeout=CONNECT_SECONDS_MAX)
        file = self._access.ca_file
        try:
            context = ssl.create_default_context(cafile=file or None)
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else "") or "no certificate is in it"
            raise InputError(
                f"cannot be used: {reason}",
                where=f"--ca {file}",
                remedy="name a file with certificates in PEM",
            ) from None
        return http.client.HTTPSConnection(
            address.host, address.port, timeout=CONNECT_SECONDS_MAX, context=context
        )

    def _broken(self, error: OSError | http.client.HTTPException) -> InputError:
        if isinstance(error, ConnectionRefusedError):
            return self.error("nobody listens there", "check host and port, or start one: ullage serve")
        if isinstance(error, socket.gaierror):
            return self.error(f"the host {self.address.host} is not known", "check its name")
        if isinstance(error, ssl.SSLCertVerificationError):
            return self.error(
                f"the certificate is refused: {error.verify_message or error}",
                "name the certificates that count with --ca FILE, or in $SSL_CERT_FILE",
            )
        if isinstance(error, ssl.SSLError):
            return self.error("it does not speak TLS as it should", "is it http:// that is meant?")
        if isinstance(error, TimeoutError):
            return self.error("no answer in time", "ask again, or nearer to it")
        if isinstance(error, http.client.HTTPException | ConnectionResetError):
            return self.error("it hangs up without an answer", "is it https:// that is meant?")
        return self.error(error.strerror or type(error).__name__, "check the address and the network")


class RemoteCluster(NamedTuple):
    """One cluster of a server."""

    client: ServerClient
    name: str

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str | bytes] | None = None,
        body: bytes | None = None,
    ) -> Reply:
        """Return the answer to a request about it; where it is not there, its server says which are."""
        try:
            return self.client.ask(method, f"{cluster_path(self.name)}/{path}", query, headers, body)
        except RefusedError as error:
            if error.status == 404:
                raise self._missing(error) from None
            raise

    def _missing(self, error: RefusedError) -> InputError:
        if not error.what.startswith("there is no cluster"):
            return self.client.unreadable(error.what)
        return self.client.error(f"there is no cluster {self.name!r}", _choice(self.client.clusters()))


def remote_cluster(spec: str) -> RemoteCluster:
    """Return the cluster that an address names; without a name, the only one of the server."""
    address = parse_address(spec)
    client = ServerClient(address)
    if address.cluster:
        return RemoteCluster(client, address.cluster)
    names = client.clusters()
    if len(names) != 1:
        what = f"it has {len(names)} clusters, and none is named" if names else "it has no cluster"
        raise client.error(what, _choice(names))
    return RemoteCluster(client, names[0])


def _choice(names: list[str]) -> str:
    if not names:
        return "serve one: ullage serve -c SOURCE"
    more = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
    return f"add /v1/clusters/NAME to the address, with one of {', '.join(names[:NAMES_MAX])}{more}"


def _token(file: str) -> str:
    """Return the token of a file, else the one of the environment; no message shows it."""
    text, where = os.environ.get(TOKEN_VARIABLE, ""), f"${TOKEN_VARIABLE}"
    if file:
        where = f"--token-file {file}"
        try:
            with open(file, encoding="ascii") as opened:  # noqa: PTH123 - read no further than a token goes
                text = opened.read(TOKEN_CHARACTERS_MAX + 1)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise InputError(
                f"cannot be read: {reason}", where=where, remedy="name the file of a token"
            ) from None
    token = text.strip()
    is_token = (
        token.isascii() and token.isprintable() and " " not in token and len(token) < TOKEN_CHARACTERS_MAX
    )
    if not is_token or (file and not token):
        raise InputError("this is no token", where=where, remedy="give what `ullage token add` has printed")
    return token
