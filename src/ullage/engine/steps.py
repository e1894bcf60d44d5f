"""How far a search has come: told to whoever wants to know, of whom the engine knows nothing.

What may take seconds takes a function of this kind, and calls it once for each turn of its outermost loop. It
changes no answer: where nobody listens there is none.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Steps = Callable[[str, int, int], None]
"""Told what is counted, how many of it are done, and of how many: losses tried, 12, 40."""
Item = TypeVar("Item")


def tell(steps: Steps | None, what: str, done: int, total: int) -> None:
    """Tell a step, if anybody wants to know."""
    if steps is not None:
        steps(what, done, total)


def counted(items: Iterable[Item], total: int, what: str, steps: Steps | None) -> Iterator[Item]:
    """Yield items one after the other, and tell before each of them how many are done, and at the end."""
    if steps is None:
        yield from items
        return
    for done, item in enumerate(items):
        steps(what, done, total)
        yield item
    if total:
        steps(what, total, total)


def part_of(steps: Steps | None, number: int, count: int) -> Steps | None:
    """Return what tells the steps of one of several parts, the first of which is 0, as steps of them all."""
    if steps is None:
        return None

    def told(what: str, done: int, total: int) -> None:
        steps(what, number * total + done, count * total)

    return told
