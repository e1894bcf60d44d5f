"""A server of Ganeti's remote interface: four documents, asked for over HTTPS.

The hard thing is its certificate, which Ganeti signs itself: it is not trusted by default, and instead of
switching the check off its fingerprint or the certificate itself is given. A password is sent only after
the certificate was checked, and no message shows it.
"""

import base64
import hashlib
import hmac
import http.client
import netrc
import os
import ssl
import time
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from ullage.model.errors import InputError
from ullage.sources.limits import MIB, size_text

PORT: Final = 5080
CONNECT_SECONDS_MAX: Final = 15
SILENT_SECONDS_MAX: Final = 60
READ_SECONDS_MAX: Final = 300
RESPONSE_BYTES_MAX: Final = 256 * MIB
_CHUNK_BYTES: Final = 1 << 20
_FINGERPRINT_DIGITS: Final = 64
_OK: Final = 200
_REASONS: Final = {
    401: "give a user that may read: https://USER:PASSWORD@HOST or ?netrc=FILE",
    403: "give a user that may read: https://USER:PASSWORD@HOST or ?netrc=FILE",
    404: "is this the remote interface of Ganeti (ganeti-rapi, port 5080)?",
}
_OPTIONS: Final = ("ca", "sha256", "netrc")
_OPTIONS_REMEDY: Final = "use ?ca=FILE, ?sha256=FINGERPRINT or ?netrc=FILE"


class RapiServer(NamedTuple):
    """Where to ask, and how to know whom: the certificate's authority or fingerprint, user and password."""

    host: str
    port: int
    encrypted: bool = True
    certificate_file: str = ""
    fingerprint: str = ""
    user: str = ""
    password: str = ""

    @property
    def name(self) -> str:
        """What to call the server in messages: its address without user and password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.encrypted else 'http'}://{host}:{self.port}"

    def error(self, what: str, remedy: str) -> InputError:
        """Return an error about this server."""
        return InputError(what, where=self.name, remedy=remedy)


def parse_server(text: str) -> RapiServer:
    """Return the server of `HOST`, `HOST:PORT` or `https://USER:PASSWORD@HOST:PORT?ca=FILE&sha256=…&netrc=…`."""
    address = text if "://" in text else f"https://{text}"
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port or PORT
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise InputError(
            "this is no address of a server", where="RAPI", remedy="write https://HOST:5080"
        ) from None
    if parts.scheme not in {"https", "http"} or not host or parts.path not in {"", "/"}:
        raise InputError("this is no address of a server", where="RAPI", remedy="write https://HOST:5080")
    options = dict(pairs)
    if len(options) < len(pairs) or not set(options) <= set(_OPTIONS):
        raise InputError("the options after ? are not known", where=host, remedy=_OPTIONS_REMEDY)
    server = RapiServer(
        host,
        port,
        parts.scheme == "https",
        options.get("ca", ""),
        _fingerprint(options.get("sha256", ""), host),
        unquote(parts.username or ""),
        unquote(parts.password or ""),
    )
    return _with_credentials(server, options.get("netrc", ""))


def fetch(server: RapiServer, path: str) -> bytes:
    """Return the document at a path; everything that goes wrong is an InputError."""
    until = time.monotonic() + READ_SECONDS_MAX
    connection = _connection(server)
    try:
        connection.connect()
        _check_certificate(server, connection)
        connection.sock.settimeout(SILENT_SECONDS_MAX)
        connection.request("GET", path, headers=_headers(server))
        response = connection.getresponse()
        if response.status != _OK:
            remedy = _REASONS.get(response.status, "ask the server's log why")
            raise server.error(f"{path}: HTTP status {response.status}", remedy)
        return _body(server, path, response, until)
    except ssl.SSLCertVerificationError as error:
        raise server.error(
            f"the certificate is refused: {error.verify_message or error}",
            "a cluster signs its own: give it with ?ca=FILE, or its fingerprint with ?sha256=…",
        ) from None
    except TimeoutError:
        raise server.error(f"{path}: no answer in time", "ask nearer to it, or save the documents") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = str(error) or type(error).__name__
        raise server.error(f"{path}: {reason}", "check the address and the network") from None
    finally:
        connection.close()


def _body(server: RapiServer, path: str, response: http.client.HTTPResponse, until: float) -> bytes:
    data = bytearray()
    while chunk := response.read(_CHUNK_BYTES):
        data += chunk
        if len(data) > RESPONSE_BYTES_MAX:
            raise server.error(f"{path}: more than {size_text(RESPONSE_BYTES_MAX)}", "save the documents")
        if time.monotonic() > until:
            raise server.error(f"{path}: not read after {READ_SECONDS_MAX} s", "save the documents")
    return bytes(data)


def _connection(server: RapiServer) -> http.client.HTTPConnection:
    if not server.encrypted:
        return http.client.HTTPConnection(server.host, server.port, timeout=CONNECT_SECONDS_MAX)
    try:
        context = ssl.create_default_context(cafile=server.certificate_file or None)
    except (OSError, ValueError) as error:
        what = f"the certificate cannot be read: {error.strerror if isinstance(error, OSError) else error}"
        raise server.error(what, "name a file with a certificate in PEM") from None
    if server.fingerprint:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(server.host, server.port, timeout=CONNECT_SECONDS_MAX, context=context)


def _check_certificate(server: RapiServer, connection: http.client.HTTPConnection) -> None:
    """Refuse a server whose certificate has another fingerprint, before anything is sent to it."""
    if not server.fingerprint:
        return
    connected = connection.sock
    certificate = connected.getpeercert(binary_form=True) if isinstance(connected, ssl.SSLSocket) else None
    found = hashlib.sha256(certificate or b"").hexdigest()
    if not hmac.compare_digest(found, server.fingerprint):
        raise server.error(
            f"the certificate has the fingerprint {found}", "give that one if it is the cluster's"
        )


def _headers(server: RapiServer) -> dict[str, str]:
    headers = {"Accept": "application/json"}
    if server.user:
        word = base64.b64encode(f"{server.user}:{server.password}".encode()).decode()
        headers["Authorization"] = f"Basic {word}"
    return headers


def _fingerprint(text: str, host: str) -> str:
    digits = text.replace(":", "").lower()
    if digits and (len(digits) != _FINGERPRINT_DIGITS or not set(digits) <= set("0123456789abcdef")):
        raise InputError(
            "sha256 is no fingerprint", where=host, remedy="give the 64 digits that `openssl x509` prints"
        )
    return digits


def _with_credentials(server: RapiServer, file: str) -> RapiServer:
    """Return a server with what a netrc file says of its host; an address that names a user says more."""
    if not file or server.user:
        return server
    try:
        found = netrc.netrc(os.path.expanduser(file)).authenticators(server.host)  # noqa: PTH111 - netrc takes a text
    except (OSError, netrc.NetrcParseError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else type(error).__name__
        raise InputError(f"it cannot be read: {reason}", where=file, remedy="see netrc(5)") from None
    if found is None:
        raise InputError(f"no machine {server.host}", where=file, remedy=f"add: machine {server.host} …")
    return server._replace(user=found[0], password=found[2] or "")
