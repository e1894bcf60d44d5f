"""Who may be taken for a claim, in the order in which a set of victims is judged.

Lowest priority first, last in label order first. The hard thing is members that are alike: of those the
preferred one goes first, but only where nobody of another kind stands between them, in the order of judging
or of labels, and where it may be taken whenever the others may. A gang that goes whole is one candidate more.
"""

from collections.abc import Iterator, Sequence

from ullage.engine.quota.book import NO_QUOTA, Member, within
from ullage.engine.quota.rights import Claim, Rules
from ullage.engine.quota.victim_gangs import NO_GANGS, Gangs, as_one_member
from ullage.engine.quota.victim_tally import Candidate


def candidates_of(
    rules: Rules, claim: Claim, members: Sequence[Member], gangs: Gangs = NO_GANGS
) -> list[Candidate]:
    """Return who of these running members may be taken as things stand; the whole of a gang is one more."""
    standing, book = rules.standing, rules.book
    sums = _Sums(rules)
    gives = [
        claim.right is not None and not within(own, rules.bound_of(quota, claim.right))
        for quota, own in enumerate(standing.own_used)
    ]

    def may_go(member: Member, last: Member) -> bool:
        if member.quota in (claim.quota, NO_QUOTA) or book.modes[member.quota] == "fair":
            return rules.may_be_taken(member, claim)
        return gives[member.quota] and claim.is_below(member.priority) and sums.is_over(last)

    claimed = frozenset(book.chains[claim.quota] if claim.quota != NO_QUOTA else ())
    found = []
    for member, parts in _alone_and_whole(rules, members, gangs):
        last = parts[-1] if parts else member
        if not may_go(member, last):
            continue
        own = member.quota == claim.quota
        chain: tuple[int, ...] = ()
        if not own and book.modes[member.quota] == "fair":
            chain = tuple(quota for quota in book.chains[member.quota] if quota not in claimed)
        guarded = 0 if own else sum(not sums.is_over(each) for each in parts or (member,))
        found.append(Candidate(member, own, guarded, own, chain, 0, sums.to(last), 0, parts))
    return _with_kinds(rules, _in_order(rules, found))


def _alone_and_whole(
    rules: Rules, members: Sequence[Member], gangs: Gangs
) -> Iterator[tuple[Member, tuple[Member, ...]]]:
    """Yield who may go alone, and the members of gangs as one with all of them, in label order."""
    for member in members:
        gang = gangs.get(member.gang)
        if gang is None or gang.spare:
            yield member, ()
    keys = {each.key for each in members} if gangs else set()
    for gang in gangs.values():
        whole = gang.whole(keys)
        if whole:
            parts = tuple(sorted(whole, key=lambda each: _label_order(rules, each)))
            yield as_one_member(parts), parts


def _label_order(rules: Rules, member: Member) -> tuple[object, ...]:
    return (member.key,) if member.quota == NO_QUOTA else rules.standing.order_of(member)


class _Sums:
    """What each quota uses up to each of its members in label order, added up when first asked for."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._of: dict[int, dict[str, tuple[int, ...]]] = {}

    def to(self, member: Member) -> tuple[int, ...]:
        if member.quota == NO_QUOTA:
            return ()
        found = self._of.get(member.quota)
        if found is None:
            found = self._of[member.quota] = self._rules.standing.sums_in_order(member.quota)
        return found[member.key]

    def is_over(self, member: Member) -> bool:
        return not within(self.to(member), self._rules.book.own_mins[member.quota])


def _in_order(rules: Rules, found: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates as a set of them is judged; those of no quota come last."""
    counted = [each for each in found if each.member.quota != NO_QUOTA]
    others = [each for each in found if each.member.quota == NO_QUOTA]
    others.sort(key=lambda each: (each.member.priority, *_preference(each)))
    members = {one.key: one for each in counted for one in each.members}
    in_order = sorted(members.values(), key=rules.standing.order_of)
    place = {each.key: rank for rank, each in enumerate(in_order)}
    ranked = [each._replace(ranks=tuple(place[one.key] for one in each.members)) for each in counted]
    ranked = [each._replace(rank=each.ranks[-1]) for each in ranked]
    ranked.sort(key=lambda each: (each.member.priority, -each.rank, bool(each.parts)))
    return [*ranked, *others]


def _preference(candidate: Candidate) -> tuple[object, ...]:
    """Return which of members that are alike goes first."""
    return -candidate.member.created_seconds, candidate.member.key


def _with_kinds(rules: Rules, ordered: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates with those alike side by side, the preferred first, and of one kind."""
    before = _before_in_labels(ordered)
    orders: dict[int, set[object]] = {}
    for each in ordered:
        orders.setdefault(each.member.quota, set()).add((each.member.priority, each.parts != ()))
    runs: list[list[Candidate]] = []
    for each in ordered:
        last = runs[-1][-1] if runs else None
        beside = each.member.quota == NO_QUOTA or (
            last is not None and before.get(last.member.key, "") == each.member.key
        )
        if last is not None and beside and _is_alike(last, each):
            runs[-1].append(each)
        else:
            runs.append([each])
    found: list[Candidate] = []
    for run in runs:
        preferred = sorted(run, key=_preference)
        quota = run[0].member.quota
        moves = not run[0].free_of_rules and rules.book.modes[quota] == "nos" and len(orders[quota]) > 1
        if moves and preferred != run:
            found += [each._replace(kind=len(found) + place) for place, each in enumerate(run)]
        else:
            found += [each._replace(kind=len(found)) for each in preferred]
    return found


def _before_in_labels(ordered: Sequence[Candidate]) -> dict[str, str]:
    """Return who of the candidates of a quota stands just before each in label order, by key."""
    last: dict[int, str] = {}
    found: dict[str, str] = {}
    counted = (each for each in ordered if each.member.quota != NO_QUOTA)
    for each in sorted(counted, key=lambda one: (one.rank, one.parts != ())):
        key, quota = each.member.key, each.member.quota
        if quota in last:
            found[key] = last[quota]
        last[quota] = key
    return found


def _is_alike(one: Candidate, other: Candidate) -> bool:
    """Whether two are the same for every rule but the last ties."""
    if one.parts or other.parts or one.guarded != other.guarded:
        return False
    first, second = one.member, other.member
    return (first.quota, first.amounts, first.takes, first.node, first.priority) == (
        second.quota,
        second.amounts,
        second.takes,
        second.node,
        second.priority,
    ) and (first.budgets, first.gang) == (second.budgets, second.gang)
