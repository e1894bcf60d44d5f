"""The page of `quota replay`: who won and lost, evictions and waiting, resource-hours as table and bars."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ullage.engine.quota.replay_figures import Figures
from ullage.model.resources import ResourceTypes
from ullage.render import view
from ullage.service.quota_replay_report import figures, hours_text, not_simulated, result_of
from ullage.service.words import nothing_cell, plural, resources_in_order, several

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.quota_replay import Comparison, Played

ROWS_SHOWN: Final = 60
WORKLOADS_SHOWN: Final = 10
BARS_SHOWN: Final = 20
IN_ALL: Final = "in all"
RESULT_TONES: Final[dict[str, view.Tone]] = {"won": "ok", "lost": "bad", "same": "muted"}
UNITS: Final = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def quota_replay_page(
    found: "Comparison", types: ResourceTypes, asked: "Asked", *, shortened: bool = False
) -> view.Page:
    """Return the page of a replay; shortened, a few screens hold it."""
    names = _names(found, asked.namespace)
    most = ROWS_SHOWN if shortened else None
    blocks: list[view.Block] = [_outcomes(found, names, most), _hours(found, names, types, most)]
    blocks += _bars(found, names, types)
    if found.moved():
        blocks.append(_workloads(found, WORKLOADS_SHOWN if shortened else None))
    snapshot = found.recording.snapshot
    return view.Page(
        title=f"Replay on {snapshot.name}",
        verdict=view.Verdict(_verdict(found, names)),
        blocks=tuple(blocks),
        not_simulated=not_simulated(found),
        next_command=asked.command("quota list") if asked.cluster else "",
        about=f"cluster {snapshot.name}, {plural(len(found.own.outcome.jobs), 'workload')} in"
        f" {time_text(found.own.outcome.end_seconds)}; now: {found.own.name}"
        + (f"; then: {found.other.name}" if found.other else ""),
        main=0,
    )


def time_text(seconds: int) -> str:
    """Return a time in its two largest units, as `3h 25m`."""
    sign, left = ("-", -seconds) if seconds < 0 else ("", seconds)
    parts: list[str] = []
    for size, unit in UNITS:
        if left >= size or (size == 1 and not parts):
            parts.append(f"{left // size}{unit}")
        elif parts:
            break
        left %= size
        if len(parts) == 2 or (parts and not left):
            break
    return sign + " ".join(parts)


def _names(found: "Comparison", namespace: str) -> list[str]:
    """Return the groups that have workloads; with a namespace only the quotas that cover it."""
    plays = [found.own, *([found.other] if found.other else [])]
    names = {name for each in plays for name, mine in each.figures.items() if mine.workloads}
    if namespace:
        quotas = [quota for each in plays for quota in each.accounts.book.quotas]
        names &= {quota.name for quota in quotas if namespace in quota.namespaces}
    return sorted(names)


def _verdict(found: "Comparison", names: Sequence[str]) -> str:
    own, other = found.own, found.other
    if other is None:
        evictions, delay = plural(own.total.evicted, "eviction"), time_text(_mean(own.total))
        waiting = own.total.waiting
        unserved = f", {waiting} still {'waits' if waiting == 1 else 'wait'} at the end" if waiting else ""
        return f"{evictions}, delay {delay} each{unserved}; --policy, --quotas or --quota-mode compares"
    results = {name: result_of(figures(own, name), figures(other, name)) for name in names}
    parts = [
        f"{several([name for name in names if results[name] == word])} {word}"
        for word in ("won", "lost")
        if word in results.values()
    ]
    parts = parts or ["nobody wins or loses"]
    parts.append(f"{plural(other.total.evicted, 'eviction')} instead of {own.total.evicted}")
    parts.append(f"delay {time_text(_mean(other.total))} each instead of {time_text(_mean(own.total))}")
    if own.total.waiting or other.total.waiting:
        parts.append(f"{other.total.waiting} instead of {own.total.waiting} still wait at the end")
    return "; ".join(parts)


def _mean(given: Figures) -> int:
    return given.delay_seconds // given.workloads if given.workloads else 0


def _outcomes(found: "Comparison", names: Sequence[str], rows_max: int | None) -> view.Table:
    compares = found.other is not None
    columns = [view.Column("quota", priority=9), view.Column("workloads", "right", priority=4)]
    if compares:
        columns.insert(1, view.Column("result", priority=9))
    for title, priority in (
        ("delay", 8),
        ("waited", 5),
        ("longest", 1),
        ("evicted", 7),
        ("evicts", 3),
        ("finished", 6),
        ("waiting", 2),
    ):
        columns.append(view.Column(f"{title} now" if compares else title, "right", priority=priority))
        if compares:
            columns.append(view.Column(f"{title} then", "right", priority=priority))
    rows = [_outcome(found, name) for name in names]
    caption = "delay: waited, and lost by evictions; delay and waited are means over the workloads"
    if rows_max is not None and len(rows) > rows_max:
        caption += f"; the first {rows_max} of {len(rows)} rows, -o wide shows all"
        rows = rows[:rows_max]
    return view.Table("Who won, who lost", tuple(columns), (*rows, _outcome(found, IN_ALL)), caption)


def _of(played: "Played", name: str) -> Figures:
    return played.total if name == IN_ALL else figures(played, name)


def _outcome(found: "Comparison", name: str) -> tuple[view.Cell, ...]:
    own = _of(found.own, name)
    other = _of(found.other, name) if found.other else None
    cells = [view.Cell(name, tone="strong" if name == IN_ALL else "plain")]
    if other is not None:
        result = result_of(own, other)
        cells.append(view.Cell(result, tone=RESULT_TONES[result]))
    cells.append(view.Cell(str(max(own.workloads, other.workloads if other else 0))))
    shown = [_cells(own), *([_cells(other)] if other is not None else [])]
    for column in zip(*shown, strict=True):
        cells += column
    return tuple(cells)


def _cells(given: Figures) -> list[view.Cell]:
    each = given.workloads or 1
    times = (given.delay_seconds // each, given.waited_seconds // each, given.waited_longest_seconds)
    counts = (given.evicted, given.took, given.finished, given.waiting)
    return [
        *(view.Cell(time_text(seconds), value=str(seconds)) for seconds in times),
        *(view.Cell(str(count), tone="plain" if count else "muted") for count in counts),
    ]


def _hours(
    found: "Comparison", names: Sequence[str], types: ResourceTypes, rows_max: int | None
) -> view.Table:
    plays = [found.own, *([found.other] if found.other else [])]
    words = ("now", "then") if len(plays) > 1 else ("",)
    columns = [view.Column("quota", priority=9), view.Column("resource", priority=9)]
    for title, priority in (("used", 8), ("in quota", 5), ("borrowed", 6), ("lost", 4)):
        columns += [view.Column(f"{title} {word}".strip(), "right", priority=priority) for word in words]
        if title == "used" and len(plays) > 1:
            columns.append(view.Column("difference", "right", priority=8))
    rows = [
        _hours_row(plays, name, resource, types)
        for name in (*names, IN_ALL)
        for resource in resources_in_order(set(found.resources))
        if any(_of(each, name).used.get(resource) for each in plays)
    ]
    caption = "in quota and borrowed: within min and beyond it; lost: by workloads that were evicted"
    if rows_max is not None and len(rows) > rows_max:
        caption += f"; the first {rows_max} of {len(rows)} rows, -o wide shows all"
        rows = rows[:rows_max]
    return view.Table("Resource-hours", tuple(columns), tuple(rows), caption)


def _hours_row(
    plays: "Sequence[Played]", name: str, resource: str, types: ResourceTypes
) -> tuple[view.Cell, ...]:
    given = [_of(each, name) for each in plays]
    cells = [view.Cell(name, tone="strong" if name == IN_ALL else "plain"), view.Cell(resource)]
    used = [each.used.get(resource, 0) for each in given]
    cells += [_hours_cell(types, resource, amount) for amount in used]
    if len(plays) > 1:
        cells.append(_hours_cell(types, resource, used[1] - used[0]))
    for part in ("within", "borrowed", "lost"):
        for each in given:
            amounts: dict[str, int] = getattr(each, part)
            cells.append(
                _hours_cell(types, resource, amounts[resource]) if resource in amounts else nothing_cell()
            )
    return tuple(cells)


def _hours_cell(types: ResourceTypes, resource: str, amount: int) -> view.Cell:
    shown = hours_text(types, resource, amount, readable=True)
    return view.Cell(shown, tone="plain" if amount else "muted", value=hours_text(types, resource, amount))


def _bars(found: "Comparison", names: Sequence[str], types: ResourceTypes) -> list[view.Block]:
    """Return the use of every quota as bars, now and then one under the other, for each resource."""
    plays = [(found.own, " now"), (found.other, " then")] if found.other else [(found.own, "")]
    blocks: list[view.Block] = []
    for resource in resources_in_order(set(found.resources)):
        given = [
            (name + word, _of(played, name))
            for name in names[:BARS_SHOWN]
            for played, word in plays
            if played
        ]
        longest = max((figure.used.get(resource, 0) for _, figure in given), default=0)
        rows = tuple(_bar(label, figure, resource, longest, types) for label, figure in given)
        if longest:
            title = f"{resource}: hours by quota" + (", now and then" if found.other else "")
            blocks.append(
                view.Bars(title, rows, "measured by the largest; what was lost is not in the others")
            )
    return blocks


def _bar(label: str, given: Figures, resource: str, longest: int, types: ResourceTypes) -> view.BarRow:
    """Return a bar of use; what was lost is taken off what was borrowed first."""
    used, lost = given.used.get(resource, 0), given.lost.get(resource, 0)
    beyond = min(given.borrowed.get(resource, 0), used)
    borrowed = max(0, beyond - lost)
    inside: tuple[str, view.Tone] = (
        ("in quota", "strong") if resource in given.within else ("no min", "plain")
    )
    parts: tuple[tuple[str, int, view.Tone], ...] = (
        (inside[0], used - lost - borrowed, inside[1]),
        ("borrowed", borrowed, "warn"),
        ("lost", lost, "bad"),
    )
    segments = tuple(
        view.Segment(word, hours_text(types, resource, amount, readable=True), amount, tone)
        for word, amount, tone in parts
    )
    return view.BarRow(label, segments, longest, hours_text(types, resource, used, readable=True))


def _workloads(found: "Comparison", rows_max: int | None) -> view.Table:
    moved = found.moved()
    columns = (
        view.Column("workload", priority=9),
        view.Column("result", priority=8),
        view.Column("delay now", "right", priority=7),
        view.Column("delay then", "right", priority=7),
        view.Column("evicted now", "right", priority=5),
        view.Column("evicted then", "right", priority=5),
    )
    rows = []
    for own, other in moved[:rows_max]:
        result = "won" if other.delay_seconds < own.delay_seconds else "lost"
        rows.append(
            (
                view.Cell(own.key),
                view.Cell(result, tone=RESULT_TONES[result]),
                view.Cell(time_text(own.delay_seconds), value=str(own.delay_seconds)),
                view.Cell(time_text(other.delay_seconds), value=str(other.delay_seconds)),
                view.Cell(str(own.evictions)),
                view.Cell(str(other.evictions)),
            )
        )
    caption = "the largest differences first"
    if len(rows) < len(moved):
        caption += f"; {len(rows)} of {len(moved)}, -o wide shows all"
    return view.Table("Workloads", columns, tuple(rows), caption)
