"""Usage as every question gets it: from tables, documents, ledgers, servers, Prometheus, metrics, this host.

A source is looked at once and becomes a book, in which pods are summed from their containers, and workloads,
namespaces, quotas, groups and the cluster from pods and nodes, where nobody observed them as such.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ullage.model.cluster import Snapshot
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.model.usage import MAX_USAGE, USAGE, kind_of
from ullage.service.asked import Asked, read_types
from ullage.service.ledger_file import file_of, ledger_path
from ullage.service.ledger_server import ServerPlace, server_place
from ullage.sources.server_access import is_server

if TYPE_CHECKING:
    from ullage.engine.usage.book import Book, Samples
    from ullage.engine.usage.evidence import Listed
    from ullage.engine.usage.gathered import Gathered
    from ullage.engine.usage.now import Now
    from ullage.service.usage_observe import Fresh

PROMETHEUS: Final = "prometheus"
METRICS: Final = "metrics"
HOST: Final = "host"
LIVE: Final = "kube"
RECORDED: Final = "recorded"
"""What the ledger of the question has recorded, which is meant too where no source is named."""
_DOCUMENTS: Final = (".yaml", ".yml", ".json", ".yaml.gz", ".yml.gz", ".json.gz")
_DATABASE: Final = b"SQLite format 3\0"
REMEDY: Final = (
    "name some with --usage FILE.csv, prometheus:URL, metrics or host, or record it with "
    "`ullage usage observe SOURCE --ledger FILE`"
)
SERVER_REMEDY: Final = (
    "start the server with --usage SOURCE, or send samples: POST /v1/clusters/NAME/usage/samples"
)
ADDRESS_REMEDY: Final = (
    f"write prometheus:URL; what a server of ullage has recorded is -c URL --usage {RECORDED}"
)


class NothingRecordedError(InputError):
    """A ledger of a question that has recorded no use."""


def read_usage(
    source: str, asked: Asked, snapshot: Snapshot | None = None, *, by_the_hour: bool = True
) -> "Book":
    """Return what was observed; without a source, what the ledger of the question has recorded.

    The snapshot says which pods are whose, and which types resources have. Of what is recorded, the peaks of
    pods are known `by_the_hour`: whoever wants no sums of those leaves the pods as they are.
    """
    members = snapshot if by_the_hour else None
    server, path = _recorder(source, asked)
    if server is not None:
        return _told(server, members)
    if path is not None:
        return _recorded(path, members, of_server=_is_of_server(source, asked))
    if source.lower().endswith(_DOCUMENTS):
        return _stated(source, types_of(asked, snapshot))
    return observed_book(observations(source, asked, snapshot), source, snapshot)


def read_needed_usage(
    source: str, asked: Asked, snapshot: Snapshot, needed: "Callable[[Listed], Collection[int]]"
) -> "Book":
    """Return at least what was observed of those streams of pods and containers that are needed.

    Of a ledger nothing else is read, and nothing is summed over crowds.
    """
    server, path = _recorder(source, asked)
    if server is None and path is not None:
        return _recorded_part(path, needed, of_server=_is_of_server(source, asked))
    if server is not None or source.lower().endswith(_DOCUMENTS):
        return read_usage(source, asked, snapshot, by_the_hour=False)
    return observed_book(observations(source, asked, snapshot), source, None)


def read_peaks_usage(
    source: str, asked: Asked, snapshot: Snapshot, resource: str, kinds: Sequence[str]
) -> "Book":
    """Return at least the peaks of the use of a resource by subjects of some kinds, crowds among them.

    Of a ledger nothing else is read. Nodes and pods must be among the kinds where crowds are.
    """
    server, path = _recorder(source, asked)
    if server is not None or path is None:
        return read_usage(source, asked, snapshot)
    from ullage.engine.usage.crowds import add_crowds
    from ullage.engine.usage.homes import Homes
    from ullage.stores.usage_parts import looking, read_peaks_of_kinds

    _check_recorded(path, of_server=_is_of_server(source, asked))
    with looking(path) as connection:
        book = read_peaks_of_kinds(connection, resource, kinds)
    homes = Homes(snapshot)
    add_crowds(book, lambda subject: tuple(each for each in homes.of(subject) if kind_of(each) in kinds))
    return book


def _recorder(source: str, asked: Asked) -> tuple[ServerPlace | None, Path | None]:
    """Return the server or the ledger that has recorded what is meant; neither for another source."""
    if source in {"", RECORDED}:
        server = None if asked.observed else server_place(asked.ledger)
        return (server, None) if server is not None else (None, recorded_file(asked))
    return None, Path(source) if _is_database(source) else None


def _is_of_server(source: str, asked: Asked) -> bool:
    return source in {"", RECORDED} and bool(asked.observed)


def recorded_file(asked: Asked) -> Path:
    """Return the file in which use is recorded that a question is asked with."""
    if asked.observed:
        return Path(asked.observed)  # of a server, which tells nobody where it is
    if not asked.ledger:
        raise InputError("nothing was observed", remedy=REMEDY)
    return file_of(ledger_path(asked.ledger, asked), "usage")


def observations(
    source: str, asked: Asked, snapshot: Snapshot | None = None, *, since_seconds: int | None = None
) -> "Iterator[Samples]":
    """Return what a source has that is looked at, and not kept by us.

    Where it keeps a history of its own, `since_seconds` says from when on that is wanted.
    """
    word, colon, rest = source.partition(":")
    if word == PROMETHEUS and (colon or not rest):
        return _prometheus(rest, asked, snapshot, since_seconds)
    if source == METRICS:
        from ullage.sources.usage.metrics_api import read_metrics_api

        if asked.cluster not in {"", LIVE}:
            raise InputError(f"{asked.cluster} has no metrics API", where=METRICS, remedy="use -c kube")
        return read_metrics_api(
            asked.context, asked.kubeconfig, as_user=asked.as_user, namespace=asked.namespace
        )
    if source == HOST:
        from ullage.sources.usage.host_samples import read_host

        return read_host(snapshot)
    if is_server(source):
        raise InputError("an address is no source of use", where=source, remedy=ADDRESS_REMEDY)
    from ullage.sources.usage.csv_samples import read_csv

    return read_csv(source, types_of(asked, snapshot))


def _prometheus(
    url: str, asked: Asked, snapshot: Snapshot | None, since_seconds: int | None
) -> "Iterator[Samples]":
    """Return what a Prometheus has: the one at an address, else the one that the live cluster runs."""
    from ullage.service.clock import now_seconds
    from ullage.sources.usage.prometheus_parts import window_of

    until_seconds = now_seconds()
    address, _, said = url.partition("?")
    window = window_of(said, until_seconds)
    if since_seconds is not None and window.first_seconds < since_seconds:
        window = window._replace(first_seconds=min(since_seconds, until_seconds - window.step_seconds))
    if address:
        from ullage.sources.usage.prometheus import read_prometheus

        return read_prometheus(address, window, snapshot=snapshot)
    from ullage.sources.kubernetes.kubeconfig import find_access
    from ullage.sources.usage.prometheus_discovery import read_discovered

    return read_discovered(
        find_access(asked.context, asked.kubeconfig), window, snapshot, as_user=asked.as_user
    )


def observed_book(samples: "Iterator[Samples]", source: str, snapshot: Snapshot | None) -> "Book":
    """Return a book of observations, with what crowds used where a snapshot says who belongs to them."""
    from ullage.engine.usage.book import Book

    book = Book()
    now = now_of(source, snapshot)
    crowds_of(book, samples if now is None else now.taking(samples), snapshot, now)
    if not len(book):
        raise InputError("nothing was observed", where=source, remedy="see that it has values and times")
    return book


def now_of(source: str, snapshot: Snapshot | None) -> "Now | None":
    """Return what adds up a source that knows only of now; None for others, and without a cluster."""
    from ullage.engine.usage.homes import Homes
    from ullage.engine.usage.now import Now

    return Now(Homes(snapshot)) if source == METRICS and snapshot is not None else None


def crowds_of(
    book: "Book | Gathered",
    samples: "Iterator[Samples]",
    snapshot: Snapshot | None,
    now: "Now | None" = None,
    fresh: "Fresh | None" = None,
) -> int:
    """Take observations into a book, with what crowds used, and return how many were dropped.

    Where `now` is given, it takes in all that is told, and knows what crowds use. Pods are the sums of their
    containers whatever the cluster is; `fresh` knows what was recorded before, and that these are told, too.
    """
    from ullage.engine.usage.crowds import Containers, Crowds
    from ullage.engine.usage.homes import Homes

    if now is not None:
        dropped = sum(book.add(each) for each in samples)
        for each in now.sums() if book else ():
            book.add(each)
        return dropped
    containers = Containers(book, None if fresh is None else fresh.before)
    crowds = None if snapshot is None else Crowds(Homes(snapshot))
    dropped = 0
    for each in samples:
        dropped += book.add(each)
        containers.add(each)
        if crowds is not None:
            crowds.add(each)
    if book:
        for each in containers.close(crowds):
            if fresh is not None:
                fresh.note_sums(each)
        if crowds is not None:
            crowds.put(book)
    return dropped


def types_of(asked: Asked, snapshot: Snapshot | None) -> ResourceTypes:
    """Return the types that amounts are read by."""
    return read_types(asked.types) if snapshot is None else snapshot.resource_types


def _is_database(source: str) -> bool:
    """Whether a source is a file of SQLite: ledgers are, whatever they are called."""
    try:
        with Path(source).open("rb") as file:
            return file.read(len(_DATABASE)) == _DATABASE
    except (OSError, ValueError):
        return False


def _recorded(path: Path, snapshot: Snapshot | None, *, of_server: bool = False) -> "Book":
    """Return what a ledger has recorded; where a server keeps its own is nobody's business."""
    from ullage.stores.usage import read_book

    book = None if of_server and not path.exists() else read_book(path)
    if not book:
        raise _nothing_recorded(path, of_server=of_server)
    return _with_crowds(book, snapshot)


def _recorded_part(path: Path, needed: "Callable[[Listed], Collection[int]]", *, of_server: bool) -> "Book":
    """Return what a ledger has recorded of some streams."""
    from ullage.stores.usage_listing import read_needed

    _check_recorded(path, of_server=of_server)
    return read_needed(path, needed)


def _check_recorded(path: Path, *, of_server: bool) -> None:
    """Refuse a ledger that has recorded no use."""
    from ullage.stores.usage import has_usage

    if (of_server and not path.exists()) or not has_usage(path):
        raise _nothing_recorded(path, of_server=of_server)


def _nothing_recorded(path: Path, *, of_server: bool) -> NothingRecordedError:
    if of_server:
        return NothingRecordedError("nothing was observed", remedy=SERVER_REMEDY)
    return NothingRecordedError("no usage is recorded in it", where=str(path), remedy=REMEDY)


def _told(server: ServerPlace, snapshot: Snapshot | None) -> "Book":
    """Return what a server has recorded."""
    from ullage.service.usage_server import server_book

    book = server_book(server)
    if not len(book):
        raise NothingRecordedError("nothing was observed", where=server.name, remedy=SERVER_REMEDY)
    return _with_crowds(book, snapshot)


def _with_crowds(book: "Book", snapshot: Snapshot | None) -> "Book":
    """Return a book with what crowds used, where a snapshot says who belongs to them."""
    from ullage.engine.usage.crowds import add_crowds
    from ullage.engine.usage.homes import Homes

    if snapshot is not None:
        add_crowds(book, Homes(snapshot).of)
    return book


def _stated(source: str, types: ResourceTypes) -> "Book":
    """Return what documents say, and all that can be taken back from their summaries."""
    from ullage.engine.usage.book import Book, DayRow, Stated, Stream, kept_day
    from ullage.engine.usage.from_summary import figures_of
    from ullage.engine.usage.levels import DAY_SECONDS
    from ullage.sources.usage_documents import read_statuses

    book = Book()
    stated: dict[str, list[Stated]] = {}
    for status, taken_seconds, promised in read_statuses(source, types):
        stated.setdefault(status.subject, []).append(Stated(status, taken_seconds, promised))
        if not status.subject:
            raise InputError("a status has no subject", where=source, remedy="write subject: node/NAME")
        at_seconds = taken_seconds or 0
        for measure, summaries in ((USAGE, status.usage), (MAX_USAGE, status.maxusage)):
            for resource, summary in summaries.items():
                stream = Stream(status.subject, resource, measure)
                figures = figures_of(summary, at_seconds)
                book.put(DayRow(stream, kept_day(stream, at_seconds // DAY_SECONDS), figures, None))
    book.stated.update((subject, each[0]) for subject, each in stated.items() if len(each) == 1)
    if not len(book):
        raise InputError("it says nothing of usage", where=source, remedy="write resourceStatus: [...]")
    return book
