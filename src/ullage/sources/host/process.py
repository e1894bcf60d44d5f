"""Running one program with a time limit and a bound on what it may print.

The hard thing is the bound: subprocess.run would keep whatever a broken tool prints. Both pipes are read
together until they close, the deadline passes or one of them is full; then the program is killed.
"""

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
            raise InputError(f"cannot be run: {error.strerror}", where=argv[0]) from error
    with process:
        try:
            stdout, stderr = _read_both(process, argv[0], timeout_seconds, stdout_bytes_max)
        except BaseException:
            process.kill()
            raise
    return Completed(
        process.returncode, stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace")
    )


def _read_both(
    process: subprocess.Popen[bytes], program: str, timeout_seconds: float, stdout_bytes_max: int
) -> tuple[bytearray, bytearray]:
    deadline = time.monotonic() + timeout_seconds
    late = InputError(f"no answer within {timeout_seconds:g} s", where=program)
    stdout, stderr = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(_pipe(process.stdout), selectors.EVENT_READ, stdout)
        selector.register(_pipe(process.stderr), selectors.EVENT_READ, stderr)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise late
            for key, _ in ready:
                chunk = key.fileobj.read1(_CHUNK_BYTES)  # type: ignore[union-attr] # a BufferedReader
                if chunk:
                    key.data.extend(chunk)
                else:
                    selector.unregister(key.fileobj)
            if len(stdout) > stdout_bytes_max:
                raise InputError(f"more than {stdout_bytes_max} bytes of output", where=program)
            del stderr[_STDERR_BYTES_MAX:]
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise late from None
    return stdout, stderr


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None, "both outputs are pipes"  # noqa: S101 - stated two functions above
    return pipe
