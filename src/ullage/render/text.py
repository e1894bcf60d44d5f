"""A page as terminal text: the verdict first, calm tables, and the next command last.

Colour is never the only signal, and letters have none: what must be read is in the terminal's own colour,
so that it can be read on any ground; signs and bars are coloured. The caller decides about width, colour
and Unicode; nothing is asked of the environment here.
"""

import re

from ullage.render.chart import chart_lines
from ullage.render.gauge import bar_tone, pattern, stack
from ullage.render.lines import (
    GAP,
    Line,
    Span,
    SpanTone,
    Strip,
    held,
    padded,
    paragraph,
    side_by_side,
    width_of,
    wrap,
)
from ullage.render.marks import (
    SEVERITY_TONES,
    VERDICT_TONES,
    letter_tone,
    operator_sign,
    severity_mark,
    verdict_mark,
)
from ullage.render.text_table import table_lines
from ullage.render.view import (
    Bars,
    Block,
    Chart,
    Findings,
    Page,
    Table,
    Terms,
    Text,
    Tone,
    Verdict,
    respelled,
)
from ullage.render.visible import cell_width

WIDTH_MIN = 20
_BAR_MIN, _BAR_MAX = 16, 48
_READABLE = 100  # prose in longer lines is hard to follow
_SGR: dict[SpanTone, str] = {
    "strong": "1",
    "muted": "2",
    "rule": "2",
    "bar": "36",
    "ok": "32",
    "warn": "35",
    "bad": "1;31",
}
_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*"|['"])+""")


def render(
    page: Page, *, width: int = 80, color: bool = False, unicode: bool = True, wide: bool = False
) -> str:
    """Return the page as text that ends in a newline; only a wide page may exceed the width."""
    lines = page_lines(page, width=width, unicode=unicode, wide=wide)
    return "".join(f"{_ansi(line) if color else _plain(line)}\n" for line in lines)


def page_lines(page: Page, *, width: int = 80, unicode: bool = True, wide: bool = False) -> list[Line]:
    """Return the page as toned lines, the form that text and terminal pictures share."""
    width = max(WIDTH_MIN, width)
    if not unicode:
        page = respelled(page)
    lines = _verdict(page.verdict, width, unicode=unicode)
    if page.about:
        lines += paragraph(page.about, width, "muted")
    for block in page.blocks:
        lines.append(())
        if block.title:
            lines += paragraph(block.title, width, "strong")
        lines += _block_lines(block, width=width, unicode=unicode, wide=wide)
    if page.not_simulated:
        lines.append(())
        text = "; ".join(page.not_simulated)
        lines += paragraph(text, min(width, _READABLE), "muted", lead="Not simulated: ", indent=2)
    if page.next_command:
        lines += [(), *_command(page.next_command, width)]
    return lines if wide else held(lines, width)


def _verdict(verdict: Verdict, width: int, *, unicode: bool) -> list[Line]:
    """Set the sign in its tone, the sentence in bold."""
    sign = verdict_mark(verdict.tone, unicode=unicode)
    lines = paragraph(verdict.text, width, "strong", lead=f"{sign} " if sign else "")
    lead, *rest = lines[0]
    return [(Span(lead.text, VERDICT_TONES[verdict.tone]), *rest), *lines[1:]]


def _ansi(line: Line) -> str:
    return "".join(
        f"\x1b[{_SGR[span.tone]}m{span.text}\x1b[0m" if span.tone in _SGR else span.text for span in line
    )


def _plain(line: Line) -> str:
    return "".join(span.text for span in line)


def _block_lines(block: Block, *, width: int, unicode: bool, wide: bool) -> list[Line]:
    match block:
        case Table():
            lines = table_lines(block, width=width, wide=wide, unicode=unicode)
            return [*lines, *paragraph(block.caption, width, "muted")] if block.caption else lines
        case Bars():
            lines = _bars(block, width, unicode=unicode)
            return [*lines, *paragraph(block.caption, width, "muted")] if block.caption else lines
        case Terms():
            return _terms(block, width, unicode=unicode)
        case Findings():
            return _findings(block, width, unicode=unicode)
        case Text():
            return _text(block, width)
        case Chart():
            lines = chart_lines(block, width, unicode=unicode)
            return [*lines, *paragraph(block.caption, width, "muted")] if block.caption else lines


def _bars(bars: Bars, width: int, *, unicode: bool) -> list[Line]:
    """Draw bars with their amounts in columns; the header of a column is the legend of its segment."""
    if not bars.rows:
        return [(Span("none", "muted"),)]
    table = bars.table
    amounts = [
        _amount_strip(table, number, Span(pattern(tone, unicode=unicode) + " ", bar_tone(tone)))
        for number, (_, tone) in enumerate(bars.legend, start=1)
    ]
    total = _amount_strip(table, len(table.columns) - 1, Span(""))
    shown = [*amounts, total] if any(row.total for row in bars.rows) else amounts
    label = max((cell_width(row.label) for row in bars.rows), default=0)
    room = width - sum(strip.width + GAP for strip in shown) - GAP
    label = min(label, max(room - _BAR_MIN, 12))
    size = min(room - label, _BAR_MAX)
    if size < _BAR_MIN:
        return _bars_stacked(bars, width, unicode=unicode)
    names = tuple(tuple((Span(part),) for part in wrap(row.label, label)) for row in bars.rows)
    drawn = tuple((stack(row, size, unicode=unicode),) for row in bars.rows)
    strips = [Strip(label, "left", (), names), Strip(size, "left", (), drawn), *shown]
    return side_by_side(strips, rule="─" if unicode else "-")


def _amount_strip(table: Table, number: int, key: Span) -> Strip:
    title = table.columns[number].title
    header = (key, Span(title, "muted"))
    cells = [row[number].text for row in table.rows]
    width = max([width_of(header), *map(cell_width, cells)])
    return Strip(width, "right", (header,), tuple(((Span(cell),),) for cell in cells))


def _bars_stacked(bars: Bars, width: int, *, unicode: bool) -> list[Line]:
    """Draw bars one under the other, for a terminal too narrow for columns."""
    lines: list[Line] = []
    for row in bars.rows:
        lines += paragraph(f"{row.label}  {row.total}".strip(), width)
        lines.append((Span("  "), *stack(row, min(width - 2, _BAR_MAX), unicode=unicode)))
        line: Line = ()
        for segment in row.segments:
            key = Span(f"  {pattern(segment.tone, unicode=unicode)} ", bar_tone(segment.tone))
            item = (key, Span(f"{segment.word} {segment.text}"))
            if line and width_of(line) + width_of(item) > width:
                lines.append(line)
                line = ()
            line = (*line, *item)
        lines.append(line)
    return lines


def _terms(terms: Terms, width: int, *, unicode: bool) -> list[Line]:
    """Set a sum as on paper: operators, names, amounts under one another, a rule, the result."""
    every = (*terms.lines, terms.result)
    operators = [operator_sign(term.operator, unicode=unicode) for term in every]
    first = max(map(cell_width, operators))
    name = min(max(cell_width(term.name) for term in every), max(12, width // 3))
    amount = max(cell_width(term.amount) for term in every)
    room = width - first - name - amount - 3 * GAP
    beside = room >= 24
    lines: list[Line] = []
    for term, operator in zip(every, operators, strict=True):
        last = term is terms.result
        if last:
            rule = ("─" if unicode else "-") * (name + GAP + amount)
            lines.append((Span(" " * (first + GAP)), Span(rule, "rule")))
        tone: Tone = "strong" if last else "plain"
        names = tuple((Span(part, tone),) for part in wrap(term.name, name))
        note = wrap(term.explanation, min(room, _READABLE)) if beside else []
        lines += side_by_side(
            [
                Strip(first, "right", (), (((Span(operator),),),)),
                Strip(name, "left", (), (names,)),
                Strip(amount, "right", (), (((Span(term.amount, tone),),),)),
                Strip(max(room, 0), "left", (), (tuple((Span(part, "muted"),) for part in note),)),
            ],
            rule="",
        )
        if term.explanation and not beside:
            lines += paragraph(term.explanation, width, "muted", lead=" " * (first + GAP))
    return lines


def _findings(findings: Findings, width: int, *, unicode: bool) -> list[Line]:
    if not findings.rows:
        return [(Span("none", "muted"),)]
    signs = [severity_mark(row.severity, unicode=unicode) for row in findings.rows]
    sign_width = max(map(cell_width, signs)) + 1
    size = sign_width + max(len(row.severity) for row in findings.rows) + GAP
    arrow = "→ " if unicode else "-> "
    lines: list[Line] = []
    for row, sign in zip(findings.rows, signs, strict=True):
        tone = SEVERITY_TONES[row.severity]
        text = f"{row.subject}: {row.message}" if row.subject else row.message
        body = paragraph(text, min(width, _READABLE + size), indent=size)
        word = Span(row.severity.ljust(size - sign_width), letter_tone(tone))
        lines.append((*padded((Span(sign, tone),), sign_width, "left"), word, *body[0][1:]))
        lines += body[1:]
        if row.remedy:
            lines += paragraph(row.remedy, min(width, _READABLE + size), lead=" " * size + arrow)
    return lines


def _text(text: Text, width: int) -> list[Line]:
    lines: list[Line] = []
    for number, part in enumerate(text.paragraphs):
        if number:
            lines.append(())
        lines += paragraph(part, min(width, _READABLE))
    return lines


def _command(command: str, width: int) -> list[Line]:
    """Set the next command so that it can be copied: a long one goes on behind a backslash."""
    lead = "Next: "
    lines = [""]
    for word in _WORD.findall(command):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and cell_width(longer) > width - len(lead) - 2:
            lines.append(word)
        else:
            lines[-1] = longer
    leads = [lead, *[" " * len(lead)] * (len(lines) - 1)]
    continued = [*(f"{line} \\" for line in lines[:-1]), lines[-1]]
    return [(Span(first, "muted"), Span(line)) for first, line in zip(leads, continued, strict=True)]
