"""Running one program with a time limit and a bound on what it may print.

The hard thing is the bound: subprocess.run would keep whatever a broken tool prints. Both pipes are read
together until they close, the deadline passes or one of them is full; then the program is killed.
"""

import contextlib
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO

import msgspec

from ullage.model.errors import InputError

_CHUNK_BYTES = 65536
_STDERR_BYTES_MAX = 65536
_KILL_SECONDS = 1


class Completed(msgspec.Struct, frozen=True):
    """What a program left behind: exit status (negative: killed by that signal) and both outputs."""

    status: int
    stdout: str
    stderr: str


def run_bounded(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    timeout_seconds: float,
    stdout_bytes_max: int,
    stdin: bytes = b"",
) -> Completed:
    """Run a fixed argv without a shell; too slow, too much output or not startable is an InputError."""
    with tempfile.TemporaryFile() as script:
        script.write(stdin)
        script.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - argv is fixed by the caller, no shell is involved
                list(argv),
                stdin=script,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environment),
            )
        except OSError as error:
            raise InputError(f"cannot be run: {error.strerror}") from error
    try:
        stdout, stderr = _read_both(process, timeout_seconds, stdout_bytes_max)
    except BaseException:
        process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # a process stuck in the kernel is left behind
            process.wait(_KILL_SECONDS)
        raise
    finally:
        _pipe(process.stdout).close()
        _pipe(process.stderr).close()
    return Completed(process.returncode, stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace"))


def _read_both(
    process: subprocess.Popen[bytes], timeout_seconds: float, stdout_bytes_max: int
) -> tuple[bytearray, bytearray]:
    deadline = time.monotonic() + timeout_seconds
    late = InputError(f"no answer within {timeout_seconds:g} s")
    stdout, stderr = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(_pipe(process.stdout), selectors.EVENT_READ, stdout)
        selector.register(_pipe(process.stderr), selectors.EVENT_READ, stderr)
        while selector.get_map():
            left_seconds = deadline - time.monotonic()
            ready = selector.select(left_seconds) if left_seconds > 0 else []
            if not ready:
                raise late
            for key, _ in ready:
                chunk = os.read(key.fd, _CHUNK_BYTES)
                if chunk:
                    key.data.extend(chunk)
                else:
                    selector.unregister(key.fileobj)
            if len(stdout) > stdout_bytes_max:
                raise InputError(f"more than {stdout_bytes_max} bytes of output")
            del stderr[:-_STDERR_BYTES_MAX]
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise late from None
    return stdout, stderr


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None, "both outputs are pipes"  # noqa: S101 - Popen was given PIPE for both
    return pipe
