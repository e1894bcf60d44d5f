"""A copy of a ledger, taken while others use it, and believed only after it was verified."""

import contextlib
from pathlib import Path

from ullage.model.errors import InputError
from ullage.stores.database_file import copied
from ullage.stores.opening import check, open_to_read
from ullage.stores.protocol import StoreUnavailableError
from ullage.stores.reading import head_of
from ullage.stores.verify import verify


def backup(path: Path, target: Path) -> int:
    """Copy a ledger to a new file and return the revision of the copy.

    The file gets its name when the copy has been proved: until then, and if anything fails, there is none.
    """
    check(path)
    try:
        with copied(path, target) as copy:
            return _proved(path, copy)
    except FileExistsError:
        raise InputError("is there already", where=str(target), remedy="name a new file") from None


def _proved(path: Path, copy: Path) -> int:
    errors = [finding for finding in verify(copy) if finding.severity == "error"]
    if errors:
        raise StoreUnavailableError(
            f"has {len(errors)} errors, the first: {errors[0].message}",
            where=str(path),
            remedy="see what `ullage ledger verify` says; there is no backup of such a ledger",
        )
    with contextlib.closing(open_to_read(copy)) as connection:
        return head_of(connection).revision
