"""Writing a file so that readers see the old content or the new one, never a part of either.

The hard part is a crash: the content is on the disk before the name points to it, and the name is on the
disk before we say that it is written.
"""

import os
import tempfile
from pathlib import Path

from ullage.model.errors import InputError


def write_atomically(path: str, data: bytes) -> None:
    """Put data into a file that only its owner may read; a link is followed, and stays a link."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError("is a folder", where=path, remedy="name a file in it")
    try:
        _replace(target, data)
    except OSError as error:
        raise InputError(
            f"cannot be written: {(error.strerror or str(error)).lower()}",
            where=path,
            remedy="name a file in a folder that you may write to",
        ) from None


def _replace(target: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:  # mkstemp made it readable for its owner alone
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
