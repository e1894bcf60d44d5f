"""Who may be taken for a claim, in the order in which a set of victims is judged.

Lowest priority first, last in label order first. The hard thing is members that are alike: of those the
preferred one goes first, but only where nobody of another kind stands between them, in the order of judging
or of labels, and where it may be taken whenever the others may.
"""

from collections.abc import Iterable, Sequence

from ullage.engine.quota.book import NO_QUOTA, Member, within
from ullage.engine.quota.rights import Claim, Rules
from ullage.engine.quota.victim_tally import Candidate


def candidates_of(rules: Rules, claim: Claim, members: Iterable[Member]) -> list[Candidate]:
    """Return who of these running members may be taken as things stand."""
    standing, book = rules.standing, rules.book
    sums = _Sums(rules)
    gives = [
        claim.right is not None and not within(own, rules.bound_of(quota, claim.right))
        for quota, own in enumerate(standing.own_used)
    ]

    def may_go(member: Member) -> bool:
        if member.quota in (claim.quota, NO_QUOTA) or book.modes[member.quota] == "fair":
            return rules.may_be_taken(member, claim)
        return gives[member.quota] and sums.is_over(member)

    claimed = frozenset(book.chains[claim.quota] if claim.quota != NO_QUOTA else ())
    found = []
    for member in members:
        if not may_go(member):
            continue
        own = member.quota == claim.quota
        chain: tuple[int, ...] = ()
        if not own and book.modes[member.quota] == "fair":
            chain = tuple(quota for quota in book.chains[member.quota] if quota not in claimed)
        guarded = not own and not sums.is_over(member)
        found.append(Candidate(member, own, guarded, own, chain, 0, sums.to(member), 0))
    return _with_kinds(rules, _in_order(rules, found))


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
    counted.sort(key=lambda each: rules.standing.order_of(each.member))
    ranked = [each._replace(rank=rank) for rank, each in enumerate(counted)]
    ranked.sort(key=lambda each: (each.member.priority, -each.rank))
    return [*ranked, *others]


def _preference(candidate: Candidate) -> tuple[object, ...]:
    """Return which of members that are alike goes first."""
    return -candidate.member.created_seconds, candidate.member.key


def _with_kinds(rules: Rules, ordered: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates with those alike side by side, the preferred first, and of one kind."""
    before = _before_in_labels(ordered)
    priorities: dict[int, set[int]] = {}
    for each in ordered:
        priorities.setdefault(each.member.quota, set()).add(each.member.priority)
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
        moves = not run[0].free_of_rules and rules.book.modes[quota] == "nos" and len(priorities[quota]) > 1
        if moves and preferred != run:
            found += [each._replace(kind=len(found) + place) for place, each in enumerate(run)]
        else:
            found += [each._replace(kind=len(found)) for each in preferred]
    return found


def _before_in_labels(ordered: Sequence[Candidate]) -> dict[str, str]:
    """Return who of the candidates of a quota stands just before each in label order, by key."""
    last: dict[int, str] = {}
    found: dict[str, str] = {}
    for each in sorted((each for each in ordered if each.member.quota != NO_QUOTA), key=lambda one: one.rank):
        key, quota = each.member.key, each.member.quota
        if quota in last:
            found[key] = last[quota]
        last[quota] = key
    return found


def _is_alike(one: Candidate, other: Candidate) -> bool:
    """Whether two are the same for every rule but the last ties."""
    first, second = one.member, other.member
    return (first.quota, first.amounts, first.takes, first.node, first.priority, first.budgets) == (
        second.quota,
        second.amounts,
        second.takes,
        second.node,
        second.priority,
        second.budgets,
    ) and one.guarded == other.guarded
