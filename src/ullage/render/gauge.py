"""Bars made of characters: the share of one cell, and stacked segments.

A bar must not lie at its ends: it is empty only for nothing, full only for the whole, and a segment that
exists is seen, however small. Patterns differ as well as colours.
"""

from ullage.render.lines import Line, Span, SpanTone
from ullage.render.view import BarRow, Share, Tone

_EIGHTHS = " ▏▎▍▌▋▊▉"
_PATTERN: dict[Tone, tuple[str, str]] = {
    "plain": ("▇", "@"),
    "strong": ("█", "#"),
    "muted": ("▒", "="),
    "warn": ("▓", "%"),
    "ok": ("░", "-"),
    "bad": ("▞", "X"),
}
_TRACK = ("·", ".")


def pattern(tone: Tone, *, unicode: bool) -> str:
    """Return the character a segment of this tone is drawn with."""
    return _PATTERN[tone][0 if unicode else 1]


def bar_tone(tone: Tone) -> SpanTone:
    """Return the tone a bar is drawn in: an ordinary one has a colour of its own, calmer than text."""
    return "bar" if tone in {"plain", "strong"} else tone


def gauge(share: Share, size: int, tone: Tone, *, unicode: bool) -> Line:
    """Draw a share as a bar of `size` cells; more than the whole ends in an arrow."""
    if share.fraction > 1:
        return (Span(("█" if unicode else "#") * (size - 1) + ("▶" if unicode else ">"), bar_tone(tone)),)
    steps = 8 if unicode else 1
    full = size * steps
    filled = round(share.fraction * full)
    if share.part > 0:
        filled = max(1, filled if share.part >= share.whole else min(filled, full - 1))
    whole, eighths = divmod(filled, steps)
    bar = ("█" if unicode else "#") * whole + (_EIGHTHS[eighths] if eighths else "")
    return Span(bar, bar_tone(tone)), Span((_TRACK[0] if unicode else "-") * (size - len(bar)), "muted")


def stack(row: BarRow, size: int, *, unicode: bool) -> Line:
    """Draw the segments of a row side by side in `size` cells, the rest as an empty track."""
    sizes = _apportioned([max(0, segment.part) for segment in row.segments], row.scale, size)
    spans = [
        Span(pattern(segment.tone, unicode=unicode) * count, bar_tone(segment.tone))
        for segment, count in zip(row.segments, sizes, strict=True)
        if count
    ]
    rest = size - sum(sizes)
    return (*spans, Span(_TRACK[0 if unicode else 1] * rest, "muted")) if rest else tuple(spans)


def _apportioned(parts: list[int], scale: int, size: int) -> list[int]:
    """Share out cells by largest remainder; every part above zero gets one cell while there are enough."""
    counts = [part * size // scale for part in parts]
    target = (2 * sum(parts) * size + scale) // (2 * scale)
    by_remainder = sorted(range(len(parts)), key=lambda i: (-(parts[i] * size % scale), i))
    for i in by_remainder[: max(0, target - sum(counts))]:
        counts[i] += 1
    for i, part in enumerate(parts):
        if part > 0 and counts[i] == 0:
            counts[i] = 1
    while sum(counts) > size:
        counts[counts.index(max(counts))] -= 1
    return counts
