"""A table in a terminal: which columns fit, how wide each is, and what is said of those left out.

The hard thing is a narrow terminal: numbers never wrap and no cell is cut. So room is won in a fixed
order: shorter bars, titles in two lines, wrapped names, no bars, and only then a column less, which the
last line announces.
"""

from collections.abc import Sequence

import msgspec

from ullage.render.gauge import gauge
from ullage.render.lines import GAP, Line, Span, Strip, paragraph, side_by_side, width_of, wrap
from ullage.render.marks import letter_tone, mark
from ullage.render.view import Cell, Column, Table
from ullage.render.visible import cell_width

WIDEST = 1 << 30


class _Attempt(msgspec.Struct, frozen=True):
    """One way to win room: cells for bars, whether titles may wrap, the narrowest a name may become."""

    bar: int
    titles_wrap: bool
    name_floor: int


_ATTEMPTS = (
    _Attempt(16, titles_wrap=False, name_floor=WIDEST),
    _Attempt(10, titles_wrap=False, name_floor=WIDEST),
    _Attempt(10, titles_wrap=True, name_floor=WIDEST),
    _Attempt(6, titles_wrap=True, name_floor=WIDEST),
    _Attempt(4, titles_wrap=True, name_floor=WIDEST),
    _Attempt(4, titles_wrap=True, name_floor=20),
    _Attempt(0, titles_wrap=True, name_floor=20),
    _Attempt(0, titles_wrap=True, name_floor=12),
)


class _Measured(msgspec.Struct, frozen=True):
    """A column with the widths of its parts: text, percentage in brackets, warning mark, title."""

    column: Column
    cells: tuple[Cell, ...]
    text: int
    percent: int
    mark: int
    title: int
    title_word: int

    @property
    def has_bar(self) -> bool:
        return self.percent > 0

    @property
    def wraps(self) -> bool:
        """Names wrap; numbers and shares never do."""
        return self.column.align == "left" and not self.has_bar

    def beside(self, bar: int) -> int:
        """The width of everything that stands beside the text, with the spaces between."""
        parts = (self.percent, self.mark, bar if self.has_bar else 0)
        return sum(part + 1 for part in parts if part)

    def natural(self, attempt: _Attempt) -> int:
        """The width at which nothing but the title wraps."""
        title = self.title_word if attempt.titles_wrap else self.title
        return max(self.text + self.beside(attempt.bar), title)


def table_lines(table: Table, *, width: int, wide: bool, unicode: bool) -> list[Line]:
    """Lay out a table in `width` cells; a wide one keeps every column, though its lines may be longer."""
    measured = [
        _measure(column, [row[number] for row in table.rows], unicode=unicode)
        for number, column in enumerate(table.columns)
        if wide or not column.wide_only or number == 0
    ]
    if not table.rows:
        return [(Span("none", "muted"),)]
    hidden: list[_Measured] = []
    kept = list(measured)
    while (plan := _plan(kept, width)) is None and not wide and len(kept) > 1:
        hidden.append(kept.pop(_least(kept)))
    attempt, widths = plan or (_ATTEMPTS[-1], [item.natural(_ATTEMPTS[-1]) for item in kept])
    strips = [_strip(item, size, attempt, unicode=unicode) for item, size in zip(kept, widths, strict=True)]
    lines = side_by_side(strips, rule="─" if unicode else "-")
    if hidden:
        titles = ", ".join(item.column.title for item in measured if item in hidden)
        count = f"{len(hidden)} column{'s' if len(hidden) > 1 else ''}"
        notice = f"{count} hidden at {width} columns: {titles}; use -o wide or a wider terminal"
        lines += paragraph(notice, width, "muted")
    return lines


def _measure(column: Column, cells: Sequence[Cell], *, unicode: bool) -> _Measured:
    words = column.title.split() or [""]
    return _Measured(
        column,
        tuple(cells),
        text=max((cell_width(cell.text) for cell in cells), default=0),
        percent=max((len(_percent(cell)) for cell in cells), default=0),
        mark=max((cell_width(mark(cell.tone, unicode=unicode)) for cell in cells), default=0),
        title=cell_width(column.title),
        title_word=max(cell_width(word) for word in words),
    )


def _percent(cell: Cell) -> str:
    percent = cell.share.percent if cell.share else ""
    return f"({percent})" if percent else ""


def _least(kept: Sequence[_Measured]) -> int:
    """The column that goes first: the lowest priority, the rightmost of equals, never the row's name."""
    return min(range(1, len(kept)), key=lambda number: (kept[number].column.priority, -number))


def _plan(kept: Sequence[_Measured], width: int) -> tuple[_Attempt, list[int]] | None:
    """Return the first attempt that fits, with the width of each column."""
    room = width - GAP * (len(kept) - 1)
    for attempt in _ATTEMPTS:
        natural = [item.natural(attempt) for item in kept]
        if sum(natural) <= room:
            return attempt, natural
        fixed = sum(size for item, size in zip(kept, natural, strict=True) if not item.wraps)
        names = [size for item, size in zip(kept, natural, strict=True) if item.wraps]
        level = _level(names, room - fixed)
        if level >= attempt.name_floor:
            sizes = zip(kept, natural, strict=True)
            return attempt, [min(size, level) if item.wraps else size for item, size in sizes]
    return None


def _level(sizes: Sequence[int], room: int) -> int:
    """Return the largest width to which the wider columns can all be cut so that they fit, or 0."""
    level = 0
    for number, size in enumerate(sorted(sizes)):
        rest = len(sizes) - number
        if size * rest > room:
            return max(0, room // rest)
        room -= size
        level = size
    return level


def _strip(item: _Measured, width: int, attempt: _Attempt, *, unicode: bool) -> Strip:
    header = tuple((Span(part, "muted"),) for part in wrap(item.column.title, width))
    cells = tuple(_cell_lines(item, cell, width, attempt, unicode=unicode) for cell in item.cells)
    return Strip(width, item.column.align, header, cells)


def _cell_lines(
    item: _Measured, cell: Cell, width: int, attempt: _Attempt, *, unicode: bool
) -> tuple[Line, ...]:
    """Lay out a cell: its text, then percentage, mark and bar, each under those of the rows above."""
    sign = mark(cell.tone, unicode=unicode)
    tone = letter_tone(cell.tone)
    if item.wraps:
        *parts, last = wrap(f"{cell.text} {sign}" if sign else cell.text, width)
        end = (Span(last.removesuffix(sign), tone), Span(sign, cell.tone))
        return (*((Span(part, tone),) for part in parts), end)
    missing = " " * (item.text - cell_width(cell.text))
    spans = [Span(missing + cell.text if item.column.align == "right" else cell.text + missing, tone)]
    if item.percent:
        spans.append(Span(" " + _percent(cell).rjust(item.percent), tone))
    if item.mark:
        spans.append(Span(" " + sign + " " * (item.mark - cell_width(sign)), cell.tone))
    if item.has_bar and attempt.bar:
        bar = gauge(cell.share, attempt.bar, cell.tone, unicode=unicode) if cell.share else ()
        spans += [Span(" "), *bar, Span(" " * (attempt.bar - width_of(bar)))]
    return (tuple(spans),)
