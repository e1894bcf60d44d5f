"""Who goes for a workload where the cluster is one pool: few candidates out of many, then the exact search.

Where few could go, all of them are searched, and the answer is proven. Where many could, they are narrowed
first: those that are preferred, one after the other while each is legal on what is left, until there is
enough; who turns out not to be needed stays; the best one that is enough alone is looked at too. The exact
search then decides among these by every rule, so that what it finds is legal, if not surely the best.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from ullage.engine.quota.book import NO_QUOTA, Member, within
from ullage.engine.quota.decision import Decision, decide
from ullage.engine.quota.events import POOL
from ullage.engine.quota.rights import Claim, Refusal, Rules
from ullage.engine.quota.standing import OVER_QUOTA
from ullage.engine.quota.victims import Nodes

EXACT_MAX: Final = 8
"""Up to so many candidates all sets are looked at."""
VICTIMS_MAX: Final = 400
"""More are never evicted for one workload."""
STEPS_MAX: Final = 2000
"""Sets that the search looks at; those that are all needed take one step each."""

Useful = tuple[Member, tuple[int, ...]]
"""A candidate, and how much of each need it gives back."""


class _Need(NamedTuple):
    """Something short: of a resource of the pool, or under the quotas that a bound is over."""

    short: int
    resource: str
    place: int
    quotas: frozenset[int]

    def given(self, member: Member) -> int:
        """Return how much of it a member gives back."""
        if self.resource:
            return member.takes.of(self.resource)
        return member.amounts[self.place] if member.quota in self.quotas else 0


def stay_in_the_way(rules: Rules, refusals: Iterable[Refusal], candidates: Sequence[Member]) -> bool:
    """Whether some bound would be passed even if all candidates went."""
    chains = rules.book.chains
    return any(
        refusal.barrier != "sum-of-min"
        and refusal.short
        > sum(
            each.amounts[refusal.resource]
            for each in candidates
            if each.quota != NO_QUOTA and refusal.quota in chains[each.quota]
        )
        for refusal in refusals
    )


def preempting(
    rules: Rules,
    claim: Claim,
    nodes: Nodes,
    refusals: Iterable[Refusal],
    candidates: Sequence[Member],
) -> Decision | None:
    """Return the decision to evict some of these candidates for one member; None where no set was found.

    Candidates are those that `may_go` named, less the ones that are protected.
    """
    (member,) = claim.members
    needs = [*_room(nodes, member), *(_bound(rules, each) for each in refusals)]
    given = [tuple(need.given(each) for need in needs) for each in candidates]
    useful = [place for place in range(len(candidates)) if any(given[place])]
    if any(sum(given[place][index] for place in useful) < need.short for index, need in enumerate(needs)):
        return None
    chosen = list(candidates)
    narrowed = len(candidates) > EXACT_MAX
    if narrowed:
        chosen = _narrowed(
            rules, claim, nodes, needs, [(candidates[place], given[place]) for place in useful]
        )
    if not chosen or len(chosen) > VICTIMS_MAX:
        return None
    decision = decide(rules, member, nodes, chosen, steps_max=STEPS_MAX)
    if decision.verdict != "preempt":
        return None
    return decision._replace(proven=decision.proven and not narrowed)


def may_go(rules: Rules, claim: Claim, without_quota: Iterable[Member]) -> Iterator[Member]:
    """Yield who runs and may be taken for a claim: its own of lower priority, and others' by its right."""
    standing = rules.standing
    own = without_quota if claim.quota == NO_QUOTA else standing.members[claim.quota].values()
    yield from (each for each in own if each.priority < claim.own_below)
    if claim.right is None:
        return
    for quota, members in enumerate(standing.members):
        if quota == claim.quota or not members:
            continue
        lower = {key: each for key, each in members.items() if claim.is_below(each.priority)}
        if rules.book.modes[quota] == "fair":
            if lower and rules.may_be_taken(next(iter(lower.values())), claim):
                yield from lower.values()
        elif not within(standing.own_used[quota], rules.bound_of(quota, claim.right)):
            labels = standing.labels(quota)
            yield from (each for key, each in lower.items() if labels[key] == OVER_QUOTA)


def _room(nodes: Nodes, member: Member) -> Iterator[_Need]:
    free = nodes.free[POOL]
    for resource, amount in member.takes.items():
        short = amount - free.get(resource, 0)
        if amount and short > 0:
            yield _Need(short, resource, 0, frozenset())


def _bound(rules: Rules, refusal: Refusal) -> _Need:
    book = rules.book
    if refusal.barrier == "sum-of-min":
        return _Need(refusal.short, "", refusal.resource, frozenset(book.nos_places))
    below = frozenset(quota for quota, chain in enumerate(book.chains) if refusal.quota in chain)
    return _Need(refusal.short, "", refusal.resource, below)


def _narrowed(
    rules: Rules,
    claim: Claim,
    nodes: Nodes,
    needs: Sequence[_Need],
    useful: Sequence[Useful],
) -> list[Member]:
    """Return a few candidates among whom there is a set that is enough; none where none was found."""
    ordered = sorted(useful, key=_preference(rules, claim, useful))
    enough = [
        each for each in ordered if all(one >= need.short for one, need in zip(each[1], needs, strict=True))
    ]
    alone = min(enough, key=lambda each: _share(nodes, each[0]), default=None)
    standing = rules.standing
    short = [need.short for need in needs]
    taken: list[Useful] = []
    for member, gives in ordered:
        if len(taken) == VICTIMS_MAX or max(short) <= 0:
            break
        if any(one and lack > 0 for one, lack in zip(gives, short, strict=True)) and rules.may_be_taken(
            member, claim
        ):
            standing.remove(member)
            taken.append((member, gives))
            short = [lack - one for lack, one in zip(short, gives, strict=True)]
    for member, _ in taken:
        standing.add(member)
    if max(short) > 0:
        return [alone[0]] if alone else []
    kept: list[Member] = []
    for member, gives in reversed(taken):
        without = [lack + one for lack, one in zip(short, gives, strict=True)]
        if max(without) <= 0:
            short = without
        else:
            kept.append(member)
    if alone and alone[0] not in kept:
        kept.append(alone[0])
    return kept


def _preference(
    rules: Rules, claim: Claim, useful: Sequence[Useful]
) -> Callable[[Useful], tuple[object, ...]]:
    """Return the key by which candidates are tried."""
    labels = {
        key: label
        for quota in {each.quota for each, _ in useful if each.quota != NO_QUOTA}
        for key, label in rules.standing.labels(quota).items()
    }

    def key(each: Useful) -> tuple[object, ...]:
        member = each[0]
        return (
            member.quota == claim.quota,
            labels.get(member.key) != OVER_QUOTA,
            member.priority,
            -member.created_seconds,
            member.key,
        )

    return key


def _share(nodes: Nodes, member: Member) -> Fraction:
    """Return the largest part of the cluster that a member takes."""
    return max(
        (Fraction(amount, nodes.capacity.get(name) or 1) for name, amount in member.takes.items()),
        default=Fraction(0),
    )
