"""Victims of gangs: the rules one by one, and every small case beside all sets looked at with plain rules."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.quota.gang_cases import (
    GPU,
    Case,
    best_by_force,
    ends_well,
    is_legal,
    random_case,
    seeded,
    with_gangs,
)
from ullage.engine.quota.book import Book, Member
from ullage.engine.quota.gang_columns import Columns
from ullage.engine.quota.gang_victims import GangSearch, gang_victims
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.victim_gangs import by_gang, running_gangs
from ullage.engine.quota.victims import Nodes, Victims
from ullage.model.cluster import Quota
from ullage.model.resources import Resources

KINDS = ("ElasticQuota", "Quota")


def gpus(number: int) -> Resources:
    return Resources({GPU: number})


class World:
    """Quotas with a min of GPUs, nodes with GPUs, and members written as (quota, node, GPUs)."""

    def __init__(
        self,
        kind: str,
        mins: Mapping[str, int],
        nodes: Mapping[str, int],
        running: Sequence[tuple[str, str, int]],
    ) -> None:
        self.book = Book(
            [Quota(name, kind=kind, namespaces=(name,), min=gpus(least)) for name, least in mins.items()]
        )
        self.running = [
            self.member(f"r{number:03d}", quota, size)._replace(node=node, created_seconds=number)
            for number, (quota, node, size) in enumerate(running)
        ]
        free = dict(nodes)
        for _, node, size in running:
            free[node] -= size
        self.nodes = Nodes({name: {GPU: left} for name, left in free.items()}, {GPU: sum(nodes.values())})

    def member(self, key: str, quota: str, size: int) -> Member:
        return Member(key, self.book.index[quota], self.book.amounts(gpus(size)), gpus(size))

    def asks(self, quota: str, *sizes: int, waiting: int = 0, **arguments: object) -> GangSearch:
        """Search for a gang of these sizes, while more GPUs of the same quota wait behind it."""
        gang = [self.member(f"g{number:03d}", quota, size) for number, size in enumerate(sizes)]
        standing = Standing(self.book, self.running)
        behind = [*gang, self.member("behind", quota, waiting)]
        rules = Rules(standing, standing.entitlements(behind, self.nodes.capacity))
        columns = Columns(standing, self.running, self.nodes)
        return gang_victims(rules, rules.claim(gang), columns, **arguments)


def full(kind: str, nodes: int, size: int = 1) -> World:
    """Return nodes of 8 GPUs full of members of b, in a cluster of which half is a's."""
    names = [f"n{number:02d}" for number in range(nodes)]
    running = [("b", name, size) for name in names for _ in range(8 // size)]
    return World(kind, {"a": 4 * nodes, "b": 4 * nodes}, dict.fromkeys(names, 8), running)


@pytest.mark.parametrize("kind", KINDS)
def test_room_that_exists_is_used_first(kind):
    world = World(kind, {"a": 8, "b": 8}, {"n0": 8, "n1": 8}, [("b", "n0", 1)] * 6 + [("b", "n1", 1)] * 6)
    assert world.asks("a", 2, 2).found.victims == ()
    found = world.asks("a", 2, 2, 1, waiting=8).found
    assert len(found.victims) == 1
    assert found.proven


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("sizes", "victims"), [([1] * 48, 48), ([8] * 6, 48), ([2, 4] * 8, 48)])
def test_as_much_is_evicted_as_is_asked_for(kind, sizes, victims):
    found = full(kind, 47).asks("a", *sizes, waiting=100).found
    assert len(found.victims) == victims
    assert found.gap == 0
    assert len({each.key for each in found.victims}) == victims


@pytest.mark.parametrize("kind", KINDS)
def test_the_right_is_judged_on_the_sum_of_the_gang(kind):
    world = full(kind, 2)
    assert len(world.asks("a", *[1] * 8).found.victims) == 8
    nine = world.asks("a", *[1] * 9)
    assert nine.found is None
    assert nine.proven


@pytest.mark.parametrize("kind", KINDS)
def test_fragmented_room_is_no_room_and_nobody_else_may_be_moved(kind):
    running = [("b", node, 6) for node in ("n0", "n1", "n2", "n3")]
    world = World(kind, {"a": 8, "b": 24}, dict.fromkeys(("n0", "n1", "n2", "n3"), 8), running)
    search = world.asks("a", 4)
    assert search.found is None
    assert search.proven


def test_victims_that_free_quota_only_may_be_anywhere():
    world = World(
        "ElasticQuota", {"a": 4, "b": 4}, {"n0": 4, "n1": 8}, [("b", "n0", 2)] * 2 + [("b", "n1", 2)]
    )
    found = world.asks("a", 4).found
    assert found.nodes == ("n1",)
    assert [each.key for each in found.victims] == ["r002"]
    elsewhere = world.asks("a", 4, allowed=np.array([[False, True]])).found
    assert elsewhere == found


@pytest.mark.parametrize("kind", KINDS)
def test_a_quota_gives_no_more_than_it_has_above_its_own(kind):
    running = [("b", "n0", 1)] * 5 + [("c", "n1", 1)] * 8
    world = World(kind, {"a": 5, "b": 4, "c": 4}, {"n0": 5, "n1": 8}, running)
    found = world.asks("a", *[1] * 5).found
    assert [each.node for each in found.victims] == ["n0", *["n1"] * 4]
    assert found.cost.quotas_below == 0
    only_there = np.array([[True, False]] * 2)
    assert len(world.asks("a", 1, waiting=4, allowed=only_there[:1]).found.victims) == 1
    assert world.asks("a", 1, 1, waiting=3, allowed=only_there).found is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_member_goes_only_where_it_may(kind):
    world = full(kind, 4)
    allowed = np.zeros((3, 4), np.bool_)
    allowed[0, 2] = allowed[1, 3] = allowed[2, 3] = True
    found = world.asks("a", 4, 4, 4, allowed=allowed).found
    assert found.nodes == ("n02", "n03", "n03")
    assert [each.node for each in found.victims] == ["n02"] * 4 + ["n03"] * 8
    allowed[0] = False
    nowhere = world.asks("a", 4, 4, 4, allowed=allowed)
    assert nowhere == GangSearch(None, turns=False, proven=True)


@pytest.mark.parametrize("kind", KINDS)
def test_who_is_no_candidate_stays(kind):
    world = full(kind, 2)
    candidates = np.array([number % 2 == 0 for number in range(16)])
    found = world.asks("a", *[1] * 4, candidates=candidates).found
    assert [each.key for each in found.victims] == ["r008", "r010", "r012", "r014"]
    assert world.asks("a", 8, candidates=candidates).found is None


def test_of_two_alike_the_one_goes_that_leaves_the_other_victims_legal():
    world = World("Quota", {"a": 6, "b": 4}, {"n0": 11, "n1": 3}, [("b", "n0", size) for size in (5, 1, 5)])
    world.running[1] = world.running[1]._replace(budgets=(0,))
    search = world.asks("a", 6, budgets=(1,))
    assert [each.key for each in search.found.victims] == ["r000", "r001"]
    assert search.proven


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_large_cluster_the_youngest_over_quota_members_go(kind):
    found = full(kind, 40).asks("a", *[1] * 30, waiting=200).found
    assert [each.key for each in found.victims] == [f"r{number:03d}" for number in range(290, 320)]
    assert found.victims_min == 30


def test_a_gang_that_asks_for_what_no_node_has_gets_none():
    world = full("Quota", 1)
    gang = [Member("g", 0, (1,), Resources({GPU: 1, "example.com/licence": 1}))]
    standing = Standing(world.book, world.running)
    rules = Rules(standing, standing.entitlements(gang, world.nodes.capacity))
    search = gang_victims(rules, rules.claim(gang), Columns(standing, world.running, world.nodes))
    assert search == GangSearch(None, turns=False, proven=True)


def searched(case: Case, **arguments: object) -> GangSearch:
    gangs = running_gangs(by_gang(case.running))
    columns = case.columns()
    return gang_victims(
        case.rules,
        case.claim,
        columns,
        allowed=case.mask(),
        budgets=case.budgets,
        gangs=gangs,
        **arguments,
    )


@given(st.integers(0, 2**32))
def test_small_cases_are_the_best_of_all_sets_and_proven(seed):
    is_the_best(random_case(seeded(seed)))


@given(st.integers(0, 2**32))
def test_small_cases_with_gangs_that_run_are_the_best_of_all_sets_and_proven(seed):
    random = seeded(seed)
    is_the_best(with_gangs(random, random_case(random)))


def is_the_best(case: Case) -> None:
    best = best_by_force(case)
    search = searched(case)
    assert search.proven
    if best is None:
        assert search.found is None
    else:
        assert search.found.cost == best.cost
        assert search.found.nodes == best.nodes
        assert search.found.proven
        assert search.found.gap == 0


@given(st.integers(0, 2**32))
def test_a_gang_of_one_is_decided_as_a_workload_alone(seed):
    case = random_case(seeded(seed))
    claim = case.rules.claim(case.claim.members[:1])
    search = gang_victims(case.rules, claim, case.columns(), budgets=case.budgets)
    if search.found is not None and not search.found.victims:
        return
    alone = Victims(case.rules, claim, case.nodes, budgets=case.budgets).best(case.running)
    assert search.turns == alone.turns
    if alone.found is None:
        assert search.found is None
    else:
        found = search.found
        assert (found.victims, found.nodes, found.cost) == (
            alone.found.victims,
            (alone.found.node,),
            alone.found.cost,
        )


@given(st.integers(0, 2**32))
def test_the_order_of_the_input_does_not_matter(seed):
    random = seeded(seed)
    case = random_case(random)
    search = searched(case)
    order = random.sample(range(len(case.claim.members)), len(case.claim.members))
    free = dict(random.sample(sorted(case.nodes.free.items()), len(case.nodes.free)))
    running = random.sample(case.running, len(case.running))
    standing = Standing(case.rules.book, running)
    rules = Rules(standing, case.rules.entitlements)
    claim = rules.claim([case.claim.members[place] for place in order])
    columns = Columns(standing, running, Nodes(free, case.nodes.capacity))
    again = gang_victims(rules, claim, columns, allowed=case.mask()[order], budgets=case.budgets)
    if search.found is not None:
        nodes = tuple(search.found.nodes[place] for place in order)
        search = search._replace(found=search.found._replace(nodes=nodes))
    assert again == search


@given(st.integers(0, 2**32))
def test_without_steps_the_set_is_still_legal_and_enough(seed):
    random = seeded(seed)
    case = random_case(random)
    case = with_gangs(random, case) if random.random() < 0.5 else case
    found = searched(case, steps_max=1).found
    if found is not None and found.victims:
        assert is_legal(case, found.victims)
        assert ends_well(case, found.victims)
        assert not found.proven
        assert 0 <= found.gap < len(found.victims) + 1
