"""Every number behind a quota: what it is guaranteed by either formula, who fills it, and what it may run.

Both modes are told, the one that applies and the one that would: their terms come from the same members.
"""

from collections.abc import Sequence
from fractions import Fraction

from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import NO_QUOTA, Book, Terms
from ullage.engine.quota.risk import risks_of
from ullage.engine.quota.room import quota_room
from ullage.engine.quota.shares import QuotaShare, beyond, guaranteed, lent, parent_of, shares, unused
from ullage.engine.quota.standing import Standing
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import NOTHING, Resources
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, unknown
from ullage.service.quota_list import QuotaFigures, accounts_of, figures_of


class Addend(Record, frozen=True):
    """What one quota adds to a sum."""

    quota: str
    amounts: Resources


class Weight(Record, frozen=True):
    """By what a quota shares in the surplus; None: by its min of each resource."""

    quota: str
    weight: Fraction | None


class NosTerms(Record, frozen=True):
    """The formula of mode nos: guaranteed = floor(min / sum of min x unused), beyond min."""

    min: Resources
    mins: tuple[Addend, ...]
    sum_of_min: Resources
    unused: tuple[Addend, ...]
    sum_of_unused: Resources
    guaranteed: Resources
    max: Resources
    entitlement: Resources


class FairTerms(Record, frozen=True):
    """The terms of mode fair at the level of the quota: min(min, demand) of all, then the surplus by weight.

    `capacity` is what its parent is entitled to, or the cluster has; a resource without a bound is not in it.
    Of the cluster's nodes so many are `cordoned_nodes`: they count with what runs there.
    """

    capacity: Resources
    cordoned_nodes: int
    demand: Resources
    guaranteed: tuple[Addend, ...]
    sum_of_guaranteed: Resources
    surplus: Resources
    own_guaranteed: Resources
    own_surplus: Resources
    entitlement: Resources
    weights: tuple[Weight, ...]


class MemberStatus(Record, frozen=True):
    """A workload of the quota in label order, with the sum up to it."""

    workload: str
    counts: Resources
    running_sum: Resources
    label: str
    priority: int
    created_seconds: int


class Admissible(Record, frozen=True):
    """What would be admitted now, bound by bound, and how much may be claimed of others by right.

    A bound that names a resource is in its map; `at_most` lacks what the quota's right does not bound.
    """

    max: Resources
    borrowing_limit: Resources
    sum_of_min: Resources
    nodes: Resources
    admitted: Resources
    at_most: Resources


class Lender(Record, frozen=True):
    """A quota by its own workloads: what it lends, and what it borrows."""

    quota: str
    lent: Resources
    borrowed: Resources


class QuotaExplanation(Record, frozen=True):
    """The answer to `ullage explain quota/Q`; `parents` from the nearest to the root."""

    cluster: str
    revision: int
    policy: str
    order: tuple[str, ...]
    quota: QuotaFigures
    own_min: Resources
    nos: NosTerms
    fair: FairTerms
    admissible: Admissible
    members: tuple[MemberStatus, ...]
    lenders: tuple[Lender, ...]
    parents: tuple[QuotaFigures, ...]
    not_simulated: tuple[str, ...]


def explain_quota(snapshot: Snapshot, name: str, asked: Asked) -> Answer:
    """Answer what stands behind the numbers of a quota."""
    from ullage.service.explain_quota_page import quota_page

    report = quota_explanation(accounts_of(snapshot), name)
    types = snapshot.resource_types
    return Answer(
        lambda: quota_page(report, types, asked),
        lambda: versioned("QuotaExplanation", report, types),
        shortened=lambda: quota_page(report, types, asked, shortened=True),
    )


def quota_explanation(accounts: Accounts, name: str) -> QuotaExplanation:
    """Return every term of a quota."""
    snapshot, book, standing = accounts.columns.snapshot, accounts.book, accounts.standing
    place = book.index.get(name)
    if place is None:
        raise unknown("quota", name, book.index)
    figures = shares(accounts.rules, accounts.waiting.values(), accounts.capacity)
    return QuotaExplanation(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        order=standing.order,
        quota=figures_of(book, figures[place]),
        own_min=book.readable(book.own_mins[place]),
        nos=_nos_terms(accounts, place),
        fair=_fair_terms(accounts, figures, place),
        admissible=_admissible(accounts, place),
        members=_members(standing, place),
        lenders=_lenders(standing),
        parents=tuple(figures_of(book, figures[each]) for each in book.chains[place][1:]),
        not_simulated=snapshot.unknowns,
    )


def _admissible(accounts: Accounts, place: int) -> Admissible:
    book = accounts.book
    room = quota_room(accounts.rules, place, accounts.room)
    return Admissible(
        max=_bounded(book, room.max),
        borrowing_limit=_bounded(book, room.borrowing_limit),
        sum_of_min=_bounded(book, room.sum_of_min),
        nodes=_bounded(book, room.nodes),
        admitted=_bounded(book, room.admitted),
        at_most=book.readable(risks_of(accounts).claimant(place).at_most),
    )


def _bounded(book: Book, terms: Terms) -> Resources:
    """Return the terms that bound something, by name."""
    return book.readable([None if each is None or each >= INT64_MAX else each for each in terms])


def _nos_terms(accounts: Accounts, place: int) -> NosTerms:
    """Return the formula of mode nos; where the quota is in mode fair, as if all were in mode nos."""
    book, standing = accounts.book, accounts.standing
    if book.modes[place] != "nos":
        book = Book(book.quotas, "nos")
        members = (member for each in standing.members for member in each.values())
        standing = Standing(book, members, standing.order)
    least = book.readable(book.own_mins[place])
    guaranteed = book.readable(standing.guaranteed(place))
    return NosTerms(
        min=least,
        mins=tuple(
            Addend(book.quotas[each].name, book.readable(book.own_mins[each])) for each in book.nos_places
        ),
        sum_of_min=book.readable(standing.book.sum_of_mins),
        unused=tuple(
            Addend(
                book.quotas[each].name, book.readable(unused(standing.own_used[each], book.own_mins[each]))
            )
            for each in book.nos_places
        ),
        sum_of_unused=book.readable(standing.unused()),
        guaranteed=guaranteed,
        max=book.quotas[place].max.only(set(least)),
        entitlement=Resources(
            {
                name: min(amount, book.quotas[place].max.get(name, amount))
                for name, amount in (least + guaranteed).items()
            }
        ),
    )


def _fair_terms(accounts: Accounts, figures: Sequence[QuotaShare], place: int) -> FairTerms:
    """Return the terms of mode fair among the children of the quota's parent."""
    book = accounts.book
    entitled = accounts.rules.entitlements
    parent = parent_of(book, place)
    family = [each.place for each in figures if parent_of(book, each.place) == parent]
    shared = set(book.shared)
    whole = Resources({name: accounts.capacity.get(name, 0) for name in book.shared})
    if parent != NO_QUOTA:
        whole = book.readable(entitled[parent])
    firsts = {each: _first(book, entitled[each], each) for each in family}
    addends = [Addend(book.quotas[each].name, first) for each, first in firsts.items()]
    if parent != NO_QUOTA:
        own = whole - sum((book.readable(entitled[each]) for each in family), NOTHING)
        least = book.readable(book.own_mins[parent])
        kept = {name: min(max(0, own.of(name)), least.of(name)) for name in shared}
        addends.append(Addend(f"{book.quotas[parent].name} itself", Resources(kept)))
    total = sum((each.amounts for each in addends), NOTHING)
    mine = book.readable(entitled[place])
    return FairTerms(
        capacity=Resources({name: amount for name, amount in whole.items() if amount < INT64_MAX}),
        cordoned_nodes=sum(node.state == "cordoned" for node in accounts.columns.nodes),
        demand=_demand(accounts, place).only(shared),
        guaranteed=tuple(addends),
        sum_of_guaranteed=total,
        surplus=Resources(
            {name: amount - total.of(name) for name, amount in whole.items() if amount < INT64_MAX}
        ),
        own_guaranteed=firsts[place],
        own_surplus=mine - firsts[place],
        entitlement=mine,
        weights=tuple(Weight(book.quotas[each].name, book.quotas[each].weight) for each in family),
    )


def _first(book: Book, entitled: Terms, place: int) -> Resources:
    """Return min(min, demand), read from the entitlement: what of it the min covers."""
    share = book.readable(entitled)
    least = book.quotas[place].min
    return Resources({name: min(amount, least.of(name)) for name, amount in share.items()})


def _demand(accounts: Accounts, place: int) -> Resources:
    """Return what a quota asks for with all below it: those that run and those that wait."""
    book = accounts.book
    total = list(accounts.standing.used[place])
    for member in accounts.waiting.values():
        if member.quota != NO_QUOTA and place in book.chains[member.quota]:
            total = [each + more for each, more in zip(total, member.amounts, strict=True)]
    return book.readable(total)


def _members(standing: Standing, place: int) -> tuple[MemberStatus, ...]:
    book = standing.book
    named = {
        name for name, least in zip(book.resources, book.own_mins[place], strict=True) if least is not None
    }
    total = NOTHING
    found = []
    for key, label in standing.labels(place).items():
        member = standing.members[place][key]
        counts = book.readable(member.amounts)
        total += counts
        found.append(
            MemberStatus(key, counts, total.only(named), label, member.priority, member.created_seconds)
        )
    return tuple(found)


def _lenders(standing: Standing) -> tuple[Lender, ...]:
    book, lends = standing.book, lent(standing).own
    found = []
    for place, quota in enumerate(book.quotas):
        used, least = standing.own_used[place], guaranteed(book, place, own=True)
        borrowed = book.readable(beyond(used, least)).without_zeros()
        given = book.readable(lends[place]).without_zeros()
        if borrowed or given:
            found.append(Lender(quota.name, given, borrowed))
    return tuple(found)
