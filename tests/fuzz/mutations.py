"""Seeded mutations of inputs, for where atheris is not installed: not guided by coverage, but reproducible.

The hard thing: random bytes never get past the first character of a grammar. So inputs are made from the
seeds: pieces cut, doubled, repeated or exchanged, and words of the seeds put in odd places.
"""

import random
import re
from collections.abc import Iterator, Sequence

INPUT_BYTES_MAX = 2048
_WORDS = re.compile(rb"\w+|[^\w\s]|\s+")
_ODD_WORDS = (
    b"",
    b"\0",
    b"\xff",
    b"\t",
    b"\n",
    b"-",
    b"0",
    b"9" * 25,
    b"1e999",
    b"-0",
    b".5",
    b"\xc3\xa9",
    b"{",
    b"[",
)
_EDITS_MAX = 6
_REPEATS_MAX = 200


def mutated(seeds: Sequence[bytes], seed: int) -> Iterator[bytes]:
    """Each seed as it is, then mutations of them without end."""
    yield from seeds
    draw = random.Random(seed)  # noqa: S311 - reproducible draws, nothing secret
    words = sorted({word for text in seeds for word in _WORDS.findall(text)} | set(_ODD_WORDS))
    while True:
        text = draw.choice(seeds) if seeds else b""
        for _ in range(draw.randint(1, _EDITS_MAX)):
            text = _edit(text, draw, seeds or [b""], words)[:INPUT_BYTES_MAX]
        yield text


def _edit(text: bytes, draw: random.Random, seeds: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """One change to an input."""
    start, end = sorted(draw.randint(0, len(text)) for _ in range(2))
    piece = text[start:end]
    match draw.randrange(7):
        case 0:
            return text[:start] + text[end:]
        case 1:
            return text[:end] + piece + text[end:]
        case 2:
            return text[:start] + draw.choice(words) + text[start:]
        case 3:
            return text[:start] + draw.choice(words) + text[end:]
        case 4:
            return text[:start] + draw.randbytes(draw.randint(1, 3)) + text[end:]
        case 5:
            other = draw.choice(seeds)
            return text[:start] + other[draw.randint(0, len(other)) :]
        case _:
            return text[:start] + piece[:20] * draw.randint(2, _REPEATS_MAX) + text[end:]
