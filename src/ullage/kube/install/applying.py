"""Putting an installation on a cluster: server-side apply, so that a second time changes nothing.

Fields that an older version had applied and this one does not name are taken back by the server. Objects
that this version does not have any more are found by their labels. The hard things are what is not ours:
definitions of nos and csi-baremetal that are there already, a namespace that somebody else made, and an
installation by Helm, which only Helm may change.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from ullage.kube.install.choices import FIELD_MANAGER, MANAGED_LABEL, NAME, NAME_LABEL, Document
from ullage.kube.install.foreign_kinds import FOREIGN
from ullage.kube.install.places import DEFINITION, NAMESPACE, PLACES, Identity, identity
from ullage.model.errors import InputError
from ullage.sources.kubernetes.api.client import ApiClient, RefusedError

Action = Literal["created", "changed", "unchanged", "kept", "deleted"]
SELECTOR: Final = f"{NAME_LABEL}={NAME},{MANAGED_LABEL}={NAME}"
SERVED_SECONDS_MAX: Final = 60
POLL_SECONDS: Final = 0.1
FOREIGN_NAMES: Final = frozenset(names.definition for names in FOREIGN)
OBJECTS_MAX: Final = 10_000
_FIXED: Final[Mapping[str, tuple[str, ...]]] = {
    "ClusterRoleBinding": ("roleRef",),
    "RoleBinding": ("roleRef",),
    "Deployment": ("spec", "selector"),
}
"""Fields that a server does not let anybody change: where one differs, the object is made anew."""
_IN_BACKGROUND: Final = {"propagationPolicy": "Background"}


class Done(NamedTuple):
    """What became of one object."""

    action: Action
    object: Identity
    note: str = ""


async def apply_objects(client: ApiClient, documents: Sequence[Document]) -> list[Done]:
    """Have a cluster hold these objects, and no others of an installation; raises an InputError."""
    await refuse_others(client)
    definitions = [each for each in documents if each["kind"] == DEFINITION]
    rest = [each for each in documents if each["kind"] != DEFINITION]
    done = [await _apply(client, each) for each in definitions]
    for each in definitions:
        await _served(client, each)
    done += [await _apply(client, each) for each in rest]
    return done + await _pruned(client, {identity(each) for each in documents})


async def found_objects(client: ApiClient) -> list[Document]:
    """Return all objects that an installation has made, in the order in which they are taken away.

    Those that are on their way out already are left out.
    """
    return [
        {**item, "kind": kind}
        for kind, place in PLACES.items()
        for item in await _listed(client, place.everywhere)
        if not _is_leaving(item)
    ]


async def read_object(
    client: ApiClient, path: str, query: Mapping[str, str] | None = None
) -> Document | None:
    """Return an object or a list; None where there is none."""
    try:
        found: Document = msgspec.json.decode(await client.get(path, query))
    except RefusedError as refused:
        if refused.is_absent:
            return None
        raise
    return found


async def delete_object(client: ApiClient, which: Identity) -> None:
    """Delete an object, unless it is gone already."""
    try:
        await client.delete(which.path, _IN_BACKGROUND)
    except RefusedError as refused:
        if not refused.is_absent:
            raise


def is_ours(document: Document) -> bool:
    """Whether an object was made by `ullage kube install`."""
    return (document["metadata"].get("labels") or {}).get(MANAGED_LABEL) == NAME


async def _apply(client: ApiClient, document: Document) -> Done:
    which = identity(document)
    before = await read_object(client, which.path)
    if before is not None and not is_ours(before):
        if which.kind == DEFINITION and which.name in FOREIGN_NAMES:
            return Done("kept", which, "it was there before")
        if which.kind == NAMESPACE:
            return Done("kept", which, "it was there before")
    if before is not None and (_is_leaving(before) or _cannot_become(before, document)):
        await delete_object(client, which)
        await _gone(client, which)
        before = None
    after: Document = msgspec.json.decode(
        await client.apply(which.path, document, field_manager=FIELD_MANAGER, force=True)
    )
    if before is None:
        return Done("created", which)
    same = before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]
    return Done("unchanged" if same else "changed", which)


def _is_leaving(document: Document) -> bool:
    return "deletionTimestamp" in document["metadata"]


def _cannot_become(before: Document, wanted: Document) -> bool:
    path = _FIXED.get(wanted["kind"], ())
    return bool(path) and _at(before, path) != _at(wanted, path)


def _at(document: Any, path: Sequence[str]) -> Any:
    for name in path:
        document = document.get(name, {})
    return document


async def refuse_others(client: ApiClient) -> None:
    """Raise where Helm, or anything else, has installed the same: two owners would undo each other."""
    place = PLACES["Deployment"]
    for item in await _listed(client, place.everywhere, f"{NAME_LABEL}={NAME},{MANAGED_LABEL}!={NAME}"):
        by = (item["metadata"].get("labels") or {}).get(MANAGED_LABEL) or "somebody else"
        raise InputError(
            f"{identity(item, 'Deployment')} is managed by {by}",
            where=client.name,
            remedy=f"upgrade or uninstall with {by}",
        )


async def _served(client: ApiClient, definition: Document) -> None:
    """Wait until the server has established a kind, and gives its list: its storage comes a little later."""
    which, until = identity(definition), time.monotonic() + SERVED_SECONDS_MAX
    while True:
        found = await read_object(client, which.path) or definition
        conditions = (found.get("status") or {}).get("conditions") or []
        stated = {each["type"]: each["status"] for each in conditions}
        if stated.get("Established") == "True" and await is_listed(client, found["spec"]):
            return
        if time.monotonic() > until:
            told = ", ".join(each.get("message", "") for each in conditions if each["status"] == "False")
            raise InputError(
                f"{which} is not served after {SERVED_SECONDS_MAX} s{': ' if told else ''}{told}",
                where=client.name,
                remedy="see the API server's log",
            )
        await asyncio.sleep(POLL_SECONDS)


async def is_listed(client: ApiClient, spec: Mapping[str, Any], *, empty: bool = True) -> bool:
    """Whether a kind of a definition is served; and, unless it may be empty, has objects."""
    served = next((each["name"] for each in spec["versions"] if each.get("served")), "")
    path = f"/apis/{spec['group']}/{served}/{spec['names']['plural']}"
    found = await read_object(client, path, {"limit": "1"})
    return found is not None and (empty or bool(found.get("items")))


async def _gone(client: ApiClient, which: Identity) -> None:
    until = time.monotonic() + SERVED_SECONDS_MAX
    while await read_object(client, which.path) is not None:
        if time.monotonic() > until:
            raise InputError(
                f"{which} is not gone after {SERVED_SECONDS_MAX} s",
                where=client.name,
                remedy="see its finalizers",
            )
        await asyncio.sleep(POLL_SECONDS)


async def _pruned(client: ApiClient, wanted: set[Identity]) -> list[Done]:
    """Delete objects of ours that are wanted no more; definitions and namespaces hold what others made."""
    done = []
    for item in await found_objects(client):
        which = identity(item)
        if which not in wanted and which.kind not in {DEFINITION, NAMESPACE}:
            await delete_object(client, which)
            done.append(Done("deleted", which, "not part of what is installed now"))
    return done


async def _listed(client: ApiClient, path: str, labels: str = SELECTOR) -> list[Document]:
    query = {"labelSelector": labels, "limit": str(OBJECTS_MAX)}
    found: Document = msgspec.json.decode(await client.get(path, query))
    items: list[Document] = found.get("items") or []
    return items
