"""Whether a ledger is what it says: its file, its chain, every decision made again, and its promises."""

from typing import Final

from ullage.engine.ledger.audit import GONE, OVER_PROMISED, audit_against
from ullage.engine.ledger.room import TYPES
from ullage.model.constraints import Record
from ullage.model.verdict import Finding
from ullage.render import view
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, read_whole, standing
from ullage.service.clock import now_seconds
from ullage.service.ledger_cluster import cluster_place
from ullage.service.ledger_file import (
    Place,
    alive,
    earliest_step,
    ledger_path,
    read_ledger,
    told_path,
    verified,
)
from ullage.service.ledger_server import cluster_name, server_place
from ullage.service.ledger_words import with_ledger
from ullage.service.words import fact_table, findings_block, plural

AS_LAST_SEEN: Final = frozenset((OVER_PROMISED, GONE))
"""Findings about promises that something is not there for: it may have changed since."""
LAST_SEEN: Final = "as when each was last part of a commit; -c: as a cluster has it now"


class LedgerVerification(Record, frozen=True):
    """The answer to `ullage ledger verify`: steps that were decided again, and what was found.

    `against` is the cluster with which promises were compared; without one, what was there when each was last
    looked at. `earliest` is the first step that is kept, from which on they were.
    """

    ledger: str
    sound: bool
    steps: int
    findings: tuple[Finding, ...]
    against: str = ""
    earliest: int = 1


def ledger_verify(named: str, asked: Asked | None = None, told: str = "") -> Answer:
    """Answer whether a ledger can be believed; no where anything was found.

    Where a cluster is asked about, promises are compared with what it offers now. `told` is what the ledger
    is called, where that is not its place.
    """
    path = ledger_path(named, asked)
    earliest = earliest_step(path)
    steps, found = verified(path)
    findings = tuple(found)
    if asked is not None:
        findings = (*(each for each in findings if each.code not in AS_LAST_SEEN), *_hollow(path, asked))
    report = LedgerVerification(
        told or told_path(path), not findings, steps, findings, against=_name(asked), earliest=earliest
    )
    return Answer(
        lambda: _page(report, named), lambda: versioned("LedgerVerification", report, TYPES), report.sound
    )


def _hollow(path: Place, asked: Asked) -> tuple[Finding, ...]:
    """Return what is promised beyond what a cluster offers now."""
    from ullage.engine.columns import Columns
    from ullage.engine.ledger.promises import with_promises
    from ullage.engine.ledger.state import LedgerState
    from ullage.engine.ledger.supply import supply_of

    state = read_ledger(path)
    entries = alive(state.entries, max(now_seconds(), state.at_seconds))
    columns = Columns(with_promises(standing(read_whole(asked)), entries))
    found = audit_against(LedgerState(entries=entries), supply_of(columns, entries))
    return tuple(each for each in found if each.code in AS_LAST_SEEN)


def _stored(report: LedgerVerification, named: str) -> tuple[str, str]:
    """Say what is looked at of where a ledger is kept."""
    if server_place(named) is not None:
        return "server", "what it keeps, by itself: every page or object, and every row that names another"
    if cluster_place(named) is None:
        return "file", "every page, and every row that names another"
    kept = f"; steps before {report.earliest} are no longer kept" if report.earliest > 1 else ""
    return "objects", f"every step and every kept state, each what its name says{kept}"


def _name(asked: Asked | None) -> str:
    """Return what a cluster is called: one of a server as it is there."""
    if asked is None:
        return ""
    place = server_place(asked.cluster)
    return cluster_name(place) if place else asked.cluster


def _page(report: LedgerVerification, named: str) -> view.Page:
    steps = plural(report.steps - report.earliest + 1, "step")
    proved = f"{steps} decided again, all promises added up"
    found = plural(len(report.findings), "finding")
    blocks: list[view.Block] = [findings_block("Findings", report.findings)] if report.findings else []
    blocks.append(
        fact_table(
            "What was looked at",
            [
                _stored(report, named),
                ("chain", f"the hash of each of {steps}"),
                ("decisions", f"{steps}, each made again on what those before left"),
                ("tables", "entries, capacities and the line, as the journal adds up to"),
                ("promises", "sums, claims that are shared, owners, ends and places in line"),
                ("what there is", f"as {report.against} has it now" if report.against else LAST_SEEN),
            ],
        )
    )
    return view.Page(
        title="Proof of the ledger",
        verdict=view.Verdict(
            f"the ledger is sound: {proved}" if report.sound else f"{found}: {proved}",
            "yes" if report.sound else "no",
        ),
        blocks=tuple(blocks),
        next_command=with_ledger("ledger show", named),
        about=f"ledger {report.ledger}, revision {report.steps}",
    )
