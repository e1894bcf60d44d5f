"""Quotas: the tree with what each is guaranteed, uses, borrows and may claim; who is above, and at risk."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.model.errors import InputError
from ullage.render.view import Share
from ullage.service.quota_list import accounts_of, quota_list_report
from ullage.service.quota_list_page import quota_list_verdict
from ullage.service.quota_risk import quota_risk_of
from ullage.service.words import findings_block, resources_in_order
from ullage.web.pages.kept import kept_status
from ullage.web.pages.links import Links
from ullage.web.pages.shell import draw, shell_of, terminal

if TYPE_CHECKING:
    from ullage.model.cluster import Snapshot
    from ullage.model.resources import ResourceTypes
    from ullage.render.view import Page
    from ullage.service.asked import Asked
    from ullage.service.quota_list import QuotaFigures, QuotaTotals

QUOTAS_SHOWN: Final = 100
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
    """Return the quotas of a cluster, by a part of their names where one is given."""
    shell = shell_of(parameters)
    snapshot, status = kept_status(asked)
    try:
        accounts = accounts_of(snapshot)
    except InputError as error:
        return draw("quotas", shell, report=status, problem=str(error), links=Links(shell, snapshot))
    report = quota_list_report(accounts, "")
    part = parameters.get("q", "").strip().lower()
    found = [each for each in report.quotas if part in each.name.lower()]
    lines = [_line(each, snapshot.resource_types) for each in found[:QUOTAS_SHOWN]]
    wants_risk = bool(parameters.get("risk")) or report.totals.over_quota <= AT_ONCE_WORKLOADS
    risk = _risk(snapshot, asked) if wants_risk else None
    return draw(
        "quotas",
        shell,
        links=Links(shell, snapshot),
        report=report,
        problem="",
        q=parameters.get("q", ""),
        verdict=quota_list_verdict(report, snapshot.resource_types),
        lines=lines,
        more=len(found) - len(lines),
        findings=findings_block("", report.findings, 3, rest="ullage quota audit tells all"),
        over=[(each.name, each.over_quota) for each in found if each.over_quota],
        risk=risk,
        totals=tuple(_totals(report.totals, snapshot.resource_types)),
        command=terminal(asked, "quota list"),
    )


def _risk(snapshot: "Snapshot", asked: "Asked") -> "Page":
    answer = quota_risk_of(snapshot, asked)
    return (answer.shortened or answer.page)()


def _line(quota: "QuotaFigures", types: "ResourceTypes") -> Line:
    names = resources_in_order({*quota.min, *quota.max, *quota.used})
    bounded = [name for name in names if name in quota.min or name in quota.max]
    return Line(
        quota.name,
        min(quota.depth, DEPTH_MAX),
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
