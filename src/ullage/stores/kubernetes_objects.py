"""A ledger as objects of a Kubernetes cluster: each step is one Plan, and so is each part of a kept state.

The name of a step is its revision, and a name can be given once: of two who create the next step at the same
time the API server lets one, and etcd has it when it says so. That is the whole order of the ledger. What is
needed of a cluster for it are four verbs; whoever opens a ledger brings them.
"""

from typing import Any, Final, NamedTuple, Protocol

import msgspec

from ullage.model.errors import InputError
from ullage.stores.codec import HASH_BYTES, chained
from ullage.stores.protocol import StoreUnavailableError

GROUP: Final = "ullage.dev"
VERSION: Final = "v1"
KIND: Final = "Plan"
PLANS: Final = f"/apis/{GROUP}/{VERSION}/plans"
"""The path of the collection."""
OBJECT_BYTES_MAX: Final = 1 << 20
"""Of one object; API servers and etcd take a little more."""
STATE_CHARACTERS_MAX: Final = 900_000
"""Of a kept state in one object; it is compressed and written in letters, so that each is one byte."""
_DIGITS: Final = 16
_DIGEST_LETTERS: Final = 12
_LABELS: Final = {
    "app.kubernetes.io/name": "ullage",
    "app.kubernetes.io/component": "ledger",
    "app.kubernetes.io/managed-by": "ullage",
}


class ExistsError(Exception):
    """There is an object of that name."""


class DoubtError(Exception):
    """There was no answer: what was asked for may have been done, or may still be."""


class PlanObjects(Protocol):
    """The verbs. Each raises a DoubtError, or a StoreUnavailableError that stays so if asked again."""

    @property
    def name(self) -> str:
        """How people call the cluster."""

    def server_seconds(self) -> int | None:
        """Return the time as the cluster has it; None as long as it has not said it."""

    async def create(self, document: dict[str, Any]) -> None:
        """Create an object; an ExistsError where there is one of its name."""

    async def get(self, name: str) -> bytes | None:
        """Return an object as it is now, for everybody; None where there is none."""

    async def delete(self, name: str) -> None:
        """Delete an object, if it is there."""

    async def read_all(self) -> list[bytes]:
        """Return all objects as they were at one moment that is not before the call."""

    async def close(self) -> None:
        """Let go of the cluster."""


class Step(NamedTuple):
    """One step as it is kept; `writer` is who wrote it, by which one knows one's own."""

    revision: int
    at_seconds: int
    key: str
    command: str
    decision: str
    hash: bytes
    writer: str

    @property
    def name(self) -> str:
        """The name of its object."""
        return step_name(self.revision)

    def follows(self, before: bytes) -> bool:
        """Whether it is what was written after the step with this hash."""
        return chained(before, self[:5]) == self.hash


class Part(NamedTuple):
    """A part of a state that is kept; `digest` is that of the whole text, `hash` that of its last step."""

    revision: int
    at_seconds: int
    hash: bytes
    part: int
    parts: int
    state: str
    digest: str

    @property
    def name(self) -> str:
        """The name of its object: parts that were made otherwise have other names."""
        return f"state-{self.revision:0{_DIGITS}}-{self.digest[:_DIGEST_LETTERS]}-{self.part:04}"


class _Spec(msgspec.Struct, rename="camel"):
    revision: int
    at_seconds: int
    hash: str
    key: str = ""
    command: str | None = None
    decision: str | None = None
    writer: str = ""
    part: int = 0
    parts: int = 0
    state: str | None = None
    digest: str = ""


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    resource_version: str = ""


class _Object(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec


_OBJECT: Final = msgspec.json.Decoder(_Object)


def step_name(revision: int) -> str:
    """Return the name of the object of a step."""
    return f"step-{revision:0{_DIGITS}}"


def document_of(made: Step | Part) -> dict[str, Any]:
    """Return the object of a step or a part; one that is too large is refused."""
    spec: dict[str, Any] = {
        "revision": made.revision,
        "atSeconds": made.at_seconds,
        "hash": made.hash.hex(),
    }
    if isinstance(made, Step):
        spec |= {"command": made.command, "decision": made.decision, "writer": made.writer}
        if made.key:
            spec["key"] = made.key
    else:
        spec |= {"part": made.part, "parts": made.parts, "state": made.state, "digest": made.digest}
    document = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": made.name, "labels": _LABELS},
        "spec": spec,
    }
    size_bytes = len(msgspec.json.encode(document))
    if size_bytes > OBJECT_BYTES_MAX:
        raise InputError(
            f"a step of {size_bytes} bytes, where one object of a cluster holds {OBJECT_BYTES_MAX}",
            remedy="commit fewer workloads at a time",
        )
    return document


def read_object(content: Any) -> Step | Part:
    """Return what an object is; one that nobody here wrote is refused."""
    try:
        found = _OBJECT.decode(content)
        spec, name = found.spec, found.metadata.name
        row_hash = bytes.fromhex(spec.hash)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise damaged(f"an object cannot be read: {error}") from None
    made: Step | Part
    if spec.command is not None and spec.decision is not None:
        made = Step(
            spec.revision, spec.at_seconds, spec.key, spec.command, spec.decision, row_hash, spec.writer
        )
    elif spec.state is not None:
        made = Part(spec.revision, spec.at_seconds, row_hash, spec.part, spec.parts, spec.state, spec.digest)
    else:
        raise damaged(f"{name} is neither a step nor a state")
    if made.name != name or len(row_hash) != HASH_BYTES:
        raise damaged(f"{name} is not what its name says")
    return made


def damaged(what: str) -> StoreUnavailableError:
    """Return the refusal of objects that are not as we wrote them."""
    return StoreUnavailableError(
        f"the ledger's objects are damaged ({what})", remedy="restore plans.ullage.dev from a backup of etcd"
    )
