"""The ledger of a cluster: which cluster is meant, and the verbs of its API server that the ledger needs.

The hard thing is what a refusal means. Somebody was first: then another step has the number. The server is
busy, away or half done: then nobody knows, and it is asked again. All else stays so and is told.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ullage.model.errors import InputError
from ullage.stores.kubernetes_objects import PLANS, DoubtError, ExistsError
from ullage.stores.protocol import StoreUnavailableError

if TYPE_CHECKING:
    from ullage.sources.kubernetes.api.client import ApiClient, RefusedError
    from ullage.stores.kubernetes import KubernetesLedger

CLUSTER: Final = "kube"
"""The name of the ledger that is kept in the current cluster; kube:CONTEXT is that of another one."""
PAGE_OBJECTS: Final = 200
LISTS_MAX: Final = 5
_CONFLICT, _GONE, _TOO_MANY, _FORBIDDEN, _ABSENT, _SERVER_ERRORS = 409, 410, 429, 403, 404, 500
_EXISTS: Final = "AlreadyExists"


class ClusterPlace(NamedTuple):
    """A ledger that is kept in a cluster: its context, its kubeconfig, and as whom it is used."""

    context: str = ""
    kubeconfig: str = ""
    as_user: str = ""

    @property
    def name(self) -> str:
        """How it is named on a command line."""
        return f"{CLUSTER}:{self.context}" if self.context else CLUSTER


class _ListMetadata(msgspec.Struct):
    continue_: str | None = msgspec.field(default=None, name="continue")


class _Page(msgspec.Struct):
    metadata: _ListMetadata
    items: list[msgspec.Raw] | None = None


_PAGE: Final = msgspec.json.Decoder(_Page)


class ApiPlans:
    """Plans of a cluster, as a ledger uses them."""

    def __init__(self, client: "ApiClient") -> None:
        self._client = client
        self.name = client.name

    def server_seconds(self) -> int | None:
        """Return the time as the API server has it; None before its first answer."""
        return self._client.server_seconds()

    async def create(self, document: dict[str, Any]) -> None:
        """Create an object; an ExistsError where there is one of its name."""
        await self._asked("create", "POST", PLANS, document)

    async def get(self, name: str) -> bytes | None:
        """Return an object as it is now; None where there is none."""
        return await self._asked("get", "GET", f"{PLANS}/{name}")

    async def delete(self, name: str) -> None:
        """Delete an object, if it is there."""
        await self._asked("delete", "DELETE", f"{PLANS}/{name}")

    async def read_all(self) -> list[bytes]:
        """Return all objects as they were at one moment; a list that the server lost is begun again."""
        for _ in range(LISTS_MAX):
            found = await self._listed()
            if found is not None:
                return found
        raise DoubtError(f"the list of plans was lost {LISTS_MAX} times")

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _listed(self) -> list[bytes] | None:
        found: list[bytes] = []
        token = ""
        while True:
            query = {"limit": str(PAGE_OBJECTS), **({"continue": token} if token else {})}
            content = await self._asked("list", "GET", PLANS, query=query)
            if content is None:
                return None
            try:
                page = _PAGE.decode(content)
            except msgspec.DecodeError as error:
                raise DoubtError(f"a list that cannot be read: {error}") from None
            found += map(bytes, page.items or ())
            token = page.metadata.continue_ or ""
            if not token:
                return found

    async def _asked(
        self,
        verb: str,
        method: str,
        path: str,
        document: Any = None,
        query: Mapping[str, str] | None = None,
    ) -> bytes | None:
        """Return the answer; None where there is no such object, or no such list any more."""
        from ullage.sources.kubernetes.api.client import RefusedError
        from ullage.sources.kubernetes.api.connection import BrokenError

        try:
            return await self._client.request(method, path, document, query=query)
        except BrokenError as error:
            raise DoubtError(str(error)) from None
        except RefusedError as error:
            if verb in {"get", "delete"} and error.status == _ABSENT:
                return None
            if verb == "list" and error.status == _GONE:
                return None
            raise _meaning(error, verb, self.name) from None


def _meaning(error: "RefusedError", verb: str, where: str) -> Exception:
    if error.status == _CONFLICT and error.reason == _EXISTS:
        return ExistsError(error.message)
    if error.status >= _SERVER_ERRORS or error.status in {_CONFLICT, _TOO_MANY}:
        return DoubtError(str(error))
    if error.status == _ABSENT:
        return StoreUnavailableError(
            "the cluster has no plans.ullage.dev", where=where, remedy="run ullage kube install --apply"
        )
    if error.status == _FORBIDDEN:
        remedy = f"have somebody give you the right to {verb} plans.ullage.dev"
        return StoreUnavailableError(error.message, where=where, remedy=remedy)
    return StoreUnavailableError(str(error), where=where, remedy="see what the API server says")


def cluster_place(named: str) -> ClusterPlace | None:
    """Return the cluster that a ledger's name means; None where it is a file."""
    if named == CLUSTER:
        return ClusterPlace()
    kind, _, context = named.partition(":")
    return ClusterPlace(context) if kind == CLUSTER and context else None


def open_ledger(place: ClusterPlace) -> "KubernetesLedger":
    """Return the ledger of a cluster; raises an InputError."""
    from ullage.sources.given import of_our_own
    from ullage.sources.kubernetes.kubeconfig import find_access
    from ullage.stores.kubernetes import KubernetesLedger

    try:
        from ullage.sources.kubernetes.api.client import ApiClient
    except ModuleNotFoundError as missing:
        raise InputError(
            f"the ledger of a cluster needs {missing.name}, which is not installed",
            remedy="install ullage[kube], or name a file with --ledger",
        ) from None
    with of_our_own():  # whoever is answered names no ledger
        access = find_access(place.context, place.kubeconfig)
    if place.as_user:
        access = access._replace(user=msgspec.structs.replace(access.user, impersonate=place.as_user))
    return KubernetesLedger(lambda: ApiPlans(ApiClient(access)))
