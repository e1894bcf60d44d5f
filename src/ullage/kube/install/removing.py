"""Taking an installation off a cluster, without taking along what people have put into it.

A definition goes with all its objects, so one that has any stays unless a purge is asked for, but for kinds
whose objects our processes make (NodeCapacity); those of nos and csi-baremetal, which others may use by now,
stay in any case without one. A namespace goes last, and only if it was made here and nothing of others is in
it, whatever its kind: the server is asked which there are.
"""

from collections.abc import AsyncIterator, Collection
from typing import Final

from ullage.kube.install.applying import (
    FOREIGN_NAMES,
    Done,
    delete_object,
    found_objects,
    is_listed,
    read_object,
    refuse_others,
)
from ullage.kube.install.choices import (
    CERTIFICATE_SECRET,
    COMPONENTS,
    NAME,
    NAME_LABEL,
    Document,
    component_name,
)
from ullage.kube.install.own_kinds import MADE_BY_PROCESSES, OWN
from ullage.kube.install.places import DEFINITION, NAMESPACE, PLACES, Identity, identity
from ullage.sources.kubernetes.api.client import ApiClient, RefusedError, segment
from ullage.sources.places import one_line

_OF_OTHERS: Final = {"labelSelector": f"{NAME_LABEL}!={NAME}", "limit": "50"}
_MADE_BY_PROCESSES: Final = (
    ("Secret", CERTIFICATE_SECRET),
    *(("Lease", component_name(component)) for component in COMPONENTS),
)
_IN_EVERY_NAMESPACE: Final = frozenset((("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")))
_FLEETING: Final = frozenset(("Event", "PodMetrics"))
"""Kinds that say something about others, and go by themselves."""


async def removal(client: ApiClient, *, purge: bool) -> list[Done]:
    """Return what would be deleted, and what would be kept and why; nothing is changed.

    Raises where Helm, or anything else, has installed the same: what runs by it is for that to take away.
    What it has left behind of our kinds is purged as ours.
    """
    await refuse_others(client)
    found = await found_objects(client)
    if purge:
        found += await _left_behind(client, {identity(each) for each in found})
    namespaces = {item["metadata"].get("namespace", "") for item in found} - {""}
    made_by_processes = [
        Identity(kind, namespace, name)
        for namespace in sorted(namespaces)
        for kind, name in _MADE_BY_PROCESSES
    ]
    left = [each for each in made_by_processes if await read_object(client, each.path) is not None]
    planned = [await _judged(client, item, purge=purge) for item in found]
    planned += [Done("deleted", each) for each in left]
    order = list(PLACES)
    return sorted(planned, key=lambda each: (order.index(each.object.kind), each.object))


async def _left_behind(client: ApiClient, known: Collection[Identity]) -> list[Document]:
    """Return definitions of our kinds that are not known: Helm keeps them, as ours."""
    found = []
    for names in OWN:
        which = Identity(DEFINITION, "", names.definition)
        item = await read_object(client, which.path) if which not in known else None
        if item is not None:
            found.append({**item, "kind": DEFINITION})
    return found


async def remove(client: ApiClient, planned: list[Done]) -> None:
    """Delete what is to be deleted, in order."""
    for each in planned:
        if each.action == "deleted":
            await delete_object(client, each.object)


async def _judged(client: ApiClient, item: Document, *, purge: bool) -> Done:
    which = identity(item)
    if which.kind == DEFINITION and not purge:
        if which.name in FOREIGN_NAMES:
            return Done("kept", which, "others may use it; --purge deletes it with its objects")
        if which.name not in MADE_BY_PROCESSES and await is_listed(client, item["spec"], empty=False):
            return Done("kept", which, "it has objects; --purge deletes it with them")
    why = await _why_used(client, which.name) if which.kind == NAMESPACE else ""
    return Done("kept", which, why) if why else Done("deleted", which)


async def _why_used(client: ApiClient, namespace: str) -> str:
    """Return what of others is in a namespace; one whose content cannot be read is kept, too."""
    try:
        async for path, kind in _lists_of(client, namespace):
            found = await read_object(client, path, _OF_OTHERS)
            for item in (found or {}).get("items") or ():
                name = item["metadata"]["name"]
                if (kind, name) not in {*_MADE_BY_PROCESSES, *_IN_EVERY_NAMESPACE}:
                    return f"{kind} {one_line(name)} of others is in it"
    except RefusedError as refused:
        return f"what is in it cannot be read: {one_line(str(refused))}"
    return ""


async def _lists_of(client: ApiClient, namespace: str) -> AsyncIterator[tuple[str, str]]:
    """Yield the path of each list that a namespace has, and the kind of its objects."""
    groups = (await read_object(client, "/apis") or {}).get("groups") or ()
    versions = ["/api/v1", *(f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups)]
    for version in versions:
        served = (await read_object(client, version) or {}).get("resources") or ()
        for each in served:
            if each["namespaced"] and "list" in each["verbs"] and each["kind"] not in _FLEETING:
                yield f"{version}/namespaces/{segment(namespace)}/{each['name']}", each["kind"]
