"""A page as GitHub Markdown, to paste into an issue, a pull request or a wiki.

The hard thing is that a name is not markup: everything Markdown or HTML could read as a command is
escaped, a table keeps one line for each row, and nobody is notified by an `@` in a name.
"""

import re

from ullage.render.chart import SPARK_SIZE, spark
from ullage.render.marks import mark, operator_sign, severity_mark, verdict_mark
from ullage.render.view import Bars, Block, Cell, Chart, Findings, Page, Table, Term, Terms, Text

_SPECIAL = re.compile(r"[\\`*\[\]~|#]")
_UNDERSCORE = re.compile(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_LIST_START = re.compile(r"[+-]|\d{1,9}(?=[.)](\s|$))")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", "$": "&#36;"}


def render(page: Page) -> str:
    """Return the page; its title is a heading of the first level."""
    sign = verdict_mark(page.verdict.tone)
    parts = [f"# {escaped(page.title)}", _strong(escaped(f"{sign} {page.verdict.text}".strip()))]
    if page.about:
        parts.append(_paragraph(page.about))
    for block in page.blocks:
        if block.title:
            parts.append(f"## {escaped(block.title)}")
        parts += _block(block)
    if page.not_simulated:
        parts.append(f"Not simulated: {escaped('; '.join(page.not_simulated))}")
    if page.next_command:
        parts.append(f"Next: {_code(page.next_command)}")
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Return the text so that Markdown and HTML show it letter by letter."""
    text = _SPECIAL.sub(lambda match: f"\\{match.group()}", text)
    text = _UNDERSCORE.sub(r"\\_", text)
    return "".join(_ENTITIES.get(character, character) for character in text)


def _paragraph(text: str) -> str:
    """Return a text that stands on a line of its own and begins no list and no block of code."""
    shown = escaped(text.strip())
    return f"&#{ord(shown[0])};{shown[1:]}" if _LIST_START.match(shown) else shown


def _strong(text: str) -> str:
    return f"**{text}**" if text else ""


def _code(text: str) -> str:
    """Return the text as a code span, between more backticks than it holds itself."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{text}{space}{fence}"


def _block(block: Block) -> list[str]:
    match block:
        case Table():
            return _table(block)
        case Bars():
            return _table(block.table)
        case Terms():
            return [_terms(block)]
        case Findings():
            return ["\n".join(_finding_lines(block)) or "none"]
        case Text():
            return [_paragraph(part) for part in block.paragraphs]
        case Chart():
            marks = [f"{mark.text}" for mark in block.marks]
            told = "; ".join([*marks, block.caption] if block.caption else marks)
            return [_code(spark(block, SPARK_SIZE)), *([_paragraph(told)] if told else [])]


def _table(table: Table) -> list[str]:
    columns = [number for number, column in enumerate(table.columns) if number == 0 or not column.wide_only]
    shown = [table.columns[number] for number in columns]
    lines = [
        _row([escaped(column.title) for column in shown]),
        _row(["---:" if column.align == "right" else "---" for column in shown]),
        *(_row([_cell(row[number]) for number in columns]) for row in table.rows),
    ]
    caption = [_paragraph(table.caption)] if table.caption else []
    return ["\n".join(lines), *caption]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell) -> str:
    text = escaped(f"{cell.shown} {mark(cell.tone)}".strip())
    return _strong(text) if cell.tone == "strong" else text


def _terms(terms: Terms) -> str:
    def line(term: Term, *, strong: bool = False) -> str:
        name, amount = escaped(term.name.strip()), escaped(term.amount.strip())
        if strong:
            name, amount = _strong(name), _strong(amount)
        return _row([escaped(operator_sign(term.operator)), name, amount, escaped(term.explanation)])

    head = [_row(["", "term", "amount", "why"]), _row(["---", "---", "---:", "---"])]
    return "\n".join([*head, *(line(term) for term in terms.lines), line(terms.result, strong=True)])


def _finding_lines(findings: Findings) -> list[str]:
    lines = []
    for row in findings.rows:
        subject = f"{escaped(row.subject)}: " if row.subject else ""
        remedy = f" → {escaped(row.remedy)}" if row.remedy else ""
        lines.append(
            f"- {severity_mark(row.severity)} **{row.severity}** {subject}{escaped(row.message)}{remedy}"
        )
    return lines
