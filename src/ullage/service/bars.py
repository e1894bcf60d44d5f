"""How full a set of nodes is, as stacked bars: reserve, committed, standby, spare, ullage, blocked."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ullage.model.resources import ResourceTypes
from ullage.render import view

if TYPE_CHECKING:
    from ullage.engine.capacity.summary import Summary

_SEGMENTS: Final[tuple[tuple[str, view.Tone], ...]] = (
    ("reserve", "muted"),
    ("committed", "strong"),
    ("standby", "warn"),
    ("spare", "warn"),
    ("ullage", "ok"),
    ("blocked", "bad"),
)


def resource_bars(title: str, whole: "Summary", names: Sequence[str], types: ResourceTypes) -> view.Bars:
    """Return a bar for each resource that has a bound."""
    left_out = {word for word, kept in (("standby", whole.standby), ("spare", whole.spare_nodes)) if not kept}
    tones = dict(_SEGMENTS)
    if whole.standby:
        tones["spare"] = "plain"
    rows: list[view.BarRow] = []
    for name in names:
        if name not in whole.limit:
            continue
        show = types[name].readable
        amounts = {
            "reserve": whole.reserve.of(name),
            "committed": whole.committed.of(name),
            "standby": whole.standby.of(name),
            "spare": whole.spare.of(name),
            "ullage": max(0, whole.ullage.of(name)),
            "blocked": whole.blocked.of(name),
        }
        segments = tuple(
            view.Segment(word, show(amounts[word]), amounts[word], tone)
            for word, tone in tones.items()
            if word not in left_out
        )
        full = whole.reserve.of(name) + whole.limit.of(name)
        rows.append(view.BarRow(name, segments, full, show(whole.capacity.of(name))))
    standby = "standby is held free for failover; " if whole.standby else ""
    return view.Bars(
        title,
        tuple(rows),
        f"total is the capacity; reserve is kept back for the system; {standby}ullage can still be promised; "
        "blocked is free on nodes that take nothing new",
    )
