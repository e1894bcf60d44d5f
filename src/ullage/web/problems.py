"""What went wrong, as RFC 9457 has it: the line of the command line, and its parts for programs."""

from typing import TYPE_CHECKING, Final

from ullage.model.errors import InputError
from ullage.web.http import Problem

if TYPE_CHECKING:
    from ullage.web.work import Work

RETRY_SECONDS: Final = 1
UNPROCESSABLE: Final = 422


def of_input(error: InputError, status: int = UNPROCESSABLE) -> Problem:
    """Return the problem with input that cannot be used: one line, as the command line prints it."""
    from ullage.stores.protocol import StoreUnavailableError

    if isinstance(error, StoreUnavailableError):
        status = 503
    parts = {"what": error.what, "where": error.where, "remedy": error.remedy}
    return Problem(status, str(error), **{name: told for name, told in parts.items() if told})


def nested() -> Problem:
    """Return the problem of a body whose lists and maps are within each other beyond all use."""
    return Problem(UNPROCESSABLE, "the body is nested too deeply", "send it with fewer levels")


def busy(what: str, retry_seconds: int = RETRY_SECONDS) -> Problem:
    """Return the problem of having too much to do: ask again later."""
    return Problem(503, what, retryAfterSeconds=retry_seconds)


def ended(work: "Work") -> Problem:
    """Return the problem of a worker that has ended within some work."""
    return Problem(
        500,
        "the process that was to answer has ended",
        "perhaps for want of memory: ask about less at a time; other questions are answered",
        where=work.name,
    )


def defect(where: str) -> Problem:
    """Return the problem that is ours alone."""
    from ullage import __version__

    return Problem(
        500, f"this is a defect of ullage {__version__}", "the server's log has what happened", where=where
    )
