"""The log of probes that failed: a failing probe costs its own answer, never the others."""

from collections.abc import Callable
from typing import TypeVar

from ullage.model.errors import InputError
from ullage.sources.host.facts import Problem

T = TypeVar("T")


class ProblemLog:
    """Runs probes and keeps what went wrong, in the order in which it did."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    def attempt(self, probe: str, read: Callable[[], T]) -> T | None:
        """Return what the probe reads, or None with its InputError noted."""
        try:
            return read()
        except InputError as error:
            self.note(probe, error)
            return None

    def note(self, probe: str, error: InputError) -> None:
        """Keep one error under the name of its probe."""
        reason = f"{error.where}: {error.what}" if error.where else error.what
        self._problems.append(Problem(probe=probe, reason=reason, remedy=error.remedy))

    def problems(self) -> tuple[Problem, ...]:
        """Return what went wrong so far."""
        return tuple(self._problems)
