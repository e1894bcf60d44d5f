from itertools import product

import pytest

from ullage.engine.storage import lattice as tables
from ullage.engine.storage.lattice import Lattice, lattice, pairs_of

SHAPES = [
    ((1, 1, 1), ()),
    ((2, 1), (2,)),
    ((), (3, 1)),
    ((1, 3, 2), (1, 2)),
    ((1,) * 9, ()),
    ((40,), (3,)),
]


def numbers_taken(made: Lattice) -> dict[int, set[int]]:
    """Return what may be taken from every set, with the spare digit where there is one."""
    low: dict[int, list[int]] = {}
    ends = [*made.starts[1:].tolist(), len(made.rest)]
    for number, (start, end) in enumerate(zip(made.starts.tolist(), ends, strict=True)):
        low[number] = made.option[start:end].tolist()
        assert (number - made.taken[0][low[number]] == made.rest[start:end]).all()
    shares, half = len(made.low_shares), made.taken.shape[1] // (1 + made.spare)
    return {
        block * made.states + number: {
            int(made.taken[part][option])
            for part, rest in parts
            for option in low[number]
            if (part == 0 or option % half < shares) and rest == block - part
        }
        for block, parts in enumerate(made.block_parts)
        for number in low
    }


def expected(shares: tuple[int, ...], wholes: tuple[int, ...], *, spare: bool) -> dict[int, set[int]]:
    """Return the same by looking at every pair of digits."""
    digits = [*([1] if spare else []), *wholes, *shares]
    strides = [1]
    for digit in digits:
        strides.append(strides[-1] * (digit + 1))
    found: dict[int, set[int]] = {}
    for chosen in product(*(range(digit + 1) for digit in digits)):
        number = sum(count * stride for count, stride in zip(chosen, strides, strict=False))
        head = len(digits) - len(shares)
        parts = {
            sum(count * stride for count, stride in zip(part, strides[head:], strict=False))
            for part in product(*(range(count + 1) for count in chosen[head:]))
        }
        parts |= {strides[place] for place in range(int(spare), head) if chosen[place]}
        if spare and chosen[0]:
            parts |= {part + 1 for part in parts}
        found[number] = parts
    return found


@pytest.mark.parametrize("spare", [False, True])
@pytest.mark.parametrize(("shares", "wholes"), SHAPES)
def test_a_drive_takes_any_part_of_the_shares_or_one_whole_volume(shares, wholes, spare):
    made = lattice(shares, wholes, spare=spare)
    assert numbers_taken(made) == expected(shares, wholes, spare=spare)


def test_many_sorts_are_cut_into_a_low_and_a_high_end():
    made = lattice((1,) * 12, ())
    assert (made.states, made.blocks, len(made.rest)) == (256, 16, 3**8)
    assert sum(map(len, made.block_parts)) == 3**4
    assert made.full == 4095


def test_one_sort_of_many_is_never_a_long_loop():
    made = lattice((300,), ())
    assert (made.states, made.blocks) == (301, 1)


@pytest.mark.parametrize(("shares", "wholes"), SHAPES)
def test_pairs_are_counted_before_tables_are_made(shares, wholes, monkeypatch):
    monkeypatch.setattr(tables, "LOW_PAIRS_MAX", 1 << 20)
    made = lattice.__wrapped__(shares, wholes)
    assert len(made.rest) <= pairs_of(shares, wholes)
    assert pairs_of(shares, ()) == len(lattice.__wrapped__(shares, ()).rest)


def test_a_set_is_read_digit_by_digit():
    made = lattice((1, 3), (2,), spare=True)
    assert made.digits(made.full) == ([2], [1, 3])
    assert made.digits(made.full - 1) == ([2], [1, 3])
    assert made.digits(2) == ([1], [0, 0])
