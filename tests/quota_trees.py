"""Random trees of quotas with demand and capacity, and their fair shares by the rules, unit by unit."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import NamedTuple

from hypothesis import strategies as st

from ullage.model.cluster import Quota
from ullage.model.resources import NOTHING, Resources

NAMES = ("cpu", "memory", "pods")
QUOTAS_MAX = 9
SMALL = 12
HUGE = (1 << 63) - 1


class Situation(NamedTuple):
    quotas: tuple[Quota, ...]
    demand: dict[str, Resources]
    capacity: Resources


def amounts(draw: Random, most: int) -> Resources:
    """Some of the resources; small amounts and round ones are as likely as any."""
    step = max(1, most // SMALL)
    found = {}
    for name in NAMES:
        kind = draw.randrange(4)
        if kind:
            amount = draw.randint(0, min(most, SMALL) if kind == 1 else most)
            found[name] = amount // step * step if kind == 2 else amount
    return Resources(found)


def situation(seed: int, count: int, most: int) -> Situation:
    """Quotas in any order, whose names say nothing of their place, with limits that may contradict."""
    draw = Random(seed)  # noqa: S311 - a tree to test with, not a secret
    names = [f"q{index}" for index in range(count)]
    draw.shuffle(names)

    def limit() -> Resources | None:
        return amounts(draw, most) if draw.randrange(3) == 0 else None

    quotas = [
        Quota(
            name,
            min=amounts(draw, most),
            max=limit() or NOTHING,
            parent=draw.choice(["", *names[:index]]),
            weight=Fraction(draw.randrange(5), draw.randint(1, 6)) if draw.randrange(3) == 0 else None,
            lending_limit=limit(),
            borrowing_limit=limit(),
        )
        for index, name in enumerate(names)
    ]
    demand = {quota.name: amounts(draw, draw.choice((most, min(HUGE, 3 * most)))) for quota in quotas}
    draw.shuffle(quotas)
    return Situation(tuple(quotas), demand, amounts(draw, min(HUGE, draw.choice((1, 3, 9)) * most)))


def situations(*most: int) -> st.SearchStrategy[Situation]:
    """Situations with amounts up to one of some sizes; drawn by a seed, because drawing each part is slow."""
    return st.builds(
        situation, st.integers(0, 1 << 32), st.integers(1, QUOTAS_MAX), st.sampled_from(most or (SMALL,))
    )


class Family(NamedTuple):
    """One level of one parent for one resource: members by name, the parent's own workloads among them."""

    capacity: int
    minimums: list[int]
    caps: list[int]
    shares: list[int]
    withheld: int

    @property
    def first(self) -> list[int]:
        return [min(minimum, cap) for minimum, cap in zip(self.minimums, self.caps, strict=True)]


def unit_by_unit(amount: int, weights: Sequence[Fraction | int], bounds: Sequence[int]) -> list[int]:
    shares = [0] * len(bounds)
    for _ in range(min(amount, sum(bounds))):
        _, _, member = min(
            (weight <= 0, Fraction(2 * shares[member] + 1) / (weight if weight > 0 else 1), member)
            for member, weight in enumerate(weights)
            if shares[member] < bounds[member]
        )
        shares[member] += 1
    return shares


def cap_of(quota: Quota, quotas: Sequence[Quota], demand: Mapping[str, Resources], name: str) -> int:
    """What a quota and all below it ask for, each within its limits."""
    asked = demand[quota.name].of(name)
    asked += sum(cap_of(each, quotas, demand, name) for each in quotas if each.parent == quota.name)
    if name in quota.max:
        asked = min(asked, quota.max[name])
    if quota.borrowing_limit is not None and name in quota.borrowing_limit:
        asked = min(asked, quota.min.of(name) + quota.borrowing_limit[name])
    return asked


def families(
    situation: Situation, whole: Mapping[str, Resources], own: Mapping[str, Resources], name: str
) -> list[Family]:
    """Every level of every parent, with the shares that were found for it."""
    quotas, demand, capacity = situation
    found = []
    for parent in ("", *(quota.name for quota in quotas)):
        children = [quota for quota in quotas if quota.parent == parent]
        if not children:
            continue
        rows = [
            (
                each.name,
                each.min.of(name),
                cap_of(each, quotas, demand, name),
                whole[each.name].of(name),
                (each.lending_limit or NOTHING).get(name),
            )
            for each in children
        ]
        if parent:
            guaranteed = next(each for each in quotas if each.name == parent).min.of(name)
            rest = max(0, guaranteed - sum(row[1] for row in rows))
            rows.append((parent, rest, demand[parent].of(name), own[parent].of(name), None))
        rows.sort()
        room = whole[parent].of(name) if parent else capacity.of(name)
        withheld = sum(
            max(0, minimum - min(minimum, cap) - limit)
            for _, minimum, cap, _, limit in rows
            if limit is not None
        )
        columns = [[row[place] for row in rows] for place in (1, 2, 3)]
        found.append(Family(room, *columns, withheld))
    return found


def judged(situation: Situation, name: str, parent: str = "", room: int | None = None) -> dict[str, int]:
    """The fair share of one resource of every quota below a parent, one unit after the other."""
    quotas, demand, capacity = situation
    room = capacity.of(name) if room is None else room
    children = [quota for quota in quotas if quota.parent == parent]
    members = [
        (
            quota.name,
            quota.min.of(name),
            cap_of(quota, quotas, demand, name),
            quota.weight,
            (quota.lending_limit or NOTHING).get(name),
        )
        for quota in children
    ]
    if parent:
        holder = next(quota for quota in quotas if quota.name == parent)
        rest = max(0, holder.min.of(name) - sum(member[1] for member in members))
        members.append((parent, rest, demand[parent].of(name), holder.weight, None))
    members.sort(key=lambda member: member[0])
    minimums = [member[1] for member in members]
    first = [min(member[1], member[2]) for member in members]
    if sum(first) > room:
        shares = unit_by_unit(room, minimums, first)
    else:
        held_back = sum(
            max(0, minimum - used - limit)
            for (_, minimum, _, _, limit), used in zip(members, first, strict=True)
            if limit is not None
        )
        weights = [minimum if weight is None else weight for _, minimum, _, weight, _ in members]
        rooms = [member[2] - used for member, used in zip(members, first, strict=True)]
        more = unit_by_unit(max(0, room - sum(first) - held_back), weights, rooms)
        shares = [used + extra for used, extra in zip(first, more, strict=True)]
    found = {}
    for (member, *_), share in zip(members, shares, strict=True):
        if member != parent:
            found[member] = share
            if any(quota.parent == member for quota in quotas):
                found |= judged(situation, name, member, share)
    return found
