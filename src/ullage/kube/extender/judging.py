"""Where a pod may go beside those for whom places are held: what nodes say, or a whole cycle of a scheduler.

That every place which is held is taken is a quick answer, and too strict: who waits for another to leave
counts twice then, with the one that leaves, and a more important pod would be kept out. So where a place that
is held is all that is in the way, our scheduler's own cycle is asked, with all of them. It also judges gangs.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from ullage.engine.placement.gangs import HELD_BACK
from ullage.engine.placement.node_verdicts import NodeVerdicts
from ullage.engine.placement.scheduling import Bound, Cycle
from ullage.kube.extender.gang_places import PLACE_TAKEN, GangPlaces
from ullage.kube.extender.outlook import Outlook
from ullage.kube.scheduler.gang_gate import GangGate
from ullage.kube.scheduler.messages import why_later
from ullage.model.cluster import Workload

NODES_TRIED_MAX: Final = 5
"""Nodes tried for one of a gang where kube-scheduler rules out the one that our scheduler would choose."""


class Decided(NamedTuple):
    """What a pod gets on its node, and where it waits for others of its gang."""

    bound: Bound
    gate: GangGate | None = None


class Judging:
    """What becomes of pods, one after the other."""

    def __init__(self, outlook: Outlook, gangs: GangPlaces) -> None:
        self._outlook = outlook
        self.gangs = gangs

    def reasons(self, pod: Workload, names: Sequence[str]) -> dict[str, str]:
        """Return what keeps a pod off each of these nodes."""
        verdicts, held = self._outlook.catch_up(), self._outlook.held
        if self._is_needed(pod):
            return self._with_gang(verdicts, pod, names)
        found = verdicts.reasons(pod, names, held)
        if held and all(found.values()) and not all(verdicts.reasons(pod, names).values()):
            return _only(_place(self._outlook.judged([pod]), pod), found)
        return found

    def bound(self, pod: Workload, node: str) -> Decided | str:
        """Return what a pod gets on a node, which is its own from now on, or why it may not go there."""
        verdicts = self._outlook.catch_up()
        if self._is_needed(pod) and not self.gangs.is_gathering(pod):
            told = self._with_gang(verdicts, pod, (node,))
            if told[node]:
                return told[node]
        found = verdicts.bound(pod, node, self._outlook.held)
        if isinstance(found, str) and self._outlook.held and not verdicts.reasons(pod, (node,))[node]:
            cycle = self._outlook.judged([_at(pod, node)])
            found = next((each for each in cycle.bound if each.workload == pod.key), found)
            if isinstance(found, Bound):
                self._take_from(cycle)
        if isinstance(found, str):
            if node == self.gangs.place_of(pod):
                self.gangs.lose(pod, found)
            return found
        return Decided(found, self.gangs.come(pod))

    def _take_from(self, cycle: Cycle) -> None:
        """Take their places from gangs that have none any more beside one who is bound."""
        for each in cycle.unplaced:
            loser = self._outlook.pod(each.workload)
            if loser is not None:
                self.gangs.lose(loser, PLACE_TAKEN)

    # Gangs

    def _is_needed(self, pod: Workload) -> bool:
        """Whether a pod is of a gang of which too few run without it, those at a gate not counted."""
        if not pod.gang:
            return False
        self.gangs.sweep()
        running = len(self._outlook.running().gang_of(pod))
        return self.gangs.is_gathering(pod) or not pod.gang_min or running < pod.gang_min

    def _with_gang(self, verdicts: NodeVerdicts, pod: Workload, names: Sequence[str]) -> dict[str, str]:
        """Return what keeps one of a gang off nodes: it has one, together with enough of the others."""
        place = self.gangs.place_of(pod)
        if place or self.gangs.is_gathering(pod):
            found = verdicts.reasons(pod, names, self._outlook.held)
            if not place:  # it came later than those that were judged together
                return found
            if found.get(place) == "":
                return _only(place, found)
            best = next(self._best(verdicts, pod, [name for name in found if not found[name]]), "")
            if best:
                self.gangs.move(pod, best)
                return _only(best, found)
            why = next(iter(found.values()), HELD_BACK)
            self.gangs.give_up(pod, f"{place} does not take it any more: {why}")
            verdicts = self._outlook.catch_up()
        return self._judged_anew(verdicts, pod, names)

    def _judged_anew(self, verdicts: NodeVerdicts, pod: Workload, names: Sequence[str]) -> dict[str, str]:
        members = self._outlook.waiting_of_gang(pod)
        first = Cycle()
        for asked in self._ways(verdicts, pod, members, names):
            cycle = self._outlook.judged(asked)
            first = first if any(first) else cycle
            place = _place(cycle, pod)
            if place in names:
                places = {each.workload: each.node for each in cycle.bound}
                self.gangs.agree(members, places)
                return _only(place, dict.fromkeys(names, ""))
            if not place and any(each.workload == pod.key for each in cycle.unplaced):
                break
        if not any(first):
            return verdicts.reasons(pod, names, self._outlook.held)
        return dict.fromkeys(names, _why(first, pod, {each.key for each in members}))

    def _ways(
        self, verdicts: NodeVerdicts, pod: Workload, members: Sequence[Workload], names: Sequence[str]
    ) -> Iterator[list[Workload]]:
        """Yield a gang as it is to be judged: where room is promised to it, anywhere, with one on a node."""
        promised = [_at(each, self._outlook.promised_to(each.key)) for each in members]
        if promised != list(members):
            yield promised
        if len(names) > 1:
            yield list(members)
        free = [name for name, why in verdicts.reasons(pod, names, self._outlook.held).items() if not why]
        for number, name in enumerate(self._best(verdicts, pod, free)):
            if number == NODES_TRIED_MAX:
                return
            there = msgspec.structs.replace(pod, node=name, created_seconds=-1)  # it has the first turn
            yield [there if each.key == pod.key else each for each in members]

    def _best(self, verdicts: NodeVerdicts, pod: Workload, names: Sequence[str]) -> Iterator[str]:
        scores = verdicts.scores(pod, names, self._outlook.held) if names else {}
        yield from sorted(scores, key=lambda name: (-scores[name], name))


def _at(pod: Workload, node: str) -> Workload:
    return msgspec.structs.replace(pod, node=node) if node else pod


def _place(cycle: Cycle, pod: Workload) -> str:
    return next((each.node for each in cycle.bound if each.workload == pod.key), "")


def _why(cycle: Cycle, pod: Workload, gang: Collection[str]) -> str:
    """Return why one of a gang has no place now: its own reason, or that of the first other that has one."""
    for later in cycle.nominated:
        if later.workload == pod.key:
            return why_later(later)
    reasons = {each.workload: each.refusal.reason for each in cycle.unplaced if each.workload in gang}
    own = reasons.get(pod.key, HELD_BACK)
    if own != HELD_BACK:
        return own
    others = (f"{HELD_BACK}: {key}: {why}" for key, why in reasons.items() if why != HELD_BACK)
    return next(others, HELD_BACK)


def _only(place: str, found: dict[str, str]) -> dict[str, str]:
    """Return what keeps a pod off all nodes but one; what is known where that one is not among them."""
    if place not in found:
        return found
    return {name: "" if name == place else f"room is held for it on {place}" for name in found}
