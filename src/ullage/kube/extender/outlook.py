"""The cluster as the extender judges it: what the watch has shown, and what is being done beyond that.

Pods that are being bound count on their node, those that are being evicted as on their way out, by us or by
kube-scheduler on our word, a pod for which others go, or whose gang has places, keeps its place (`held`)
until it has it, and what the ledger promises is taken.
Nothing here waits for anything: a question is answered, and what follows from it taken for granted, in one
step.
"""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.device_claims import without_device_claims
from ullage.engine.placement.node_verdicts import NodeVerdicts
from ullage.engine.placement.running import Running
from ullage.engine.placement.scheduling import Bound, Cycle, schedule
from ullage.engine.redundancy.drain import OF_THE_NODE
from ullage.kube.extender.nominations import Nominations
from ullage.kube.following import Following
from ullage.kube.scheduler.assumptions import Assumptions
from ullage.kube.scheduler.holds import Holds
from ullage.kube.scheduler.staying import Staying
from ullage.kube.scheduler.waiting_line import WaitingLine
from ullage.model.cluster import Workload
from ullage.model.delta import Delta
from ullage.sources.kubernetes.api.mirrored_pods import PodFacts

HELD_JUDGED_MAX: Final = 50
"""Places that are held which are judged anew with whoever needs room: that costs their number squared."""


class Outlook:
    """What an extender takes for granted of the cluster it follows."""

    def __init__(
        self, following: Following, names: Iterable[str], now: Callable[[], float] = time.monotonic
    ) -> None:
        """`names` are those of the schedulers that ask."""
        self.following = following
        self._assumptions = Assumptions(self._uid)
        self._holds = Holds(self._claim_uid, now)
        self._staying = Staying()
        self.line = WaitingLine(tuple(names), self._assumptions.is_bound)
        self._now = now
        self.held: dict[str, str] = {}
        self.nominations = Nominations(self.held, self._assumptions.is_leaving, self.give_back)
        self.makes_room_for: set[str] = set()
        self._fixed: set[str] = set()
        self._given_back: dict[str, Workload] = {}
        self._promises = following.plans.standing(following.now_seconds())
        self._columns = following.advance(Delta())
        self._verdicts = NodeVerdicts(self._columns)

    def catch_up(self) -> NodeVerdicts:
        """Take what has changed into account, and what did not happen after all."""
        for key in [key for key in self._kept() if self.following.mirror.is_renewed(key)]:
            self.let_go(key)
        before, self._promises = self._promises, self.following.plans.standing(self.following.now_seconds())
        if self._promises is not before:
            self.line.moved()
        seen = self._holds.applied(self._assumptions.applied(self.following.take()))
        delta = self._staying.applied(seen, self._now())
        self._advance(delta)
        self.line.seen(delta)
        self._take_back({row.key for row in delta.workloads} | set(delta.dropped.get("workloads", ())))
        if delta.workloads or delta.dropped:
            for key in [key for key in self._kept() if key not in self.line]:
                self.let_go(key)
        self.nominations.look(self._nominated(), self._now())
        self._take_back(frozenset())
        return self._verdicts

    def _kept(self) -> tuple[str, ...]:
        """Return the pods that have a place, or are to have one."""
        return (*self.held, *self.makes_room_for)

    def _take_back(self, fresh: Collection[str]) -> None:
        """Show pods again of which nothing is taken for granted any more; `fresh` ones are shown already."""
        given_back = [row for key, row in self._given_back.items() if key not in fresh]
        self._given_back.clear()
        if not given_back:
            return
        back = [self._staying.shown(row, self._now()) for row in given_back]
        self._advance(Delta(workloads=tuple(back)))
        self.line.moved()
        for row in back:
            self.line.put_back(row, self._now())

    def _nominated(self) -> dict[str, str]:
        """Return the nodes that kube-scheduler has written on pods that wait; places of gangs are ours."""
        return {
            key: node
            for key, node in self.following.mirror.nominated().items()
            if key in self.line and key not in self._fixed and self.has_node(node)
        }

    def _advance(self, delta: Delta) -> None:
        """Show a change, with what the ledger holds beside it."""
        self._show(self.following.promised(delta))

    def _show(self, delta: Delta) -> None:
        before, self._columns = self._columns, self.following.advance(delta)
        if self._columns is not before:
            self._verdicts.advance(self._columns, delta)
            if self._columns.snapshot.policy is not before.snapshot.policy:
                self.line.moved()

    def columns(self) -> Columns:
        """Return the cluster as it is now, to be read while it changes."""
        self.catch_up()
        return self._columns.copy()

    def facts(self, key: str) -> PodFacts | None:
        """Return what is known of a pod beyond the workload."""
        return self.following.mirror.facts(key)

    def pod(self, key: str) -> Workload | None:
        """Return a pod; what the ledger holds for it is its own to use until the next look."""
        if key in self.following.room.places:
            self._show(self.following.room.lifted((key,)))
        return self._columns.snapshot.workloads.get(key)

    def promised_to(self, key: str) -> str:
        """Return the node on which the ledger holds room for a pod that waits."""
        return self.following.room.places.get(key, "")

    def has_node(self, name: str) -> bool:
        """Whether there is a node of a name."""
        return name in self._columns.snapshot.nodes

    def running(self) -> Running:
        """Return who runs, of which gang, those included who are being bound."""
        return Running(self._columns.snapshot)

    def waiting_of_gang(self, member: Workload) -> list[Workload]:
        """Return the members of a gang that wait; what the ledger holds for them is theirs to use."""
        found = (self.pod(key) for key in sorted(self.line.gang(member.namespace, member.gang)))
        return [each for each in found if each is not None and not each.node]

    def judged(self, asked: Sequence[Workload]) -> Cycle:
        """Return what our scheduler would do for pods now, beside those for whom places are held."""
        return self._judged(asked, self.held_besides({each.key for each in asked}), self._columns.copy())

    def judged_for_room(self, asked: Workload) -> Cycle:
        """Return the same where only is asked who goes for a pod, however many places are held.

        Where they are many, those of gangs and of the same node are judged too; all others have theirs, and
        whoever is on the way out there has gone.
        """
        besides, columns = self.held_besides({asked.key}), self._columns.copy()
        if len(besides) > HELD_JUDGED_MAX:
            near = self.held.get(asked.key, "")
            taken = {each.key: each for each in besides if not each.gang and self.held[each.key] != near}
            besides = [each for each in besides if each.key not in taken]
            rows = tuple(
                self._in_its_place(each) for key, each in taken.items() if self.has_node(self.held[key])
            )
            nodes = {each.node for each in rows}
            gone = tuple(e.key for e in columns.snapshot.workloads if e.terminating and e.node in nodes)
            columns = columns.advance(Delta(workloads=rows, dropped={"workloads": gone}))
        return self._judged([asked], besides, columns)

    def _judged(self, asked: Sequence[Workload], besides: Sequence[Workload], columns: Columns) -> Cycle:
        # devices are kube-scheduler's to allocate
        waiting = [without_device_claims(each) for each in (*asked, *besides)]
        return schedule(columns, waiting, nominated=dict(self.held), names_remedies=False)

    def _in_its_place(self, pod: Workload) -> Workload:
        """Return a pod as a part of the node that is held for it: nobody can evict it yet."""
        node = self.held[pod.key]
        return msgspec.structs.replace(pod, node=node, state="ok", volumes=(), owner=f"{OF_THE_NODE}{node}")

    # Places that are held

    def hold(self, key: str, node: str) -> None:
        """Hold the place of one of a gang that has them all: it has this one or none."""
        self.nominations.forget(key)
        self.held[key] = node
        self._fixed.add(key)

    def make_room_for(self, key: str) -> None:
        """Have those evicted here who are in the place of a pod, at the next look: kube-scheduler cannot."""
        if key in self.line:
            self.makes_room_for.add(key)
            self.line.at_once(key)
            self.following.changed.set()

    def let_go(self, key: str) -> None:
        """Hold no place for a pod any more, and make none."""
        self.makes_room_for.discard(key)
        self.held.pop(key, None)
        self._fixed.discard(key)
        self.nominations.forget(key)

    def held_besides(self, asked: Collection[str]) -> list[Workload]:
        """Return the pods for which places are held, and who have no turn now: nobody else may have them."""
        besides = [(key, self.pod(key)) for key in list(self.held) if key not in asked]
        return [
            msgspec.structs.replace(each, node=self.held[key]) if key in self._fixed else each
            for key, each in besides
            if each is not None and not each.node
        ]

    # What is being done

    def bind(self, workload: Workload, bound: Bound) -> None:
        """Take a pod for bound, with its disks and volumes."""
        row = self._assumptions.bind(workload, bound.node)
        self.line.take((workload.key,))
        self.let_go(workload.key)
        if workload.volumes:
            self._advance(self._holds.hold(workload, bound, self._columns.snapshot))
        self._advance(Delta(workloads=(row,)))

    def is_bound(self, key: str) -> None:
        """Take note that a pod is bound: what it holds is for the watch to show from now on."""
        self._holds.settle(key)

    def is_being_bound(self, key: str) -> bool:
        """Whether a pod is taken for bound, and the watch has not shown it yet."""
        return self._assumptions.is_bound(key)

    def evict(self, key: str) -> bool:
        """Take a pod for one on its way out; return whether it was not before.

        One that is only being bound is left alone until it is: it would be lost where it could wait.
        """
        running = self.pod(key)
        is_begun = self._assumptions.is_leaving(key) or self._assumptions.is_bound(key)
        if running is None or running.terminating or is_begun:
            return False
        self._advance(Delta(workloads=(self._assumptions.evict(running),)))
        return True

    def promise(self, key: str, node: str, victims: Iterable[str]) -> None:
        """Take it that kube-scheduler evicts pods for another one, and nominates that for their node."""
        facts, going = self.facts(key), [each for each in victims if self.evict(each)]
        before = facts.nominated_node if facts is not None else ""
        self.nominations.answer(key, node, before, going, self._now())

    def stays(self, key: str) -> None:
        """Take note that a pod that was to be evicted cannot be, and goes on as before."""
        seen = self._assumptions.seen(key)
        if seen is not None:
            self._staying.refuse(seen, self._assumptions.identifier(key), self._now())
        self.give_back(key)

    def give_back(self, key: str) -> None:
        """Take nothing for granted of a pod any more: what was begun was not done."""
        self._holds.let_go(key)
        seen = self._assumptions.forget(key)
        if seen is not None:
            self._given_back[key] = seen
            self.following.changed.set()

    def _claim_uid(self, key: str) -> str:
        facts = self.following.mirror.claim(key)
        return facts.uid if facts else ""

    def _uid(self, key: str) -> str:
        facts = self.facts(key)
        return facts.uid if facts else ""
