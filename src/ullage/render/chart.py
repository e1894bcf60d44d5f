"""A chart as places: paths and labels for HTML and SVG, and one line of blocks for text.

Numbers may be as large as 63 bits; they are scaled here and nowhere else, so every format draws the same
picture. What is expected is told from what was by a dashed line in a band, and in text by a bar between them.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from ullage.render.lines import GAP, Line, Span
from ullage.render.view import Chart

WIDTH: Final = 720
HEIGHT: Final = 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 8, 8, 22, 24
_LABEL_LINE: Final = 14
SPARK_SIZE: Final = 60
_BLOCKS: Final = ("▁▂▃▄▅▆▇█", "_.-=+*#@")


class Label(NamedTuple):
    """A text and where it stands."""

    text: str
    x: str
    y: str
    anchor: str


class Plot(NamedTuple):
    """A chart in a box of `width` by `height`: the rule at its foot, the band, lines by class, and labels."""

    width: int
    height: int
    words: str
    rule: str
    area: str
    lines: tuple[tuple[str, str], ...]
    labels: tuple[Label, ...]


class _Scale(NamedTuple):
    first: int
    last: int
    highest: int

    def x(self, at: int) -> float:
        part = (at - self.first) / max(self.last - self.first, 1)
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * min(max(part, 0.0), 1.0)

    def y(self, amount: int) -> float:
        part = amount / max(self.highest, 1)
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * min(max(part, 0.0), 1.0)


def plotted(chart: Chart) -> Plot:
    """Return where everything of a chart stands."""
    scale = _Scale(*chart.span, chart.highest)
    low = [(at, each) for at, each, _, _ in chart.band]
    likely = [(at, each) for at, _, each, _ in chart.band]
    high = [(at, each) for at, _, _, each in chart.band]
    lines = [(_path(scale, chart.history), "chart-line"), (_path(scale, likely), "chart-likely")]
    lines += [(f"M{_LEFT} {scale.y(mark.at):.1f}H{WIDTH - _RIGHT}", "chart-mark") for mark in chart.marks]
    area = f"{_path(scale, [*high, *reversed(low)])}Z" if chart.band else ""
    foot = HEIGHT - _BOTTOM
    return Plot(
        WIDTH,
        HEIGHT,
        "; ".join(filter(None, (chart.title, *(mark.text for mark in chart.marks), chart.caption))),
        f"M{_LEFT} {foot}H{WIDTH - _RIGHT}",
        area,
        tuple((path, name) for path, name in lines if path),
        (*_ticks(chart, scale), *_marks(chart, scale)),
    )


def _path(scale: _Scale, points: Sequence[tuple[int, int]]) -> str:
    places = [f"{scale.x(at):.1f} {scale.y(amount):.1f}" for at, amount in points]
    return f"M{'L'.join(places)}" if places else ""


def _ticks(chart: Chart, scale: _Scale) -> Iterable[Label]:
    for tick in chart.ticks:
        x = scale.x(tick.at)
        anchor = "start" if x < WIDTH / 8 else "end" if x > WIDTH * 7 / 8 else "middle"
        yield Label(tick.text, f"{x:.1f}", f"{HEIGHT - 8}", anchor)


def _marks(chart: Chart, scale: _Scale) -> Iterable[Label]:
    """Yield the names of amounts above their lines; those that would cover each other stand apart."""
    taken: list[float] = []
    for mark in sorted(chart.marks, key=lambda each: (-each.at, each.text)):
        y = scale.y(mark.at) - 4
        while any(abs(y - other) < _LABEL_LINE for other in taken):
            y += _LABEL_LINE
        taken.append(y)
        yield Label(mark.text, f"{_LEFT}", f"{y:.1f}", "start")


def spark(chart: Chart, size: int, *, unicode: bool = True) -> str:
    """Return a chart as a line of blocks: what was, a bar, and the middle of what is expected."""
    blocks = _BLOCKS[0 if unicode else 1]
    first, last = chart.span
    was = [amount for _, amount in chart.history]
    comes = [likely for _, _, likely, _ in chart.band]
    split = chart.band[0][0] if chart.band else last
    before = round((size - 1) * (split - first) / max(last - first, 1)) if comes else size - 1
    before = min(max(before, 1 if was else 0), size - 1 - (1 if comes else 0))
    highest = max([*was, *comes, *(mark.at for mark in chart.marks), 1])
    parts = [_blocks(was, before, highest, blocks), _blocks(comes, size - 1 - before, highest, blocks)]
    return ("│" if unicode else "|").join(parts)


def _blocks(amounts: Sequence[int], size: int, highest: int, blocks: str) -> str:
    if not amounts or size <= 0:
        return ""
    count = min(size, len(amounts))
    found = []
    for place in range(count):
        some = amounts[place * len(amounts) // count : (place + 1) * len(amounts) // count]
        level = max(0, min(max(some), highest))
        found.append(blocks[min(level * len(blocks) // highest, len(blocks) - 1)])
    return "".join(found)


def chart_lines(chart: Chart, width: int, *, unicode: bool) -> list[Line]:
    """Return a chart as one line of text, with its highest amount and its marks behind it."""
    told = ", ".join([*(mark.text for mark in chart.marks)] or [chart.peak])
    size = min(SPARK_SIZE, width)
    drawn = Span(spark(chart, size, unicode=unicode), "bar")
    if len(told) + GAP + len(drawn.text) <= width:
        return [(drawn, Span(" " * GAP), Span(told, "muted"))]
    return [(drawn,), (Span(told[:width], "muted"),)]
