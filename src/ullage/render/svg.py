"""A page as a standalone SVG: its verdict and bars, or a picture of its terminal text.

The hard thing is that an SVG cannot measure text: everything is set in a monospaced face on a grid of
cells, and each run states its length, so columns meet whatever font the reader has. Nothing is fetched.
"""

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from ullage.render.chart import plotted
from ullage.render.lines import Line, SpanTone, wrap
from ullage.render.marks import VERDICT_TONES, verdict_mark
from ullage.render.palette import DARK, LIGHT
from ullage.render.text import page_lines
from ullage.render.view import BarRow, Bars, Chart, Page, Tone
from ullage.render.visible import cell_width, visible

_FONT = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace'
_CELL, _LINE = 8.0, 20
_FONT_SIZE = 13.3
_MARGIN = 24
_COLUMNS = 90
_BAR_HEIGHT = 14


def render(page: Page, *, width: int = 100) -> str:
    """Return verdict, bars and charts as SVG; without any, a picture of the text in `width` columns."""
    drawn = [block for block in page.blocks if isinstance(block, Bars | Chart)]
    if not drawn:
        return terminal_svg(page_lines(page, width=width), title=page.title)
    canvas = _Canvas(_COLUMNS)
    sign = verdict_mark(page.verdict.tone)
    for number, part in enumerate(wrap(page.verdict.text, _COLUMNS - 2)):
        if number == 0 and sign:
            canvas.text(0, sign, VERDICT_TONES[page.verdict.tone])
        canvas.text(2 if sign else 0, part, "strong")
        canvas.down(_LINE)
    for block in drawn:
        canvas.down(_LINE)
        if isinstance(block, Bars):
            _draw_bars(canvas, block)
        else:
            _draw_chart(canvas, block)
    return canvas.document(page.title, page.verdict.text)


def terminal_svg(lines: Sequence[Line], *, title: str, command: str = "") -> str:
    """Return a picture of terminal lines, below the command that printed them if one is given."""
    canvas = _Canvas(columns=40)
    if command:
        canvas.text(0, "$", "muted")
        canvas.text(2, command, "strong")
        canvas.down(_LINE * 1.5)
    for line in lines:
        at = 0
        for span in line:
            canvas.text(at, span.text, span.tone)
            at += cell_width(visible(span.text))
        canvas.down(_LINE)
    return canvas.document(title, f"terminal: {command}" if command else title)


class _Canvas:
    """Elements drawn from the top downwards, at columns counted in cells; it grows with what it holds."""

    def __init__(self, columns: float) -> None:
        self.elements: list[str] = []
        self.columns = columns
        self.has_charts = False
        self.y = float(_MARGIN)

    def down(self, distance: float) -> None:
        self.y += distance

    def text(self, column: float, text: str, tone: SpanTone = "plain") -> None:
        """Set a run of text on the grid; spaces at its ends are left out, as they show nothing."""
        text = visible(text)
        column += len(text) - len(text.lstrip(" "))
        text = text.strip(" ")
        size = cell_width(text)
        if not size:
            return
        self.columns = max(self.columns, column + size)
        x = _MARGIN + column * _CELL
        self.elements.append(
            f'<text class="{tone}" x="{x:g}" y="{self.y + 14:g}" textLength="{size * _CELL:g}"'
            f' lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
        )

    def bar(self, column: float, columns: float, tone: Tone) -> None:
        x, y, width = _MARGIN + column * _CELL, self.y + 3, columns * _CELL
        self.elements.append(
            f'<rect class="bar-{tone}" x="{x:.2f}" y="{y:g}" width="{width:.2f}" height="{_BAR_HEIGHT}"/>'
        )

    def document(self, title: str, description: str) -> str:
        width, height = 2 * _MARGIN + self.columns * _CELL, self.y + _MARGIN
        size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
        label = quoteattr(visible(title))
        ground = f'x="0.5" y="0.5" rx="8" width="{width - 1:g}" height="{height - 1:g}"'
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label={label}>',
            f"<title>{escape(visible(title))}</title>",
            f"<desc>{escape(visible(description))}</desc>",
            f"<style>{_style(has_charts=self.has_charts)}</style>",
            f'<rect class="ground" {ground}/>',
            *self.elements,
            "</svg>",
        ]
        return "\n".join(parts) + "\n"


def _style(*, has_charts: bool) -> str:
    shared = (
        f"text {{ font-family: {_FONT}; font-size: {_FONT_SIZE}px; white-space: pre }}\n"
        ".strong { font-weight: 700 }\n"
    )
    light, dark = (
        _colours(palette) + (f"\n{_chart_colours(palette)}" if has_charts else "")
        for palette in (LIGHT, DARK)
    )
    return f"\n{shared}{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def _colours(palette: dict[str, str]) -> str:
    rules = [
        f".ground {{ fill: {palette['ground']}; stroke: {palette['rule']} }}",
        f".plain, .strong {{ fill: {palette['text']} }}",
        f".bar {{ fill: {palette['bar-plain']} }}",
    ]
    rules += [f".{name} {{ fill: {palette[name]} }}" for name in ("muted", "rule", "ok", "warn", "bad")]
    rules += [f".{name} {{ fill: {color} }}" for name, color in palette.items() if name.startswith("bar-")]
    return "\n".join(rules)


def _chart_colours(palette: dict[str, str]) -> str:
    return "\n".join(
        (
            ".chart-rule, .chart-line, .chart-likely, .chart-mark { fill: none; stroke-width: 1.5 }",
            f".chart-rule {{ stroke: {palette['rule']} }}",
            f".chart-band {{ fill: {palette['bar-plain']}; fill-opacity: 0.28 }}",
            f".chart-line, .chart-likely {{ stroke: {palette['bar-strong']} }}",
            ".chart-likely { stroke-dasharray: 5 3 }",
            f".chart-mark {{ stroke: {palette['bar-bad']} }}",
        )
    )


def _draw_bars(canvas: _Canvas, bars: Bars) -> None:
    for part in wrap(bars.title, _COLUMNS) if bars.title else ():
        canvas.text(0, part, "strong")
        canvas.down(_LINE)
    label = min(max((cell_width(row.label) for row in bars.rows), default=0), 24) + 2
    total = min(max((cell_width(row.total) for row in bars.rows), default=0), 24)
    for row in bars.rows:
        _draw_row(canvas, row, label, total)


def _draw_chart(canvas: _Canvas, chart: Chart) -> None:
    """Draw a chart to its own scale in the width of the bars, with its title above and its caption below."""
    for part in wrap(chart.title, _COLUMNS) if chart.title else ():
        canvas.text(0, part, "strong")
        canvas.down(_LINE)
    plot = plotted(chart)
    canvas.has_charts = True
    canvas.elements.append(f'<g transform="translate({_MARGIN} {canvas.y:g})">')
    canvas.elements.append(f'<path class="chart-rule" d="{plot.rule}"/>')
    if plot.area:
        canvas.elements.append(f'<path class="chart-band" d="{plot.area}"/>')
    canvas.elements += [f'<path class="{name}" d="{path}"/>' for path, name in plot.lines]
    canvas.elements += [
        f'<text class="muted" x="{each.x}" y="{each.y}" text-anchor="{each.anchor}">'
        f"{escape(each.text)}</text>"
        for each in plot.labels
    ]
    canvas.elements.append("</g>")
    canvas.down(plot.height)
    for part in wrap(chart.caption, _COLUMNS) if chart.caption else ():
        canvas.text(0, part, "muted")
        canvas.down(_LINE)


def _draw_row(canvas: _Canvas, row: BarRow, label: int, total: int) -> None:
    """Draw the label, the bar and its total, and below them the amounts with their keys."""
    canvas.down(_LINE * 0.4)
    length = _COLUMNS - label - total - 2
    at = float(label)
    for segment in row.segments:
        size = max(0, segment.part) / row.scale * length
        if size > 0:
            canvas.bar(at, max(size - 0.15, 0.1), segment.tone)
        at += size
    names, totals, notes = wrap(row.label, label - 2), wrap(row.total, total), _amounts(row, length)
    for number in range(max(len(names), len(totals), len(notes) + 1)):
        if number < len(names):
            canvas.text(0, names[number])
        if number < len(totals):
            canvas.text(_COLUMNS - cell_width(totals[number]), totals[number])
        for column, text, tone in notes[number - 1] if 0 < number <= len(notes) else ():
            if text:
                canvas.text(label + column, text, tone)
            else:
                canvas.bar(label + column, 1.2, tone)
        canvas.down(_LINE)


def _amounts(row: BarRow, length: int) -> list[list[tuple[float, str, Tone]]]:
    """Return lines of (column, text, tone); a text of nothing stands for the key of the segment."""
    lines: list[list[tuple[float, str, Tone]]] = [[]]
    at = 0
    for segment in row.segments:
        text = f"{segment.word} {segment.text}".strip()
        size = cell_width(text) + 2
        if at and at + size > length:
            lines.append([])
            at = 0
        lines[-1] += [(at, "", segment.tone), (at + 2, text, "muted")]
        at += size + 3
    return lines
