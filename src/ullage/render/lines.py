"""Lines of toned text in terminal cells: wrapping, padding, and setting columns side by side.

The hard thing is that nothing is ever cut: a text that does not fit is broken at its spaces, a long name
after its own punctuation (`-`, `/`, `.`), and only what has neither is broken anywhere.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from ullage.render.view import Align, Tone
from ullage.render.visible import cell_width

_PIECE = re.compile(r"[^-/._:,=@]*[-/._:,=@]+|[^-/._:,=@]+")
GAP = 2
SpanTone = Tone | Literal["bar", "rule"]


class Span(msgspec.Struct, frozen=True):
    """A run of visible characters in one tone; `bar` and `rule` are drawn, not read."""

    text: str
    tone: SpanTone = "plain"


Line = tuple[Span, ...]


class Strip(msgspec.Struct, frozen=True):
    """A laid-out column: its header and its cells, each already wrapped to `width`."""

    width: int
    align: Align
    header: tuple[Line, ...]
    cells: tuple[tuple[Line, ...], ...]


def width_of(line: Iterable[Span]) -> int:
    """Return the width of a line in terminal cells."""
    return sum(cell_width(span.text) for span in line)


def wrap(text: str, width: int) -> list[str]:
    """Break a text into lines of at most `width` cells (at least 2); a text that fits is kept as it is."""
    width = max(2, width)
    if cell_width(text) <= width:
        return [text]
    lines: list[str] = []
    line = ""
    for word in text.split():
        candidate = f"{line} {word}" if line else word
        if cell_width(candidate) <= width:
            line = candidate
            continue
        if line:
            lines.append(line)
        *full, line = [word] if cell_width(word) <= width else _broken(word, width)
        lines.extend(full)
    return [*lines, line]


def _broken(word: str, width: int) -> list[str]:
    """Break one long word after its punctuation, or anywhere where a piece alone is too long."""
    lines = [""]
    for piece in _PIECE.findall(word):
        if cell_width(lines[-1]) + cell_width(piece) <= width:
            lines[-1] += piece
        elif cell_width(piece) <= width:
            lines.append(piece)
        else:
            lines.extend(_chopped(piece, width))
    return [line for line in lines if line]


def _chopped(text: str, width: int) -> list[str]:
    lines, line, used = [], "", 0
    for character in text:
        size = cell_width(character)
        if used + size > width:
            lines.append(line)
            line, used = "", 0
        line += character
        used += size
    return [*lines, line]


def paragraph(text: str, width: int, tone: Tone = "plain", *, indent: int = 0, lead: str = "") -> list[Line]:
    """Wrap a text behind a lead; the following lines are indented (by the lead's width at least)."""
    indent = max(indent, cell_width(lead))
    wrapped = wrap(text, width - indent)
    leads = [Span(lead.ljust(indent), tone), *[Span(" " * indent)] * (len(wrapped) - 1)]
    return [(first, Span(part, tone)) for first, part in zip(leads, wrapped, strict=True)]


def padded(line: Line, width: int, align: Align) -> Line:
    """Fill a line with spaces up to `width`."""
    missing = width - width_of(line)
    if missing <= 0:
        return line
    filler = Span(" " * missing)
    return (filler, *line) if align == "right" else (*line, filler)


def side_by_side(strips: Sequence[Strip], *, rule: str) -> list[Line]:
    """Set strips next to each other: headers at the bottom of their row, a thin rule, then the rows."""
    lines: list[Line] = []
    if any(strip.header for strip in strips):
        height = max(len(strip.header) for strip in strips)
        headers = [((),) * (height - len(strip.header)) + strip.header for strip in strips]
        lines += _rows(strips, headers)
        lines.append(_joined([(Span(rule * strip.width, "rule"),) for strip in strips], strips))
    for cells in zip(*(strip.cells for strip in strips), strict=True):
        lines += _rows(strips, cells)
    return lines


def _rows(strips: Sequence[Strip], cells: Sequence[tuple[Line, ...]]) -> list[Line]:
    """Return one row of cells, as many lines high as its highest cell."""
    height = max(len(cell) for cell in cells)
    return [_joined([cell[i] if i < len(cell) else () for cell in cells], strips) for i in range(height)]


def _joined(parts: Sequence[Line], strips: Sequence[Strip]) -> Line:
    spans: list[Span] = []
    for number, (part, strip) in enumerate(zip(parts, strips, strict=True)):
        if number:
            spans.append(Span(" " * GAP))
        spans.extend(padded(part, strip.width, strip.align))
    return trimmed(spans)


def trimmed(spans: Sequence[Span]) -> Line:
    """Drop the spaces at the end of a line."""
    kept = [span for span in spans if span.text]
    while kept:
        text = kept[-1].text.rstrip(" ")
        if text:
            kept[-1] = Span(text, kept[-1].tone)
            break
        kept.pop()
    return tuple(kept)


def held(lines: Iterable[Line], width: int) -> list[Line]:
    """Break what is still wider than the terminal: a last resort, for a number as long as a screen."""
    narrow: list[Line] = []
    for line in lines:
        rest = list(line)
        while width_of(rest) > width:
            head, rest = _split(rest, width)
            narrow.append(trimmed(head))
        narrow.append(tuple(rest))
    return narrow


def _split(spans: list[Span], width: int) -> tuple[list[Span], list[Span]]:
    """Cut a line after `width` cells."""
    head: list[Span] = []
    room = width
    for number, span in enumerate(spans):
        size = cell_width(span.text)
        if size <= room:
            head.append(span)
            room -= size
            continue
        first = _chopped(span.text, room)[0] if room else ""
        head.append(Span(first, span.tone))
        return head, [Span(span.text[len(first) :], span.tone), *spans[number + 1 :]]
    return head, []
