"""What objects whose status is ours to write say at present."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec


class Stated(NamedTuple):
    """What the status of an object says at present, of which version of its spec, and who owns the object."""

    status: Mapping[str, Any]
    generation: int
    uid: str = ""
    owner: str = ""


class _Owner(msgspec.Struct, rename="camel"):
    kind: str = ""
    uid: str = ""


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    namespace: str = ""
    resource_version: str = ""
    generation: int = 0
    uid: str = ""
    owner_references: list[_Owner] | None = None

    @property
    def key(self) -> str:
        """What tells it from other objects of its kind."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class _Object(msgspec.Struct, rename="camel"):
    metadata: _Metadata
    status: dict[str, Any] | None = None

    @property
    def stated(self) -> Stated:
        """What it says; its owner is the Node that it names as one."""
        metadata = self.metadata
        owners = (each.uid for each in metadata.owner_references or () if each.kind == "Node")
        return Stated(self.status or {}, metadata.generation, metadata.uid, next(owners, ""))


OBJECT: Final = msgspec.json.Decoder(_Object)
