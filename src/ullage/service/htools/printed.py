"""What a tool says, written line by line: results on one stream, tables and complaints on the other."""

from typing import NoReturn

from ullage.service.htools.options import Printed

FAILED = 1


class ToolError(Exception):
    """A tool cannot go on: printed as `Error: ...` after what it has said so far."""


class Page:
    """Lines in the order in which they were said."""

    def __init__(self) -> None:
        self._parts: list[tuple[bool, str]] = []

    def say(self, *lines: str) -> None:
        """Add lines of the result."""
        self._parts.extend((False, f"{line}\n") for line in lines)

    def tell(self, *lines: str) -> None:
        """Add lines beside the result: tables, warnings."""
        self._parts.extend((True, f"{line}\n") for line in lines)

    def tell_text(self, text: str) -> None:
        """Add a text beside the result as it stands."""
        if text:
            self._parts.append((True, text))

    def fail(self, message: str) -> Printed:
        """End with an error."""
        self.tell(f"Error: {message}")
        return self.done(FAILED)

    def done(self, code: int = 0) -> Printed:
        """Return all that was said."""
        stdout = "".join(text for aside, text in self._parts if not aside)
        stderr = "".join(text for aside, text in self._parts if aside)
        return Printed(stdout, stderr, code, tuple(self._parts))


def stop(message: str) -> NoReturn:
    """End a tool with an error."""
    raise ToolError(message)


def keys(prefix: str, pairs: list[tuple[str, str]]) -> list[str]:
    """Return KEY=value lines for scripts: quoted unless a value is letters, digits and dots."""
    return [f"{prefix}_{key.upper()}={quoted(value)}" for key, value in pairs]


def quoted(value: str) -> str:
    """Return a value as a shell reads it."""
    return value if all(each.isalnum() or each == "." for each in value) else f"'{value}'"
