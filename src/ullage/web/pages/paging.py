"""Long lists in parts: which part is shown, the ways to the others, and the heads that sort them.

All of it is addresses, so that it works without a script, and what somebody sends on shows the same.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from ullage.web.pages.shell import Shell

DOWN: Final = "down"
_DIGITS_MAX: Final = 8


class Listing(NamedTuple):
    """A list of a page: its address with what filters it, and the place on the page where it begins."""

    shell: Shell
    path: str
    filters: Mapping[str, str]
    anchor: str

    def address(self, **more: str) -> str:
        """Return where the list is shown in another way."""
        return f"{self.shell.address(self.path, **{**self.filters, **more})}#{self.anchor}"


class Paging(NamedTuple):
    """Which part of a list is shown: pages are numbered from 1."""

    listing: Listing
    number: int
    size: int
    found: int

    @property
    def first(self) -> int:
        """How many come before the part that is shown."""
        return (self.number - 1) * self.size

    @property
    def end(self) -> int:
        """How many there are with the part that is shown."""
        return min(self.first + self.size, self.found)

    @property
    def last(self) -> int:
        """The number of the last page."""
        return last_page(self.found, self.size)

    @property
    def words(self) -> str:
        """Which of how many are shown."""
        return f"{self.first + 1} to {self.end} of {self.found}" if self.found else "none"

    @property
    def ways(self) -> list[tuple[str, str]]:
        """The ways to other pages, as words with addresses."""
        steps = (
            ("First", 1, self.number > 2),
            ("Previous", self.number - 1, self.number > 1),
            ("Next", self.number + 1, self.number < self.last),
            ("Last", self.last, self.number < self.last - 1),
        )
        return [
            (word, self.listing.address(page=str(number))) for word, number, is_there in steps if is_there
        ]


class Sort(NamedTuple):
    """By what a list is sorted, and the addresses that sort it otherwise; some keys begin upwards."""

    listing: Listing
    key: str
    down: bool
    upwards: frozenset[str]

    @property
    def direction(self) -> str:
        """The direction in the words of ARIA."""
        return "descending" if self.down else "ascending"

    def address(self, key: str) -> str:
        """Return where the list is sorted by a key; once more turns it round."""
        down = not self.down if key == self.key else key not in self.upwards
        return self.listing.address(sort=key, order=DOWN if down else "up")

    def sign(self, key: str) -> str:
        """Return the arrow beside what the list is sorted by."""
        if key != self.key:
            return ""
        return " ↓" if self.down else " ↑"


def paging(listing: Listing, wanted: str, found: int, size: int) -> Paging:
    """Return the part of a list that somebody wants: the nearest that there is."""
    number = int(wanted) if wanted.isdecimal() and len(wanted) <= _DIGITS_MAX else 1
    return Paging(listing, min(max(1, number), last_page(found, size)), size, found)


def last_page(found: int, size: int) -> int:
    """Return how many pages there are; the first is there always."""
    return max(1, -(-found // size))
