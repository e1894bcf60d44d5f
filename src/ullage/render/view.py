"""The neutral view of one answer: a page of tables, bars, sums and findings, before any format.

Every format draws the same records, so the same numbers appear everywhere. The hard thing is trust:
names arrive from dumps that nobody vouches for, so a record makes each of its texts visible when it is
built, and no renderer can be handed an escape sequence.
"""

from typing import ClassVar, Literal, cast

import msgspec

from ullage.model.verdict import Severity
from ullage.render.visible import ascii_only, visible

Tone = Literal["plain", "strong", "muted", "ok", "warn", "bad"]
VerdictTone = Literal["yes", "no", "info"]
Align = Literal["left", "right"]


class Printable(msgspec.Struct, frozen=True):
    """A record whose texts (fields and tuples of texts) hold no character that cannot be seen."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, str):
                if type(value) is not str or not (value.isascii() and value.isprintable()):
                    msgspec.structs.force_setattr(self, name, visible(str(value)))
            elif isinstance(value, tuple) and any(isinstance(item, str) for item in value):
                msgspec.structs.force_setattr(self, name, tuple(visible(str(item)) for item in value))


class Share(msgspec.Struct, frozen=True):
    """An exact part of a whole, such as 560 of 2000; the two are in the same unit."""

    part: int
    whole: int

    @property
    def percent(self) -> str:
        """The share in whole per cent; `0%` and `100%` are said only when they are exact."""
        if self.whole <= 0:
            return ">100%" if self.part > 0 else ""
        rounded = (200 * abs(self.part) + self.whole) // (2 * self.whole)
        if rounded == 0 and self.part != 0:
            return "<1%" if self.part > 0 else "<0%"
        if rounded == 100 and self.part > 0 and self.part != self.whole:
            return ">99%" if self.part < self.whole else ">100%"
        return f"{'-' if self.part < 0 else ''}{rounded}%"

    @property
    def fraction(self) -> float:
        """The share for drawing: never below 0; above 1 means more than the whole."""
        if self.part <= 0:
            return 0.0
        if self.whole <= 0 or self.part > 1000 * self.whole:
            return 1000.0
        return self.part / self.whole


class Cell(Printable, frozen=True):
    """One value of a table: what people see, and the exact value that CSV holds."""

    text: str
    share: Share | None = None
    tone: Tone = "plain"
    note: str = ""
    value: str | None = None

    @property
    def shown(self) -> str:
        """The text with its share, as in `560m (28%)`."""
        percent = self.share.percent if self.share else ""
        return f"{self.text} ({percent})" if percent else self.text

    @property
    def exact(self) -> str:
        """The machine value; the text where no other was given."""
        return self.text if self.value is None else self.value


class Column(Printable, frozen=True):
    """A column of a table; `key` is its name in CSV, by default the title.

    When a terminal is narrow the columns of the lowest priority are left out first, from the right; the
    first column names the row and always stays.
    """

    title: str
    align: Align = "left"
    wide_only: bool = False
    priority: int = 0
    key: str = ""


class Table(Printable, frozen=True):
    """Rows of cells; every row has one cell for each column."""

    kind: ClassVar[str] = "table"
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.columns:
            raise ValueError(f"table {self.title!r}: it has no columns")
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.title!r}: row {number} has {len(row)} cells for {len(self.columns)} columns"
                )


class Segment(Printable, frozen=True):
    """A piece of a bar: a word of the arithmetic, its amount for people, and its size."""

    word: str
    text: str
    part: int
    tone: Tone = "plain"


class BarRow(Printable, frozen=True):
    """One bar: its segments side by side, measured against `whole` (all in one unit)."""

    label: str
    segments: tuple[Segment, ...]
    whole: int
    total: str = ""

    @property
    def scale(self) -> int:
        """What the full length of the bar stands for: the whole, or the segments where they exceed it."""
        return max(self.whole, sum(max(0, segment.part) for segment in self.segments), 1)


class Bars(Printable, frozen=True):
    """Stacked horizontal bars, such as reserve, committed, spare and ullage of each group.

    Without colour a segment is told by its pattern, and the pattern follows the tone: so inside one block
    a word has one tone and a tone has one word.
    """

    kind: ClassVar[str] = "bars"
    title: str
    rows: tuple[BarRow, ...]
    caption: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        pairs = {(segment.word, segment.tone) for row in self.rows for segment in row.segments}
        if len({word for word, _ in pairs}) != len(pairs) or len({tone for _, tone in pairs}) != len(pairs):
            raise ValueError(f"bars {self.title!r}: each word needs one tone of its own, got {sorted(pairs)}")

    @property
    def legend(self) -> tuple[tuple[str, Tone], ...]:
        """The words with their tones, in the order in which the bars first name them."""
        return tuple(dict.fromkeys((part.word, part.tone) for row in self.rows for part in row.segments))

    @property
    def table(self) -> Table:
        """The same numbers as a table, for formats that draw no bars."""
        words = [word for word, _ in self.legend]
        rows: list[tuple[Cell, ...]] = []
        for row in self.rows:
            cells = {part.word: Cell(part.text, Share(part.part, row.whole)) for part in row.segments}
            amounts = (cells.get(word, Cell("")) for word in words)
            rows.append((Cell(row.label), *amounts, Cell(row.total)))
        columns = (Column("name"), *(Column(word, "right") for word in words), Column("total", "right"))
        return Table(self.title, columns, tuple(rows), self.caption)


class Term(Printable, frozen=True):
    """One line of a sum: an operator (`+`, `-`, `x`, `=` or a word such as `max`), a name and an amount."""

    operator: str
    name: str
    amount: str
    explanation: str = ""


class Terms(Printable, frozen=True):
    """An arithmetic shown step by step, with the line of its result."""

    kind: ClassVar[str] = "terms"
    title: str
    lines: tuple[Term, ...]
    result: Term


class Finding(Printable, frozen=True):
    """A fact worth acting on: how bad, about what, what is the case and what would help."""

    severity: Severity
    subject: str
    message: str
    remedy: str = ""


class Findings(Printable, frozen=True):
    """A list of findings, in the order in which they should be read."""

    kind: ClassVar[str] = "findings"
    title: str
    rows: tuple[Finding, ...]


class Text(Printable, frozen=True):
    """Plain paragraphs."""

    kind: ClassVar[str] = "text"
    title: str
    paragraphs: tuple[str, ...]


class Mark(Printable, frozen=True):
    """A line across a chart, such as a limit: its name and amount for people, and its height."""

    text: str
    at: int


class Chart(Printable, frozen=True):
    """What was, as (time, amount), and what is to be expected, as (time, low, likely, high); in order.

    `ticks` are times with their names, `marks` amounts that matter, `peak` names the highest amount drawn.
    """

    kind: ClassVar[str] = "chart"
    title: str
    history: tuple[tuple[int, int], ...]
    band: tuple[tuple[int, int, int, int], ...]
    marks: tuple[Mark, ...] = ()
    ticks: tuple[Mark, ...] = ()
    peak: str = ""
    caption: str = ""

    @property
    def highest(self) -> int:
        """The highest amount that is drawn."""
        amounts = [amount for _, amount in self.history] + [high for _, _, _, high in self.band]
        return max([*amounts, *(mark.at for mark in self.marks)], default=0)

    @property
    def span(self) -> tuple[int, int]:
        """The first time and the last."""
        times = [each[0] for each in (*self.history, *self.band)]
        return (min(times), max(times)) if times else (0, 0)


Block = Table | Bars | Terms | Findings | Text | Chart


class Verdict(Printable, frozen=True):
    """The first line of an answer."""

    text: str
    tone: VerdictTone = "info"


class Page(Printable, frozen=True):
    """One answer: a verdict, its evidence, what was not simulated, and the next useful command.

    `about` says what the answer is about (source, revision, policy); `main` is the index of the block
    that CSV holds, by default the first table.
    """

    title: str
    verdict: Verdict
    blocks: tuple[Block, ...] = ()
    not_simulated: tuple[str, ...] = ()
    next_command: str = ""
    about: str = ""
    main: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.main is not None and not (
            0 <= self.main < len(self.blocks) and isinstance(self.blocks[self.main], Table)
        ):
            raise ValueError(f"page {self.title!r}: block {self.main} is not a table")

    @property
    def main_table(self) -> Table | None:
        """The table that CSV holds, if the page has one."""
        if self.main is not None:
            chosen = self.blocks[self.main]
            return chosen if isinstance(chosen, Table) else None
        return next((block for block in self.blocks if isinstance(block, Table)), None)


def respelled(page: Page) -> Page:
    """Return the page with every text in ASCII."""
    return cast("Page", _respelled(page))


def _respelled(value: object) -> object:
    if isinstance(value, str):
        return ascii_only(value)
    if isinstance(value, tuple):
        return tuple(_respelled(item) for item in value)
    if isinstance(value, msgspec.Struct):
        return type(value)(*(_respelled(getattr(value, name)) for name in value.__struct_fields__))
    return value
