"""Taking an installation off a cluster, without taking along what people have put into it.

A definition goes with all its objects, so one that has any stays unless a purge is asked for; those of nos
and csi-baremetal, which others may use by now, stay in any case without one. A namespace goes last, and only
if it was made here and nothing of others runs in it.
"""

from typing import Final

from ullage.kube.install.applying import (
    FOREIGN_NAMES,
    Done,
    delete_object,
    found_objects,
    is_listed,
    read_object,
)
from ullage.kube.install.choices import (
    CERTIFICATE_SECRET,
    COMPONENTS,
    NAME,
    NAME_LABEL,
    Document,
    component_name,
)
from ullage.kube.install.places import DEFINITION, NAMESPACE, PLACES, Identity, identity
from ullage.sources.kubernetes.api.client import ApiClient, segment

_OF_OTHERS: Final = f"{NAME_LABEL}!={NAME}"


async def removal(client: ApiClient, *, purge: bool) -> list[Done]:
    """Return what would be deleted, and what would be kept and why; nothing is changed."""
    found = await found_objects(client)
    namespaces = {item["metadata"].get("namespace", "") for item in found} - {""}
    made_by_processes = [
        Identity(kind, namespace, name)
        for namespace in sorted(namespaces)
        for kind, name in (
            ("Secret", CERTIFICATE_SECRET),
            *(("Lease", component_name(component)) for component in COMPONENTS),
        )
    ]
    left = [each for each in made_by_processes if await read_object(client, each.path) is not None]
    planned = [await _judged(client, item, purge=purge) for item in found]
    planned += [Done("deleted", each) for each in left]
    order = list(PLACES)
    return sorted(planned, key=lambda each: (order.index(each.object.kind), each.object))


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
        if await is_listed(client, item["spec"], empty=False):
            return Done("kept", which, "it has objects; --purge deletes it with them")
    if which.kind == NAMESPACE and await _is_used(client, which.name):
        return Done("kept", which, "something of others is in it")
    return Done("deleted", which)


async def _is_used(client: ApiClient, namespace: str) -> bool:
    """Whether a namespace has anything of others that runs or stores."""
    for plural in ("pods", "persistentvolumeclaims"):
        query = {"limit": "1", "labelSelector": _OF_OTHERS}
        found = await read_object(client, f"/api/v1/namespaces/{segment(namespace)}/{plural}", query)
        if found is not None and found.get("items"):
            return True
    return False
