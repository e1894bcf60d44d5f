"""A plot of lines on two logarithmic axes, as a standalone SVG for light and dark ground.

Every size of cluster that was measured has its tick; the other axis has one for each power of ten. The name
of a line stands at its last point, moved where two would touch, so no legend is needed.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from ullage.render.palette import DARK, LIGHT

WIDTH, HEIGHT = 832, 420
LEFT, RIGHT, TOP, BOTTOM = 90, 256, 60, 60
NAME_DISTANCE = 18
FONT = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace'
TONES = ("bar-strong", "bar-ok", "bar-warn", "bar-bad")


class Series(NamedTuple):
    """A line: its name and its points, the figures of both axes above zero."""

    name: str
    points: Sequence[tuple[float, float]]


class Axis:
    """A logarithmic axis from a figure at one pixel to another figure at another pixel."""

    def __init__(self, low: float, high: float, first: float, last: float) -> None:
        assert 0 < low < high, (low, high)
        self._low, self._span = math.log10(low), math.log10(high / low)
        self._first, self._length = first, last - first

    def at(self, figure: float) -> float:
        """Return the pixel of a figure."""
        return self._first + (math.log10(figure) - self._low) / self._span * self._length


def draw(title: str, unit: str, series: Sequence[Series]) -> str:
    """Return the plot of lines over the number of nodes."""
    assert len(series) <= len(TONES), "more lines than colours"
    sizes = sorted({int(nodes) for line in series for nodes, _ in line.points})
    figures = [figure for line in series for _, figure in line.points]
    low, high = math.floor(math.log10(min(figures))), math.ceil(math.log10(max(figures)))
    across = Axis(sizes[0], sizes[-1], LEFT, WIDTH - RIGHT)
    upwards = Axis(10.0**low, 10.0 ** max(high, low + 1), HEIGHT - BOTTOM, TOP)
    parts = [_text(LEFT - 66, 30, title, "strong"), _text(LEFT - 66, TOP - 10, unit, "muted")]
    for power in range(low, max(high, low + 1) + 1):
        y = upwards.at(10.0**power)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(_text(LEFT - 10, y + 4, _power_of_ten(power), "muted", "end"))
    for size in sizes:
        x = across.at(size)
        parts.append(f'<path class="grid" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>')
        parts.append(_text(x, HEIGHT - BOTTOM + 20, _thousands(size), "muted", "middle"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "nodes", "muted", "middle"))
    parts += _lines(series, across, upwards)
    return _document(title, parts)


def _lines(series: Sequence[Series], across: Axis, upwards: Axis) -> list[str]:
    """Return the lines with their points, and the names, the highest first so that each can make way."""
    parts = []
    taken = -math.inf
    for tone, line in sorted(zip(TONES, series, strict=False), key=lambda each: -each[1].points[-1][1]):
        spots = [(across.at(nodes), upwards.at(figure)) for nodes, figure in line.points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in spots)
        parts.append(f'<path class="line {tone}" d="M{path}"/>')
        parts += [f'<circle class="{tone}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in spots]
        taken = max(spots[-1][1] + 4, taken + NAME_DISTANCE)
        parts.append(_text(WIDTH - RIGHT + 12, taken, line.name, "plain"))
    return parts


def _power_of_ten(power: int) -> str:
    return f"{10**power:,}".replace(",", " ") if power >= 0 else f"{10.0**power:g}"


def _thousands(size: int) -> str:
    return f"{size // 1000}k" if size >= 1000 else str(size)


def _text(x: float, y: float, text: str, tone: str, anchor: str = "start") -> str:
    return f'<text class="{tone}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _document(title: str, parts: Sequence[str]) -> str:
    ground = f'x="0.5" y="0.5" rx="8" width="{WIDTH - 1}" height="{HEIGHT - 1}"'
    style = (
        f"text {{ font-family: {FONT}; font-size: 13px }}\n.strong {{ font-weight: 700 }}\n"
        f".line {{ fill: none; stroke-width: 2 }}\n{_colours(LIGHT)}\n"
        f"@media (prefers-color-scheme: dark) {{\n{_colours(DARK)}\n}}"
    )
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label={quoteattr(title)}>',
            f"<title>{escape(title)}</title>",
            f"<style>\n{style}\n</style>",
            f'<rect class="ground" {ground}/>',
            *parts,
            "</svg>\n",
        ]
    )


def _colours(palette: dict[str, str]) -> str:
    rules = [
        f".ground {{ fill: {palette['ground']}; stroke: {palette['rule']} }}",
        f".grid {{ stroke: {palette['rule']} }}",
        f".plain, .strong {{ fill: {palette['text']} }}",
        f".muted {{ fill: {palette['muted']} }}",
    ]
    for tone in TONES:
        rules += [f"circle.{tone} {{ fill: {palette[tone]} }}", f".line.{tone} {{ stroke: {palette[tone]} }}"]
    return "\n".join(rules)
