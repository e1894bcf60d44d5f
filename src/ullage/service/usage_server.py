"""Usage that a server has recorded, for questions that are asked elsewhere: told there, and read here.

Nothing is summed up on the way: whoever asks has the very rows that the server has, and so the same answers.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from ullage.model.errors import InputError
from ullage.service.ledger_server import ServerPlace
from ullage.service.observed import recorded_file
from ullage.stores.usage_exchange import to_book, to_meters, usage_message

if TYPE_CHECKING:
    from ullage.engine.usage.book import Book
    from ullage.engine.usage.metering_counters import Meters
    from ullage.service.asked import Asked

PATH: Final = "usage/recorded"
DAYS: Final = "days"
METERS: Final = "meters"
"""What may be wanted alone of all that is recorded."""
Read = TypeVar("Read")


def recorded_message(asked: "Asked", only: str) -> Iterator[bytes]:
    """Return what is told of a cluster; meters count only where its ledger is the file that has them."""
    path = recorded_file(asked)
    meters = only != DAYS and asked.ledger == asked.observed
    return usage_message(path if path.exists() else None, days=only != METERS, meters=meters)


def server_book(place: ServerPlace) -> "Book":
    """Return all that a server has recorded of the use of a cluster, which may be nothing."""
    return _read(place, DAYS, to_book)


def server_meters(place: ServerPlace) -> "Meters | None":
    """Return the meters that a server has of a cluster, if it has any."""
    return _read(place, METERS, to_meters)


def _read(place: ServerPlace, only: str, read: Callable[[bytes], Read]) -> Read:
    from ullage.sources.server_client import remote_cluster

    cluster = remote_cluster(place.address)
    message = cluster.ask("GET", PATH, {"only": only}).body
    try:
        return read(message)
    except InputError as error:
        raise cluster.client.unreadable(f"its usage cannot be read: {error.what}") from None
