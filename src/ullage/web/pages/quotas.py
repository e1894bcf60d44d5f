"""Quotas: the tree with what each is guaranteed, uses, borrows and may claim; who is above, and at risk."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ullage.model.errors import InputError
from ullage.render.view import Share
from ullage.service.quota_list import accounts_of, quota_list_report
from ullage.service.quota_list_page import quota_list_verdict
from ullage.service.quota_risk import quota_risk_of
from ullage.service.words import findings_block, resources_in_order
from ullage.web.pages.answers import page_of
from ullage.web.pages.kept import kept_of, kept_status
from ullage.web.pages.links import Links
from ullage.web.pages.paging import DOWN, Listing, Sort, paging
from ullage.web.pages.plain_words import in_plain_words
from ullage.web.pages.shell import draw, shell_of, terminal

if TYPE_CHECKING:
    from ullage.model.cluster import Snapshot
    from ullage.model.resources import ResourceTypes
    from ullage.render.view import Page
    from ullage.service.asked import Asked
    from ullage.service.quota_list import QuotaFigures, QuotaListReport, QuotaTotals

PAGE_QUOTAS: Final = 20
DEPTH_MAX: Final = 8
AT_ONCE_WORKLOADS: Final = 200
"""Workloads over quota up to which their risk is told without being asked for."""


class Marks(NamedTuple):
    """One resource of a quota as it is drawn, in hundredths of the length; a mark may be missing."""

    resource: str
    within: str
    borrowed_at: str
    borrowed: str
    least: str | None
    entitled: str | None
    most: str | None
    words: str
    percent: str
    is_over: bool
    amounts: tuple[tuple[str, str], ...]


class Line(NamedTuple):
    """A quota in its tree."""

    name: str
    depth: int
    mode: str
    namespaces: str
    workloads: int
    over_quota: int
    marks: tuple[Marks, ...]


def page(asked: "Asked", parameters: Mapping[str, str], body: bytes) -> bytes:  # noqa: ARG001 - as all pages
    """Return the quotas of a cluster, those that a filter leaves, sorted, in pages."""
    shell = shell_of(parameters)
    snapshot, status = kept_status(asked)
    links = Links(shell, snapshot, otherwise="#risk")
    try:
        report = kept_quotas(snapshot)
    except InputError as error:
        problem = in_plain_words(str(error))
        return draw("quotas", shell, report=status, problem=problem, links=links)
    filters = {key: parameters[key] for key in FILTERS if parameters.get(key)}
    listing = Listing(shell, "/quotas", filters, "found")
    key, is_down = parameters.get("sort", "") or TREE, parameters.get("order", "up") == DOWN
    found = sorted_quotas(filtered(report.quotas, parameters), key, down=is_down)
    part = paging(listing, parameters.get("page", ""), len(found), PAGE_QUOTAS)
    shown = found[part.first : part.end]
    wants_risk = bool(parameters.get("risk")) or report.totals.over_quota <= AT_ONCE_WORKLOADS
    return draw(
        "quotas",
        shell,
        links=links,
        report=report,
        problem="",
        filters={key: parameters.get(key, "") for key in FILTERS},
        standings=tuple(STANDINGS),
        sorts=tuple(SORTS),
        verdict=quota_list_verdict(report, snapshot.resource_types),
        lines=[_line(each, snapshot.resource_types, is_tree=key == TREE) for each in shown],
        paging=part,
        sort=Sort(listing, key, is_down, frozenset((TREE, NAME))),
        findings=findings_block("", report.findings, 3, rest="the command below tells all"),
        over=[(each.name, each.over_quota) for each in shown if each.over_quota],
        risk=_risk(snapshot, asked) if wants_risk else None,
        totals=tuple(_totals(report.totals, snapshot.resource_types)),
        command=terminal(shell, "quota list"),
    )


def kept_quotas(snapshot: "Snapshot") -> "QuotaListReport":
    """Return the figures of all quotas, which are counted once for each state of the cluster."""
    return kept_of(snapshot, "quotas", lambda: quota_list_report(accounts_of(snapshot), ""))


def filtered(quotas: "Sequence[QuotaFigures]", parameters: Mapping[str, str]) -> "list[QuotaFigures]":
    """Return the quotas that a filter leaves: names and namespaces by a part of them, and how they stand."""
    part = parameters.get("q", "").strip().lower()
    stands = STANDINGS.get(parameters.get("standing", ""))
    return [
        quota
        for quota in quotas
        if (part in quota.name.lower() or any(part in name.lower() for name in quota.namespaces))
        and (stands is None or stands(quota))
    ]


def sorted_quotas(quotas: "list[QuotaFigures]", key: str, *, down: bool) -> "list[QuotaFigures]":
    """Return quotas by a figure, equal ones by name; as they are in their tree where no figure is named."""
    by = SORTS.get(key)
    if by is None:
        return quotas[::-1] if down else quotas
    return sorted(sorted(quotas, key=lambda quota: quota.name), key=by, reverse=down)


def used_share(quota: "QuotaFigures") -> float:
    """Return the largest part of a min that is used; above 1 it borrows."""
    parts = (quota.used.of(name) / least for name, least in quota.min.items() if least)
    return max(parts, default=0.0)


def _is_above_max(quota: "QuotaFigures") -> bool:
    return any(quota.used.of(name) > most for name, most in quota.max.items())


TREE, NAME = "tree", "name"
STANDINGS: "Final[Mapping[str, Callable[[QuotaFigures], bool]]]" = MappingProxyType(
    {
        "over quota": lambda quota: bool(quota.over_quota),
        "borrows": lambda quota: bool(quota.borrowed.without_zeros()),
        "lends": lambda quota: bool(quota.lent.without_zeros()),
        "above max": _is_above_max,
    }
)
"""How a quota may stand, by the words of the filter."""
SORTS: "Final[Mapping[str, Callable[[QuotaFigures], Any]]]" = MappingProxyType(
    {
        NAME: lambda quota: quota.name,
        "used": used_share,
        "over quota": lambda quota: len(quota.over_quota),
        "workloads": lambda quota: quota.workloads,
    }
)
"""What quotas are sorted by, beside their tree."""
FILTERS: Final = ("q", "standing", "sort", "order")


def _risk(snapshot: "Snapshot", asked: "Asked") -> "Page":
    return page_of(quota_risk_of(snapshot, asked))


def _line(quota: "QuotaFigures", types: "ResourceTypes", *, is_tree: bool) -> Line:
    names = resources_in_order({*quota.min, *quota.max, *quota.used})
    bounded = [name for name in names if name in quota.min or name in quota.max]
    return Line(
        quota.name,
        min(quota.depth, DEPTH_MAX) if is_tree else 0,
        quota.mode,
        ", ".join((*quota.namespaces, *quota.queues)),
        quota.workloads,
        len(quota.over_quota),
        tuple(marks_of(quota, name, types) for name in bounded),
    )


def marks_of(quota: "QuotaFigures", name: str, types: "ResourceTypes") -> Marks:
    """Return where the bar of a resource ends and where its marks are, to the scale of the largest."""
    used, least = quota.used.of(name), quota.min.get(name)
    most, entitled = quota.max.get(name), quota.entitlement.get(name)
    scale = max(used, least or 0, most or 0, entitled or 0, 1)
    within = min(used, least or 0)
    show = types[name].readable
    amounts = [("used", show(used))]
    for word, amounts_of in (
        ("min", quota.min),
        ("borrowed", quota.borrowed),
        ("lent", quota.lent),
        ("entitled to", quota.entitlement),
        ("max", quota.max),
        ("claimable", quota.claimable),
    ):
        if amounts_of.of(name):
            amounts.append((word, show(amounts_of.of(name))))
    return Marks(
        name,
        _at(within, scale),
        _at(within, scale),
        _at(used - within, scale),
        None if least is None else _at(least, scale),
        None if entitled is None else _at(entitled, scale),
        None if most is None else _at(most, scale),
        show(used),
        Share(used, least).percent if least else "",
        most is not None and used > most,
        tuple(amounts),
    )


def _at(part: int, scale: int) -> str:
    return f"{100 * max(0, part) / scale:.2f}"


def _totals(totals: "QuotaTotals", types: "ResourceTypes") -> Iterator[tuple[str, Sequence[tuple[str, str]]]]:
    capacity = totals.capacity
    for name in resources_in_order(set(totals.min)):
        show = types[name].readable
        words = ("min", "used", "borrowed", "lent")
        parts = [(word, show(getattr(totals, word).of(name))) for word in words]
        yield name, [("capacity", show(capacity.of(name))), *parts]
