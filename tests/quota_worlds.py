"""Small worlds of quotas for property tests: hardly any room, quotas nearly used up, and one who asks."""

from random import Random

from quota_judge import Pod, World
from ullage.engine.quota.book import Book, Member
from ullage.model.resources import Resources

QUOTAS = ("A", "B", "C")
RESOURCES = ("cpu", "memory")


def member_of(book: Book, pod: Pod) -> Member:
    return Member(
        pod.key,
        book.index[pod.quota],
        book.amounts(pod.amounts),
        Resources(pod.amounts),
        pod.node,
        pod.priority,
        pod.created,
        pod.budgets,
    )


def crowded(seed: int) -> tuple[World, Pod]:
    """Return a cluster with hardly any room, quotas that are nearly used up, and one who asks.

    In some a quota lends a lot, so that others have a right to more than their min.
    """
    random = Random(seed)  # noqa: S311 - nothing secret
    names = QUOTAS[: random.randint(2, 3)]
    resources = RESOURCES[: random.randint(1, 2)]

    def amounts(least: int, most: int) -> dict[str, int]:
        return {name: random.randint(least, most) for name in resources}

    where = [f"n{number}" for number in range(random.randint(1, 2))]
    pods = [
        Pod(
            f"p{number}",
            random.choice(names),
            amounts(0, 4),
            random.choice(where),
            random.choice((0, 5)),
            random.randint(0, 2),
            random.choice(((), (), (0,), (1,), (0, 1))),
        )
        for number in range(random.randint(2, 6))
    ]
    nodes = {
        node: {
            name: sum(pod.amounts[name] for pod in pods if pod.node == node) + random.randint(0, 2)
            for name in resources
        }
        for node in where
    }
    mins = {
        name: {each: random.randint(0, 7) for each in resources if random.random() < 0.9} for name in names
    }
    if random.random() < 0.4:
        mins["D"] = amounts(4, 9)
    maxes = {name: amounts(4, 12) for name in names if random.random() < 0.15}
    mode = random.choice(("nos", "fair"))
    allowed = (random.randint(0, 1), random.randint(0, 1))
    world = World(mode, mins, maxes, nodes, pods, {}, allowed)
    return world, Pod("new", random.choice(names), amounts(0, 4), "", random.choice((0, 5, 9)), 9)
