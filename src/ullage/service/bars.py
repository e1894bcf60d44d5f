"""How full a set of nodes is, as stacked bars: reserve, committed, spare, ullage and what is blocked."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ullage.model.resources import ResourceTypes
from ullage.render import view

if TYPE_CHECKING:
    from ullage.engine.capacity.summary import Summary

_SEGMENTS: Final[tuple[tuple[str, view.Tone], ...]] = (
    ("reserve", "muted"),
    ("committed", "strong"),
    ("spare", "warn"),
    ("ullage", "ok"),
    ("blocked", "bad"),
)


def resource_bars(title: str, whole: "Summary", names: Sequence[str], types: ResourceTypes) -> view.Bars:
    """Return a bar for each resource that has a bound."""
    rows: list[view.BarRow] = []
    for name in names:
        if name not in whole.limit:
            continue
        show = types[name].readable
        amounts = {
            "reserve": whole.reserve.of(name),
            "committed": whole.committed.of(name),
            "spare": whole.spare.of(name),
            "ullage": max(0, whole.ullage.of(name)),
            "blocked": whole.blocked.of(name),
        }
        segments = tuple(
            view.Segment(word, show(amounts[word]), amounts[word], tone)
            for word, tone in _SEGMENTS
            if word != "spare" or whole.spare_nodes
        )
        full = whole.reserve.of(name) + whole.limit.of(name)
        rows.append(view.BarRow(name, segments, full, show(whole.capacity.of(name))))
    return view.Bars(
        title,
        tuple(rows),
        "total is the capacity; reserve is kept back for the system; ullage can still be promised; "
        "blocked is free on nodes that take nothing new",
    )
