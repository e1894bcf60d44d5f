"""The one exception for bad input: what is wrong, where, and how to fix it, as one line.

Refusals ("it does not fit") are values, never exceptions; see verdict.py. Everything that is not an
InputError and still escapes is a bug.
"""


class InputError(ValueError):
    """Input that cannot be used: `what` is wrong, `where` it stands, `remedy` says what would be right."""

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        super().__init__(what, where, remedy)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        fix = f"; {self.remedy}" if self.remedy else ""
        return _one_line(f"{place}{self.what}{fix}")

    def at(self, where: str) -> "InputError":
        """Return the same error, its place seen from one level further out."""
        inner = f"{where}: {self.where}" if self.where else where
        return InputError(self.what, where=inner, remedy=self.remedy)


class TooLargeError(InputError):
    """An amount that is more than can be counted."""


def _one_line(text: str) -> str:
    """Return text with what cannot be printed escaped: messages quote input that nobody vouches for."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text
    )
