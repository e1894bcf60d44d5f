"""What went wrong, as RFC 9457 has it: the line of the command line, and its parts for programs."""

from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from ullage.model.errors import InputError
from ullage.web.http import Problem

if TYPE_CHECKING:
    from ullage.web.work import Work

RETRY_SECONDS: Final = 1
UNPROCESSABLE: Final = 422
LEDGER: Final = "ledger.db"
STATE: Final = "server.db"
"""What the files of a server are called, and those beside them begin with."""


def of_input(error: InputError, status: int = UNPROCESSABLE) -> Problem:
    """Return the problem with input that cannot be used: one line, as the command line prints it."""
    from ullage.stores.protocol import StoreUnavailableError

    if isinstance(error, StoreUnavailableError):
        status = 503
    error = _without_path(error)
    parts = {"what": error.what, "where": error.where, "remedy": error.remedy}
    return Problem(status, str(error), **{name: told for name, told in parts.items() if told})


def _without_path(error: InputError) -> InputError:
    """Return an error of a file that the server keeps without telling where that lies."""
    path = PurePath(error.where)
    for file, told in ((LEDGER, f"the ledger of {path.parent.name}"), (STATE, "the server's state")):
        if path.parent.name and path.name.startswith(file):
            where = error.where
            return InputError(
                error.what.replace(where, told), where=told, remedy=error.remedy.replace(where, told)
            )
    return error


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
