"""Where the ledger lies, and what it says: in a file (named or the user's own), a cluster, a server."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ullage.engine.ledger.sharing import survivors
from ullage.model.errors import InputError
from ullage.model.ledger_entry import LedgerEntry
from ullage.service.clock import now_seconds
from ullage.service.ledger_cluster import ClusterPlace, cluster_place, open_ledger
from ullage.service.ledger_server import ServerPlace, cluster_name, open_server_ledger, server_place
from ullage.service.progress import listener

if TYPE_CHECKING:
    import sqlite3

    from ullage.engine.ledger.state import LedgerState
    from ullage.model.ledger import Command, JournalRow, Outcome
    from ullage.model.verdict import Finding
    from ullage.service.asked import Asked
    from ullage.stores.kubernetes import KubernetesLedger
    from ullage.stores.remote import RemoteLedger

DATA_VARIABLE: Final = "XDG_DATA_HOME"
FILE: Final = ("ullage", "ledger.db")


Place = Path | ClusterPlace | ServerPlace


def ledger_path(named: str, asked: "Asked | None" = None) -> Place:
    """Return the file, the cluster or the server that is named, else the file in the user's folder for data.

    The ledger `kube` is that of the live cluster which is asked about, else of the current one.
    """
    place = cluster_place(named)
    if place is not None:
        if asked is None:
            return place
        return ClusterPlace(place.context or asked.context, asked.kubeconfig, asked.as_user)
    server = server_place(named)
    if server is not None:
        return server
    if named:
        return Path(named)
    data = os.environ.get(DATA_VARIABLE, "")
    folder = Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share"
    return folder.joinpath(*FILE)


def told_path(place: Place) -> str:
    """Return a place as people write it; of a server's cluster, its name, as the server tells it too."""
    if isinstance(place, ServerPlace):
        return cluster_name(place)
    if not isinstance(place, Path):
        return place.name
    home = Path.home()
    return f"~/{place.relative_to(home)}" if place.is_relative_to(home) else str(place)


def is_there(place: Place) -> bool:
    """Whether there may be a ledger; in a cluster or at a server there is one, though it may be empty."""
    return not isinstance(place, Path) or place.exists()


def file_of(place: Place, what: str) -> Path:
    """Return the file of a ledger, where something can be done with files alone."""
    if isinstance(place, ClusterPlace):
        raise InputError(
            f"{what} is of files, and {place.name} is a cluster", remedy="back up etcd, which has all of it"
        )
    if isinstance(place, ServerPlace):
        raise InputError(
            f"{what} is of files, and {place.name} is a server",
            remedy="do it there: --ledger DIR/clusters/NAME/ledger.db",
        )
    return place


def _opened(place: ClusterPlace | ServerPlace) -> "KubernetesLedger | RemoteLedger":
    return open_ledger(place) if isinstance(place, ClusterPlace) else open_server_ledger(place)


@contextlib.contextmanager
def reading(path: Path) -> "Iterator[sqlite3.Connection]":
    """Look at a ledger that exists at one moment; what is none is refused, and every file stays as it is."""
    from ullage.stores.database_file import failures
    from ullage.stores.opening import check, open_to_read

    check(path)
    with failures(path), contextlib.closing(open_to_read(path)) as connection:
        yield connection


def read_ledger(place: Place, revision: int | None = None) -> "LedgerState":
    """Return the state of a ledger that exists, now or after a step of the past."""
    if not isinstance(place, Path):
        with _opened(place) as ledger:
            return ledger.state() if revision is None else ledger.at(revision)
    from ullage.stores.reading import read_state, state_at

    with reading(place) as connection:
        return read_state(connection) if revision is None else state_at(connection, revision)


def read_journal(place: Place, subject: Mapping[str, str], after: int) -> "Iterator[JournalRow]":
    """Yield the steps after a revision that are kept and name the subject, by kind; all where it is empty."""
    if not isinstance(place, Path):
        with _opened(place) as ledger:
            rows = ledger.history(**subject) if subject else ledger.journal(after)
            yield from (row for row in rows if row.revision > after)
        return
    from ullage.stores import reading as tables

    with reading(place) as connection:
        if not subject:
            yield from tables.rows(connection, after)
            return
        names = [subject.get(kind, "") for kind in ("reservation", "owner", "capacity")]
        yield from (row for row in tables.rows_naming(connection, *names) if row.revision > after)


def earliest_step(place: Place) -> int:
    """Return the first step that is still kept: files keep all of them."""
    if isinstance(place, Path):
        return 1
    with _opened(place) as ledger:
        return ledger.earliest() + 1


def row_under(place: Place, key: str) -> "JournalRow | None":
    """Return the step that was asked for under a key; None where there is none, or none any more."""
    if not isinstance(place, Path):
        with _opened(place) as ledger:
            return ledger.row_of_key(key)
    from ullage.stores.reading import row_of_key

    with reading(place) as connection:
        return row_of_key(connection, key)


def verified(place: Place) -> "tuple[int, list[Finding]]":
    """Return the last revision of a ledger, and what is wrong with it."""
    if not isinstance(place, Path):
        with _opened(place) as ledger:
            return ledger.ask(lambda state: state.revision), ledger.verify()
    from ullage.stores.reading import head_of
    from ullage.stores.verify import verify

    with reading(place) as connection:
        steps = head_of(connection).revision
    return steps, verify(place, listener())


def live_entries(named: str, asked: "Asked | None" = None) -> tuple[LedgerEntry, ...]:
    """Return the entries of a ledger whose time has not come."""
    state = read_ledger(ledger_path(named, asked))
    return alive(state.entries, max(now_seconds(), state.at_seconds))


def alive(entries: Iterable[LedgerEntry], at_seconds: int) -> tuple[LedgerEntry, ...]:
    """Return the entries that still stand at a time, though nobody may have told the ledger yet."""

    def is_over(entry: LedgerEntry) -> bool:
        return entry.expires_seconds is not None and entry.expires_seconds <= at_seconds

    return tuple(survivors(entries, is_over))


def submitted(
    place: Place,
    command: "Command",
    *,
    at_seconds: int,
    key: str = "",
    revision: int | None = None,
    create: bool = False,
) -> "Outcome":
    """Take one step of a ledger; its file is made, and the folder for it, where that is wanted."""
    if not isinstance(place, Path):
        with _opened(place) as ledger:
            return ledger.submit(command, at_seconds=at_seconds, key=key, revision=revision)
    from ullage.stores.sqlite import SqliteLedger

    if create:
        place.parent.mkdir(parents=True, exist_ok=True)
    with SqliteLedger(place, create=create) as ledger:
        return ledger.submit(command, at_seconds=at_seconds, key=key, revision=revision)
