"""Whose share is it: what every quota is guaranteed, uses, borrows, lends and may claim, and who is above."""

from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import NO_QUOTA, Book
from ullage.engine.quota.cluster_capacity import cluster_capacity
from ullage.engine.quota.shares import QuotaShare, borrowed_and_lent, names_of, parent_of, shares
from ullage.engine.quota.validation import findings
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.resources import NOTHING, Resources
from ullage.model.verdict import Finding
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, check_namespace, read_cluster
from ullage.service.held import bench_of


class QuotaFigures(Record, frozen=True):
    """A quota with all below it; `workloads` and `over_quota` are its own.

    `borrowed`, `lent` and `entitlement` have the resources that are compared: those that a min names.
    `claimable` is what others could claim back of its use, if all of them asked for all they may.
    """

    name: str
    kind: str
    mode: str
    parent: str
    depth: int
    namespaces: tuple[str, ...]
    queues: tuple[str, ...]
    min: Resources
    max: Resources
    used: Resources
    borrowed: Resources
    lent: Resources
    entitlement: Resources
    claimable: Resources
    workloads: int
    over_quota: tuple[str, ...]


class QuotaTotals(Record, frozen=True):
    """All quotas together, each counted once, beside what the cluster can promise."""

    capacity: Resources
    min: Resources
    used: Resources
    borrowed: Resources
    lent: Resources
    workloads: int
    over_quota: int


class QuotaListReport(Record, frozen=True):
    """The answer to `ullage quota list`: quotas in the order of their tree, and what is wrong with them."""

    cluster: str
    revision: int
    policy: str
    quotas: tuple[QuotaFigures, ...]
    totals: QuotaTotals
    findings: tuple[Finding, ...]
    not_simulated: tuple[str, ...]


def quota_list(asked: Asked) -> Answer:
    """Answer what every quota has and uses."""
    return quota_list_of(read_cluster(asked), asked)


def quota_list_of(snapshot: Snapshot, asked: Asked) -> Answer:
    """Answer what every quota has and uses in a cluster that was read already."""
    from ullage.service.quota_list_page import quota_list_page

    check_namespace(snapshot, asked.namespace)
    report = quota_list_report(accounts_of(snapshot), asked.namespace)
    types = snapshot.resource_types
    return Answer(
        lambda: quota_list_page(report, types, asked),
        lambda: versioned("QuotaListReport", report, types),
        shortened=lambda: quota_list_page(report, types, asked, shortened=True),
    )


def accounts_of(snapshot: Snapshot) -> Accounts:
    """Return who runs under which quota; without quotas there is nothing to tell."""
    if not snapshot.quotas:
        raise InputError(
            f"{snapshot.name or 'the cluster'} has no quotas",
            remedy="a dump needs elasticquotas,compositeelasticquotas; Quota objects may stand beside it",
        )
    return bench_of(snapshot).accounts


def quota_list_report(accounts: Accounts, namespace: str = "") -> QuotaListReport:
    """Return every number of the answer; with a namespace, only of the quotas that cover it."""
    snapshot, book = accounts.columns.snapshot, accounts.book
    found = shares(accounts.rules, accounts.waiting.values(), accounts.capacity)
    capacity = cluster_capacity(accounts.columns)
    order = tree_order(book)
    roots = [each for each in found if parent_of(book, each.place) == NO_QUOTA]
    borrowed, lends = borrowed_and_lent(accounts.standing)
    kept = [place for place in order if not namespace or namespace in book.quotas[place].namespaces]
    return QuotaListReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        quotas=tuple(figures_of(book, found[place]) for place in kept),
        totals=QuotaTotals(
            capacity=Resources({name: capacity.get(name, 0) for name in book.resources}),
            min=sum((book.quotas[each.place].min for each in roots), NOTHING),
            used=sum((book.readable(each.used) for each in roots), NOTHING),
            borrowed=borrowed,
            lent=lends,
            workloads=sum(each.members for each in found),
            over_quota=sum(len(each.over_quota) for each in found),
        ),
        findings=findings(snapshot.quotas, capacity, snapshot.resource_types),
        not_simulated=snapshot.unknowns,
    )


def tree_order(book: Book) -> list[int]:
    """Return quotas as a tree is read: every parent before its children, otherwise by name."""
    path = {place: tuple(book.quotas[each].name for each in reversed(chain)) for place, chain in
            enumerate(book.chains)}  # fmt: skip
    return sorted(path, key=path.__getitem__)


def figures_of(book: Book, share: QuotaShare) -> QuotaFigures:
    """Return the figures of a quota by the names of its resources."""
    quota = book.quotas[share.place]
    parent = parent_of(book, share.place)
    named = names_of(book, share.place, share.used)
    return QuotaFigures(
        name=quota.name,
        kind=quota.kind,
        mode=book.modes[share.place],
        parent="" if parent == NO_QUOTA else book.quotas[parent].name,
        depth=len(book.chains[share.place]) - 1,
        namespaces=quota.namespaces,
        queues=quota.queues,
        min=quota.min,
        max=quota.max,
        used=book.readable(share.used).only(named),
        borrowed=book.readable(share.borrowed).only(named),
        lent=book.readable(share.lent).only(named),
        entitlement=book.readable(share.entitlement),
        claimable=book.readable(share.claimable).without_zeros(),
        workloads=share.members,
        over_quota=share.over_quota,
    )
