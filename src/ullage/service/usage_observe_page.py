"""The page of `usage observe`: how much was recorded, what was known already, and what came too late."""

from typing import TYPE_CHECKING

from ullage.render import view
from ullage.service.clock import told_time
from ullage.service.words import fact_table, plural

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.usage_observe import ObserveReport


def usage_observe_page(report: "ObserveReport", asked: "Asked") -> view.Page:
    """Return the page of what was recorded."""
    points = f"{plural(report.points, 'point')} of {report.source} are recorded in {report.ledger}"
    if not report.source:
        points = f"what is committed of {asked.cluster} is recorded in {report.ledger}"
    elif not report.points:
        points = f"{report.source} has nothing that {report.ledger} does not know"
        if report.late:
            points = f"{report.source} has nothing that is newer than what {report.ledger} has of it"
    if not report.readings:
        points = f"nothing of {report.source or asked.cluster} could be read"
    facts = [
        ("readings", str(report.readings)),
        ("points", str(report.points)),
        ("dropped", str(report.dropped)),
        ("known before", str(report.known)),
        ("streams", str(report.streams)),
    ]
    if report.late:
        facts.insert(4, ("too late, not counted", str(report.late)))
    if report.last_seconds is not None:
        facts.append(("until", told_time(report.last_seconds)))
    blocks: list[view.Block] = [fact_table("Recorded", facts)]
    if report.failures:
        rows = tuple(view.Finding("warning", "", each) for each in dict.fromkeys(report.failures))
        blocks.append(view.Findings(f"{plural(len(report.failures), 'reading')} failed", rows))
    return view.Page(
        title="Recording of usage",
        verdict=view.Verdict(points, "yes" if report.readings else "no"),
        blocks=tuple(blocks),
        next_command=asked.command("usage show"),
        about=f"ledger {report.ledger}",
    )
