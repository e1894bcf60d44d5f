"""Whether a ledger is what it says: its file, its chain, every decision made again, and its promises."""

from ullage.engine.ledger.room import TYPES
from ullage.model.constraints import Record
from ullage.model.verdict import Finding
from ullage.render import view
from ullage.service.answer import Answer, versioned
from ullage.service.ledger_file import ledger_path, reading, told_path
from ullage.service.ledger_words import with_ledger
from ullage.service.words import fact_table, findings_block, plural


class LedgerVerification(Record, frozen=True):
    """The answer to `ullage ledger verify`: steps that were decided again, and what was found."""

    ledger: str
    sound: bool
    steps: int
    findings: tuple[Finding, ...]


def ledger_verify(named: str) -> Answer:
    """Answer whether a ledger can be believed; no where anything was found."""
    from ullage.stores.reading import head_of
    from ullage.stores.verify import verify

    path = ledger_path(named)
    with reading(path) as connection:
        steps = head_of(connection).revision
    findings = tuple(verify(path))
    report = LedgerVerification(told_path(path), not findings, steps, findings)
    return Answer(
        lambda: _page(report, named), lambda: versioned("LedgerVerification", report, TYPES), report.sound
    )


def _page(report: LedgerVerification, named: str) -> view.Page:
    steps = plural(report.steps, "step")
    proved = f"{steps} decided again, all promises added up"
    found = plural(len(report.findings), "finding")
    blocks: list[view.Block] = [findings_block("Findings", report.findings)] if report.findings else []
    blocks.append(
        fact_table(
            "What was looked at",
            [
                ("file", "every page, and every row that names another"),
                ("chain", f"the hash of each of {steps}"),
                ("decisions", f"{steps}, each made again on what those before left"),
                ("tables", "entries, capacities and the line, as the journal adds up to"),
                ("promises", "sums, owners, ends and places in line"),
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
