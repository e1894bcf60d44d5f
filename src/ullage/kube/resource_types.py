"""ResourceTypes of a cluster: what is to be known of resources that are not built in.

Every amount is read by them, so they are read before all else, and a process whose types have changed reads
the whole cluster anew. The hard thing is one that is wrong: the others hold without it, and why it does not
is kept.
"""

from typing import Any, Final

import msgspec

from ullage.model.errors import InputError
from ullage.model.resources import ResourceType, ResourceTypes
from ullage.sources.decode_errors import InnerError
from ullage.sources.kubernetes.api.client import ApiClient, RefusedError
from ullage.sources.kubernetes.api.connection import BrokenError
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.object_kinds import OWN_GROUP
from ullage.sources.kubernetes.wire import Named, Wire
from ullage.sources.own_hooks import read_types
from ullage.sources.places import one_line, path_text

RESOURCE_TYPE: Final = Kind(OWN_GROUP, "ResourceType")
_PATH: Final = f"/apis/{OWN_GROUP}/v1/resourcetypes"


class _TypeObject(Wire):
    metadata: Named
    spec: dict[str, Any] | None = None


class _TypeObjects(Wire):
    items: list[msgspec.Raw] | None = None


_OBJECT: Final = msgspec.json.Decoder(_TypeObject)
_OBJECTS: Final = msgspec.json.Decoder(_TypeObjects)


class TypeObjects:
    """All ResourceTypes that are there."""

    def __init__(self) -> None:
        self._specs: dict[str, dict[str, Any]] = {}
        self.problems: dict[str, str] = {}

    def put(self, content: Any) -> None:
        """Take one that is new or changed."""
        found = _OBJECT.decode(content)
        self._specs[found.metadata.name] = found.spec or {}

    def drop(self, name: str) -> None:
        """Forget one that is gone."""
        self._specs.pop(name, None)

    def names(self) -> set[str]:
        """Return the names of all that are there."""
        return set(self._specs)

    def types(self) -> ResourceTypes:
        """Return what they say together; of two that contradict each other the first by name holds."""
        self.problems = {}
        good: tuple[ResourceType, ...] = ()
        for name, spec in sorted(self._specs.items()):
            try:
                good = ResourceTypes((*good, *_read(spec))).added()
            except InputError as error:
                self.problems[name] = str(error)
        return ResourceTypes(good)


async def types_of_cluster(client: ApiClient) -> TypeObjects:
    """Read the ResourceTypes of a cluster; there are none where it does not know the kind.

    Raises an InputError.
    """
    found = TypeObjects()
    try:
        listed = _OBJECTS.decode(await client.get(_PATH))
    except RefusedError as error:
        if error.is_absent:
            return found
        raise InputError(f"ResourceTypes cannot be read: {error}", remedy="see its rights") from None
    except (BrokenError, msgspec.DecodeError) as error:
        what = f"ResourceTypes cannot be read: {one_line(str(error))}"
        raise InputError(what, remedy="see whether the API server answers") from None
    for content in listed.items or ():
        found.put(content)
    return found


def _read(spec: dict[str, Any]) -> tuple[ResourceType, ...]:
    """Return the type of one object; none where it is built in. Raises an InputError."""
    if "name" not in spec:
        raise InputError("no resource is named", remedy="add spec.name")
    asked = spec.get("defaultRequest")
    written = {**spec, "defaultRequest": str(asked)} if isinstance(asked, int) else spec
    try:
        return read_types([written]).added()
    except InnerError as error:
        where = path_text(("spec", *error.path[1:]))
        raise InputError(error.what, where=where, remedy=error.remedy) from None
