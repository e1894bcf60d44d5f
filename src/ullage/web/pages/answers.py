"""A page made of an answer: its verdict and blocks as a report has them, with links to explanations."""

from itertools import groupby
from typing import TYPE_CHECKING, Any

import msgspec

from ullage.model.errors import InputError
from ullage.render.view import Bars, Findings, Table
from ullage.web.pages.links import Links
from ullage.web.pages.plain_words import in_plain_words
from ullage.web.pages.shell import Shell, draw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ullage.model.cluster import Snapshot
    from ullage.render.view import Block, Page
    from ullage.service.answer import Answer


def answered(ask: "Callable[[], Answer]") -> "tuple[Page | None, Answer | None, str]":
    """Return the page of an answer, or the one line that says why there is none."""
    try:
        answer = ask()
        return page_of(answer), answer, ""
    except InputError as error:
        return None, None, in_plain_words(str(error))


def page_of(answer: "Answer") -> "Page":
    """Return an answer for the page: the short form of it, and no word of the command line."""
    page = (answer.shortened or answer.page)()
    verdict = msgspec.structs.replace(page.verdict, text=in_plain_words(page.verdict.text))
    blocks, unsimulated = map(in_words, page.blocks), map(in_plain_words, page.not_simulated)
    return msgspec.structs.replace(
        page, verdict=verdict, blocks=tuple(blocks), not_simulated=tuple(unsimulated)
    )


def in_words(block: "Block") -> "Block":
    """Return a block without words of the command line in what it says beside its numbers."""
    if isinstance(block, Findings):
        rows = (msgspec.structs.replace(row, remedy=in_plain_words(row.remedy)) for row in block.rows)
        return msgspec.structs.replace(block, rows=tuple(rows))
    if isinstance(block, Table | Bars) and block.caption:
        return msgspec.structs.replace(block, caption=in_plain_words(block.caption))
    return block


def draw_answer(shell: Shell, snapshot: "Snapshot", title: str, page: "Page", **values: Any) -> bytes:
    """Return the page of an answer that needs nothing drawn beside its blocks."""
    links, parts = Links(shell, snapshot, otherwise="#main"), parts_of(page.blocks)
    return draw("answer", shell, links=links, title=title, page=page, parts=parts, **values)


def parts_of(blocks: "Sequence[Block]") -> "list[list[Block]]":
    """Return blocks in order, sums that follow each other as one part: they are drawn side by side."""
    return [
        list(part)
        for _, part in groupby(blocks, lambda block: block.kind if block.kind == "terms" else id(block))
    ]
