"""The seam between probes and the machine they ask: read a file, list a folder, run a command, size a mount.

Probes never touch the system themselves, so the same probes read this machine (LocalMachine) and one that
was recorded elsewhere (recorded.RecordedMachine). AbsentError ("there is no such thing here") is told apart
from UnavailableError ("it is there and cannot be read"): the first is often an ordinary answer, the second
never is.
"""

import os
import shutil
from pathlib import Path
from typing import Protocol

import msgspec

from ullage.model.errors import InputError
from ullage.sources.host.process import Completed, run_bounded

COMMAND_SECONDS_MAX = 10
CONTENT_BYTES_MAX = 16 * 1024 * 1024
ENTRIES_MAX = 65536
_CHUNK_BYTES = 65536
SYSTEM_PROGRAM_FOLDERS = "/usr/sbin:/sbin:/usr/bin:/bin"
TIMED_OUT_STATUS = 124  # of coreutils' and busybox' timeout, which bounds commands on recorded machines

Argv = tuple[str, ...]


class UnavailableError(InputError):
    """Something that exists on the machine and could not be read."""


class AbsentError(UnavailableError):
    """No such file, folder or command on the machine."""


class FileSystemSize(msgspec.Struct, frozen=True):
    """What statvfs tells: all blocks, those free, those ordinary users may take."""

    block_bytes: int
    total_blocks: int
    free_blocks: int
    available_blocks: int


class Machine(Protocol):
    """What a probe may ask; every method raises UnavailableError or AbsentError when there is no answer."""

    def read_text(self, path: str) -> str:
        """Return the content of a file."""

    def list_dir(self, path: str) -> tuple[str, ...]:
        """Return the sorted names in a folder."""

    def run(self, argv: Argv) -> str:
        """Return the standard output of a command that ended with status 0."""

    def file_system_size(self, mount_point: str) -> FileSystemSize:
        """Return the size of the file system mounted there."""


class LocalMachine:
    """The machine this program runs on."""

    def __init__(self) -> None:
        folders = f"{os.environ.get('PATH', '')}:{SYSTEM_PROGRAM_FOLDERS}".lstrip(":")
        self._environment = {
            **os.environ,
            "PATH": folders,
            "LC_ALL": "C",
            "LVM_SUPPRESS_FD_WARNINGS": "1",
        }

    def read_text(self, path: str) -> str:
        """Return the content of a file of at most 16 MiB; bytes that are no UTF-8 are replaced."""
        data = bytearray()
        try:
            # In small pieces: /proc/sys answers a request for megabytes with "cannot allocate memory".
            with Path(path).open("rb", buffering=0) as file:
                while len(data) <= CONTENT_BYTES_MAX and (chunk := file.read(_CHUNK_BYTES)):
                    data += chunk
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from error
        if len(data) > CONTENT_BYTES_MAX:
            raise UnavailableError(f"more than {CONTENT_BYTES_MAX} bytes", where=path)
        return data.decode("utf-8", "replace")

    def list_dir(self, path: str) -> tuple[str, ...]:
        """Return the sorted names in a folder of at most 65536 entries."""
        try:
            names = os.listdir(path)  # noqa: PTH208 - names are wanted, not paths
        except OSError as error:
            raise _unreadable(path, error) from error
        if len(names) > ENTRIES_MAX:
            raise UnavailableError(f"more than {ENTRIES_MAX} entries", where=path)
        return tuple(sorted(names))

    def run(self, argv: Argv) -> str:
        """Run a command for at most 10 s and return its output of at most 16 MiB."""
        program = shutil.which(argv[0], path=self._environment["PATH"])
        if program is None:
            raise no_such_command(argv)
        try:
            completed = run_bounded(
                (program, *argv[1:]),
                environment=self._environment,
                timeout_seconds=COMMAND_SECONDS_MAX,
                stdout_bytes_max=CONTENT_BYTES_MAX,
            )
        except InputError as error:
            raise UnavailableError(error.what, where=argv[0]) from error
        return output_of(argv, completed)

    def file_system_size(self, mount_point: str) -> FileSystemSize:
        """Ask the kernel about a mounted file system."""
        try:
            answer = os.statvfs(mount_point)
        except (OSError, ValueError) as error:
            raise _unreadable(mount_point, error) from error
        return FileSystemSize(answer.f_frsize, answer.f_blocks, answer.f_bfree, answer.f_bavail)


def output_of(argv: Argv, completed: Completed) -> str:
    """Return the output of a command that succeeded, or raise with the last thing it complained about."""
    if completed.status == 0:
        return completed.stdout
    if completed.status == TIMED_OUT_STATUS:
        raise UnavailableError(f"no answer within {COMMAND_SECONDS_MAX} s", where=argv[0])
    said = (completed.stderr.strip() or completed.stdout.strip()).rpartition("\n")[2].strip()[:200]
    detail = f": {said}" if said else ""
    remedy = "run as root" if "permission" in said.lower() or "root" in said.lower() else ""
    raise UnavailableError(f"ended with status {completed.status}{detail}", where=argv[0], remedy=remedy)


def no_such_command(argv: Argv) -> AbsentError:
    """Return the error for a command that is not installed."""
    return AbsentError(
        "command not found", where=argv[0], remedy=f"install {_PACKAGES.get(argv[0], argv[0])}"
    )


def _unreadable(path: str, error: OSError | ValueError) -> UnavailableError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return AbsentError("does not exist", where=path)
    if isinstance(error, PermissionError):
        return permission_denied(path)
    return UnavailableError(getattr(error, "strerror", None) or str(error), where=path)


def permission_denied(path: str) -> UnavailableError:
    """Return the error for a file that this user may not read."""
    return UnavailableError("permission denied", where=path, remedy="run as root")


_PACKAGES = {
    "lsblk": "util-linux",
    "lscpu": "util-linux",
    "vgs": "lvm2 if this host uses LVM",
    "pvs": "lvm2 if this host uses LVM",
    "lvs": "lvm2 if this host uses LVM",
    "xl": "xen-utils",
    "xm": "xen-utils",
    "nvidia-smi": "the NVIDIA driver's nvidia-smi",
    "uname": "coreutils",
}
