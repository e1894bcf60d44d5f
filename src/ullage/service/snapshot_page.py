"""The pages of `snapshot`: what was saved, what a snapshot holds, how two of them differ."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ullage.model.cluster import Snapshot
from ullage.model.resources import Resources
from ullage.render import view
from ullage.service.words import about, amount_cell, fact_table, plural, resources_in_order, several

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.snapshot import RowChange, SavedReport, SnapshotDiff
    from ullage.service.snapshot_edit import EditedReport

FIELDS_SHOWN: Final = 6
_ABSENT: Final = "nothing"
_WORDS: Final = ("added", "changed", "removed")


def saved_page(report: "SavedReport") -> view.Page:
    """Return what was written where."""
    names = " with pseudonyms for names" if report.redacted else ""
    return view.Page(
        title=f"Saved {report.file}",
        verdict=view.Verdict(f"saved {report.cluster} to {report.file} ({report.form} form){names}", "yes"),
        blocks=(_rows_table(report.rows),),
        next_command=f"ullage status -c {report.file}",
    )


def _rows_table(rows: Mapping[str, int]) -> view.Table:
    columns = (view.Column("table", priority=9), view.Column("rows", "right", priority=9))
    cells = ((view.Cell(name), view.Cell(str(count))) for name, count in rows.items() if count)
    return view.Table("Content", columns, tuple(cells))


def snapshot_page(snapshot: Snapshot, asked: "Asked") -> view.Page:
    """Return what a snapshot holds."""
    from ullage.service.snapshot import rows_of

    rows = rows_of(snapshot)
    parts = [plural(rows["nodes"], "node"), plural(rows["workloads"], "workload")]
    if rows["quotas"]:
        parts.append(plural(rows["quotas"], "quota"))
    return view.Page(
        title=f"Snapshot {snapshot.name}",
        verdict=view.Verdict(f"{', '.join(parts)} at revision {snapshot.revision}"),
        blocks=(_rows_table(rows), fact_table("What it is", _facts(snapshot)), _resource_table(snapshot)),
        not_simulated=snapshot.unknowns,
        next_command=asked.command("status"),
        about=about(snapshot),
        main=0,
    )


def _facts(snapshot: Snapshot) -> list[tuple[str, str]]:
    namespaces = sorted({each.namespace for each in snapshot.workloads if each.namespace})
    domains = sorted({node.domain for node in snapshot.nodes if node.domain})
    added = [each.name for each in snapshot.resource_types.added()]
    return [
        ("name", snapshot.name or "none"),
        ("policy", " < ".join(layer.origin for layer in snapshot.policy.layers) or snapshot.policy.name),
        ("groups", several(list(snapshot.groups.keys()), 6) or "none"),
        ("domains", several(domains, 6) or "none"),
        ("namespaces", several(namespaces, 6) or "none"),
        ("resource types of its own", several(added, 6) or "none"),
        ("devices", str(sum(len(node.devices) for node in snapshot.nodes))),
        ("drives", str(sum(len(node.drives) for node in snapshot.nodes))),
    ]


def _resource_table(snapshot: Snapshot) -> view.Table:
    types = snapshot.resource_types
    capacity = sum((node.capacity for node in snapshot.nodes), Resources())
    holding = (each.requests for each in snapshot.workloads if each.holds_capacity)
    requested = sum(holding, Resources())
    names = resources_in_order({*capacity, *requested})
    columns = (
        view.Column("resource", priority=9),
        view.Column("capacity", "right", priority=8),
        view.Column("promised", "right", priority=8),
    )
    rows = tuple(
        (
            view.Cell(name),
            amount_cell(types, name, capacity.of(name)),
            amount_cell(types, name, requested.of(name)),
        )
        for name in names
    )
    return view.Table("Resources", columns, rows)


def diff_page(report: "SnapshotDiff") -> view.Page:
    """Return how two snapshots differ."""
    names = f"{report.before} and {report.after}"
    counts = {word: sum(each.change == word for each in report.changes) for word in _WORDS}
    said = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    verdict = view.Verdict(f"{names} differ: {said}", "no")
    if report.same:
        verdict = view.Verdict(f"{names} hold the same cluster", "yes")
    return view.Page(
        title="Difference",
        verdict=verdict,
        blocks=(_changes(report.changes, "names and revisions do not count"),),
        next_command=f"ullage status -c {report.after}",
    )


def edited_page(report: "EditedReport") -> view.Page:
    """Return what was written where, and how it differs from the cluster it was made of."""
    count = plural(len(report.changes), "row")
    written = f"saved {report.cluster} with {count} changed to {report.file} ({report.form} form)"
    return view.Page(
        title=f"Edited {report.file}",
        verdict=view.Verdict(written, "yes"),
        blocks=(_changes(report.changes),),
        next_command=f"ullage fit -c {report.file} -f WORKLOADS",
    )


def _changes(changes: "Sequence[RowChange]", note: str = "") -> view.Table:
    columns = (
        view.Column("table", priority=8),
        view.Column("row", priority=9),
        view.Column("change", priority=9),
        view.Column("fields", priority=7),
    )
    rows = tuple(
        (view.Cell(each.table), view.Cell(each.key), view.Cell(each.change), view.Cell(_fields(each)))
        for each in changes
    )
    return view.Table("Changes", columns, rows, note)


def _fields(change: "RowChange") -> str:
    shown = [
        f"{each.field} {_ABSENT if each.before is None else each.before}"
        f" → {_ABSENT if each.after is None else each.after}"
        for each in change.fields
    ]
    return several(shown, FIELDS_SHOWN).replace(", ", "; ")
