"""The best legal set of victims, against a judge that tries them all."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quota_judge
from quota_judge import Pod, World
from quota_worlds import crowded, member_of, with_gangs
from ullage.engine.quota.book import Book
from ullage.engine.quota.decision import Decision, decide
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.victim_gangs import by_gang, running_gangs
from ullage.engine.quota.victims import STEPS_MAX, Nodes
from ullage.model.cluster import Quota
from ullage.model.resources import Resources


def decided(
    world: World, claimant: Pod, *, waiting: Sequence[Pod] = (), steps_max: int = STEPS_MAX
) -> tuple[World, Decision]:
    """Return the engine's decision, and the world with the entitlements that it was made with."""
    book = Book(
        [
            Quota(name, namespaces=(name,), min=Resources(least), max=Resources(world.maxes.get(name, {})))
            for name, least in world.mins.items()
        ],
        world.mode,
    )
    running = [member_of(book, pod, world.gang_mins) for pod in world.running]
    capacity: dict[str, int] = {}
    free = {name: dict(node) for name, node in sorted(world.nodes.items())}
    for node in world.nodes.values():
        for name, amount in node.items():
            capacity[name] = capacity.get(name, 0) + amount
    for pod in world.running:
        for name, amount in pod.amounts.items():
            free[pod.node][name] = free[pod.node].get(name, 0) - amount
    standing = Standing(book, running)
    asking = member_of(book, claimant)
    rules = Rules(
        standing, standing.entitlements([asking, *(member_of(book, pod) for pod in waiting)], capacity)
    )
    entitlements = {
        each.name: dict(book.readable(terms))
        for each, terms in zip(book.quotas, rules.entitlements, strict=True)
    }
    nodes = Nodes(free, capacity)
    gangs = running_gangs(by_gang(running))
    decision = decide(rules, asking, nodes, running, budgets=world.allowed, gangs=gangs, steps_max=steps_max)
    return world._replace(entitlements=entitlements), decision


def cpu(amount: int) -> dict[str, int]:
    return {"cpu": amount}


def pod(key: str, quota: str, amount: int, *, priority: int = 0, created: int = 0, node: str = "n1") -> Pod:
    return Pod(key, quota, cpu(amount), node, priority, created)


def both(cpus: int, memory: int) -> dict[str, int]:
    return {"cpu": cpus, "memory": memory}


def full(mode: str, mins: Mapping[str, int], *running: Pod, free: int = 0) -> World:
    """Return a world of one node that is full but for what is free."""
    size = sum(each.amounts["cpu"] for each in running) + free
    return World(mode, {name: cpu(least) for name, least in mins.items()}, {}, {"n1": cpu(size)}, running, {})


RULES = {
    "the fewest go": (
        full("fair", {"A": 9, "B": 0}, pod("b1", "B", 1), pod("b2", "B", 2), pod("b3", "B", 3)),
        pod("new", "A", 3),
        ["b3"],
    ),
    "of as many, the smallest that are enough go": (
        full("fair", {"A": 9, "B": 0}, pod("b2", "B", 2), pod("b3", "B", 3), pod("b4", "B", 4)),
        pod("new", "A", 3),
        ["b3"],
    ),
    "of equal ones, the youngest goes": (
        full("fair", {"A": 9, "B": 0}, pod("b1", "B", 3, created=2), pod("b2", "B", 3, created=7)),
        pod("new", "A", 3),
        ["b2"],
    ),
    "of equal ones, the least important goes": (
        full("fair", {"A": 9, "B": 0}, pod("b1", "B", 3, priority=5, created=9), pod("b2", "B", 3)),
        pod("new", "A", 3, priority=-5),
        ["b2"],
    ),
    "of as many that free as much, those go of whom none is important": (
        full(
            "fair",
            {"A": 9, "B": 0},
            pod("b1", "B", 3, priority=5, created=9),
            pod("b2", "B", 2, created=1),
            pod("b4", "B", 2, created=1),
            pod("b5", "B", 1, created=8),
        ),
        pod("new", "A", 4),
        ["b2", "b4"],
    ),
    "of as many that free as much and are as important, the youngest go": (
        full(
            "fair",
            {"A": 9, "B": 0},
            pod("b1", "B", 3, priority=5, created=1),
            pod("b2", "B", 2, priority=5, created=9),
            pod("b4", "B", 2, priority=5, created=9),
            pod("b5", "B", 1, created=0),
        ),
        pod("new", "A", 4),
        ["b2", "b4"],
    ),
    "others go before members of one's own quota": (
        full("fair", {"A": 9, "B": 0}, pod("a1", "A", 3), pod("b1", "B", 3, priority=9)),
        pod("new", "A", 3, priority=5),
        ["b1"],
    ),
    "inside a quota only lower priority goes": (
        full("fair", {"A": 0, "B": 9}, pod("a1", "A", 3, priority=5), pod("a2", "A", 3, priority=4)),
        pod("new", "A", 3, priority=5),
        ["a2"],
    ),
    "a quota within its share gives nobody": (
        full("fair", {"A": 3, "B": 3}, pod("b1", "B", 3), pod("a1", "A", 3)),
        pod("new", "A", 3),
        [],
    ),
    "of two alike the one goes after which the others may still be taken": (
        World(
            "fair",
            {"A": cpu(6), "B": cpu(4)},
            {},
            {"n0": cpu(11), "n1": cpu(3)},
            [
                Pod("b0", "B", cpu(5), "n0", created=0),
                Pod("b1", "B", cpu(1), "n0", created=1, budgets=(0,)),
                Pod("b2", "B", cpu(5), "n0", created=2),
            ],
            {},
            (1,),
        ),
        Pod("new", "A", cpu(6), created=9),
        ["b0", "b1"],
    ),
    "who could take the place back is not taken": (
        World(
            "nos",
            {"A": both(3, 1), "B": both(5, 3)},
            {},
            {"n1": both(8, 4)},
            [Pod("a", "A", both(5, 1), "n1")],
            {},
        ),
        Pod("b", "B", both(2, 4)),
        [],
    ),
    "who is guaranteed its place does not go for one of its quota that borrows": (
        full("nos", {"A": 1, "B": 5}, pod("a1", "A", 1), pod("b1", "B", 4), free=1),
        pod("new", "A", 2, priority=5),
        [],
    ),
    "nor who has a part of what others leave for one that would pass that": (
        full("nos", {"A": 2, "B": 8}, pod("a1", "A", 2, priority=9), pod("a2", "A", 1), free=1),
        pod("new", "A", 2, priority=5),
        [],
    ),
    "who would have no right to a place of others goes for one that borrows as much": (
        full("nos", {"A": 2, "B": 8}, pod("a1", "A", 2), pod("a2", "A", 2), pod("a3", "A", 2)),
        pod("new", "A", 2, priority=5),
        ["a1"],
    ),
    "where the smaller set could come back, a larger one that cannot goes": (
        World(
            "nos",
            {"A": cpu(2), "B": cpu(7), "D": both(9, 5)},
            {},
            {"n0": both(5, 2), "n1": both(10, 5)},
            [
                Pod("p0", "A", both(1, 2), "n1", 5, 1),
                Pod("p1", "B", both(3, 0), "n1", 5),
                Pod("p3", "B", both(3, 1), "n0", budgets=(0,)),
                Pod("p4", "A", both(4, 2), "n1", 5, budgets=(0,)),
            ],
            {},
            (1,),
        ),
        Pod("new", "B", both(4, 3), "", 9, 9),
        ["p0", "p1", "p4"],
    ),
    "one that frees nothing needed goes too, where without it a victim could come back": (
        World(
            "nos",
            {"A": both(2, 1), "B": both(6, 7), "C": both(7, 5), "D": both(7, 4)},
            {},
            {"n0": both(3, 6), "n1": both(4, 7)},
            [
                Pod("p0", "C", both(2, 1), "n1", created=2),
                Pod("p1", "C", both(0, 1), "n1"),
                Pod("p2", "B", both(1, 4), "n1", 5),
                Pod("p3", "A", both(1, 3), "n0", 5, budgets=(0, 1)),
                Pod("p4", "A", both(1, 0), "n0", created=2, budgets=(1,)),
                Pod("p5", "C", both(1, 1), "n0", 5, budgets=(1,)),
            ],
            {},
            (0, 0),
        ),
        Pod("new", "C", both(2, 3), "", 5, 9),
        ["p1", "p3", "p4"],
    ),
}


@pytest.mark.parametrize(("world", "claimant", "victims"), RULES.values(), ids=RULES)
def test_who_is_taken(world, claimant, victims):
    found, decision = decided(world, claimant)
    assert [each.key for each in decision.victims] == victims
    expected = quota_judge.best(found, claimant)
    assert list(expected.victims if expected else ()) == victims


def test_a_quota_that_gives_victims_itself_does_not_end_above_its_share_and_its_use_before():
    running = [pod("a1", "A", 1, node="n1"), pod("a2", "A", 2, priority=9, node="n2")]
    nodes = {"n1": cpu(3), "n2": cpu(3)}
    world = World("fair", {"A": cpu(0), "B": cpu(3)}, {}, nodes, running, {})
    claimant = pod("new", "A", 3, priority=5)
    _, alone = decided(world, claimant)
    assert [each.key for each in alone.victims] == ["a1"]
    _, beside_others = decided(world, claimant, waiting=[pod("b1", "B", 3)])
    assert (beside_others.verdict, beside_others.barred) == ("refuse", "above-entitlement")


def test_a_search_that_is_cut_short_says_so():
    running = [pod(f"b{number}", "B", 1 + number % 3) for number in range(12)]
    world = full("fair", {"A": 30, "B": 0}, *running)
    _, decision = decided(world, pod("new", "A", 11), steps_max=8)
    assert not decision.proven


@settings(max_examples=2000, deadline=None)
@given(st.integers(0, 1 << 40))
def test_the_chosen_set_is_the_best_of_all(seed):
    is_the_best(*crowded(seed))


@settings(max_examples=1000, deadline=None)
@given(st.integers(0, 1 << 40))
def test_the_chosen_set_is_the_best_of_all_that_leave_gangs_whole_or_enough_of_them(seed):
    world, claimant = crowded(seed)
    is_the_best(with_gangs(seed, world), claimant)


def is_the_best(world: World, claimant: Pod) -> None:
    world, decision = decided(world, claimant)
    use = quota_judge.used(world, world.running)
    fits = next(quota_judge.fitting_nodes(world, world.running, claimant), "")
    if fits and quota_judge.may_run(world, use, claimant):
        assert (decision.verdict, decision.node) == ("admit", fits)
        return
    expected = quota_judge.best(world, claimant)
    assert decision.proven
    if expected is None:
        assert decision.verdict == "refuse"
    else:
        assert decision.verdict == "preempt"
        assert tuple(each.key for each in decision.victims) == expected.victims
        assert decision.node == expected.node
