"""What kube-scheduler asks, answered: which nodes, how well they suit, whom to evict, bind.

Every question is about a pod that kube-scheduler has just seen, and the own watch may be a moment behind:
then it is waited for. All else is known already, so of a pod only its name is read (nodeCacheCapable).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

import msgspec

from ullage.engine.placement.device_claims import without_device_claims
from ullage.engine.placement.node_verdicts import NodeVerdicts
from ullage.engine.placement.scheduling import schedule
from ullage.kube.extender.outlook import Outlook
from ullage.kube.extender.wire import (
    BINDING_ARGS,
    EXTENDER_ARGS,
    PREEMPTION_ARGS,
    BindingResult,
    ExtenderArgs,
    FilterResult,
    HostPriority,
    MetaPod,
    MetaVictims,
    PodMetadata,
    PreemptionResult,
)
from ullage.kube.scheduler.actions import NotDoneError
from ullage.kube.scheduler.messages import shortened
from ullage.kube.serving import TEXT, Response, Served
from ullage.model.cluster import Workload

SEEN_SECONDS_MAX: Final = 2.0
"""How long a pod is waited for that the own watch has not shown yet."""
LOOK_SECONDS: Final = 0.005
NEEDS_NAMES: Final = "this extender needs nodeCacheCapable: true"
NOT_SEEN: Final = "the pod is not known yet"
_OK: Final = 200
_BAD: Final = 400

Bind = Callable[[str, str, str], Awaitable[None]]
"""Binds a pod, by its key and identifier, to a node; raises a NotDoneError."""


class Timed(Protocol):
    """What notes how long something takes."""

    def observe(self, amount: float) -> None:
        """Note seconds."""


class Answers:
    """The verbs of an extender."""

    def __init__(self, outlook: Outlook, bind: Bind) -> None:
        self._outlook = outlook
        self._bind = bind
        self.refused = 0

    def serve(self, served: Served, timed: Callable[[str], Timed]) -> None:
        """Answer them all, each at the path of its name; `timed` is told how long each takes."""
        verbs: dict[str, Callable[[bytes], Awaitable[Any]]] = {
            "filter": self.filter,
            "prioritize": self.prioritize,
            "preempt": self.preempt,
            "bind": self.bind,
        }
        for name, verb in verbs.items():
            served.add("POST", f"/{name}", answering(verb, timed(name)))

    async def filter(self, body: bytes) -> FilterResult:
        """Return the nodes that take a pod, and why the others do not."""
        asked = EXTENDER_ARGS.decode(body)
        if asked.node_names is None:
            return FilterResult(error=NEEDS_NAMES)
        found = await self._seen(asked.pod.metadata)
        if found is None:
            return FilterResult(error=NOT_SEEN)
        verdicts, pod = found
        if pod.node:  # it is being bound: the answer to that has not come in time
            reasons = {name: _elsewhere(pod, name) for name in asked.node_names}
        else:
            reasons = verdicts.reasons(pod, asked.node_names, self._outlook.held)
            place = self._outlook.promised_to(pod.key)
            if reasons.get(place) == "":
                reasons = {name: _not_there(place, name) for name in reasons}
        closed = {name: shortened(reason) for name, reason in reasons.items() if reason}
        self.refused += len(closed) == len(reasons)
        return FilterResult([name for name in reasons if name not in closed], {}, closed)

    async def prioritize(self, body: bytes) -> list[HostPriority]:
        """Return how well nodes suit a pod."""
        asked: ExtenderArgs = EXTENDER_ARGS.decode(body)
        names = asked.node_names or []
        found = await self._seen(asked.pod.metadata)
        if found is None or found[1].node:
            return [HostPriority(name, 0) for name in names]
        verdicts, pod = found
        scores = verdicts.scores(pod, names, self._outlook.held)
        return [HostPriority(name, score) for name, score in scores.items()]

    async def preempt(self, body: bytes) -> PreemptionResult:
        """Return who goes for a pod: by the rules of quotas, or else of priorities; nobody where none may."""
        asked = PREEMPTION_ARGS.decode(body)
        found = await self._seen(asked.pod.metadata)
        if found is None or found[1].node:
            return PreemptionResult()
        pod, columns = found[1], self._outlook.columns()
        others = [self._outlook.pod(key) for key in self._outlook.held if key != pod.key]
        # devices that they claim are kube-scheduler's to allocate
        waiting = [without_device_claims(each) for each in (pod, *others) if each is not None]
        cycle = await asyncio.to_thread(
            schedule, columns, waiting, nominated=dict(self._outlook.held), names_remedies=False
        )
        goes: dict[str, MetaVictims] = {}
        for later in cycle.nominated:
            here = [each for each in later.evicted if each.node == later.node]
            is_claimed = len(here) < len(later.evicted) and any(each.quota for each in later.evicted)
            if later.workload == pod.key and here and not is_claimed:  # else we evict them, on all nodes
                facts = [self._outlook.facts(each.workload) for each in here]
                goes[later.node] = MetaVictims([MetaPod(each.uid) for each in facts if each is not None])
        return PreemptionResult(goes)

    async def bind(self, body: bytes) -> BindingResult:
        """Bind a pod, and return why not where that failed."""
        asked = BINDING_ARGS.decode(body)
        try:
            await self._bind(asked.key, asked.uid, asked.node)
        except NotDoneError as error:
            return BindingResult(shortened(str(error)))
        return BindingResult()

    async def _seen(self, metadata: PodMetadata) -> tuple[NodeVerdicts, Workload] | None:
        """Return a pod, and what nodes say, as soon as the watch has shown it."""
        until = time.monotonic() + SEEN_SECONDS_MAX
        while True:
            verdicts = self._outlook.catch_up()
            facts, pod = self._outlook.facts(metadata.key), self._outlook.pod(metadata.key)
            if facts is not None and pod is not None and facts.uid == metadata.uid:
                return verdicts, pod
            if time.monotonic() > until:
                return None
            await asyncio.sleep(LOOK_SECONDS)


def _not_there(place: str, node: str) -> str:
    return "" if node == place else f"room is held for it on {place}"


def _elsewhere(pod: Workload, node: str) -> str:
    return "" if node == pod.node else f"it is being bound to {pod.node}"


def answering(
    verb: Callable[[bytes], Awaitable[Any]], timed: Timed | None = None
) -> Callable[[bytes], Awaitable[Response]]:
    """Return a verb as what answers a path; `timed` is told how long that takes."""

    async def answer(body: bytes) -> Response:
        began = time.perf_counter()
        try:
            found = await verb(body)
        except msgspec.DecodeError as error:
            return Response(_BAD, f"{error}\n".encode(), TEXT)
        finally:
            if timed is not None:
                timed.observe(time.perf_counter() - began)
        return Response(_OK, msgspec.json.encode(found))

    return answer
