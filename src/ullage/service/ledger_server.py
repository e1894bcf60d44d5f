"""The ledger of a cluster that a server keeps, used by whoever asks that server."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.model.errors import InputError
from ullage.sources.server_access import is_server, reached
from ullage.stores.protocol import MovedError, StoreUnavailableError

if TYPE_CHECKING:
    from ullage.sources.server_client import RemoteCluster
    from ullage.stores.remote import RemoteLedger

MOVED: Final = 412
BUSY: Final = 503


class ServerPlace(NamedTuple):
    """A ledger that a server keeps: the address of the cluster that it is of."""

    address: str

    @property
    def name(self) -> str:
        """How it is named on a command line."""
        return self.address


def server_place(named: str) -> ServerPlace | None:
    """Return the server that a ledger's name means; None where it is no address."""
    return ServerPlace(named.removesuffix("/")) if is_server(named) else None


def cluster_name(place: ServerPlace) -> str:
    """Return what the server calls the cluster; raises an InputError where none of several is named."""
    from ullage.sources.server_address import parse_address
    from ullage.sources.server_client import remote_cluster

    return parse_address(place.address).cluster or remote_cluster(place.address).name


def open_server_ledger(place: ServerPlace) -> "RemoteLedger":
    """Return the ledger of a server's cluster; raises an InputError."""
    from ullage.sources.server_client import remote_cluster
    from ullage.stores.remote import RemoteLedger

    return RemoteLedger(_Asking(remote_cluster(place.address)))


class _Asking:
    """The requests of a ledger, and what their refusals mean to it."""

    def __init__(self, cluster: "RemoteCluster") -> None:
        self._cluster = cluster

    def __call__(
        self,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str | bytes] | None = None,
        body: bytes | None = None,
    ) -> bytes:
        from ullage.sources.server_client import RefusedError

        asked = dict(query)
        if body is not None:
            read = reached().revisions.get((self._cluster.client.address.name, self._cluster.name))
            asked |= {} if read is None else {"clusterRevision": str(read)}
        method = "GET" if body is None else "POST"
        try:
            return self._cluster.ask(method, f"ledger/{path}", asked, headers, body).body
        except RefusedError as error:
            kinds = {MOVED: MovedError, BUSY: StoreUnavailableError}
            kind = kinds.get(error.status, InputError)
            raise kind(error.what, where=error.where, remedy=error.remedy) from None

    def unreadable(self, what: str) -> InputError:
        """Return why an answer cannot be used."""
        return self._cluster.client.unreadable(what)
