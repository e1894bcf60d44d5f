"""Processes that a server starts, seen from within: each has one parent, and ends when that is gone."""

import contextlib
import os
import signal
import socket
from collections.abc import Iterator
from typing import Final

ENVIRONMENT: Final = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
"""So that numerical libraries start no threads, beside which nobody could fork."""
_PR_SET_PDEATHSIG: Final = 1


@contextlib.contextmanager
def alone_with_parent() -> Iterator[socket.socket]:
    """Give the connection to the parent, which is standard input; a signal to a whole group is not for us."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)  # whoever started us ends us, when nobody asks any more
    end_with_parent(signal.SIGKILL)
    with socket.socket(fileno=os.dup(0)) as connection:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        yield connection


def end_with_parent(number: int) -> None:
    """Have a signal sent to us when the process that started us ends, even while something keeps us busy."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
