"""Observations of one reading: as they came while they are few, as a book once they are many.

A point of everybody is soon told and soon written as it is; to make a histogram of each first would cost more
than all else. Weeks of points are taken into a book as they come, which takes less memory than they do.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from ullage.engine.usage.book import DAY_MAX, Book, Samples
from ullage.engine.usage.levels import DAY_SECONDS
from ullage.engine.usage.summaries import AMOUNT_MAX
from ullage.model.errors import InputError
from ullage.model.usage import USAGE

POINTS_MAX: Final = 1 << 21
"""More points than this are a book."""


class Gathered:
    """What was observed, and what crowds used of it."""

    def __init__(self, points_max: int = POINTS_MAX) -> None:
        self._points_max = points_max
        self._points = 0
        self._book: Book | None = None
        self.parts: list[Samples] = []
        """All of it, unless it has become a book."""

    def __len__(self) -> int:
        if self._book is not None:
            return len(self._book)
        parts: dict[tuple[str, str], list[Sequence[str]]] = {}
        for each in self.parts:
            parts.setdefault((each.resource, each.measure), []).append(each.subjects)
        counts: dict[tuple[int, ...], int] = {}
        """How many subjects some lists have together, which are the same lists for many resources."""
        for lists in parts.values():
            key = tuple(map(id, lists))
            if key not in counts:
                counts[key] = len(set().union(*lists))
        return sum(counts[tuple(map(id, lists))] for lists in parts.values())

    def __bool__(self) -> bool:
        return bool(self.parts or self._book)

    @property
    def is_book(self) -> bool:
        """Whether there is so much of it that it has become a book."""
        return self._book is not None

    def add(self, samples: Samples) -> int:
        """Take observations in, and return how many of them were dropped."""
        if self._book is not None:
            return self._book.add(samples)
        if not len(samples.numbers):
            return 0
        check_moments(samples)
        self.parts.append(samples)
        self._points += len(samples.numbers)
        if self._points > self._points_max:
            self.book()
        return int(np.count_nonzero((samples.amounts < 0) | (samples.amounts > AMOUNT_MAX)))

    def observed(self, resource: str, names: set[str]) -> set[str]:
        """Return those of some subjects whose use of a resource was observed."""
        if self._book is not None:
            return names & self._book.numbers(resource, USAGE).keys()
        found: set[str] = set()
        for each in self.parts:
            if each.resource == resource and each.measure == USAGE:
                found |= names.intersection(each.subjects)
        return found

    def book(self) -> Book:
        """Return all of it as a book, which it is from then on."""
        if self._book is None:
            self._book = Book()
            for each in self.parts:
                self._book.add(each)
            self.parts.clear()
        return self._book


def check_moments(samples: Samples) -> None:
    """Refuse moments that are none."""
    if int(samples.at_seconds.min()) < 0 or int(samples.at_seconds.max()) >= DAY_MAX * DAY_SECONDS:
        raise InputError("an observation has no usable time", remedy="give seconds since 1970")
