"""ResourceTypes as Kubernetes objects: each states one resource that is not built in.

The hard thing is one that is wrong: what it says is read on its own, so that it still has a name, and whoever
reads it decides whether it is refused or left out.
"""

from typing import Any, Final

import msgspec
from msgspec import Raw

from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.sources.decode_errors import InnerError
from ullage.sources.kubernetes.faults import Fault, decoded
from ullage.sources.kubernetes.wire import NULL, Named, Wire
from ullage.sources.own_hooks import read_types


class TypeObject(Wire):
    """A ResourceType."""

    metadata: Named
    spec: Raw = NULL


OBJECT: Final = msgspec.json.Decoder(TypeObject)
_SPEC: Final = msgspec.json.Decoder(dict[str, Any] | None)


def with_type(types: ResourceTypes, spec: Raw) -> ResourceTypes:
    """Return types and the one that an object states; none is added where it is built in. Raises a Fault."""
    try:
        more = read_types(_written(decoded(_SPEC, spec) or {})).added()
        return ResourceTypes((*types.added(), *more)) if more else types
    except Fault as fault:
        raise fault.under("spec") from None
    except InnerError as error:
        raise Fault(InputError(error.what, remedy=error.remedy), ("spec", *error.path)) from None
    except InputError as error:
        raise Fault(error, ("spec",)) from None


def _written(stated: dict[str, Any]) -> dict[str, Any]:
    """Return what is stated as our documents write it: an amount may be a number in Kubernetes."""
    if "name" not in stated:
        raise InputError("no resource is named", remedy="add spec.name")
    asked = stated.get("defaultRequest")
    is_number = isinstance(asked, int | float) and not isinstance(asked, bool)
    return {**stated, "defaultRequest": str(asked)} if is_number else stated
