"""Random gangs with quotas of both modes, and the best sets for small ones by looking at all of them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from random import Random
from typing import NamedTuple

import numpy as np

from ullage.engine.quota.book import NO_QUOTA, Book, Member
from ullage.engine.quota.gang_columns import Columns
from ullage.engine.quota.rights import Claim, Rules
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.victim_tally import Cost
from ullage.engine.quota.victims import Nodes
from ullage.model.cluster import Quota
from ullage.model.resources import Resources

GPU, CPU = "example.com/gpu", "cpu"


class Case(NamedTuple):
    """A gang's claim and those that run; `allowed` has a row for each member, a column for each node."""

    rules: Rules
    claim: Claim
    nodes: Nodes
    running: tuple[Member, ...]
    allowed: tuple[tuple[bool, ...], ...]
    budgets: tuple[int, ...]

    def columns(self) -> Columns:
        return Columns(self.rules.standing, self.running, self.nodes)

    def mask(self) -> np.ndarray:
        return np.array(self.allowed, np.bool_).reshape(len(self.claim.members), len(self.nodes.free))


class Best(NamedTuple):
    """The best set by key and the first nodes for the gang in order of keys."""

    cost: Cost
    nodes: tuple[str, ...]


def seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - cases that can be drawn again, nothing secret


def random_case(random: Random) -> Case:
    """Return a case with few members; capacities are small, so that most claims are short of something."""
    mode = random.choice(["nos", "fair", "mixed"])
    width = random.choice([(GPU,), (GPU, CPU)])
    names = [f"q{number}" for number in range(random.randint(2, 3))]
    quotas = []
    for number, name in enumerate(names):
        least = {each: random.randint(4, 9) if number == 0 else random.randint(0, 2) for each in width}
        most = {each: least[each] + random.randint(0, 4) for each in width} if random.random() < 0.3 else {}
        kind = "ElasticQuota" if mode == "nos" or (mode == "mixed" and number % 2) else "Quota"
        quotas.append(Quota(name, kind=kind, namespaces=(name,), min=Resources(least), max=Resources(most)))
    if mode == "fair" and random.random() < 0.4:
        quotas = with_root(quotas, width)
    book = Book(quotas)
    nodes = [f"n{number}" for number in range(random.randint(1, 3))]
    size = {each: random.randint(3, 6) for each in width}
    free = {name: dict(size) for name in nodes}
    running: list[Member] = []
    for number in range(random.randint(3, 9)):
        member = random_member(random, book, width, f"r{number}", [*names, *names[1:]])._replace(
            node=random.choice(nodes)
        )
        if all(free[member.node][each] >= amount for each, amount in member.takes.items()):
            for each, amount in member.takes.items():
                free[member.node][each] -= amount
            running.append(member)
    quota = random.choice([names[0], names[0], *names])
    gang = [
        random_member(random, book, width, f"g{number}", [quota])._replace(budgets=())
        for number in range(random.randint(1, 3))
    ]
    if random.random() < 0.4:
        gang = [each._replace(takes=gang[0].takes, amounts=gang[0].amounts) for each in gang]
    capacity = {each: amount * len(nodes) for each, amount in size.items()}
    standing = Standing(book, running)
    rules = Rules(standing, standing.entitlements(gang, capacity))
    open_to_all = random.random() < 0.6
    allowed = tuple(tuple(open_to_all or random.random() < 0.7 for _ in nodes) for _ in gang)
    budgets = (random.randint(0, 2), random.randint(0, 1))
    return Case(rules, rules.claim(gang), Nodes(free, capacity), tuple(running), allowed, budgets)


def with_root(quotas: Sequence[Quota], width: Sequence[str]) -> list[Quota]:
    """Return the first two quotas under a common parent, and the others as they are."""
    least = {each: sum(quota.min[each] for quota in quotas[:2]) for each in width}
    below = [
        Quota(each.name, namespaces=each.namespaces, min=each.min, max=each.max, parent="root")
        for each in quotas[:2]
    ]
    return [*below, *quotas[2:], Quota("root", min=Resources(least))]


def random_member(random: Random, book: Book, width: Sequence[str], key: str, names: Sequence[str]) -> Member:
    takes = Resources({each: random.randint(0, 3) if each == CPU else random.randint(1, 3) for each in width})
    quota = book.index[random.choice(names)] if random.random() < 0.95 or len(names) == 1 else NO_QUOTA
    return Member(
        key,
        quota,
        book.amounts(takes),
        takes,
        priority=random.randint(0, 2),
        created_seconds=random.randint(0, 3),
        budgets=tuple(each for each in range(2) if random.random() < 0.2),
    )


def packings(case: Case, victims: Sequence[Member]) -> Iterator[tuple[str, ...]]:
    """Yield every way to give nodes to the gang's members, by key, when these have gone."""
    names = sorted(case.nodes.free)
    order = sorted(range(len(case.claim.members)), key=lambda place: case.claim.members[place].key)
    for chosen in product(range(len(names)), repeat=len(order)):
        if all(case.allowed[place][node] for place, node in zip(order, chosen, strict=True)):
            free = {name: dict(case.nodes.free[name]) for name in names}
            for victim in victims:
                for each, amount in victim.takes.items():
                    free[victim.node][each] += amount
            if all(
                takes_room(free[names[node]], case.claim.members[place])
                for place, node in zip(order, chosen, strict=True)
            ):
                yield tuple(names[node] for node in chosen)


def takes_room(free: dict[str, int], member: Member) -> bool:
    for each, amount in member.takes.items():
        free[each] = free.get(each, 0) - amount
    return all(free[each] >= 0 for each, amount in member.takes.items() if amount)


def with_gangs(random: Random, case: Case) -> Case:
    """Return a case in which some of those that run are of gangs, of which a few may be enough."""
    mins = {name: random.randint(0, 3) for name in "gh"}

    def in_gang(member: Member) -> Member:
        gang = random.choice("gh")
        return member._replace(gang=f"{member.quota}/{gang}", gang_min=mins[gang])

    running = tuple(in_gang(each) if random.random() < 0.6 else each for each in case.running)
    standing = Standing(case.rules.book, running)
    rules = Rules(standing, case.rules.entitlements)
    return case._replace(rules=rules, claim=rules.claim(case.claim.members), running=running)


def units(case: Case, victims: Sequence[Member]) -> list[list[Member]] | None:
    """Return who goes as one, the last in label order last; None where a gang would have too few left."""
    found = [[victim] for victim in victims if not victim.gang]
    for gang in sorted({victim.gang for victim in victims if victim.gang}):
        there = [each for each in case.running if each.gang == gang]
        goes = [victim for victim in victims if victim.gang == gang]
        if len(goes) == len(there):
            found.append(sorted(goes, key=lambda each: label_order(case, each)))
        elif len(there) - len(goes) >= (goes[0].gang_min or len(there)):
            found += [[victim] for victim in goes]
        else:
            return None
    return found


def label_order(case: Case, member: Member) -> tuple[object, ...]:
    return case.rules.standing.order_of(member) if member.quota != NO_QUOTA else ()


def is_legal(case: Case, victims: Sequence[Member]) -> bool:
    """Whether each, lowest priority and last in label order first, may be taken after those before it."""
    standing = case.rules.standing
    ordered = units(case, victims)
    if ordered is None:
        return False
    ordered.sort(key=lambda unit: label_order(case, unit[-1]), reverse=True)
    ordered.sort(key=lambda unit: max(each.priority for each in unit))
    gone: list[Member] = []
    try:
        for unit in ordered:
            highest = max(each.priority for each in unit)
            standing.remove(unit[-1])
            last = unit[-1]._replace(priority=highest)
            standing.add(last)
            may_go = case.rules.may_be_taken(last, case.claim)
            standing.remove(last)
            standing.add(unit[-1])
            if not may_go:
                return False
            for victim in unit:
                standing.remove(victim)
                gone.append(victim)
    finally:
        for victim in gone:
            standing.add(victim)
    return True


def ends_well(case: Case, victims: Sequence[Member]) -> bool:
    """Whether no bound is passed afterwards, the own quota ends as it may, and nobody takes turns."""
    rules, standing, claim = case.rules, case.rules.standing, case.claim
    before = [list(used) for used in standing.used]
    for victim in victims:
        standing.remove(victim)
    try:
        if rules.refusals(claim.quota, claim.amounts):
            return False
        if any(is_better_entitled(case, unit) for unit in units(case, victims) or ()):
            return False
        for member in claim.members:
            standing.add(member)
        try:
            return is_within_its_own(case, victims, before) and not any(
                comes_back(case, unit) for unit in units(case, victims) or ()
            )
        finally:
            for member in claim.members:
                standing.remove(member)
    finally:
        for victim in victims:
            standing.add(victim)


def is_within_its_own(case: Case, victims: Sequence[Member], before: Sequence[Sequence[int]]) -> bool:
    book, standing = case.rules.book, case.rules.standing
    gave = {quota for each in victims if each.quota != NO_QUOTA for quota in book.chains[each.quota]}
    for quota in book.chains[case.claim.quota] if case.claim.quota != NO_QUOTA else ():
        if quota in gave and book.modes[quota] == "fair":
            for after, was, most in zip(
                standing.used[quota], before[quota], case.rules.entitlements[quota], strict=True
            ):
                if most is not None and after > max(most, was):
                    return False
    return True


def is_better_entitled(case: Case, unit: Sequence[Member]) -> bool:
    """Whether one of the claim's own quota, while neither runs, has a better right than the claim."""
    rules, claim = case.rules, case.claim
    if unit[0].quota == NO_QUOTA or unit[0].quota != claim.quota or rules.book.modes[claim.quota] != "nos":
        return False
    ranks = (None, "guaranteed", "min")
    return ranks.index(rules.claim(unit).right) > ranks.index(rules.right_of(claim.quota, claim.amounts))


def comes_back(case: Case, unit: Sequence[Member]) -> bool:
    rules = case.rules
    if unit[0].quota == NO_QUOTA or rules.book.modes[unit[0].quota] != "nos":
        return False
    claim = rules.claim(unit)
    return any(rules.may_be_taken(each, claim, newest=each) for each in case.claim.members)


def cost_of(case: Case, victims: Sequence[Member]) -> Cost:
    """Return the cost of a set by its definition."""
    if not victims:
        return EMPTY
    rules, own = case.rules, case.claim.quota
    chains = rules.book.chains
    claimed = chains[own] if own != NO_QUOTA else ()
    taken, under = Counter[str](), Counter[int]()
    left: dict[int, list[int]] = {}
    for victim in victims:
        taken.update(victim.takes)
        under.update(victim.budgets)
        for quota in chains[victim.quota] if victim.quota != NO_QUOTA else ():
            used = left.setdefault(quota, list(rules.standing.used[quota]))
            used[:] = [amount - less for amount, less in zip(used, victim.amounts, strict=True)]
    below = [
        quota
        for quota, used in left.items()
        if quota not in claimed
        and any(
            most is not None and amount < most
            for amount, most in zip(used, rules.bound_of(quota, "min"), strict=True)
        )
    ]
    others = [each for each in victims if each.quota not in (own, NO_QUOTA)]
    return Cost(
        sum(victim.quota == own for victim in victims),
        len(below),
        sum(rules.standing.labels(each.quota)[each.key] == "in-quota" for each in others),
        sum(max(0, number - case.budgets[budget]) for budget, number in under.items()),
        len(victims),
        max((Fraction(amount, case.nodes.capacity[name]) for name, amount in taken.items()), default=0),
        max(victim.priority for victim in victims),
        tuple(sorted(-victim.created_seconds for victim in victims)),
        tuple(sorted(victim.key for victim in victims)),
    )


EMPTY = Cost(0, 0, 0, 0, 0, 0, 0, (), ())


def best_by_force(case: Case) -> Best | None:
    """Return the best of all legal sets that are enough, with the first packing."""
    found: Best | None = None
    candidates = [each for each in case.running if each.gang or case.rules.may_be_taken(each, case.claim)]
    for count in range(len(candidates) + 1):
        for victims in combinations(candidates, count):
            if is_legal(case, victims) and ends_well(case, victims):
                packing = next(packings(case, victims), None)
                if packing is not None:
                    best = Best(cost_of(case, victims), packing)
                    if found is None or best.cost < found.cost:
                        found = best
    return found


def wide_case(random: Random, kind: str, sizes: int) -> Case:
    """Return full nodes of members of two quotas that borrow, and a gang of some sizes of the lender's."""
    names = [f"n{number:02d}" for number in range(random.randint(3, 8))]
    half = {GPU: 8 * len(names), CPU: 16 * len(names)}
    quotas = [Quota("a", kind=kind, namespaces=("a",), min=Resources(half))]
    for name in ("b", "c"):
        least = {each: amount // 2 for each, amount in half.items()}
        quotas.append(Quota(name, kind=kind, namespaces=(name,), min=Resources(least)))
    book = Book(quotas)
    free = {name: {GPU: 16, CPU: 32} for name in names}
    shapes = [Resources({GPU: random.randint(1, 4), CPU: random.randint(0, 8)}) for _ in range(sizes)]
    running: list[Member] = []
    for name, room in free.items():
        for _ in range(12):
            takes = random.choice(shapes)
            if all(room[each] >= amount for each, amount in takes.items()):
                for each, amount in takes.items():
                    room[each] -= amount
                key, quota = f"r{len(running):03d}", random.randint(1, 2)
                member = Member(key, quota, book.amounts(takes), takes, name, random.randint(0, 1))
                running.append(member._replace(created_seconds=random.randint(0, 50)))
    asked = [random.choice(shapes) for _ in range(random.randint(1, len(names)))]
    gang = [Member(f"g{place:02d}", 0, book.amounts(takes), takes) for place, takes in enumerate(asked)]
    capacity = {each: 2 * amount for each, amount in half.items()}
    standing = Standing(book, running)
    waiting = [*gang, *(each._replace(key=f"later-{each.key}") for each in gang)] * 2
    rules = Rules(standing, standing.entitlements(waiting, capacity))
    everywhere = tuple((True,) * len(names) for _ in gang)
    return Case(rules, rules.claim(gang), Nodes(free, capacity), tuple(running), everywhere, ())
