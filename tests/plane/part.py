"""One running part of the test control plane: a process, its log, and the address that says it is ready.

The hard thing is that a part must never outlive the tests, however these end. Its standard input is a pipe
that only this process can write to: when the last holder is gone, even by a kill, the part reads the end and
exits by itself. In the ordinary case it is killed by its process id: its data is in a folder that goes too.
"""

import http.client
import ssl
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

READY_SECONDS_MAX = 120
POLL_SECONDS = 0.05
ASK_SECONDS_MAX = 5
LOG_LINES_SHOWN = 15
LOG_LINE_LETTERS_MAX = 500


class PlaneError(Exception):
    """The plane is not what it should be; the text ends with what the part's log says."""


class Part:
    """A part that has been started; once it was stopped it can be started again."""

    def __init__(self, program: Path, name: str, arguments: Sequence[str], folder: Path, ready: str) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._ready = ready
        self._folder = folder
        self._command = [program, name, *arguments]
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                env={"HOME": str(self._folder)},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def await_ready(self) -> None:
        began = time.monotonic()
        while not self._is_ready():
            if time.monotonic() - began > READY_SECONDS_MAX:
                raise self.failed(f"not ready after {READY_SECONDS_MAX} s")
            time.sleep(POLL_SECONDS)

    def check(self) -> None:
        """Raise if the process has ended."""
        if self.process.poll() is not None:
            raise self.failed(f"ended with {self.process.returncode}")

    def failed(self, what: str) -> PlaneError:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES_SHOWN:]
        tail = "".join(f"\n  {line[:LOG_LINE_LETTERS_MAX]}" for line in lines)
        return PlaneError(f"{self.name} {what}; its log ends:{tail}")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()

    def _is_ready(self) -> bool:
        """Ask whoever answers: the address is this machine's own and nothing secret is sent."""
        self.check()
        where = urlsplit(self._ready)
        connection = (
            http.client.HTTPSConnection(
                where.netloc,
                context=ssl._create_unverified_context(),  # noqa: S323 - see above
                timeout=ASK_SECONDS_MAX,
            )
            if where.scheme == "https"
            else http.client.HTTPConnection(where.netloc, timeout=ASK_SECONDS_MAX)
        )
        try:
            connection.request("GET", where.path)
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
