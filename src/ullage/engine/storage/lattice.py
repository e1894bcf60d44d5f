"""Sets of volumes as numbers, and the parts of each set that one drive may take.

Volumes that are alike are counted, not told apart: a set is a number with one digit for each sort, and a part
of a set is subtracted like a number. A drive takes any part of the shares, or one whole-drive volume; those
of a sort are taken in order of size, so that a digit says which one comes next.

The hard thing is to look at all pairs of a set and a part of it (three for each volume) without a loop: their
tables are made once for each shape. Sets are cut into a low and a high end, with a table of pairs for each;
so the tables stay small enough for the processor's cache however large the sets are.
"""

from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

LOW_PAIRS_MAX: Final = 8192
"""Pairs that the table of the low end may have, unless the high end had too many then."""
HIGH_PAIRS_MAX: Final = 512
TABLES_KEPT_MAX: Final = 32

IntArray = np.ndarray[Any, np.dtype[np.int64]]
Counts = tuple[int, ...]


class Lattice(NamedTuple):
    """Tables for one shape of sets; a set is the number `block * states + low end`.

    Pair by pair, `rest` is what is left of a low end when `option` is taken from it; the pairs of each low
    end begin at `starts`. The first options are parts of the shares (`low_shares`), then come the
    `whole_options` as (sort, which one of it); with `spare` all of them come a second time and take the spare
    digit too. `high_shares` are the shares in each block, `block_parts` the (part, rest) of each. `taken` is
    what to subtract for a block and an option.
    """

    states: int
    blocks: int
    rest: IntArray
    option: IntArray
    starts: IntArray
    low_shares: IntArray
    high_shares: IntArray
    whole_options: tuple[tuple[int, int], ...]
    spare: bool
    taken: IntArray
    block_parts: tuple[tuple[tuple[int, int], ...], ...]
    radices: Counts

    @property
    def full(self) -> int:
        """The set of everything, the spare digit included."""
        return self.states * self.blocks - 1

    @property
    def taken_bits(self) -> int:
        """Bits that hold what any option takes."""
        return self.full.bit_length()

    def digits(self, number: int) -> tuple[list[int], list[int]]:
        """Return how many of each sort a set has: of the whole drives, and of the shares."""
        digits = []
        for radix in self.radices:
            number, digit = divmod(number, radix)
            digits.append(digit)
        wholes = len(self.radices) - self.low_shares.shape[1] - self.high_shares.shape[1]
        return digits[int(self.spare) : wholes], digits[wholes:]


def pairs_of(shares: Counts, wholes: Counts, *, spare: bool = False) -> int:
    """Return how many pairs a drive costs at most, for so many volumes of each sort."""
    parts = prod((count + 1) * (count + 2) // 2 for count in shares)
    sets = prod(count + 1 for count in shares)
    return prod(count + 1 for count in wholes) * (parts + sets * len(wholes)) * (3 if spare else 1)


@lru_cache(maxsize=TABLES_KEPT_MAX)
def lattice(shares: Counts, wholes: Counts, *, spare: bool = False) -> Lattice:
    """Return the tables for so many volumes of each sort; `spare` adds a digit that one drive may take."""
    low_count = _low_count(shares, wholes, spare=spare)
    head = (2,) * spare + tuple(count + 1 for count in wholes)
    low, high = (tuple(count + 1 for count in part) for part in (shares[:low_count], shares[low_count:]))
    low_shares, high_shares = _digits(low), _digits(high)
    whole_options = tuple((sort, which + 1) for sort, count in enumerate(wholes) for which in range(count))
    strides = _strides(head + low)
    whole_digits = [spare + sort for sort, _ in whole_options]
    taken = np.concatenate([low_shares @ strides[len(head) :], strides[whole_digits]])
    number, option = _pairs(low_shares, _digits(head)[:, int(spare) :], wholes)
    if spare:
        again = number % 2 == 1
        number = np.concatenate([number, number[again]])
        option = np.concatenate([option, option[again] + len(taken)])
        taken = np.concatenate([taken, taken + 1])
    order = np.lexsort((option, number))
    number, option = number[order], option[order]
    states = prod(head + low)
    return Lattice(
        states,
        len(high_shares),
        number - taken[option],
        option,
        np.searchsorted(number, np.arange(states)),
        low_shares,
        high_shares,
        whole_options,
        spare,
        np.arange(len(high_shares))[:, None] * states + taken,
        _block_parts(high_shares),
        head + low + high,
    )


def _low_count(shares: Counts, wholes: Counts, *, spare: bool) -> int:
    """Return how many sorts of shares are at the low end; the high end is a loop, which must be short."""
    found = len(shares)
    while found and pairs_of(shares[:found], wholes, spare=spare) > LOW_PAIRS_MAX:
        if pairs_of(shares[found - 1 :], ()) > HIGH_PAIRS_MAX:
            break
        found -= 1
    return found


def _pairs(low_shares: IntArray, head: IntArray, wholes: Counts) -> tuple[IntArray, IntArray]:
    """Return every low end with every option that may be taken from it, one after the other."""
    within = np.ones((len(low_shares), len(low_shares)), bool)
    for digit in low_shares.T:
        within &= digit[None] <= digit[:, None]
    share_set, option = np.nonzero(within)
    heads = np.arange(len(head))
    numbers = [(share_set[:, None] * len(head) + heads).ravel()]
    options = [np.repeat(option, len(head))]
    states = np.arange(len(low_shares) * len(head))
    first = len(low_shares)
    for sort, count in enumerate(wholes):
        digit = np.tile(head[:, sort], len(low_shares))
        numbers.append(states[digit > 0])
        options.append(first + digit[digit > 0] - 1)
        first += count
    return np.concatenate(numbers), np.concatenate(options)


def _strides(radices: Counts) -> IntArray:
    return np.array([prod(radices[:place]) for place in range(len(radices))], np.int64)


def _digits(radices: Counts) -> IntArray:
    """Return every number below the product of radices as a row of digits, the lowest first."""
    rows = [row[::-1] for row in product(*(range(radix) for radix in reversed(radices)))]
    return np.array(rows, np.int64).reshape(len(rows), len(radices))


def _block_parts(high_shares: IntArray) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Return for every block the parts that can be taken from it, nothing first, with what is left."""
    numbers = range(len(high_shares))
    return tuple(
        tuple((part, block - part) for part in numbers if (high_shares[part] <= high_shares[block]).all())
        for block in numbers
    )
