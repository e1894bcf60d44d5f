"""The webhook: what cannot hold is refused when it is written, with the CLI's words: quotas, policies, types.

An answer is a function of what the API server asks and of what is there. The hard thing is to judge only
what the change adds: what was wrong before must not stop somebody from mending it.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
from msgspec import Raw

from ullage.engine.quota.validation import refuse_errors, refuse_going
from ullage.kube.operator.advice import Room, advice_on_policy, advice_on_quota, shortened
from ullage.kube.resource_types import RESOURCE_TYPE, TypeObjects
from ullage.kube.serving import Response
from ullage.model.cluster import Quota
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.capacity_policies import CAPACITY_POLICY, Policies
from ullage.sources.kubernetes.faults import Fault, decoded
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.object_kinds import OBJECT_KINDS, QUOTA_KINDS
from ullage.sources.kubernetes.objects import DEFAULT_NAMESPACE
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
        quotas: Callable[[], Iterable[Quota]],
        type_objects: TypeObjects | None = None,
        room: Room | None = None,
    ) -> None:
        """`quotas` and `type_objects` are those that are there now; without `room` nobody is warned."""
        self._types = types
        self._quotas = quotas
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
        why = self.refusal_to_go(kind, old) if goes else self.refusal(kind, request.object, old)
        answered: dict[str, Any] = {"uid": request.uid, "allowed": not why}
        if why:
            self.refused += 1
            answered["status"] = {"message": why, "code": _REFUSED, "reason": "Invalid"}
        elif not goes and (warnings := self.warnings(kind, request.object)):
            answered["warnings"] = warnings
        review = {"apiVersion": VERSION, "kind": "AdmissionReview", "response": answered}
        return Response(_OK, msgspec.json.encode(review))

    def refusal(self, kind: Kind, content: Raw, old: Raw = NULL) -> str:
        """Return what is wrong with an object, on one line; nothing where nothing is, or it was before."""
        try:
            if not _says_more(content, old):
                return ""
            if kind in QUOTA_KINDS:
                self._judge_quota(kind, content)
            elif kind == CAPACITY_POLICY:
                policies = Policies(self._types)
                known = policies.problems_of(old) if old != NULL else []
                return next((each for each in policies.problems_of(content) if each not in known), "")
            elif kind == RESOURCE_TYPE:
                self._type_objects.refuse_wrong(content)
        except Fault as fault:
            return str(fault.alone())
        except InputError as error:
            return str(error)
        except (msgspec.DecodeError, RecursionError) as error:
            return f"it cannot be read: {error}"
        return ""

    def warnings(self, kind: Kind, content: Raw) -> list[str]:
        """Return what the author of an object that is allowed should know, in lines."""
        if self._room is None:
            return []
        if why := self.refusal(kind, content):
            return [shortened(f"it is wrong as it was before: {why}")]
        if kind in QUOTA_KINDS:
            quota = self._read(kind, content)
            return advice_on_quota(quota, self._quotas(), self._room.capacity(), self._types)
        if kind == CAPACITY_POLICY:
            return advice_on_policy(content, self._types, self._room.snapshot())
        return []

    def refusal_to_go(self, kind: Kind, content: Raw) -> str:
        """Return what would be wrong with the other quotas without an object; nothing where nothing is."""
        try:
            if kind in QUOTA_KINDS:
                refuse_going(self._read(kind, content).name, self._types, tuple(self._quotas()))
        except (Fault, msgspec.DecodeError, RecursionError):
            return ""  # nobody goes by what cannot be read
        except InputError as error:
            return str(error)
        return ""

    def _judge_quota(self, kind: Kind, content: Raw) -> None:
        refuse_errors([self._read(kind, content)], self._types, self._quotas())

    def _read(self, kind: Kind, content: Raw) -> Quota:
        facts = OBJECT_KINDS[kind]
        row: Quota = facts.read(decoded(facts.decoder, content), Amounts(self._types), DEFAULT_NAMESPACE)
        return row


def _says_more(content: Raw, old: Raw) -> bool:
    """Whether an object says something else than before; one that is on its way out only has to go."""
    now, before = _OBJECT.decode(content), _OBJECT.decode(old)
    if now is None or before is None:
        return True
    return now.metadata.deletion_timestamp is None and now.spec != before.spec
