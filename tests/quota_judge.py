"""The rules of quotas by their definition: every set of victims is tried, nothing is clever.

Flat quotas, one claimant or a gang of one quota, resources by name; the entitlements are given. What the
engine finds by search must be what is found here by looking at everything.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import NamedTuple

Amounts = Mapping[str, int]


class Pod(NamedTuple):
    key: str
    quota: str
    amounts: Amounts
    node: str = ""
    priority: int = 0
    created: int = 0
    budgets: tuple[int, ...] = ()
    gang: str = ""


class World(NamedTuple):
    """Quotas with min and max, nodes with capacity, who runs, and how many each budget lets go."""

    mode: str
    mins: Mapping[str, Amounts]
    maxes: Mapping[str, Amounts]
    nodes: Mapping[str, Amounts]
    running: Sequence[Pod]
    entitlements: Mapping[str, Amounts]
    allowed: Sequence[int] = ()
    gang_mins: Mapping[str, int] = {}


class Best(NamedTuple):
    victims: tuple[str, ...]
    node: str


def used(world: World, pods: Sequence[Pod]) -> dict[str, Counter[str]]:
    found = {name: Counter[str]() for name in world.mins}
    for pod in pods:
        found[pod.quota].update(pod.amounts)
    return found


def guaranteed(world: World, use: Mapping[str, Counter[str]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for name, least in world.mins.items():
        found[name] = {}
        for resource, amount in least.items():
            whole = sum(each.get(resource, 0) for each in world.mins.values())
            unused = sum(
                max(0, each[resource] - use[other][resource])
                for other, each in world.mins.items()
                if resource in each
            )
            found[name][resource] = amount * unused // whole if whole else 0
    return found


def order(world: World, pod: Pod) -> tuple[object, ...]:
    return (pod.created, [pod.amounts.get(name, 0) for name in sorted(world.mins[pod.quota])], pod.key)


def over_quota(world: World, pods: Sequence[Pod], newest: Pod | None = None) -> set[str]:
    found = set()
    for name, least in world.mins.items():
        total = Counter[str]()
        mine = [pod for pod in pods if pod.quota == name]
        for pod in sorted(mine, key=lambda pod: (pod is newest, *order(world, pod))):
            total.update(pod.amounts)
            if any(total[resource] > most for resource, most in least.items()):
                found.add(pod.key)
    return found


def stays_within(use: Amounts, request: Amounts, bound: Amounts) -> bool:
    return all(use.get(name, 0) + request.get(name, 0) <= most for name, most in bound.items())


def is_above(use: Amounts, bound: Amounts) -> bool:
    return any(use.get(name, 0) > most for name, most in bound.items())


def may_run(world: World, use: Mapping[str, Counter[str]], pod: Pod) -> bool:
    if not stays_within(use[pod.quota], pod.amounts, world.maxes.get(pod.quota, {})):
        return False
    if world.mode == "fair":
        return True
    named = {name for least in world.mins.values() for name in least if pod.amounts.get(name)}
    return all(
        sum(each[name] for each in use.values()) + pod.amounts.get(name, 0)
        <= sum(least.get(name, 0) for least in world.mins.values())
        for name in named
    )


def fitting_nodes(world: World, pods: Sequence[Pod], pod: Pod) -> Iterator[str]:
    for node, capacity in sorted(world.nodes.items()):
        taken = Counter[str]()
        for each in pods:
            if each.node == node:
                taken.update(each.amounts)
        if all(
            amount <= capacity.get(name, 0) - taken[name] for name, amount in pod.amounts.items() if amount
        ):
            yield node


def right(world: World, use: Mapping[str, Counter[str]], pod: Pod) -> str:
    if world.mode == "fair":
        return "share" if stays_within(use[pod.quota], pod.amounts, world.entitlements[pod.quota]) else ""
    if stays_within(use[pod.quota], pod.amounts, world.mins[pod.quota]):
        return "min"
    within = stays_within(use[pod.quota], pod.amounts, bounds(world, use, "guaranteed")[pod.quota])
    return "guaranteed" if within else ""


def bounds(world: World, use: Mapping[str, Counter[str]], kind: str) -> Mapping[str, Amounts]:
    if world.mode == "fair":
        return world.entitlements
    if kind == "min":
        return world.mins
    more = guaranteed(world, use)
    return {
        name: {resource: amount + more[name][resource] for resource, amount in least.items()}
        for name, least in world.mins.items()
    }


def units(world: World, victims: Sequence[Pod]) -> list[list[Pod]] | None:
    """Return victims as they go: gangs of which all go as one; None where too few of one would be left."""
    found = [[victim] for victim in victims if not victim.gang]
    for gang in sorted({victim.gang for victim in victims if victim.gang}):
        there = [pod for pod in world.running if pod.gang == gang]
        goes = [victim for victim in victims if victim.gang == gang]
        if len(goes) == len(there):
            found.append(sorted(goes, key=lambda pod: order(world, pod)))
        elif len(there) - len(goes) >= (world.gang_mins.get(gang) or len(there)):
            found += [[victim] for victim in goes]
        else:
            return None
    return found


def is_legal(world: World, claimant: Pod, victims: Sequence[Pod], kind: str) -> bool:
    left = list(world.running)
    found = units(world, victims)
    if found is None:
        return False
    visited = sorted(found, key=lambda unit: order(world, unit[-1]), reverse=True)
    for unit in sorted(visited, key=lambda unit: max(pod.priority for pod in unit)):
        use, last = used(world, left), unit[-1]
        if last.quota == claimant.quota:
            if max(pod.priority for pod in unit) >= claimant.priority:
                return False
        elif not kind or not is_above(use[last.quota], bounds(world, use, kind)[last.quota]):
            return False
        needs_label = world.mode == "nos" and last.quota != claimant.quota
        if needs_label and last.key not in over_quota(world, left):
            return False
        left = [pod for pod in left if pod not in unit]
    return True


def takes_turns(world: World, claimant: Pod, victims: Sequence[Pod], rest: Sequence[Pod]) -> bool:
    after = [*rest, claimant]
    use, use_without = used(world, after), used(world, rest)
    ranks = ("", "guaranteed", "min")
    for victim in map(as_one, units(world, victims) or ()):
        if victim.quota == claimant.quota:
            displaced, asks = right(world, use_without, victim), right(world, use_without, claimant)
            if ranks.index(displaced) > ranks.index(asks):
                return True
            continue
        kind = right(world, use, victim)
        if (
            kind
            and is_above(use[claimant.quota], bounds(world, use, kind)[claimant.quota])
            and claimant.key in over_quota(world, after, claimant)
        ):
            return True
    return False


def ends_well(world: World, claimant: Pod, victims: Sequence[Pod], rest: Sequence[Pod]) -> bool:
    """Whether the claimant's quota, where it gave victims, ends within its share or its use before."""
    if world.mode == "nos" or not any(victim.quota == claimant.quota for victim in victims):
        return True
    before, after = (used(world, pods)[claimant.quota] for pods in (world.running, [*rest, claimant]))
    share = world.entitlements[claimant.quota]
    return all(after[name] <= max(most, before[name]) for name, most in share.items())


def cost(world: World, claimant: Pod, victims: Sequence[Pod], rest: Sequence[Pod]) -> tuple[object, ...]:
    use = used(world, rest)
    over = over_quota(world, world.running)
    promised = world.mins if world.mode == "nos" else world.entitlements
    others = {victim.quota for victim in victims} - {claimant.quota}
    below = sum(any(use[name][each] < most for each, most in promised[name].items()) for name in others)
    in_quota = sum(each.quota != claimant.quota and each.key not in over for each in victims)
    under = Counter(budget for victim in victims for budget in victim.budgets)
    broken = sum(max(0, number - world.allowed[budget]) for budget, number in under.items())
    capacity, taken = Counter[str](), Counter[str]()
    for node in world.nodes.values():
        capacity.update(node)
    for victim in victims:
        taken.update(victim.amounts)
    share = max(
        (Fraction(amount, capacity[name] or 1) for name, amount in taken.items()), default=Fraction(0)
    )
    return (
        sum(victim.quota == claimant.quota for victim in victims),
        below,
        in_quota,
        broken,
        len(victims),
        share,
        max(victim.priority for victim in victims),
        sorted(-victim.created for victim in victims),
        sorted(victim.key for victim in victims),
    )


def fits_together(world: World, pods: Sequence[Pod], members: Sequence[Pod]) -> bool:
    """Whether all members have room beside these pods, tried on every combination of nodes."""
    return any(
        all(
            node in fitting_nodes(world, [*pods, *_placed(members[:place], nodes)], member)
            for place, (member, node) in enumerate(zip(members, nodes, strict=True))
        )
        for nodes in product(sorted(world.nodes), repeat=len(members))
    )


def _placed(members: Sequence[Pod], nodes: Sequence[str]) -> list[Pod]:
    return [member._replace(node=node) for member, node in zip(members, nodes, strict=False)]


def as_one(members: Sequence[Pod]) -> Pod:
    """Return a gang as one that asks for what all of them ask for."""
    total = Counter[str]()
    for member in members:
        total.update(member.amounts)
    return members[0]._replace(amounts=dict(total), priority=min(member.priority for member in members))


def runs_now(world: World, members: Sequence[Pod]) -> bool:
    """Whether members run together while nobody goes."""
    use = used(world, world.running)
    return may_run(world, use, as_one(members)) and fits_together(world, world.running, members)


def best_of_gang(world: World, members: Sequence[Pod]) -> tuple[str, ...] | None:
    """Return the best legal set of victims for members that run together or not at all; None without one."""
    whole = as_one(members)
    kind = right(world, used(world, world.running), whole)
    found: tuple[tuple[object, ...], tuple[str, ...]] | None = None
    for size in range(1, len(world.running) + 1):
        for victims in combinations(world.running, size):
            rest = [pod for pod in world.running if pod not in victims]
            if (
                may_run(world, used(world, rest), whole)
                and is_legal(world, whole, victims, kind)
                and ends_well(world, whole, victims, rest)
                and not (world.mode == "nos" and takes_turns(world, whole, victims, rest))
                and fits_together(world, rest, members)
            ):
                price = cost(world, whole, victims, rest)
                if found is None or price < found[0]:
                    found = price, tuple(sorted(victim.key for victim in victims))
    return found[1] if found else None


def best(world: World, claimant: Pod) -> Best | None:
    """Return the best legal set of victims, found by trying all of them; None where there is none."""
    use = used(world, world.running)
    kind = right(world, use, claimant)
    found: tuple[tuple[object, ...], Best] | None = None
    for size in range(1, len(world.running) + 1):
        for victims in combinations(world.running, size):
            rest = [pod for pod in world.running if pod not in victims]
            node = next(fitting_nodes(world, rest, claimant), "")
            if (
                not node
                or not may_run(world, used(world, rest), claimant)
                or not is_legal(world, claimant, victims, kind)
                or not ends_well(world, claimant, victims, rest)
                or (world.mode == "nos" and takes_turns(world, claimant, victims, rest))
            ):
                continue
            price = cost(world, claimant, victims, rest)
            if found is None or price < found[0]:
                found = price, Best(tuple(sorted(victim.key for victim in victims)), node)
    return found[1] if found else None
