"""Who has no place is told why at once, and what would help as soon as that is looked for, each once."""

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from builders import cluster, node, policy, quota, waiting, workload
from ullage.engine.columns import Columns
from ullage.engine.placement.scheduling import Cycle, Nominated, Unplaced, schedule
from ullage.kube.scheduler.explaining import KINDS_MAX, Explaining
from ullage.model.admission import DisruptionBudget
from ullage.model.cluster import Snapshot, Workload
from ullage.model.constraints import LabelSelector
from ullage.model.plan import Refusal

GPU_MEMORY = "nos.nebuly.com/gpu-memory"
PODS = [waiting(f"web/p{index:02}", cpu=10 + index) for index in range(KINDS_MAX + 5)]
COLUMNS = Columns(cluster(node("n0", cpu=1), *PODS))
DONE = schedule(COLUMNS, PODS, names_remedies=False)
ASKED = {each.key: each for each in PODS}


def told_in(cycles: int, *, is_said: bool = True) -> list[list[tuple[str, bool]]]:
    """Return who is told something in each cycle, and whether it is what would help."""
    said: list[tuple[str, bool]] = []

    def say(key: str, message: str) -> bool:
        said.append((key, "smallest change" in message))
        return is_said

    explaining, found = Explaining(say), []
    for _ in range(cycles):
        asyncio.run(explaining.tell(COLUMNS, DONE, ASKED))
        found.append(sorted(said))
        said.clear()
    return found


def test_whoever_has_no_turn_in_a_cycle_is_told_what_would_help_in_the_next():
    first, second, third = told_in(3)
    assert [key for key, _ in first] == sorted(ASKED)
    assert sum(helps for _, helps in first) == KINDS_MAX
    assert second == [(key, True) for key, helps in first if not helps]
    assert third == []


def test_what_could_not_be_said_is_said_again():
    first, second = told_in(2, is_said=False)
    assert first == second


def test_who_is_forgotten_is_told_again():
    said: list[str] = []
    explaining = Explaining(lambda key, _: not said.append(key))
    one = Cycle(unplaced=DONE.unplaced[:1])
    asyncio.run(explaining.tell(COLUMNS, one, ASKED))
    explaining.keep(lambda _: True)
    asyncio.run(explaining.tell(COLUMNS, one, ASKED))
    assert len(said) == 1
    explaining.keep(lambda _: False)
    asyncio.run(explaining.tell(COLUMNS, one, ASKED))
    assert len(said) == 2


def test_one_of_a_gang_is_told_by_itself_what_would_help_all_of_it():
    gang = [waiting(f"web/g{index}", cpu=2 + index, gang="g", gang_min=3) for index in range(3)]
    columns = Columns(cluster(node("n0", cpu=1), *gang))
    done = schedule(columns, gang, names_remedies=False)
    said: dict[str, str] = {}
    explaining = Explaining(lambda key, message: not said.update({key: message}))
    asyncio.run(
        explaining.tell(columns, Cycle(unplaced=done.unplaced[:1]), {each.key: each for each in gang})
    )
    ((key, message),) = said.items()
    assert key == done.unplaced[0].workload
    assert "needs 3 and has" not in message
    assert "all 3 of its gang then fit" in message


class Told:
    """Cycles of a cluster, and what those without a place were told."""

    def __init__(self, snapshot: Snapshot, *pods: Workload) -> None:
        self.snapshot = _changed(snapshot, pods)
        self.said: list[tuple[str, str]] = []
        self._nominated: dict[str, str] = {}
        self._explaining = Explaining(lambda key, message: not self.said.append((key, message)))

    def cycle(self) -> Cycle:
        """Judge all that waits, take what is decided as done, and tell the others."""
        asked = {each.key: each for each in self.snapshot.workloads if not each.node}
        columns = Columns(self.snapshot)
        done = schedule(columns, list(asked.values()), nominated=self._nominated, names_remedies=False)
        self._nominated = {each.workload: each.node for each in done.nominated}
        leave = [self.snapshot.workloads[each.workload] for one in done.nominated for each in one.evicted]
        self.snapshot = _changed(
            self.snapshot, [msgspec.structs.replace(each, terminating=True) for each in leave]
        )
        self.tell(done, asked)
        return done

    def put(self, **tables: Iterable[Any]) -> Snapshot:
        """Return the cluster with other rows."""
        changed = {name: getattr(self.snapshot, name).changed(rows) for name, rows in tables.items()}
        return msgspec.structs.replace(self.snapshot, **changed)

    def tell(self, done: Cycle, asked: dict[str, Workload]) -> None:
        asyncio.run(self._explaining.tell(Columns(self.snapshot), done, asked))

    def run(self, nominated: Iterable[Nominated]) -> None:
        """Let those run for whom others have gone."""
        pods = [
            msgspec.structs.replace(self.snapshot.workloads[each.workload], node=each.node, state="ok")
            for each in nominated
        ]
        gone = [each.key for each in self.snapshot.workloads if each.terminating]
        self.snapshot = _changed(self.snapshot, pods, gone)


def _changed(snapshot: Snapshot, pods: Iterable[Workload], gone: Iterable[str] = ()) -> Snapshot:
    return msgspec.structs.replace(snapshot, workloads=snapshot.workloads.changed(pods, gone))


def important(count: int) -> list[Workload]:
    return [waiting(f"k{index}", cpu=2, priority=9, created_seconds=index) for index in range(count)]


FULL = node("n0", cpu=4).holding(*(workload(f"v{index}", cpu=2, labels={"app": "v"}) for index in range(2)))


def test_who_came_with_others_that_are_given_room_is_told_what_helps_once_they_run():
    told = Told(cluster(FULL), *important(3))
    assert [each.workload for each in told.cycle().nominated] == ["k0", "k1"]
    ((key, message),) = told.said
    assert key == "k2"
    assert "smallest change: evict k0: it then fits" in message


def test_a_budget_in_the_way_is_named_also_to_who_came_with_others_that_are_given_room():
    full = [
        node(f"n{index}", cpu=2).holding(workload(f"v{index}", cpu=2, labels={"app": "v"}))
        for index in range(2)
    ]
    kept = DisruptionBudget("pdb", selector=LabelSelector({"app": "v"}), disruptions_allowed=1)
    told = Told(cluster(*full, kept), *important(2))
    done = told.cycle()
    assert [each.workload for each in done.nominated] == ["k0"]
    told.snapshot = told.put(disruption_budgets=[msgspec.structs.replace(kept, disruptions_allowed=0)])
    again = told.cycle()
    assert [each.refusal.reason for each in again.unplaced] == [each.refusal.reason for each in done.unplaced]
    assert "it would fit on n1 if disruption budget pdb let v1 go; smallest change: " in told.said[1][1]
    told.run(done.nominated)
    told.cycle()
    told.cycle()
    assert len(told.said) == 2


def test_what_helps_is_looked_for_again_once_it_has_come_otherwise_though_the_reason_stays():
    told = Told(cluster(FULL), *important(3))
    told.cycle()
    assert "evict k0" in told.said[0][1]
    told.cycle()
    assert len(told.said) == 1
    others = [workload(f"z{index}", cpu=2, priority=99, node="n0") for index in range(2)]
    told.snapshot = _changed(told.snapshot, others, ["k0", "k1", "v0", "v1"])
    told.cycle()
    assert "smallest change: add a node" in told.said[1][1]
    told.cycle()
    assert len(told.said) == 2


def test_who_was_to_have_a_place_and_lost_it_is_told_anew_why_he_has_none():
    told = Told(cluster(FULL), *important(3))
    refused = told.cycle()
    told.snapshot = _changed(told.snapshot, (), ["k0"])
    told.tell(Cycle(nominated=[Nominated("k2", "n0")]), {})
    told.tell(refused, {each.key: each for each in important(3)[1:]})
    assert [key for key, _ in told.said] == ["k2", "k2"]


def test_of_whom_nothing_is_found_it_is_looked_for_again_and_he_is_told_nothing_twice():
    one = waiting("one", cpu=1)
    told = Told(cluster(node("n0", cpu=1)), one)
    refused = Cycle(unplaced=[Unplaced("one", Refusal("one", 1, "somebody else was to have it"))])
    for _ in range(2):
        told.tell(refused, {"one": one})
    assert [message for _, message in told.said] == ["0/1 nodes: somebody else was to have it"]
    told.snapshot = _changed(told.snapshot, [workload("other", cpu=1, node="n0")])
    told.tell(refused, {"one": one})
    assert "smallest change" in told.said[1][1]


@pytest.mark.parametrize("seconds", [(1, 2, 3), (1, 1, 1)], ids=["in turn", "at once"])
def test_the_third_claim_of_three_that_come_together_is_told_what_would_let_it_run(seconds):
    mine = [workload(f"a/a{index}", gpu=1, created_seconds=0) for index in range(4)]
    theirs = [workload(f"b/b{index}", gpu=1, created_seconds=0) for index in range(4)]
    full = node("n0", gpu=8).holding(*mine, *theirs)
    quotas = [quota(name, {GPU_MEMORY: str(amount)}) for name, amount in (("a", 40), ("b", 10), ("c", 30))]
    claims = [waiting(f"a/c{index}", gpu=1, created_seconds=at) for index, at in enumerate(seconds)]
    told = Told(cluster(full, *quotas, policy=policy(gpu_memory="10")), *claims)
    assert [each.workload for each in told.cycle().nominated] == ["a/c0", "a/c1"]
    ((key, message),) = told.said
    assert key == "a/c2"
    assert "quota a would pass its entitlement, 70" in message
    assert "smallest change: " in message
