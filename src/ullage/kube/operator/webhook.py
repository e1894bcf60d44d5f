"""The webhook: what cannot hold is refused when it is written, with the CLI's words: quotas, policies, types.

An answer is a function of what the API server asks and of what is there. The hard thing is to judge only
what the change adds: what was wrong before must not stop somebody from mending it. What is there beside a
quota is looked at in beside.py.
"""

from typing import Any, Final

import msgspec
from msgspec import Raw

from ullage.kube.operator.advice import Room, advice_on_policy, advice_on_quota, shortened
from ullage.kube.operator.beside import Beside, Change, read
from ullage.kube.resource_types import RESOURCE_TYPE, TypeObjects
from ullage.kube.serving import Response
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.capacity_policies import CAPACITY_POLICY, Policies
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.object_kinds import QUOTA_KINDS
from ullage.sources.kubernetes.wire import NULL

VERSION: Final = "admission.k8s.io/v1"
_DELETE: Final = "DELETE"
_OK: Final = 200
_BAD: Final = 400
_REFUSED: Final = 422


class _Kind(msgspec.Struct):
    group: str = ""
    kind: str = ""


class _Request(msgspec.Struct, rename="camel"):
    uid: str = ""
    kind: _Kind = msgspec.field(default_factory=_Kind)
    operation: str = ""
    object: Raw = NULL
    old_object: Raw = NULL
    dry_run: bool | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    deletion_timestamp: str | None = None


class _Object(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: Any = None


class _Review(msgspec.Struct, rename="camel"):
    request: _Request | None = None


_REVIEW: Final = msgspec.json.Decoder(_Review)
_OBJECT: Final = msgspec.json.Decoder(_Object | None)


class Webhook:
    """Answers what API servers ask."""

    def __init__(
        self,
        types: ResourceTypes,
        beside: Beside,
        type_objects: TypeObjects | None = None,
        room: Room | None = None,
    ) -> None:
        """`beside` and `type_objects` are what is there now; without `room` nobody is warned."""
        self._types = types
        self._beside = beside
        self._type_objects = type_objects or TypeObjects()
        self._room = room
        self.asked = 0
        self.refused = 0

    async def answer(self, body: bytes) -> Response:
        """Answer one AdmissionReview."""
        try:
            request = _REVIEW.decode(body).request
        except msgspec.DecodeError as error:
            return Response(_BAD, f"not an AdmissionReview: {error}\n".encode(), "text/plain; charset=utf-8")
        if request is None:
            return Response(_BAD, b"an AdmissionReview without a request\n", "text/plain; charset=utf-8")
        self.asked += 1
        kind = Kind(request.kind.group, request.kind.kind)
        goes = request.operation == _DELETE
        old = request.old_object
        counts = not request.dry_run
        if goes:
            why = await self.refusal_to_go(kind, old, counts=counts)
        else:
            why = await self.refusal(kind, request.object, old, counts=counts)
        answered: dict[str, Any] = {"uid": request.uid, "allowed": not why}
        if why:
            self.refused += 1
            answered["status"] = {"message": why, "code": _REFUSED, "reason": "Invalid"}
        elif not goes and (warnings := await self.warnings(kind, request.object)):
            answered["warnings"] = warnings
        review = {"apiVersion": VERSION, "kind": "AdmissionReview", "response": answered}
        return Response(_OK, msgspec.json.encode(review))

    async def refusal(self, kind: Kind, content: Raw, old: Raw = NULL, *, counts: bool = True) -> str:
        """Return what is wrong with an object, on one line; nothing where nothing is, or it was before.

        What is allowed and counts is there for the next question.
        """
        try:
            if not _says_more(content, old):
                return ""
            if kind in QUOTA_KINDS:
                quota = read(kind, content, self._types)
                return await self._beside.refusal(Change(quota), counts=counts)
            if kind == CAPACITY_POLICY:
                policies = Policies(self._types)
                known = policies.problems_of(old) if old != NULL else []
                return next((each for each in policies.problems_of(content) if each not in known), "")
            if kind == RESOURCE_TYPE:
                self._type_objects.refuse_wrong(content)
        except Fault as fault:
            return str(fault.alone())
        except InputError as error:
            return str(error)
        except (msgspec.DecodeError, RecursionError) as error:
            return f"it cannot be read: {error}"
        return ""

    async def warnings(self, kind: Kind, content: Raw) -> list[str]:
        """Return what the author of an object that is allowed should know, in lines."""
        if self._room is None:
            return []
        if why := await self.refusal(kind, content, counts=False):
            return [shortened(f"it is wrong as it was before: {why}")]
        if kind in QUOTA_KINDS:
            quota = read(kind, content, self._types)
            return advice_on_quota(quota, self._beside.quotas(), self._room.capacity(), self._types)
        if kind == CAPACITY_POLICY:
            return advice_on_policy(content, self._types, self._room.snapshot())
        return []

    async def refusal_to_go(self, kind: Kind, content: Raw, *, counts: bool = True) -> str:
        """Return what would be wrong with the other quotas without an object; nothing where nothing is."""
        try:
            if kind in QUOTA_KINDS:
                going = Change(read(kind, content, self._types), goes=True)
                return await self._beside.refusal(going, counts=counts)
        except (Fault, msgspec.DecodeError, RecursionError):
            return ""  # nobody goes by what cannot be read
        return ""


def _says_more(content: Raw, old: Raw) -> bool:
    """Whether an object says something else than before; one that is on its way out only has to go."""
    now, before = _OBJECT.decode(content), _OBJECT.decode(old)
    if now is None or before is None:
        return True
    return now.metadata.deletion_timestamp is None and now.spec != before.spec
