"""Evictions end where demand stands still: whoever is evicted is made anew, as controllers do.

Nothing but the demand is given, so a world that is judged again and again comes to rest, in both modes. The
hard thing is that those who come back are not there at once: others may be judged between.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import count
from random import Random
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cluster, node, quota, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.scheduling import schedule
from ullage.model.cluster import Quota, Snapshot, Workload

ROUNDS_MAX = 60
QUIET_ROUNDS = 4
DELAY_MAX = 2
KINDS = {"nos": "ElasticQuota", "fair": "Quota"}


class Wanted(NamedTuple):
    """A pod that somebody always wants to run."""

    namespace: str
    amounts: Mapping[str, int]
    priority: int = 0


class Run:
    """A cluster in which so much is wanted, and how often each of it was evicted."""

    def __init__(self, snapshot: Snapshot, wanted: Sequence[Wanted], random: Random) -> None:
        self._snapshot = snapshot
        self._random = random
        self._numbers = count()
        self._made: dict[str, int] = {}
        self._pods: dict[str, Workload] = {}
        self._due = [(random.randint(0, 2 * DELAY_MAX), place) for place in range(len(wanted))]
        self._wanted = wanted
        self._nominated: dict[str, str] = {}
        self.evicted: Counter[int] = Counter()

    def comes_to_rest(self) -> bool:
        """Whether nothing changes any more, after so many rounds at most."""
        quiet = 0
        for number in range(ROUNDS_MAX):
            self._make(number)
            quiet = 0 if self._judge(number) or self._due else quiet + 1
            if quiet == QUIET_ROUNDS:
                return True
        return False

    def _make(self, number: int) -> None:
        """Make the pods whose time has come; each is younger than all that were made before."""
        for each in [each for each in self._due if each[0] <= number]:
            self._due.remove(each)
            wanted, made = self._wanted[each[1]], next(self._numbers)
            amounts = {name: str(amount) for name, amount in wanted.amounts.items()}
            key = f"{wanted.namespace}/p{made:04}"
            self._pods[key] = waiting(key, amounts, priority=wanted.priority, created_seconds=made)
            self._made[key] = each[1]

    def _judge(self, number: int) -> bool:
        """Judge all that waits and do what is decided; return whether that is anything."""
        asked = [each for each in self._pods.values() if not each.node]
        workloads = self._snapshot.workloads.changed(self._pods.values())
        columns = Columns(msgspec.structs.replace(self._snapshot, workloads=workloads))
        done = schedule(columns, asked, nominated=self._nominated, names_remedies=False)
        for bound in done.bound:
            pod = self._pods[bound.workload]
            self._pods[bound.workload] = msgspec.structs.replace(pod, node=bound.node, state="ok")
        self._nominated = {each.workload: each.node for each in done.nominated}
        for victim in (victim.workload for each in done.nominated for victim in each.evicted):
            del self._pods[victim]
            place = self._made.pop(victim)
            self.evicted[place] += 1
            self._due.append((number + self._random.randint(0, DELAY_MAX), place))
        return bool(done.bound or done.nominated)


def cpu(amount: int) -> dict[str, int]:
    return {"cpu": amount}


def both(cpu: int, memory: int) -> dict[str, int]:
    return {"cpu": cpu, "memory": memory}


def elastic(name: str, least: Mapping[str, int]) -> Quota:
    return quota(name, {key: str(amount) for key, amount in least.items()}, kind="ElasticQuota")


LOOPS = {
    "a borrower of more priority in the place of who is guaranteed it": (
        {"n0": cpu(8)},
        {"a": cpu(1), "b": cpu(6), "c": cpu(5), "d": cpu(1)},
        [
            Wanted("c", cpu(4), 5),
            Wanted("d", cpu(1), 5),
            Wanted("b", cpu(1), 5),
            Wanted("a", cpu(2), 5),
            Wanted("c", cpu(2), 5),
            Wanted("a", cpu(1)),
        ],
    ),
    "a large borrower in the place of a small one and of who is guaranteed it": (
        {"n0": cpu(5), "n1": cpu(4)},
        {"a": cpu(3), "b": cpu(4), "c": cpu(3)},
        [
            Wanted("c", cpu(2)),
            Wanted("b", cpu(3)),
            Wanted("a", cpu(4)),
            Wanted("c", cpu(3)),
            Wanted("c", cpu(4), 5),
            Wanted("c", cpu(1)),
        ],
    ),
    "two that borrow more than what others leave in the places of two that do not": (
        {"n0": both(2, 2), "n1": both(2, 9), "n2": both(2, 9)},
        {"a": {"memory": 2}, "b": {"memory": 2}, "c": {"memory": 6}},
        [
            Wanted("a", both(2, 2), 9),
            Wanted("b", both(2, 2), 9),
            Wanted("a", both(2, 1)),
            Wanted("b", both(2, 1)),
            Wanted("a", both(2, 2), 5),
            Wanted("b", both(2, 2), 5),
        ],
    ),
    "three of two quotas on one node": (
        {"n0": {"cpu": 9, "memory": 8}},
        {"a": both(5, 4), "b": both(2, 2), "c": both(6, 1)},
        [
            Wanted("b", both(1, 2), 5),
            Wanted("c", both(3, 1)),
            Wanted("c", both(3, 1)),
            Wanted("a", both(1, 1), 5),
            Wanted("a", both(3, 4)),
            Wanted("c", both(4, 3)),
            Wanted("c", both(4, 4), 5),
        ],
    ),
}


@pytest.mark.parametrize(("nodes", "mins", "wanted"), LOOPS.values(), ids=LOOPS)
@pytest.mark.parametrize("seed", range(5))
def test_those_who_could_evict_each_other_by_turns_come_to_rest(nodes, mins, wanted, seed):
    parts = [node(name, {key: str(amount) for key, amount in each.items()}) for name, each in nodes.items()]
    snapshot = cluster(*parts, *(elastic(name, least) for name, least in mins.items()))
    run = Run(snapshot, wanted, Random(seed))  # noqa: S311 - nothing secret
    assert run.comes_to_rest(), run.evicted
    assert run.evicted.total() <= 2 * len(wanted)


def drawn(seed: int, mode: str) -> tuple[Snapshot, list[Wanted], Random]:
    """Return a crowded cluster, in mode fair perhaps a tree with weights, and all that is wanted."""
    random = Random(seed)  # noqa: S311 - nothing secret
    resources = ("cpu", "memory")[: random.randint(1, 2)]

    def amounts(least: int, most: int) -> dict[str, str]:
        return {name: str(random.randint(least, most)) for name in resources}

    nodes = [node(f"n{number}", amounts(4, 12)) for number in range(random.randint(1, 2))]
    names = "abcd"[: random.randint(2, 4)]
    is_tree = mode == "fair" and random.random() < 0.5
    quotas = [quota(name, amounts(3, 14), namespaces=()) for name in ("r0", "r1") if is_tree]
    for name in names:
        named = [name for name in resources if random.random() < 0.9]
        least = {name: str(random.randint(0, 3 if is_tree else 6)) for name in named}
        more = {}
        if random.random() < 0.2:
            more["maximum"] = {key: str(int(value) + random.randint(0, 6)) for key, value in least.items()}
        if mode == "fair" and random.random() < 0.4:
            more["weight"] = Fraction(random.randint(0, 4))
        if is_tree:
            more["parent"] = random.choice(("r0", "r1"))
        quotas.append(quota(name, least, kind=KINDS[mode], **more))
    spaces = names + ("z" if random.random() < 0.3 else "")
    wanted = []
    for _ in range(random.randint(4, 11)):
        asked = {name: random.randint(1, 4) for name in resources}
        wanted.append(Wanted(random.choice(spaces), asked, random.choice((0, 5))))
    return cluster(*nodes, *quotas), wanted, random


@pytest.mark.parametrize("mode", KINDS)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_evictions_end_where_demand_stands_still(mode, seed):
    snapshot, wanted, random = drawn(seed, mode)
    run = Run(snapshot, wanted, random)
    assert run.comes_to_rest(), run.evicted
