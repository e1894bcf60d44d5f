"""Small worlds of quotas for property tests: hardly any room, quotas nearly used up, and one who asks.

A world can be had as members for the search, or as a whole cluster for questions about it.
"""

from collections.abc import Mapping
from random import Random
from types import MappingProxyType

import msgspec

from builders import cluster, node, pod, quota
from quota_judge import Amounts, Pod, World
from ullage.engine.quota.book import Book, Member
from ullage.model.admission import DisruptionBudget
from ullage.model.cluster import Snapshot, Workload
from ullage.model.constraints import LabelSelector
from ullage.model.policy import Layer, Policy
from ullage.model.resources import Resources

QUOTAS = ("A", "B", "C")
RESOURCES = ("cpu", "memory")


def member_of(book: Book, pod: Pod, gang_mins: Mapping[str, int] = MappingProxyType({})) -> Member:
    return Member(
        pod.key,
        book.index[pod.quota],
        book.amounts(pod.amounts),
        Resources(pod.amounts),
        pod.node,
        pod.priority,
        pod.created,
        pod.budgets,
        pod.gang,
        gang_mins.get(pod.gang, 0),
    )


def with_gangs(seed: int, world: World) -> World:
    """Return a world in which some of each quota run as a gang, of which a few may be enough."""
    random = Random(seed + 1)  # noqa: S311 - nothing secret
    running = [
        each._replace(gang=f"{each.quota}/{random.choice('gh')}") if random.random() < 0.6 else each
        for each in world.running
    ]
    gangs = sorted({each.gang for each in running if each.gang})
    return world._replace(running=running, gang_mins={each: random.randint(0, 3) for each in gangs})


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


NOW_SECONDS = 100


def written(amounts: Amounts) -> dict[str, str]:
    """Amounts as a cluster states them: of cpu thousandths, so that counts are what they are here."""
    return {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in amounts.items()}


def workload_of(one: Pod, **fields: object) -> Workload:
    """A pod in the namespace of its quota; its budgets find it by its labels."""
    labels = {f"budget-{number}": "yes" for number in one.budgets}
    return pod(
        f"{one.quota}/{one.key}",
        written(one.amounts),
        priority=one.priority,
        created_seconds=one.created,
        labels=labels,
        **fields,
    )


def gang_in(seed: int) -> tuple[World, list[Pod]]:
    """Return a crowded world and a gang that asks there: all of one size, or not."""
    world, asked = crowded(seed)
    random = Random(~seed)  # noqa: S311 - nothing secret
    maxes = {
        name: {each: max(amount, world.mins[name].get(each, 0)) for each, amount in most.items()}
        for name, most in world.maxes.items()
    }
    world = world._replace(maxes=maxes)
    small = {name: min(amount, 2) for name, amount in asked.amounts.items()}
    members = [asked._replace(key=f"new{number}", amounts=small) for number in range(random.randint(2, 3))]
    if random.random() < 0.5:
        members = [each._replace(amounts={name: random.randint(0, 2) for name in small}) for each in members]
    return world, members


def terms_of(world: World) -> list[object]:
    """Return the nodes, quotas and budgets of a world, as parts of a cluster."""
    kind = "ElasticQuota" if world.mode == "nos" else "Quota"
    quotas = [
        quota(name, written(least), written(world.maxes.get(name, {})), kind=kind)
        for name, least in world.mins.items()
    ]
    budgets = [
        DisruptionBudget(
            f"b{number}", name, LabelSelector({f"budget-{number}": "yes"}), disruptions_allowed=allowed
        )
        for number, allowed in enumerate(world.allowed)
        for name in world.mins
    ]
    nodes = [node(name, written(capacity)) for name, capacity in world.nodes.items()]
    return [*nodes, *quotas, *budgets]


def cluster_of(world: World) -> Snapshot:
    """Return a world as a cluster in which everybody runs."""
    return cluster(*terms_of(world), *(workload_of(each, node=each.node) for each in world.running))


def asking(one: Pod, **fields: object) -> Workload:
    """Return a pod of a world that waits for its place."""
    return msgspec.structs.replace(workload_of(one, **fields), state="init", created_seconds=None)


def crowded_cluster(seed: int) -> tuple[Snapshot, Workload]:
    """Return a crowded world as a cluster; some are on their way out, some have just started."""
    world, asked = crowded(seed)
    random = Random(-seed - 1)  # noqa: S311 - nothing secret
    held = [
        workload_of(
            each,
            node=each.node,
            terminating=random.random() < 0.2,
            started_seconds=NOW_SECONDS - random.choice((1, 50)),
        )
        for each in world.running
    ]
    policy = Policy(layers=(Layer("test", cluster={"quota-run-min": random.choice(("0", "0", "30"))}),))
    snapshot = cluster(*terms_of(world), *held, policy=policy, taken_seconds=NOW_SECONDS)
    return snapshot, asking(asked)
