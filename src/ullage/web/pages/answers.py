"""A page made of an answer: its verdict and blocks as a report has them, with links to explanations."""

from itertools import groupby
from typing import TYPE_CHECKING, Any

from ullage.model.errors import InputError
from ullage.web.pages.links import Links
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
        return (answer.shortened or answer.page)(), answer, ""
    except InputError as error:
        return None, None, str(error)


def draw_answer(shell: Shell, snapshot: "Snapshot", title: str, page: "Page", **values: Any) -> bytes:
    """Return the page of an answer that needs nothing drawn beside its blocks."""
    links, parts = Links(shell, snapshot), parts_of(page.blocks)
    return draw("answer", shell, links=links, title=title, page=page, parts=parts, **values)


def parts_of(blocks: "Sequence[Block]") -> "list[list[Block]]":
    """Return blocks in order, sums that follow each other as one part: they are drawn side by side."""
    return [
        list(part)
        for _, part in groupby(blocks, lambda block: block.kind if block.kind == "terms" else id(block))
    ]
