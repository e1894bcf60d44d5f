"""What kube-scheduler asks, answered: which nodes, how well they suit, whom to evict, bind.

Every question is about a pod that kube-scheduler has just seen, and the own watch may be a moment behind:
then it is waited for. All else is known already, so of a pod only its name is read (nodeCacheCapable). What
depends on places that are held, of gangs and for those who evict others, is for the leader to answer.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from ullage.engine.placement.node_verdicts import NodeVerdicts
from ullage.engine.placement.scheduling import Nominated
from ullage.kube.extender.judging import Judging
from ullage.kube.extender.outlook import Outlook
from ullage.kube.extender.wire import (
    BINDING_ARGS,
    EXTENDER_ARGS,
    FILTER_RESULT,
    PREEMPTION_ARGS,
    PREEMPTION_RESULT,
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
from ullage.sources.kubernetes.api.mirrored_pods import PodFacts

SEEN_SECONDS_MAX: Final = 2.0
"""How long a pod is waited for that the own watch has not shown yet."""
LOOK_SECONDS: Final = 0.005
NEEDS_NAMES: Final = "this extender needs nodeCacheCapable: true"
NOT_SEEN: Final = "the pod is not known yet"
_OK: Final = 200
_BAD: Final = 400

Bind = Callable[[str, str, str], Awaitable[None]]
"""Binds a pod, by its key and identifier, to a node; raises a NotDoneError."""
Renounce = Callable[[str, PodFacts], Awaitable[None]]
"""Takes the nomination from a pod; raises a NotDoneError."""
AskLeader = Callable[[str, bytes], Awaitable[bytes | None]]
"""Returns what the leader answers to a verb, nothing where this one leads; raises a NotDoneError."""


async def nobody_else(verb: str, body: bytes) -> bytes | None:
    """Ask no other replica."""
    del verb, body
    return None


async def no_renouncing(key: str, facts: PodFacts) -> None:
    """Leave nominations as they are."""
    del key, facts


class Leader(NamedTuple):
    """What the replica that leads does: it judges, has pods make way that are only being bound, and binds."""

    judging: Judging
    make_way: Callable[[str], None]
    bind: Bind
    ask: AskLeader = nobody_else
    """Asks the one that leads where that is another one."""
    renounce: Renounce = no_renouncing


class Timed(Protocol):
    """What notes how long something takes."""

    def observe(self, amount: float) -> None:
        """Note seconds."""


class Answers:
    """The verbs of an extender."""

    def __init__(self, outlook: Outlook, leader: Leader) -> None:
        self._outlook = outlook
        self._leader = leader
        self.refused = 0

    def verbs(self) -> dict[str, Callable[[bytes], Awaitable[Any]]]:
        """Return what answers each verb."""
        return {
            "filter": self.filter,
            "prioritize": self.prioritize,
            "preempt": self.preempt,
            "bind": self.bind,
        }

    def serve(self, served: Served, timed: Callable[[str], Timed]) -> None:
        """Answer them all, each at the path of its name; `timed` is told how long each takes."""
        for name, verb in self.verbs().items():
            served.add("POST", f"/{name}", answering(verb, timed(name)))

    async def filter(self, body: bytes) -> FilterResult:
        """Return the nodes that take a pod, and why the others do not."""
        asked = EXTENDER_ARGS.decode(body)
        if asked.node_names is None:
            return FilterResult(error=NEEDS_NAMES)
        found = await self._seen(asked.pod.metadata)
        if found is None:
            return FilterResult(error=NOT_SEEN)
        pod = found[1]
        if pod.gang and not pod.node:
            try:
                told = await self._leader.ask("filter", body)
            except NotDoneError as error:
                return FilterResult(error=shortened(str(error)))
            if told is not None:
                return FILTER_RESULT.decode(told)
        reasons = self._reasons(pod, asked.node_names)
        closed = {name: shortened(reason) for name, reason in reasons.items() if reason}
        self.refused += len(closed) == len(reasons)
        return FilterResult([name for name in reasons if name not in closed], {}, closed)

    def _reasons(self, pod: Workload, names: Sequence[str]) -> dict[str, str]:
        if pod.node:  # it is being bound: the answer to that has not come in time
            return {name: _elsewhere(pod, name) for name in names}
        reasons = self._leader.judging.reasons(pod, names)
        place = self._outlook.promised_to(pod.key)
        if reasons.get(place) == "":
            return {name: _not_there(place, name) for name in reasons}
        return reasons

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
        """Return who goes for a pod: by the rules of quotas, or else of priorities; nobody where none may.

        Whoever is only being bound makes way and waits again. Room for gangs is made by us, as a whole; so is
        room in which members of a gang are that has others on other nodes: kube-scheduler would evict a part.
        """
        asked = PREEMPTION_ARGS.decode(body)
        found = await self._seen(asked.pod.metadata)
        if found is None or found[1].node or found[1].gang:
            return PreemptionResult()
        try:
            told = await self._leader.ask("preempt", body)
        except NotDoneError:
            return PreemptionResult()
        if told is not None:
            return PREEMPTION_RESULT.decode(told)
        pod = found[1]
        node, victims = self._outlook.nominations.unfinished(pod.key) or await self._chosen(pod)
        facts = [self._outlook.facts(each) for each in victims]
        goes = [MetaPod(each.uid) for each in facts if each is not None]
        return PreemptionResult({node: MetaVictims(goes)} if goes else {})

    async def _chosen(self, pod: Workload) -> tuple[str, list[str]]:
        """Return whom kube-scheduler is to evict for a pod, and where; they are spoken for from now on.

        One that was nominated before, and has no right to any place now, would keep it from others.
        """
        cycle = self._outlook.judged_for_room(pod)
        for each in cycle.nominated:
            if each.workload == pod.key:
                return self._goes(each)
        facts = self._outlook.facts(pod.key)
        if facts is not None and facts.nominated_node and any(pod.key == e.workload for e in cycle.unplaced):
            with suppress(NotDoneError):
                await self._leader.renounce(pod.key, facts)
        return "", []

    def _goes(self, later: Nominated) -> tuple[str, list[str]]:
        """Return whom kube-scheduler is to evict for a pod: nobody where a gang is not all there."""
        here = [each.workload for each in later.evicted if each.node == later.node]
        if len(here) < len(later.evicted):
            self._outlook.make_room_for(later.workload)
            return "", []
        self._outlook.makes_room_for.discard(later.workload)
        being_bound = [key for key in here if self._outlook.is_being_bound(key)]
        victims = [key for key in here if key not in being_bound]
        if here:
            self._outlook.promise(later.workload, later.node, victims)
        for key in sorted(being_bound):
            self._leader.make_way(key)
        return later.node, victims

    async def bind(self, body: bytes) -> BindingResult:
        """Bind a pod, and return why not where that failed."""
        asked = BINDING_ARGS.decode(body)
        try:
            await self._leader.bind(asked.key, asked.uid, asked.node)
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
