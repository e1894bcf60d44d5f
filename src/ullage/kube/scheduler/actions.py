"""The verbs of a scheduler: bind, evict, nominate, say why not. Each is safe to do twice.

The hard thing is a request of which nobody knows whether it was done: the pod itself is asked.
"""

import asyncio
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import msgspec

from ullage.engine.placement.scheduling import Bound
from ullage.kube.election import ALONE, Leading, led
from ullage.kube.events import Events, Subject
from ullage.kube.scheduler.messages import MESSAGE_CHARACTERS_MAX
from ullage.model.cluster import Workload
from ullage.sources.kubernetes.api.client import (
    CONNECTIONS_MAX,
    STRATEGIC_PATCH,
    ApiClient,
    RefusedError,
    segment,
)
from ullage.sources.kubernetes.api.connection import BrokenError
from ullage.sources.kubernetes.api.mirrored_pods import PodFacts

SCHEDULED: Final = "PodScheduled"
UNSCHEDULABLE: Final = "Unschedulable"
NOT_BOUND: Final = "SchedulerError"
"""Why a pod has no node that has a place: as kube-scheduler says it."""
NOT_READY: Final = "WaitsForVolumes"
ASK_AGAIN_SECONDS: Final = 0.5
CONNECTIONS_BEHIND_MAX: Final = 12
"""For all that is not a binding: no binding waits for it."""
_TOO_MANY: Final = 429
_OUT_OF_ORDER: Final = 500


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    uid: str = ""
    deletion_timestamp: str | None = None


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec | None = None


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


_POD: Final = msgspec.json.Decoder(_Pod)
_CONDITIONS: Final = msgspec.json.Decoder(list[_Condition])


class NotDoneError(Exception):
    """What was to be done was not, and why; `is_for_good` where trying again cannot help."""

    def __init__(self, why: str, *, is_for_good: bool = False) -> None:
        super().__init__(why)
        self.is_for_good = is_for_good


class Preparing(Protocol):
    """What must be done before a pod is bound: reservations and volumes."""

    async def prepare(self, workload: Workload, bound: Bound) -> None:
        """Do it; raises a NotDoneError where it cannot be done."""

    async def give_back(self, workload: Workload, bound: Bound) -> None:
        """Undo what was done of it, because the pod is not bound after all."""

    def done(self, workload: Workload, bound: Bound) -> None:
        """Take note that the pod is bound."""

    def stop(self, key: str, why: str) -> None:
        """Have `prepare` raise a NotDoneError soon, because the pod is not to be bound any more."""


class Actions:
    """What a scheduler does to pods."""

    def __init__(
        self,
        client: ApiClient,
        events: Events,
        leading: Leading = ALONE,
        unanswered: set[asyncio.Task[None]] | None = None,
    ) -> None:
        """`unanswered` are the bindings under way, of which nobody knows yet what becomes of them."""
        self._client = led(client, leading, CONNECTIONS_MAX)
        self._behind = led(client, leading, CONNECTIONS_BEHIND_MAX)
        self._events = events
        self._unanswered = set[asyncio.Task[None]]() if unanswered is None else unanswered
        self.leading = leading

    def _require_lead(self) -> None:
        """Raise where another replica may be at work: nothing is done then."""
        if not self.leading.leads:
            raise NotDoneError("another replica leads")

    async def bind(self, key: str, uid: str, node: str) -> None:
        """Bind a pod to a node; raises a NotDoneError where it surely is not.

        As long as nobody can say, this does not return: who gave its room away could give it away twice. Who
        is cancelled meanwhile leaves it among the unanswered.
        """
        task = asyncio.create_task(self._bound(key, uid, node))
        self._unanswered.add(task)
        task.add_done_callback(self._answered)
        await asyncio.shield(task)

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._unanswered.discard(task)
        if not task.cancelled():
            task.exception()  # whoever was cancelled does not ask for it any more

    async def _bound(self, key: str, uid: str, node: str) -> None:
        namespace, name = _parts(key)
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        document = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "uid": uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        try:
            await self._client.create(f"{path}/binding", document)
        except RefusedError as error:
            may_be_done = error.is_conflict or _says_nothing(error)
            if may_be_done and await self._is_on(path, uid, node):
                return
            raise NotDoneError(error.message, is_for_good=error.is_absent or error.is_conflict) from None
        except Exception as error:  # noqa: BLE001 - whatever it is, the binding may have been made
            if not await self._is_on(path, uid, node):
                raise NotDoneError(str(error)) from None

    async def _is_on(self, path: str, uid: str, node: str) -> bool:
        """Ask a pod whether it is bound after all, until there is an answer or another replica leads.

        That it is not there is the only refusal that answers: a server that has just started forbids what it
        allows a moment later.
        """
        while True:
            try:
                pod = _POD.decode(await self._client.get(path))
            except RefusedError as error:
                if error.is_absent:
                    raise NotDoneError(error.message, is_for_good=True) from None
            except (BrokenError, msgspec.DecodeError):
                pass
            else:
                return pod.metadata.uid == uid and pod.spec is not None and pod.spec.node_name == node
            self._require_lead()
            await asyncio.sleep(ASK_AGAIN_SECONDS)

    async def evict(self, key: str, uid: str, *, is_trial: bool = False) -> None:
        """Evict a pod as disruption budgets allow, or only try it; one that is gone already is fine.

        Raises a NotDoneError: for good where the server will not have it, unless it is too busy to say. Where
        its answer is lost the pod is asked: others would go in the stead of one who goes after all.
        """
        namespace, name = _parts(key)
        pod = f"/api/v1/namespaces/{namespace}/pods/{name}"
        document = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {
                **({"preconditions": {"uid": uid}} if uid else {}),
                **({"dryRun": ["All"]} if is_trial else {}),
            },
        }
        try:
            await self._behind.create(f"{pod}/eviction", document)
        except RefusedError as error:
            may_be_done = error.status >= _OUT_OF_ORDER and not is_trial
            if error.is_absent or (may_be_done and await self._is_leaving(pod, uid)):
                return
            why = "a disruption budget forbids it" if error.is_by_budget else error.message
            raise NotDoneError(why, is_for_good=not error.passes) from None
        except BrokenError as error:
            if is_trial or not await self._is_leaving(pod, uid):
                raise NotDoneError(str(error)) from None

    async def _is_leaving(self, path: str, uid: str) -> bool:
        """Ask a pod once whether it is on its way out, or gone; nobody who cannot say is."""
        try:
            pod = _POD.decode(await self._behind.get(path))
        except RefusedError as error:
            return error.is_absent
        except (BrokenError, msgspec.DecodeError):
            return False
        return pod.metadata.deletion_timestamp is not None or (bool(uid) and pod.metadata.uid != uid)

    async def nominate(self, key: str, facts: PodFacts, node: str, message: str = "") -> None:
        """Say on which node a pod will run, and what it waits for; nothing is written that is said already.

        Raises a NotDoneError, for good where the pod is gone.
        """
        status: dict[str, Any] = {}
        if facts.nominated_node != node:
            status["nominatedNodeName"] = node or None
        if message:
            status |= _condition(facts, UNSCHEDULABLE, message)
        if status:
            await self._patch_status(key, facts.uid, status)

    async def say_why_not(self, key: str, facts: PodFacts, message: str) -> None:
        """Say why a pod has no place; nothing is written where that is said already."""
        self.say(key, facts.uid, "FailedScheduling", message, is_warning=True)
        await self._say_condition(key, facts, UNSCHEDULABLE, message)

    async def say_not_bound(self, key: str, facts: PodFacts, message: str) -> None:
        """Say why a pod is not bound to its place; nothing is written where that is said already."""
        self.say(key, facts.uid, "FailedBinding", message, is_warning=True)
        await self._say_condition(key, facts, NOT_BOUND, message)

    async def say_waits(self, key: str, facts: PodFacts, message: str) -> None:
        """Say what a pod waits for that is being bound; nothing is written where that is said already."""
        await self._say_condition(key, facts, NOT_READY, message)

    async def _say_condition(self, key: str, facts: PodFacts, reason: str, message: str) -> None:
        status = _condition(facts, reason, message)
        if status:
            await self._patch_status(key, facts.uid, status)

    async def _patch_status(self, key: str, uid: str, status: dict[str, Any]) -> None:
        """Change the status of a pod; another one of its name stays as it is."""
        namespace, name = _parts(key)
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
        try:
            document = {"metadata": {"uid": uid}, "status": status}
            await self._behind.patch(path, document, STRATEGIC_PATCH)
        except RefusedError as error:
            raise NotDoneError(str(error), is_for_good=error.is_absent or error.is_conflict) from None
        except BrokenError as error:
            raise NotDoneError(str(error)) from None

    def say(self, key: str, uid: str, reason: str, note: str, *, is_warning: bool = False) -> None:
        """Write an event about a pod."""
        namespace, name = _parts(key)
        told = note[:MESSAGE_CHARACTERS_MAX]
        self._events.say(Subject("Pod", name, namespace, uid), reason, told, is_warning=is_warning)


def _says_nothing(error: RefusedError) -> bool:
    """Whether a server did not get as far as to say whether something is done."""
    return error.status == _TOO_MANY or error.status >= _OUT_OF_ORDER


def _parts(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return segment(namespace), segment(name)


def _condition(facts: PodFacts, reason: str, message: str) -> dict[str, Any]:
    """Return the part of a status that says why a pod has no node; nothing where that is said already."""
    told = message[:MESSAGE_CHARACTERS_MAX]
    known = next((each for each in _conditions(facts) if each.type == SCHEDULED), None)
    if known is not None and (known.status, known.reason, known.message) == ("False", reason, told):
        return {}
    condition = {"type": SCHEDULED, "status": "False", "reason": reason, "message": told}
    if known is None or known.status != "False":
        condition["lastTransitionTime"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"conditions": [condition]}


def _conditions(facts: PodFacts) -> list[_Condition]:
    if not facts.conditions:
        return []
    try:
        return _CONDITIONS.decode(facts.conditions)
    except msgspec.DecodeError:
        return []
