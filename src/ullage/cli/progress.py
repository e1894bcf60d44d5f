"""What is going on, on stderr: only on a terminal, and only when it takes longer than a second.

The hard thing is to cost nothing when nothing is shown: rich is imported when the second has passed. What a
question counts while it is answered takes the place of what was going on before, some times a second.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ullage.service.progress import stepping, words_of

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE_SECONDS: Final = 1.0
AGAIN_SECONDS: Final = 0.1
"""After so long a bar is drawn anew."""
Step = Callable[[int, int], None]


class _Display:
    """A bar that appears when its time has come and goes when the work is done."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.lock = threading.Lock()
        self.ended = False
        self.counting = ""
        self.next_at = 0.0
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
                progress.update(task, description=self.what, completed=done, total=total)

    def tell(self, what: str, done: int, total: int) -> None:
        """Show what is counted; there may be thousands of steps in the time that one of them is looked at."""
        now = time.monotonic()
        if what == self.counting and now < self.next_at:
            return
        self.counting, self.next_at = what, now + AGAIN_SECONDS
        self.what = words_of(what, done, total)
        self.step(done, total)

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
    """Show what takes long; the function it gives takes how much is done, and of how much.

    What questions count within it is shown by itself.
    """
    if quiet or not sys.stderr.isatty():
        yield _silent
        return
    display = _Display(what)
    display.timer.start()
    try:
        with stepping(display.tell):
            yield display.step
    finally:
        display.end()
