"""A Prometheus, or what speaks as one (Thanos, Mimir, VictoriaMetrics): asked over HTTP, within bounds.

Who asks is proved by a token, by a name with a password, or by a certificate; secrets come from files or the
environment, never from an address, and no message shows them. The hard thing is an answer that is too much:
for the server, which refuses or gives up, or for us, who read no further than a bound. That is no failure but
a `TooMuchError`, after which whoever asked asks for less.
"""

import base64
import http.client
import socket
import ssl
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple, Protocol
from urllib.parse import urlencode, urlsplit

import msgspec

from ullage import __version__
from ullage.model.errors import InputError
from ullage.sources.limits import MIB, size_text
from ullage.sources.places import one_line

CONNECT_SECONDS_MAX: Final = 15
QUERY_SECONDS_MAX: Final = 60
"""What the server is told to spend on one query at most; it answers soon after, or not at all."""
SILENT_SECONDS_MAX: Final = 120
ANSWER_BYTES_MAX: Final = 256 * MIB
READ_SECONDS_MAX: Final = 3600
"""What one reading of a window may take in all."""
TRIES_MAX: Final = 3
WAIT_SECONDS_MAX: Final = 10.0
SECRET_CHARACTERS_MAX: Final = 1 << 16
_CHUNK_BYTES: Final = 1 << 20
_GZIP_WINDOW_BITS: Final = 31
_MESSAGE_CHARACTERS_MAX: Final = 300
_PORTS: Final = {"http": 80, "https": 443}
_FORM: Final = "application/x-www-form-urlencoded"
_TOO_MUCH: Final = frozenset((413, 422, 503, 504))
_PASSING: Final = frozenset((429, 500, 502, 503, 504))
_PROMETHEUS: Final = "ULLAGE_PROMETHEUS_"
_FILES: Final = {"ca_file": "CA", "certificate_file": "CERTIFICATE", "key_file": "KEY"}


class TooMuchError(Exception):
    """An answer that is not given, or not taken, because it is too large or takes too long."""


class PrometheusOptions(NamedTuple):
    """How a server is convinced, and whose data is meant; `headers` are sent along, such as X-Scope-OrgID."""

    token: str = ""
    token_file: str = ""
    user: str = ""
    password: str = ""
    ca_file: str = ""
    certificate_file: str = ""
    key_file: str = ""
    insecure: bool = False
    headers: tuple[tuple[str, str], ...] = ()


class Reply(NamedTuple):
    """The status of an answer and its text."""

    status: int
    data: bytes | bytearray


class Asked(Protocol):
    """What may be asked for a path of the HTTP API, with a query."""

    name: str

    def ask(self, path: str, query: Mapping[str, str]) -> Reply:
        """Return the answer; an InputError where there is none, a TooMuchError where it is too large."""
        ...


class _Told(msgspec.Struct, rename="camel"):
    error: str = ""
    error_type: str = ""


def options_of(environment: Mapping[str, str]) -> PrometheusOptions:
    """Return what the environment says in ULLAGE_PROMETHEUS_TOKEN and the like.

    There are _TOKEN, _TOKEN_FILE, _USER, _PASSWORD; _CA, _CERTIFICATE and _KEY name files; _INSECURE=1
    believes every certificate; _HEADERS has headers as `X-Scope-OrgID: blue; X-Other: 1`.
    """

    def said(name: str) -> str:
        return environment.get(_PROMETHEUS + name, "")

    headers = []
    for each in filter(str.strip, said("HEADERS").split(";")):
        name, colon, value = (part.strip() for part in each.partition(":"))
        if not colon or not name.replace("-", "").isalnum() or not (value.isascii() and value.isprintable()):
            raise InputError(
                "a header is no `Name: value`", where=f"${_PROMETHEUS}HEADERS", remedy="separate them by ;"
            )
        headers.append((name, value))
    insecure = said("INSECURE").lower()
    if insecure not in {"", "0", "1", "false", "true"}:
        raise InputError("is neither 0 nor 1", where=f"${_PROMETHEUS}INSECURE", remedy="write 0 or 1")
    return PrometheusOptions(
        token=said("TOKEN"),
        token_file=said("TOKEN_FILE"),
        user=said("USER"),
        password=said("PASSWORD"),
        insecure=insecure in {"1", "true"},
        headers=tuple(headers),
        **{field: said(name) for field, name in _FILES.items()},
    )


class PrometheusServer:
    """A server at an address, asked one thing at a time over one connection."""

    def __init__(self, url: str, options: PrometheusOptions | None = None) -> None:
        self._options = options or PrometheusOptions()
        self._scheme, self._host, self._port, self._base = _address(url)
        host = f"[{self._host}]" if ":" in self._host else self._host
        self.name = f"{self._scheme}://{host}:{self._port}{self._base}"
        self._until = time.monotonic() + READ_SECONDS_MAX
        self._connection: http.client.HTTPConnection | None = None
        self._headers = {
            "User-Agent": f"ullage/{__version__}",
            "Accept": "application/json",
            "Accept-Encoding": "gzip",
            "Content-Type": _FORM,
            **dict(self._options.headers),
        } | _proof(self._options, self.name)

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def ask(self, path: str, query: Mapping[str, str]) -> Reply:
        """Return the answer to a query; what passes by itself is asked again a few times."""
        wait_seconds = 0.5
        for left in reversed(range(TRIES_MAX)):
            if time.monotonic() > self._until:
                raise self.error(f"not read after {READ_SECONDS_MAX} s", "ask for a shorter window")
            was_open = self._connection is not None
            try:
                reply, asked_to_wait = self._exchange(path, query)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if isinstance(error, TimeoutError) and was_open:
                    raise TooMuchError(f"no answer within {SILENT_SECONDS_MAX} s") from None
                if left and (was_open or isinstance(error, http.client.RemoteDisconnected)):
                    continue
                raise self._broken(error) from None
            if reply.status not in _PASSING or not left or _told(reply).error_type == "timeout":
                return reply
            time.sleep(min(asked_to_wait or wait_seconds, WAIT_SECONDS_MAX))
            wait_seconds *= 2
        raise AssertionError("the last try returns or raises")

    def error(self, what: str, remedy: str) -> InputError:
        """Return an error about this server."""
        return InputError(what, where=self.name, remedy=remedy)

    def _exchange(self, path: str, query: Mapping[str, str]) -> tuple[Reply, float]:
        if self._connection is None:
            self._connection = self._connected()
        method, target, body = "POST", f"{self._base}{path}", urlencode(query).encode()
        if path.endswith("/values"):  # names of labels are asked for by GET alone
            method, target, body = "GET", f"{target}?{body.decode()}", b""
        self._connection.request(method, target, body or None, self._headers)
        with self._connection.getresponse() as response:
            data = self._body(response)
        if response.will_close:
            self.close()
        wait = response.headers.get("Retry-After", "")
        return Reply(response.status, data), float(wait) if wait.isdecimal() and len(wait) < 5 else 0.0

    def _body(self, response: http.client.HTTPResponse) -> bytearray:
        """Return the text of an answer, unpacked no further than the bound."""
        packed = response.headers.get("Content-Encoding", "") == "gzip"
        unpack = zlib.decompressobj(_GZIP_WINDOW_BITS)
        data = bytearray()
        while chunk := response.read(_CHUNK_BYTES):
            try:
                data += unpack.decompress(chunk, ANSWER_BYTES_MAX + 1 - len(data)) if packed else chunk
            except zlib.error:
                raise self.error("the answer is damaged", "ask again") from None
            if len(data) > ANSWER_BYTES_MAX:
                self.close()
                raise TooMuchError(f"an answer of more than {size_text(ANSWER_BYTES_MAX)}")
            if time.monotonic() > self._until:
                raise self.error(f"not read after {READ_SECONDS_MAX} s", "ask for a shorter window")
        if response.length or (packed and not unpack.eof):
            raise http.client.IncompleteRead(bytes(data[:0]))
        return data

    def _connected(self) -> http.client.HTTPConnection:
        if self._scheme == "http":
            connection = http.client.HTTPConnection(self._host, self._port, timeout=CONNECT_SECONDS_MAX)
        else:
            connection = http.client.HTTPSConnection(
                self._host,
                self._port,
                timeout=CONNECT_SECONDS_MAX,
                context=_context(self._options, self.name),
            )
        try:
            connection.connect()
        except BaseException:
            connection.close()  # a handshake that failed leaves it open
            raise
        connection.sock.settimeout(SILENT_SECONDS_MAX)
        return connection

    def _broken(self, error: OSError | http.client.HTTPException) -> InputError:
        if isinstance(error, ConnectionRefusedError):
            return self.error("nobody listens there", "check host and port of the Prometheus")
        if isinstance(error, socket.gaierror):
            return self.error(f"the host {self._host} is not known", "check its name")
        if isinstance(error, ssl.SSLCertVerificationError):
            return self.error(
                f"the certificate is refused: {error.verify_message or error}",
                f"name the certificates that count in ${_PROMETHEUS}CA",
            )
        if isinstance(error, ssl.SSLError):
            return self.error("it does not speak TLS as it should", "is it http:// that is meant?")
        if isinstance(error, TimeoutError):
            return self.error("no answer in time", "ask again, or nearer to it")
        if isinstance(error, http.client.HTTPException | ConnectionResetError):
            return self.error("it hangs up without an answer", "is it https:// that is meant?")
        return self.error(error.strerror or type(error).__name__, "check the address and the network")


def require(reply: Reply, name: str) -> None:
    """Raise unless the reply is an answer: a TooMuchError where less may be answered, else an InputError."""
    if 200 <= reply.status < 300:
        return
    told = _told(reply)
    said = one_line(told.error)[:_MESSAGE_CHARACTERS_MAX]
    if told.error_type in {"timeout", "execution"} or (
        reply.status in _TOO_MUCH and told.error_type != "bad_data"
    ):
        raise TooMuchError(said or f"HTTP status {reply.status}")
    what, remedy = f"HTTP status {reply.status}", "name the address below which /api/v1/query answers"
    if 300 <= reply.status < 400:
        what = f"it leads elsewhere (HTTP status {reply.status}), where nobody goes"
    elif reply.status in {401, 403}:
        what = f"it does not let us in (HTTP status {reply.status})"
        remedy = f"give a token in ${_PROMETHEUS}TOKEN or _TOKEN_FILE, or _USER and _PASSWORD"
    elif said:
        what, remedy = said, "is it a Prometheus of version 2.24 or later, and is a tenant to be named?"
    raise InputError(what, where=name, remedy=remedy)


def _told(reply: Reply) -> _Told:
    try:
        return msgspec.json.decode(reply.data, type=_Told)
    except (msgspec.DecodeError, RecursionError):
        return _Told()


def _address(url: str) -> tuple[str, str, int, str]:
    """Return scheme, host, port and the path below which the API is."""
    remedy = "write prometheus:http://HOST:PORT[/PATH]"
    try:
        parts = urlsplit(url)
        host, port, has_secret = parts.hostname or "", parts.port, "@" in parts.netloc
    except ValueError:
        raise InputError("this is no address of a Prometheus", remedy=remedy) from None
    if has_secret:
        raise InputError(
            "an address with a user or a password in it",
            where=f"{parts.scheme}://…@{host}",
            remedy=f"give them in ${_PROMETHEUS}USER and ${_PROMETHEUS}PASSWORD",
        )
    is_plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in _PORTS or not host or parts.query or parts.fragment or not is_plain:
        raise InputError("this is no address of a Prometheus", where=one_line(url[:200]), remedy=remedy)
    return parts.scheme, host, port or _PORTS[parts.scheme], parts.path.rstrip("/").removesuffix("/api/v1")


def _proof(options: PrometheusOptions, name: str) -> dict[str, str]:
    """Return the header that says who asks."""
    token = options.token
    if options.token_file:
        try:
            with Path(options.token_file).open(encoding="ascii") as opened:
                token = opened.read(SECRET_CHARACTERS_MAX).strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise InputError(
                f"the token cannot be read: {reason}",
                where=one_line(options.token_file),
                remedy=f"name the file of a token in ${_PROMETHEUS}TOKEN_FILE",
            ) from None
    if token:
        if not (token.isascii() and token.isprintable() and " " not in token):
            raise InputError("this is no token", where=name, remedy="give one word of plain text")
        return {"Authorization": f"Bearer {token}"}
    if options.user:
        pair = base64.b64encode(f"{options.user}:{options.password}".encode()).decode()
        return {"Authorization": f"Basic {pair}"}
    return {}


def _context(options: PrometheusOptions, name: str) -> ssl.SSLContext:
    try:
        for file in (options.ca_file, options.certificate_file, options.key_file):
            if file:
                Path(file).open("rb").close()  # ssl does not say which file it does not find
        context = ssl.create_default_context(cafile=options.ca_file or None)
        if options.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if options.certificate_file:
            context.load_cert_chain(options.certificate_file, options.key_file or None)
    except (OSError, ValueError) as error:
        named = getattr(error, "filename", None)
        reason = f"{named}: {error.strerror}" if isinstance(error, OSError) and named else str(error)
        raise InputError(
            f"a certificate cannot be used: {one_line(reason)}",
            where=name,
            remedy=f"name files in PEM in ${_PROMETHEUS}CA, _CERTIFICATE and _KEY",
        ) from None
    return context
