"""The clusters of a server: where each comes from, how it stands, and what is kept of it on the disk.

A folder for each holds the document that was uploaded, the ledger, and the last revision with a digest of
what was read under it: a server that starts again gives an unchanged cluster its old revision, and a changed
one a new one. The hard thing is a crash: a revision is on the disk before anybody hears of it, and a document
is replaced as a whole.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

from ullage.model.errors import InputError
from ullage.sources.atomic_file import write_atomically
from ullage.sources.server_access import is_server
from ullage.web.http import Problem

NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?")
NAME_RULE: Final = "up to 63 of a-z, 0-9, dot, dash and underscore, a letter or digit first and last"
DOCUMENT: Final = "document"
UPLOAD: Final = "upload"
KNOWN: Final = "cluster.json"
LEDGER: Final = "ledger.db"
UPLOADED: Final = "upload"
_NEVER_CHANGE: Final = ("demo", "synthetic")


class Origin(msgspec.Struct, frozen=True):
    """Where a cluster is read from: what `-c` names, as who; or the document that somebody uploaded."""

    spec: str = UPLOADED
    context: str = ""
    kubeconfig: str = ""
    as_user: str = ""
    types: tuple[str, ...] = ()
    is_upload: bool = False

    @property
    def kind(self) -> str:
        """What may be told of it: no path, no address, no secret."""
        word = self.spec.partition(":")[0]
        if is_server(self.spec):
            return "server"
        if self.is_upload or word in {"kube", "demo", "synthetic", "csv", "ganeti"}:
            return UPLOADED if self.is_upload else word
        return "folder" if Path(self.spec).is_dir() else "file"

    @property
    def may_change(self) -> bool:
        """Whether it can be another when it is read again."""
        return not self.is_upload and self.kind not in _NEVER_CHANGE

    def stamp(self) -> tuple[int, ...]:
        """Return what differs once a file was written to; nothing where that cannot be seen."""
        if self.kind != "file":
            return ()
        try:
            found = os.stat(self.spec)  # noqa: PTH116 - the text is what `-c` named
        except OSError:
            return ()
        return found.st_ino, found.st_size, found.st_mtime_ns


class ObservedState(msgspec.Struct, frozen=True, rename="camel"):
    """How the use of a cluster is observed: from which kind of source, how lately, and why not any more.

    `read_seconds` is when the source was last read, `last_seconds` the moment that it told of last.
    """

    source: str = ""
    read_seconds: int = 0
    last_seconds: int = 0
    points: int = 0
    failure: str = ""


class ClusterState(msgspec.Struct, frozen=True, rename="camel"):
    """How a cluster of the server stands.

    `failure` is why the last reading failed; then the one before it is still answered from, if there was one.
    """

    name: str
    source: str
    state: Literal["reading", "ready", "failed"]
    revision: int = 0
    nodes: int = 0
    workloads: int = 0
    read_seconds: int = 0
    reading_took_seconds: float = 0.0
    failure: str = ""
    workers: int = 0
    waiting: int = 0
    usage: ObservedState | None = None


class Heard(msgspec.Struct, frozen=True):
    """What happened to a cluster."""

    kind: Literal["revision", "failure", "removed"]
    state: ClusterState


class Known(msgspec.Struct, frozen=True):
    """The last revision of a cluster, and the digest of what was read under it."""

    revision: int = 0
    digest: str = ""


class ClusterFolder:
    """What is kept of one cluster."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def document(self) -> Path:
        """The document that was uploaded and read."""
        return self.folder / DOCUMENT

    @property
    def upload(self) -> Path:
        """A document that was uploaded, and not yet read."""
        return self.folder / UPLOAD

    @property
    def ledger(self) -> Path:
        """The file of its promises."""
        return self.folder / LEDGER

    def known(self) -> Known:
        """Return what is known of the last reading; raises a Problem where the file is damaged.

        To begin at 1 again would give a revision that others know to another cluster.
        """
        try:
            return msgspec.json.decode((self.folder / KNOWN).read_bytes(), type=Known)
        except FileNotFoundError:
            return Known()
        except (UnicodeDecodeError, msgspec.DecodeError) as error:
            raise Problem(
                500,
                "the server's own record of the cluster is damaged",
                f"the server's own record {KNOWN} is damaged ({error}); put back a copy of it",
            ) from None

    def keep(self, known: Known) -> None:
        """Write the revision down."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(str(self.folder / KNOWN), msgspec.json.encode(known))

    def take(self, document: bytes) -> Path:
        """Write a document that is to be read."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(str(self.upload), document)
        return self.upload

    def accept(self) -> None:
        """Make the document that was read the one of the cluster."""
        self.upload.replace(self.document)
        _flush(self.folder)

    def refuse(self) -> None:
        """Forget a document that could not be read, and the folder if nothing else is in it."""
        self.upload.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def remove(self) -> None:
        """Forget the document; the count of revisions stays, for a cluster of the same name."""
        self.refuse()
        self.document.unlink(missing_ok=True)
        _flush(self.folder)


def uploaded(folder: Path) -> list[str]:
    """Return the names of the clusters that were uploaded."""
    if not folder.is_dir():
        return []
    names = (each.name for each in folder.iterdir() if (each / DOCUMENT).is_file())
    return sorted(name for name in names if NAME.fullmatch(name))


def check_name(name: str) -> None:
    """Refuse what is no name of a cluster: it is a folder's name too."""
    if not NAME.fullmatch(name):
        raise Problem(422, "no name for a cluster", f"use {NAME_RULE}")


@contextlib.contextmanager
def failures() -> Iterator[None]:
    """Say what the system refuses as a Problem: why, and no path, because every reader is told."""
    try:
        yield
    except (InputError, OSError) as error:
        why = error.what if isinstance(error, InputError) else (error.strerror or str(error)).lower()
        raise Problem(
            503,
            "the cluster cannot be read",
            f"the server cannot use its own files or processes: {why}",
        ) from error


def _flush(folder: Path) -> None:
    if not folder.is_dir():
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
