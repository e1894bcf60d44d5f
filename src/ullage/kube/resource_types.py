"""ResourceTypes of a cluster: what is to be known of resources that are not built in.

Every amount is read by them, so they are read before all else, and a process whose types have changed reads
the whole cluster anew. The hard thing is one that is wrong: the others hold without it, and why it does not
is kept.
"""

from typing import Any, Final

from msgspec import Raw

from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.api.client import ApiClient, RefusedError
from ullage.sources.kubernetes.api.connection import BrokenError
from ullage.sources.kubernetes.api.watching import items_of
from ullage.sources.kubernetes.faults import Fault, decoded
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.object_kinds import OWN_GROUP
from ullage.sources.kubernetes.type_objects import OBJECT, with_type
from ullage.sources.places import one_line

RESOURCE_TYPE: Final = Kind(OWN_GROUP, "ResourceType")
_PATH: Final = f"/apis/{OWN_GROUP}/v1/resourcetypes"


class TypeObjects:
    """All ResourceTypes that are there."""

    def __init__(self) -> None:
        self._specs: dict[str, Raw] = {}
        self.problems: dict[str, str] = {}

    def put(self, content: Any) -> None:
        """Take one that is new or changed."""
        found = OBJECT.decode(content)
        self._specs[found.metadata.name] = found.spec.copy()

    def drop(self, name: str) -> None:
        """Forget one that is gone."""
        self._specs.pop(name, None)

    def names(self) -> set[str]:
        """Return the names of all that are there."""
        return set(self._specs)

    def types(self) -> ResourceTypes:
        """Return what they say together; of two that contradict each other the first by name holds."""
        self.problems = {}
        return self._together(self.problems)

    def refuse_wrong(self, content: Any) -> None:
        """Raise a Fault where one that is written cannot hold beside the others that hold."""
        found = decoded(OBJECT, content)
        with_type(self._together({}, without=found.metadata.name), found.spec)

    def _together(self, problems: dict[str, str], without: str = "") -> ResourceTypes:
        good = ResourceTypes()
        for name, spec in sorted(self._specs.items()):
            if name == without:
                continue
            try:
                good = with_type(good, spec)
            except Fault as fault:
                problems[name] = str(fault.alone())
        return good


async def types_of_cluster(client: ApiClient) -> TypeObjects:
    """Read the ResourceTypes of a cluster; there are none where it does not know the kind.

    Raises an InputError.
    """
    found = TypeObjects()
    try:
        listed = await items_of(client, _PATH)
    except RefusedError as error:
        if error.is_absent:
            return found
        raise InputError(f"ResourceTypes cannot be read: {error}", remedy="see its rights") from None
    except BrokenError as error:
        what = f"ResourceTypes cannot be read: {one_line(str(error))}"
        raise InputError(what, remedy="see whether the API server answers") from None
    for content in listed:
        found.put(content)
    return found
