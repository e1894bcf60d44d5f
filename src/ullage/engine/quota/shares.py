"""What every quota is guaranteed, uses, borrows, lends and may claim: the figures that all answers show.

A parent stands for all below it. The hard thing is who lends, for what is borrowed has no names on it: level
by level, those that leave some of their min unused lend in proportion to it, in whole units that sum to what
is borrowed beside them and lent by their parent, or to all that is unused where that is less. In mode fair a
quota is guaranteed nothing of what its min does not name: all that it uses of it is borrowed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ullage.engine.quota.book import NO_QUOTA, Amounts, Book, Member, Terms
from ullage.engine.quota.claimable import claimable
from ullage.engine.quota.divisors import divided
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.standing import Standing
from ullage.model.resources import NOTHING, Resources


class QuotaShare(NamedTuple):
    """A quota's figures over the book's resources; None where it names no min to compare with.

    `claimable` is what others could claim of its use. `members` and `over_quota` are its own workloads,
    everything else is with all below it.
    """

    place: int
    used: Amounts
    borrowed: Terms
    lent: Terms
    entitlement: Terms
    claimable: Amounts
    members: int
    over_quota: tuple[str, ...]


class Lent(NamedTuple):
    """By quota: what it lends with all below it, and what is lent of the part of its workloads alone."""

    whole: tuple[Terms, ...]
    own: tuple[Terms, ...]


class _Row(NamedTuple):
    """A quota among its brothers, or the workloads that a parent holds itself."""

    place: int
    least: Terms
    used: Amounts
    is_own: bool = False


def shares(rules: Rules, waiting: Iterable[Member], capacity: Mapping[str, int]) -> list[QuotaShare]:
    """Return the figures of every quota, by name."""
    standing, book = rules.standing, rules.book
    lends = lent(standing).whole
    entitled = entitlements(rules)
    exposed = claimable(standing, waiting, capacity)
    return [
        QuotaShare(
            place,
            tuple(standing.used[place]),
            beyond(standing.used[place], guaranteed(book, place)),
            lends[place],
            entitled[place],
            exposed[place],
            len(standing.members[place]),
            standing.over_quota(place),
        )
        for place in range(len(book.quotas))
    ]


def guaranteed(book: Book, place: int, *, own: bool = False) -> Terms:
    """Return the min of a quota, or of its own workloads; in mode fair 0 where only others name one."""
    least = (book.own_mins if own else book.mins)[place]
    if book.modes[place] == "nos":
        return least
    return tuple(
        0 if bound is None and resource in book.shared_places else bound
        for resource, bound in enumerate(least)
    )


def names_of(book: Book, place: int, used: Sequence[int]) -> set[str]:
    """Return the resources that are shown of a quota: those it names, and those it uses that are shared."""
    quota = book.quotas[place]
    named = {*quota.min, *quota.max, *(quota.lending_limit or ()), *(quota.borrowing_limit or ())}
    return named | {book.resources[each] for each in book.shared_places if used[each]}


def beyond(used: list[int] | Amounts, least: Terms) -> Terms:
    """Return what is used beyond a min, where one is named."""
    return tuple(
        None if bound is None else max(0, amount - bound) for amount, bound in zip(used, least, strict=True)
    )


def unused(used: list[int] | Amounts, least: Terms) -> Amounts:
    """Return what is left of a min; nothing where none is named."""
    return tuple(max(0, (bound or 0) - amount) for amount, bound in zip(used, least, strict=True))


def entitlements(rules: Rules) -> list[Terms]:
    """Return up to where each quota may claim: its share, or its min with what it is guaranteed above it.

    In mode nos each quota is entitled for its own workloads; a parent's entitlement is the sum of all below.
    None is above its max, beyond which nothing runs.
    """
    book = rules.book
    own: list[Terms] = [
        _at_most(rules.bound_of(place, "guaranteed"), book.maxes[place]) for place in range(len(book.quotas))
    ]
    found = [list(terms) for terms in own]
    for place in book.nos_places:
        for above in book.chains[place][1:]:
            if book.modes[above] == "nos":
                sums = found[above]
                for resource, amount in enumerate(own[place]):
                    if amount is not None:
                        sums[resource] = (sums[resource] or 0) + amount
    return [_at_most(terms, most) for terms, most in zip(found, book.maxes, strict=True)]


def _at_most(amounts: Sequence[int | None], most: Terms) -> Terms:
    """Return amounts where they are below a bound, and the bound where they are not."""
    return tuple(
        amount if amount is None or bound is None else min(amount, bound)
        for amount, bound in zip(amounts, most, strict=True)
    )


def borrowed_and_lent(standing: Standing) -> tuple[Resources, Resources]:
    """Return what all workloads together borrow and have lent, inside a tree too, each counted once."""
    book = standing.book
    borrowed = (
        beyond(used, guaranteed(book, place, own=True)) for place, used in enumerate(standing.own_used)
    )
    lends = lent(standing).own
    return sum(map(book.readable, borrowed), NOTHING), sum(map(book.readable, lends), NOTHING)


def lent(standing: Standing) -> Lent:
    """Return what each quota lends; at every level it sums to what is borrowed, or to all that is unused."""
    book = standing.book
    least = [guaranteed(book, place) for place in range(len(book.quotas))]
    whole = [[None if bound is None else 0 for bound in terms] for terms in least]
    own = [list(terms) for terms in whole]
    for parent, family in _families(standing):
        for resource in range(len(book.resources)):
            free = [unused((row.used[resource],), (row.least[resource],))[0] for row in family]
            taken = sum(beyond((row.used[resource],), (row.least[resource],))[0] or 0 for row in family)
            passed_on = whole[parent][resource] or 0 if parent != NO_QUOTA else 0
            amount = min(taken + passed_on, sum(free))
            for row, share in zip(family, divided(amount, free, free), strict=True):
                if row.least[resource] is not None:
                    (own if row.is_own else whole)[row.place][resource] = share
    parents = {parent_of(book, place) for place in range(len(book.quotas))}
    for place in range(len(book.quotas)):
        if place not in parents:
            own[place] = whole[place]
    return Lent(tuple(map(tuple, whole)), tuple(map(tuple, own)))


def parent_of(book: Book, place: int) -> int:
    """Return the place of a quota's parent."""
    above = book.chains[place][1:]
    return above[0] if above else NO_QUOTA


def _families(standing: Standing) -> Iterator[tuple[int, list[_Row]]]:
    """Yield the children of each parent beside its own workloads, the highest first."""
    book = standing.book
    children: dict[int, list[int]] = {}
    for place in range(len(book.quotas)):
        children.setdefault(parent_of(book, place), []).append(place)
    for parent in sorted(children, key=lambda place: _depth(book, place)):
        rows = [
            _Row(place, guaranteed(book, place), tuple(standing.used[place])) for place in children[parent]
        ]
        if parent != NO_QUOTA:
            own = tuple(standing.own_used[parent])
            rows.append(_Row(parent, guaranteed(book, parent, own=True), own, is_own=True))
        yield parent, rows


def _depth(book: Book, place: int) -> int:
    return 0 if place == NO_QUOTA else len(book.chains[place])
