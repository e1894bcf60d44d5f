"""Who pays for what `fit` places: each quota that counts it, with its use before and after.

After is the state in which everything that has a place runs: those who go for it, or are waited for, are
gone, and replicas that run already are counted once.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from ullage.engine.placement.before import LimitRanges
from ullage.engine.placement.bench import Bench
from ullage.engine.placement.outcome import Outcome
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import NO_QUOTA, Book, Member
from ullage.engine.quota.gpu_parts import on_nodes
from ullage.engine.quota.judging import is_under_quota
from ullage.engine.quota.shares import beyond, guaranteed, names_of
from ullage.model.cluster import Batch, Workload
from ullage.model.constraints import Record
from ullage.model.resources import Resources, ResourceTypes
from ullage.render import view
from ullage.service.words import amount_cell, amount_or_nothing, listed, resources_in_order, several

TITLE: Final = "Who pays"


class QuotaPays(Record, frozen=True):
    """A quota that counts some `workloads` of the question: what it uses and borrows now, and then.

    They are those it pays for; where none of them has a place, those it would pay for. `used`, `borrowed` and
    both of them after have the resources that the quota counts.
    """

    quota: str
    workloads: tuple[str, ...]
    min: Resources
    max: Resources
    used: Resources
    used_after: Resources
    borrowed: Resources
    borrowed_after: Resources


def payers_of(bench: Bench, outcomes: Sequence[Outcome], batches: Sequence[Batch]) -> tuple[QuotaPays, ...]:
    """Return the quotas that count what was asked about, by name; none where nobody counts it."""
    if not is_under_quota(bench.book, batches):
        return ()
    accounts = bench.accounts
    book = accounts.book
    completed = LimitRanges(accounts.columns.snapshot).completed
    asked = {batch.key: completed(batch.workload) for batch in batches}
    after = [list(used) for used in accounts.standing.used]
    concerned: dict[int, list[Outcome]] = {}
    for outcome in outcomes:
        workload = asked[outcome.subject]
        place = book.place_of(workload.namespace, workload.labels)
        if place != NO_QUOTA:
            concerned.setdefault(place, []).append(outcome)
        for member, count in _changes(bench, outcome, workload):
            for each in book.chains[member.quota] if member.quota != NO_QUOTA else ():
                after[each] = [had + count * by for had, by in zip(after[each], member.amounts, strict=True)]
    return tuple(
        _pays(book, place, _paid(concerned[place]), accounts.standing.used[place], after[place])
        for place in sorted(concerned)
    )


def _changes(bench: Bench, outcome: Outcome, workload: Workload) -> Iterator[tuple[Member, int]]:
    """Yield who counts more often, or no more, once an outcome has come about; one that is admitted does."""
    accounts = bench.accounts
    for key in (*(each.workload for each in outcome.evicted), *(each.workload for each in outcome.waits_for)):
        member = accounts.running.get(key) or accounts.leaving.get(key)
        if member is not None:
            yield member, -1
    if workload.admitted or (outcome.replicas and not outcome.nodes):
        return
    for member in _counted_already(bench, accounts, workload):
        yield member, -1
    for kind, count in on_nodes(accounts, workload, outcome.nodes):
        yield accounts.member_of(kind), count


def _counted_already(bench: Bench, accounts: Accounts, workload: Workload) -> list[Member]:
    """Return the replicas of a workload that run, which its outcome counts anew."""
    keys = {each.key for each in bench.running.replicas_of(workload)} | {workload.key}
    found = (accounts.running.get(key) for key in sorted(keys))
    return [member for member in found if member is not None and member.node]


def _paid(outcomes: Sequence[Outcome]) -> list[str]:
    """Return what is paid for: what has a place, if anything has."""
    return [each.subject for each in outcomes if each.nodes] or [each.subject for each in outcomes]


def _pays(
    book: Book, place: int, workloads: Sequence[str], used: Sequence[int], after: Sequence[int]
) -> QuotaPays:
    quota, least = book.quotas[place], guaranteed(book, place)
    named = names_of(book, place, after) | names_of(book, place, used)

    def told(amounts: Sequence[int | None]) -> Resources:
        return book.readable(amounts).only(named)

    return QuotaPays(
        quota.name,
        tuple(workloads),
        quota.min,
        quota.max,
        told(used),
        told(after),
        told(beyond(tuple(used), least)),
        told(beyond(tuple(after), least)),
    )


def payers_table(payers: Sequence[QuotaPays], types: ResourceTypes, rows_max: int | None) -> view.Table:
    """Return the table of those who pay, a row for each resource that they count."""
    columns = (
        view.Column("quota", priority=9),
        view.Column("resource", priority=9),
        view.Column("used", "right", priority=7),
        view.Column("used after", "right", priority=8),
        view.Column("min", "right", priority=7),
        view.Column("max", "right", priority=6),
        view.Column("borrowed after", "right", priority=8),
        view.Column("for", priority=3),
    )
    rows = [
        (
            view.Cell(payer.quota),
            view.Cell(name),
            amount_cell(types, name, payer.used.of(name)),
            amount_cell(types, name, payer.used_after.of(name)),
            amount_or_nothing(types, payer.min, name),
            amount_or_nothing(types, payer.max, name),
            _borrowed(payer, types, name),
            view.Cell(several(payer.workloads), value=", ".join(payer.workloads)),
        )
        for payer in payers
        for name in resources_in_order({*payer.used, *payer.used_after})
    ]
    caption = "used after: once all that has a place runs; borrowed: what is used above min"
    if rows_max is not None and len(rows) > rows_max:
        caption += f"; the first {rows_max} of {len(rows)} rows, -o wide shows all"
    return view.Table(TITLE, columns, tuple(rows[:rows_max]), caption)


def _borrowed(payer: QuotaPays, types: ResourceTypes, resource: str) -> view.Cell:
    amount = payer.borrowed_after.get(resource)
    if amount is None:
        return amount_or_nothing(types, payer.borrowed_after, resource)
    return amount_cell(types, resource, amount, tone="warn" if amount else "plain")


def borrowing(payers: Sequence[QuotaPays], workload: str, types: ResourceTypes) -> str:
    """Return which quota counts a workload, and how much it would borrow, in words behind `over quota`."""
    for payer in payers:
        if workload in payer.workloads:
            borrowed = payer.borrowed_after.without_zeros()
            by = f", which would borrow {listed(types, borrowed)}" if borrowed else ""
            return f" {payer.quota}{by}"
    return ""
