"""Which kinds an API server has, and under which path each is listed.

Servers of the last years tell all of it in two answers. The hard thing is the others: they name their groups
first, and each group that matters is asked for on its own. Who carries questions and replies is left open: a
command does it by one connection after the other, a process that follows a cluster by its own client.
"""

from collections.abc import Collection, Generator, Iterator
from typing import Final, NamedTuple, TypeAlias, TypeVar

import msgspec

from ullage.model.errors import InputError
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.live_server import FORBIDDEN, JSON, OK, ApiServer, Reply

_AGGREGATED: Final = ",".join(
    (
        f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        f"{JSON};g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        JSON,
    )
)
_LIST: Final = "list"
_NAMESPACED: Final = "Namespaced"


class Listed(NamedTuple):
    """A kind as the API lists it: `apps/v1`, `deployments`."""

    kind: Kind
    version: str
    plural: str
    namespaced: bool

    @property
    def title(self) -> str:
        """What roles call it: `pods`, `deployments.apps`."""
        return f"{self.plural}.{self.kind.group}" if self.kind.group else self.plural

    def path(self, namespace: str = "") -> str:
        """Return the path of the list, of all namespaces or of one."""
        base = f"/apis/{self.version}" if self.kind.group else f"/api/{self.version}"
        return f"{base}/namespaces/{namespace}/{self.plural}" if namespace else f"{base}/{self.plural}"


class Question(NamedTuple):
    """A path that a server is asked for, and the forms of an answer that are understood."""

    path: str
    accept: str = JSON


class _Wire(msgspec.Struct, rename="camel", frozen=True):
    """A part of what the server says of itself; other fields are ignored."""


class _Name(_Wire, frozen=True):
    name: str = ""


class _KindName(_Wire, frozen=True):
    kind: str = ""


class _Resource(_Wire, frozen=True):
    resource: str = ""
    response_kind: _KindName | None = None
    scope: str = ""
    verbs: list[str] | None = None


class _Version(_Wire, frozen=True):
    version: str = ""
    resources: list[_Resource] | None = None


class _Group(_Wire, frozen=True):
    metadata: _Name = _Name()
    versions: list[_Version] | None = None


class _Groups(_Wire, frozen=True):
    kind: str = ""
    items: list[_Group] | None = None


class _OldVersion(_Wire, frozen=True):
    group_version: str = ""


class _OldGroup(_Wire, frozen=True):
    name: str = ""
    versions: list[_OldVersion] | None = None
    preferred_version: _OldVersion | None = None


class _OldGroups(_Wire, frozen=True):
    groups: list[_OldGroup] | None = None


class _OldResource(_Wire, frozen=True):
    name: str = ""
    kind: str = ""
    namespaced: bool = False
    verbs: list[str] | None = None


class _OldResources(_Wire, frozen=True):
    resources: list[_OldResource] | None = None


Record = TypeVar("Record")
Asking: TypeAlias = Generator[Question, Reply, Record]
_GROUPS: Final = msgspec.json.Decoder(_Groups)
_OLD_GROUPS: Final = msgspec.json.Decoder(_OldGroups)
_OLD_RESOURCES: Final = msgspec.json.Decoder(_OldResources)


def discover(server: ApiServer, wanted: Collection[Kind], *, accept: str = _AGGREGATED) -> dict[Kind, Listed]:
    """Return those of the kinds that the server lists, each in the version that it prefers."""
    asking = questions(server.name, wanted, accept)
    question = next(asking)
    while True:
        try:
            question = asking.send(server.get(question.path, accept=question.accept))
        except StopIteration as end:
            return dict[Kind, Listed](end.value)


def questions(name: str, wanted: Collection[Kind], accept: str = _AGGREGATED) -> Asking[dict[Kind, Listed]]:
    """Yield what to ask a server, be sent its replies, and return the kinds that it lists.

    Raises an InputError that names it.
    """
    found: dict[Kind, Listed] = {}
    for path in ("/api", "/apis"):
        groups = _decoded(name, (yield from _answered(name, path, accept)), _GROUPS)
        if groups.kind == "APIGroupDiscoveryList":
            listed = list(_listed(groups))
        else:
            listed = yield from _listed_one_by_one(name, path, {kind.group for kind in wanted})
        for each in listed:
            if each.kind in wanted:
                found.setdefault(each.kind, each)
    return found


def _listed(groups: _Groups) -> Iterator[Listed]:
    for group in groups.items or ():
        name = group.metadata.name
        for version in group.versions or ():
            full = f"{name}/{version.version}" if name else version.version
            for each in version.resources or ():
                if each.response_kind is not None and _LIST in (each.verbs or ()):
                    kind = Kind(name, each.response_kind.kind)
                    yield Listed(kind, full, each.resource, each.scope == _NAMESPACED)


def _listed_one_by_one(name: str, path: str, wanted: Collection[str]) -> Asking[list[Listed]]:
    """Ask a server that does not tell all at once what it lists."""
    found: list[Listed] = []
    versions = ["v1"] if path == "/api" else (yield from _versions(name, path, wanted))
    for version in versions:
        reply = yield Question(f"{path}/{version}")
        if reply.status != OK:
            continue  # a group whose own server is away, or which is gone again
        for each in _decoded(name, reply, _OLD_RESOURCES).resources or ():
            if _LIST in (each.verbs or ()) and "/" not in each.name:
                group = version.rpartition("/")[0]
                found.append(Listed(Kind(group, each.kind), version, each.name, each.namespaced))
    return found


def _versions(name: str, path: str, wanted: Collection[str]) -> Asking[list[str]]:
    """Ask for the versions of the groups that matter, the preferred one of each first."""
    groups = _decoded(name, (yield from _answered(name, path, JSON)), _OLD_GROUPS)
    found: dict[str, None] = {}
    for group in groups.groups or ():
        if group.name in wanted:
            preferred = [group.preferred_version] if group.preferred_version else []
            found.update(dict.fromkeys(each.group_version for each in (*preferred, *(group.versions or ()))))
    return [each for each in found if each]


def _answered(name: str, path: str, accept: str) -> Asking[Reply]:
    """Ask for a path that every server has."""
    reply = yield Question(path, accept)
    if reply.status == FORBIDDEN:
        raise InputError(
            f"not permitted: get {path} ({reply.reason()})",
            where=name,
            remedy="ask for the role system:discovery, which everybody has by default",
        )
    if reply.status != OK:
        raise InputError(
            f"{path} answers {reply.reason()}",
            where=name,
            remedy="check that the server in the kubeconfig is a Kubernetes API",
        )
    return reply


def _decoded(name: str, reply: Reply, decoder: msgspec.json.Decoder[Record]) -> Record:
    try:
        return decoder.decode(reply.data)
    except (msgspec.DecodeError, RecursionError):
        raise InputError(
            "its answer is none of a Kubernetes API", where=name, remedy="check the server in the kubeconfig"
        ) from None
