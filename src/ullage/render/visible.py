r"""What a reader can see of a text: unprintable characters spelled out, and width in terminal cells.

Names come from dumps that nobody vouches for. An escape sequence in a pod's name must not reach a
terminal, and two names that look alike must not be different; so every character that has no picture of
its own is shown as its Python escape (`\x1b`, `\u202e`). Printability and width are judged by the same
Unicode database, so a character with an unknown width is never shown.
"""

import re
import unicodedata

# Printable by the letter of Unicode, yet drawn as nothing (joiners, fillers, variation selectors).
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0100-\U000e01ef]"
)

_LIKE = {
    "\N{MIDDLE DOT}": "-",
    "\N{BULLET}": "-",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{MINUS SIGN}": "-",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{DIVISION SIGN}": "/",
    "\N{LESS-THAN OR EQUAL TO}": "<=",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{RIGHTWARDS ARROW}": "->",
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{LEFT SINGLE QUOTATION MARK}": "'",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{LEFT DOUBLE QUOTATION MARK}": '"',
    "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
}


def visible(text: str) -> str:
    """Return the text with every character that cannot be seen spelled out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if character.isprintable() and not _BLANK.match(character) else _escaped(character)
        for character in text
    )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def cell_width(text: str) -> int:
    """Return how many terminal cells a visible text takes: two for wide characters, none for accents."""
    if text.isascii():
        return len(text)
    return sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def ascii_only(text: str) -> str:
    """Return the text in ASCII, for a terminal that has nothing else: typographic signs by their like."""
    if text.isascii():
        return text
    return "".join(sign if sign.isascii() else _LIKE.get(sign) or _escaped(sign) for sign in text)
