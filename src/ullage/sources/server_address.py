"""The address of a server of ours, and of one of its clusters: `https://HOST:PORT[/v1/clusters/NAME]`.

No secret may stand in it: command lines are seen by others, and messages quote them.
"""

from typing import Final, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from ullage.model.errors import InputError

PORTS: Final = {"http": 80, "https": 443}
_CLUSTERS: Final = "/v1/clusters/"
_REMEDY: Final = "write http://HOST:PORT or http://HOST:PORT/v1/clusters/NAME"


class Address(NamedTuple):
    """Where a server listens, and which of its clusters is meant; without a name, the only one."""

    scheme: str
    host: str
    port: int
    cluster: str = ""

    @property
    def name(self) -> str:
        """What to call the server in messages."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def parse_address(text: str) -> Address:
    """Return the address that a text is."""
    try:
        parts = urlsplit(text)
        host, port, has_secret = parts.hostname or "", parts.port, "@" in parts.netloc
    except ValueError:
        raise InputError("this is no address of a server", remedy=_REMEDY) from None
    if has_secret:
        raise InputError(
            "an address with a user or a password in it",
            where=f"{parts.scheme}://…@{host}",
            remedy="give a token in $ULLAGE_TOKEN or with --token-file",
        )
    path = parts.path.removesuffix("/")
    cluster = unquote(path.removeprefix(_CLUSTERS)) if path.startswith(_CLUSTERS) else ""
    is_path = not path or (bool(cluster) and "/" not in cluster)
    if parts.scheme not in PORTS or not host or not is_path or parts.query or parts.fragment:
        raise InputError("this is no address of a server", where=text[:200], remedy=_REMEDY)
    return Address(parts.scheme, host, port or PORTS[parts.scheme], cluster)


def cluster_path(cluster: str) -> str:
    """Return the path of a cluster, below which its questions are."""
    return f"{_CLUSTERS}{quote(cluster, safe='')}"
