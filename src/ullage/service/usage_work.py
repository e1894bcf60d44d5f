"""What a server has done about use, by name: recording it, and telling of one subject or of all."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ullage.model.wire import API_VERSION

if TYPE_CHECKING:
    from ullage.service.asked import Asked

Parameters = Mapping[str, Any]


def _source(asked: "Asked", parameters: Parameters, body: bytes) -> bytes:  # noqa: ARG001 - as all of them
    from ullage.service.usage_recording import Access, record_source

    access = msgspec.convert(parameters.get("access", {}), Access)
    return msgspec.json.encode(record_source(asked, parameters["source"], access))


def _sent(asked: "Asked", parameters: Parameters, body: bytes) -> bytes:  # noqa: ARG001 - as all of them
    from ullage.service.usage_recording import BODY, record_sent
    from ullage.sources.given import giving

    with giving({BODY: body}):
        return msgspec.json.encode(record_sent(asked))


def _committed(asked: "Asked", parameters: Parameters, body: bytes) -> bytes:  # noqa: ARG001 - as all of them
    from ullage.service.usage_recording import record_committed

    return msgspec.json.encode(record_committed(asked, is_live=parameters.get("is_live", False)))


def _status(asked: "Asked", parameters: Parameters, body: bytes) -> bytes:  # noqa: ARG001 - as all of them
    from ullage.service.usage_told import subject_status

    return msgspec.json.encode(subject_status(asked, parameters["subject"]))


def _series(asked: "Asked", parameters: Parameters, body: bytes) -> bytes:  # noqa: ARG001 - as all of them
    from ullage.service.usage_told import SeriesQuestion, subject_series

    found = subject_series(asked, SeriesQuestion(**parameters))
    told = {"apiVersion": API_VERSION, "kind": "SubjectSeries", **msgspec.to_builtins(found)}
    return msgspec.json.encode(told)


def _recorded(asked: "Asked", parameters: Parameters, body: bytes) -> bytes:  # noqa: ARG001 - as all of them
    return next(_message(asked, parameters["only"]), b"")


@cache
def _message(asked: "Asked", only: str) -> Iterator[bytes]:
    """Return all that is recorded, part by part: the process that tells it was forked for that alone."""
    from ullage.service.usage_server import recorded_message

    return recorded_message(asked, only)


WORKS: Final[Mapping[str, "Callable[[Asked, Parameters, bytes], bytes]"]] = MappingProxyType(
    {
        "source": _source,
        "sent": _sent,
        "committed": _committed,
        "status": _status,
        "series": _series,
        "recorded": _recorded,
    }
)
