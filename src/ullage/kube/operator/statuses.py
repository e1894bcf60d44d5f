"""Statuses: what an object is told about itself, written only where it says something else.

The hard thing is to be done: a field that the definition of a kind does not know is dropped by the server
without a word, and would be written for ever. What came back is looked at, and such a field is left alone.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec

from ullage.kube.events import Events, Subject
from ullage.kube.node_capacities import NODE_CAPACITY
from ullage.kube.stated import Stated
from ullage.sources.kubernetes.api.client import ApiClient, segment
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.object_kinds import NOS, OWN_GROUP

NOWHERE: Final = Stated({}, 0)


class Written(NamedTuple):
    """Under which path objects of a kind are written."""

    version: str
    plural: str
    namespaced: bool


PATHS: Final[Mapping[Kind, Written]] = {
    Kind(NOS, "ElasticQuota"): Written(f"{NOS}/v1alpha1", "elasticquotas", namespaced=True),
    Kind(NOS, "CompositeElasticQuota"): Written(f"{NOS}/v1alpha1", "compositeelasticquotas", namespaced=True),
    Kind(OWN_GROUP, "Quota"): Written(f"{OWN_GROUP}/v1", "quotas", namespaced=False),
    Kind(OWN_GROUP, "CapacityPolicy"): Written(f"{OWN_GROUP}/v1", "capacitypolicies", namespaced=False),
    NODE_CAPACITY: Written(f"{OWN_GROUP}/v1", "nodecapacities", namespaced=False),
}


class _Answer(msgspec.Struct):
    status: dict[str, Any] | None = None


_ANSWER: Final = msgspec.json.Decoder(_Answer)


class Verdict(NamedTuple):
    """A condition: whether it is so (of type Valid: whether an object holds), in one word and in one line."""

    holds: bool
    reason: str
    message: str


class Wanted(NamedTuple):
    """What the status of an object should say, and what it says."""

    kind: Kind
    key: str
    before: Stated
    status: Mapping[str, Any]


class Statuses:
    """Writes statuses, and events about objects that begin or cease to hold."""

    def __init__(self, client: ApiClient, events: Events) -> None:
        self._client = client
        self._events = events
        self._unknown: set[tuple[Kind, str]] = set()
        self.written = 0

    def differ(self, wanted: Wanted) -> bool:
        """Whether a status says something else than it should."""
        return bool(self._change(wanted))

    async def write(self, wanted: Wanted) -> bool:
        """Have a status say what is wanted; return whether that had to be written. Raises as the client."""
        change = self._change(wanted)
        if not change:
            return False
        path = f"{path_of(wanted.kind, wanted.key)}/status"
        answer = _ANSWER.decode(await self._client.patch(path, {"status": change}))
        kept = answer.status or {}
        self._unknown |= {(wanted.kind, name) for name in change if wanted.status[name] and name not in kept}
        self.written += 1
        self._tell(wanted)
        return True

    def _change(self, wanted: Wanted) -> dict[str, Any]:
        before = wanted.before.status
        return {
            name: _change(before.get(name), value)
            for name, value in wanted.status.items()
            if (wanted.kind, name) not in self._unknown and not _says(before.get(name), value)
        }

    def _tell(self, wanted: Wanted) -> None:
        """Say that an object holds no more, or again; who never did otherwise needs not be told."""
        before, now = _condition(wanted.before.status), _condition(wanted.status)
        if now.get("status", "True") == before.get("status", "True"):
            return
        fails = now.get("status") == "False"
        self.say(wanted, now.get("reason", "Valid"), now.get("message", ""), is_warning=fails)

    def say(self, wanted: Wanted, reason: str, note: str, *, is_warning: bool = False) -> None:
        """Write an event about an object."""
        namespace, _, name = wanted.key.rpartition("/")
        written = PATHS[wanted.kind]
        subject = Subject(wanted.kind.name, name, namespace, wanted.before.uid, written.version)
        self._events.say(subject, reason, note, action="Validating", is_warning=is_warning)


def path_of(kind: Kind, key: str) -> str:
    """Return where an object is written."""
    written = PATHS[kind]
    namespace, _, name = key.rpartition("/")
    middle = f"namespaces/{segment(namespace)}/" if written.namespaced else ""
    return f"/apis/{written.version}/{middle}{written.plural}/{segment(name)}"


def valid(before: Stated, verdict: Verdict) -> list[Mapping[str, Any]]:
    """Return the conditions of an object with one of type Valid; others stay as they are."""
    return with_condition(before, "Valid", verdict)


def with_condition(before: Stated, kind: str, verdict: Verdict) -> list[Mapping[str, Any]]:
    """Return the conditions of an object with one of a type; others stay as they are."""
    known = _conditions(before.status)
    old = _condition(before.status, kind)
    status = "True" if verdict.holds else "False"
    since = old.get("lastTransitionTime") if old.get("status") == status else None
    condition = {
        "type": kind,
        "status": status,
        "reason": verdict.reason,
        "message": verdict.message,
        "lastTransitionTime": since or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return [*(each for each in known if each.get("type") != kind), condition]


def is_valid(status: Mapping[str, Any]) -> bool:
    """Whether a status says that its object holds."""
    return _condition(status).get("status") == "True"


def _conditions(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = status.get("conditions")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _condition(status: Mapping[str, Any], kind: str = "Valid") -> Mapping[str, Any]:
    """Return the condition of a type; nothing where there is none."""
    return next((each for each in _conditions(status) if each.get("type") == kind), {})


def _says(before: Any, wanted: Any) -> bool:
    return bool(before == wanted) or (not before and not wanted)


def _change(before: Any, wanted: Any) -> Any:
    """Return a merge patch of one field: entries of a map that are not wanted any more are removed."""
    if isinstance(before, dict) and isinstance(wanted, dict):
        return {**dict.fromkeys(before), **wanted}
    return wanted
