"""One API server: asked over HTTPS, as the access says, for documents of JSON text.

lightkube makes the connection (certificates, tokens) and its HTTP client carries it; its typed lists are not
used, because our own records are read straight from the text. The hard thing is that everything may fail:
each failure that a person can mend is one line with its remedy, each that passes is tried again, and nothing
lasts or grows without a bound.
"""

import base64
import binascii
import ssl
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ullage import __version__
from ullage.model.errors import InputError
from ullage.sources.kubernetes.kubeconfig import Access, UserEntry
from ullage.sources.limits import DEFAULT_LIMITS, Limits, size_text
from ullage.sources.places import one_line

if TYPE_CHECKING:
    import httpx2
    from lightkube.config.kubeconfig import SingleConfig

JSON: Final = "application/json"
OK: Final = 200
UNAUTHORIZED: Final = 401
FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
GONE: Final = 410
_TOO_MANY: Final = 429
_PASSING: Final = frozenset((_TOO_MANY, 500, 502, 503, 504))
TRIES_MAX: Final = 3
WAIT_SECONDS_MAX: Final = 10
CONNECT_SECONDS_MAX: Final = 10
SILENT_SECONDS_MAX: Final = 60
READ_SECONDS_MAX: Final = 900
"""What one reading of a cluster may take in all."""
_MESSAGE_CHARACTERS_MAX: Final = 300


class Refusal(msgspec.Struct, rename="camel"):
    """The Status by which an API server says why not."""

    message: str | None = None
    metadata: dict[str, Any] | None = None


class Reply(NamedTuple):
    """What came back: the HTTP status and the text."""

    status: int
    data: bytearray

    def refusal(self) -> Refusal:
        """Return the reason of a refusal, empty where the text gives none."""
        try:
            return _REFUSAL.decode(self.data)
        except (msgspec.DecodeError, RecursionError):
            return Refusal()

    def reason(self) -> str:
        """Return the status and the server's own words on one line."""
        message = self.refusal().message or ""
        text = f"{self.status}: {message}" if message else f"HTTP status {self.status}"
        return one_line(text)[:_MESSAGE_CHARACTERS_MAX]


_REFUSAL: Final = msgspec.json.Decoder(Refusal)


class ApiServer:
    """An API server as one user sees it; may be asked from several threads at once."""

    def __init__(self, access: Access, *, as_user: str = "", limits: Limits = DEFAULT_LIMITS) -> None:
        self.name = access.name
        self._access = access
        self._limits = limits
        self._impersonated = as_user or access.user.impersonate or ""
        self._until = time.monotonic() + READ_SECONDS_MAX
        self._client = _client(access)
        server_name = access.cluster.tls_server_name
        self._extensions = {"sni_hostname": server_name} if server_name else {}

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def get(self, path: str, query: dict[str, str] | None = None, *, accept: str = JSON) -> Reply:
        """Ask for a path until there is an answer that will not change by itself; raises an InputError."""
        headers = {"Accept": accept, "User-Agent": f"ullage/{__version__}"}
        if self._impersonated:
            headers["Impersonate-User"] = self._impersonated
        for left in reversed(range(TRIES_MAX)):
            reply, wait_seconds = self._ask(path, query, headers, may_fail=left > 0)
            if reply is not None and (reply.status not in _PASSING or not left):
                self._refuse_strangers(reply)
                return reply
            time.sleep(min(wait_seconds, WAIT_SECONDS_MAX))
        raise AssertionError("the last try returns or raises")

    def error(self, what: str, remedy: str) -> InputError:
        """Return an error about this cluster."""
        return InputError(what, where=self.name, remedy=remedy)

    def _ask(
        self, path: str, query: dict[str, str] | None, headers: dict[str, str], *, may_fail: bool
    ) -> tuple[Reply | None, float]:
        """Ask once; None stands for a connection that broke, after which another try may succeed."""
        import httpx2
        from lightkube import ConfigError

        try:
            with self._client.stream(
                "GET", path, params=query, headers=headers, extensions=self._extensions
            ) as response:
                return Reply(response.status_code, self._body(response, path)), _wait_seconds(response)
        except (httpx2.ConnectError, httpx2.TimeoutException, httpx2.ProxyError) as error:
            raise self._unreachable(error) from None
        except httpx2.TransportError as error:
            if may_fail:
                return None, _FIRST_WAIT_SECONDS
            raise self._unreachable(error) from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._unreachable(error) from None
        except ConfigError as error:
            raise self.error(one_line(str(error)), "correct the user in the kubeconfig") from None

    def _body(self, response: "httpx2.Response", path: str) -> bytearray:
        data = bytearray()
        for chunk in response.iter_bytes():
            data += chunk
            if len(data) > self._limits.file_bytes_max:
                most = size_text(self._limits.file_bytes_max)
                raise self.error(f"{path}: more than {most} of text", "write a dump and read that")
            if time.monotonic() > self._until:
                raise self.error(
                    f"{path}: the cluster is not read after {READ_SECONDS_MAX} s",
                    "ask nearer to it, or write a dump and read that",
                )
        return data

    def _refuse_strangers(self, reply: Reply) -> None:
        """Raise where the server does not know who asks, or not under that name."""
        if reply.status == UNAUTHORIZED:
            user = f"user {self._access.user_name}" if self._access.user_name else "this user"
            raise self.error(
                f"{user} is not known to the server (401)",
                "log in again: the token or certificate has expired, or is that of another cluster",
            )
        if reply.status == FORBIDDEN and self._impersonated and "cannot impersonate" in reply.reason():
            raise self.error(
                f"not permitted: impersonate {one_line(self._impersonated)}",
                "ask for a role with the verb impersonate on users, or leave out --as",
            )

    def _unreachable(self, error: Exception) -> InputError:
        server = one_line(str(self._access.cluster.server))
        certificate = _certificate_problem(error)
        if certificate:
            return self.error(
                f"the certificate of {server} is refused: {certificate}",
                "renew it, or correct certificate-authority in the kubeconfig or the clock",
            )
        import httpx2

        if isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout):
            what = f"{server} does not answer within {CONNECT_SECONDS_MAX} s"
        elif isinstance(error, httpx2.TimeoutException):
            what = f"{server} says nothing for {SILENT_SECONDS_MAX} s"
        else:
            reason = one_line(str(error)) or type(error).__name__
            what = f"{server} cannot be reached: {reason}"
        return self.error(what, "check the network and the server in the kubeconfig, or use --context NAME")


_FIRST_WAIT_SECONDS: Final = 0.5


def _wait_seconds(response: "httpx2.Response") -> float:
    given = response.headers.get("Retry-After", "")
    return float(given) if given.isdecimal() and len(given) < 5 else _FIRST_WAIT_SECONDS


def _certificate_problem(error: BaseException | None) -> str:
    """Return why a certificate is refused, where that is what lies behind an error."""
    seen = 0
    while error is not None and seen < 10:
        if isinstance(error, ssl.SSLCertVerificationError):
            return one_line(error.verify_message or str(error))
        error = error.__cause__ or error.__context__
        seen += 1
    return ""


def _client(access: Access) -> "httpx2.Client":
    """Return lightkube's HTTP client for an access; raises an InputError."""
    try:
        import httpx2
        from lightkube import ConfigError
        from lightkube.config.client_adapter import Client, ConnectionParams
    except ImportError:
        raise InputError(
            "reading a live cluster needs lightkube, which is not installed",
            where="-c kube",
            remedy="install ullage[kube], or write a dump and read that",
        ) from None
    timeout = httpx2.Timeout(SILENT_SECONDS_MAX, connect=CONNECT_SECONDS_MAX, pool=CONNECT_SECONDS_MAX)
    parameters = ConnectionParams(timeout=timeout, proxy=access.cluster.proxy_url)
    config = _config(access)
    try:
        return Client(config, parameters)
    except OSError as error:
        # ssl.SSLError is one too: a certificate that cannot be used.
        what = f"{error.filename}: {error.strerror}" if error.filename else f"a certificate: {error}"
    except (binascii.Error, ConfigError, httpx2.InvalidURL, ValueError, ImportError) as error:
        what = str(error)
    raise InputError(
        f"the connection cannot be made: {one_line(what)}",
        where=access.name,
        remedy="correct the cluster and the user in the kubeconfig",
    )


def _config(access: Access) -> "SingleConfig":
    """Return an access as lightkube writes it."""
    from lightkube.config.kubeconfig import SingleConfig
    from lightkube.config.models import Cluster, Context

    cluster = access.cluster
    return SingleConfig(
        access.name,
        Context(cluster=access.name),
        Cluster(
            server=cluster.server or "",
            certificate_auth=cluster.certificate_authority,
            certificate_auth_data=cluster.certificate_authority_data,
            insecure=bool(cluster.insecure_skip_tls_verify),
        ),
        _user(access),
    )


def _user(access: Access) -> Any:
    """Return lightkube's record of a user, credentials of a plugin fetched."""
    from lightkube.config.models import User

    user = _with_credential(access)
    if user.auth_provider is not None:
        raise InputError(
            "auth-provider is no longer supported by Kubernetes",
            where=f"{access.name}: user {access.user_name}",
            remedy="use a credential plugin (exec)",
        )
    return User(
        username=user.username,
        password=user.password,
        token=user.token,
        token_file=user.token_file,
        client_cert=user.client_certificate,
        client_cert_data=user.client_certificate_data,
        client_key=user.client_key,
        client_key_data=user.client_key_data,
    )


def _with_credential(access: Access) -> UserEntry:
    user = access.user
    if user.exec is None or user.token or user.token_file:
        return user
    from ullage.sources.kubernetes.exec_plugin import exec_credential

    given = exec_credential(user.exec, access.cluster)
    if given.token:
        return msgspec.structs.replace(user, token=given.token)
    certificate, key = (base64.b64encode(each.encode()).decode() for each in (given.certificate, given.key))
    return msgspec.structs.replace(user, client_certificate_data=certificate, client_key_data=key)
