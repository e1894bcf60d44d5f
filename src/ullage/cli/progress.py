"""What is going on, on stderr: only on a terminal, and only when it takes longer than a second.

The hard thing is to cost nothing when nothing is shown: rich is imported when the second has passed.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE_SECONDS: Final = 1.0
Step = Callable[[int, int], None]


class _Display:
    """A bar that appears when its time has come and goes when the work is done."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.lock = threading.Lock()
        self.ended = False
        self.counts: tuple[int, int] | None = None
        self.shown: tuple[Progress, TaskID] | None = None
        self.timer = threading.Timer(PATIENCE_SECONDS, self.appear)
        self.timer.daemon = True

    def appear(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with self.lock:
            if self.ended:
                return
            progress = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            done, total = self.counts or (0, None)
            self.shown = progress, progress.add_task(self.what, total=total, completed=done)
            progress.start()

    def step(self, done: int, total: int) -> None:
        with self.lock:
            self.counts = done, total
            if self.shown is not None:
                progress, task = self.shown
                progress.update(task, completed=done, total=total)

    def end(self) -> None:
        self.timer.cancel()
        with self.lock:
            self.ended = True
            if self.shown is not None:
                self.shown[0].stop()


def _silent(done: int, total: int) -> None:
    del done, total


@contextmanager
def progress(what: str, *, quiet: bool = False) -> Iterator[Step]:
    """Show what takes long; the function it gives takes how much is done, and of how much."""
    if quiet or not sys.stderr.isatty():
        yield _silent
        return
    display = _Display(what)
    display.timer.start()
    try:
        yield display.step
    finally:
        display.end()
