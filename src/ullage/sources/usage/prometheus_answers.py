"""What a Prometheus answers, decoded straight into columns: which series, at which moments, how much.

Values stand in the text as strings; msgspec makes numbers of them as it reads, so that a sample costs half a
microsecond. What is no number (stale, NaN, infinite) is NaN in the columns.
"""

from collections.abc import Mapping
from itertools import chain
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from ullage.model.errors import InputError
from ullage.sources.usage.prometheus_server import QUERY_SECONDS_MAX, Asked, require

SERIES_MAX: Final = 2_000_000
_RANGE: Final = "/api/v1/query_range"
_INSTANT: Final = "/api/v1/query"
_PLUS: Final = (b'"+Inf"', b'"Inf"')
Numbers = npt.NDArray[np.float64]


class Labels(msgspec.Struct, frozen=True):
    """The labels that we ask for; those that are not there are empty."""

    namespace: str = ""
    pod: str = ""
    container: str = ""
    node: str = ""
    nodename: str = ""
    instance: str = ""
    internal_ip: str = ""
    kubernetes_io_hostname: str = ""
    interface: str = ""
    id: str = ""
    job: str = ""


class Series(NamedTuple):
    """Samples of many series, as columns; `numbers` says of which each is."""

    labels: list[Labels]
    numbers: npt.NDArray[np.int64]
    seconds: Numbers
    values: Numbers


class _Series(msgspec.Struct):
    metric: Labels
    values: list[tuple[float, float]] = []
    value: tuple[float, float] | None = None


class _Data(msgspec.Struct, rename="camel"):
    result_type: str
    result: list[_Series]


class _Answer(msgspec.Struct):
    data: _Data


class _Values(msgspec.Struct):
    data: list[str] = []


_ANSWER: Final = msgspec.json.Decoder(_Answer, strict=False)
_VALUES: Final = msgspec.json.Decoder(_Values)


def ask_range(server: Asked, query: str, first: int, last: int, step: int) -> Series:
    """Return the values of an expression from one moment to another; a TooMuchError."""
    return _asked(server, _RANGE, {"query": query, "start": str(first), "end": str(last), "step": str(step)})


def ask_at(server: Asked, query: str, at_seconds: int) -> Series:
    """Return the values of an expression at a moment; of a range in brackets, its samples as kept."""
    return _asked(server, _INSTANT, {"query": query, "time": str(at_seconds)})


def ask_values(server: Asked, label: str, matcher: str, first: int, last: int) -> list[str]:
    """Return the values that a label has in the series of a matcher."""
    query = {"match[]": matcher, "start": str(first), "end": str(last)}
    reply = server.ask(f"/api/v1/label/{label}/values", query)
    require(reply, server.name)
    try:
        return sorted(_VALUES.decode(reply.data).data)
    except (msgspec.DecodeError, RecursionError):
        raise _no_prometheus(server) from None


def _asked(server: Asked, path: str, query: Mapping[str, str]) -> Series:
    reply = server.ask(path, {**query, "timeout": f"{QUERY_SECONDS_MAX}s"})
    require(reply, server.name)
    found = decode(reply.data)
    if found is None:
        raise _no_prometheus(server)
    return found


def decode(data: bytes | bytearray) -> Series | None:
    """Return the series of an answer; None where it is no answer of a Prometheus."""
    try:
        try:
            result = _ANSWER.decode(data).data.result
        except msgspec.DecodeError:
            if _PLUS[0] not in data:
                raise
            result = _ANSWER.decode(data.replace(*_PLUS)).data.result
    except (msgspec.DecodeError, RecursionError):
        return None
    if len(result) > SERIES_MAX:
        return None
    for each in result:
        if each.value is not None:
            each.values = [each.value]
    lengths = np.fromiter((len(each.values) for each in result), np.int64, len(result))
    pairs = np.fromiter(
        chain.from_iterable(chain.from_iterable(each.values for each in result)),
        np.float64,
        2 * int(lengths.sum()),
    ).reshape(-1, 2)
    values = np.where(np.isfinite(pairs[:, 1]), pairs[:, 1], np.nan)
    return Series(
        [each.metric for each in result], np.repeat(np.arange(len(result)), lengths), pairs[:, 0], values
    )


def _no_prometheus(server: Asked) -> InputError:
    return InputError(
        "the answer is not that of a Prometheus",
        where=server.name,
        remedy="name the address below which /api/v1/query answers",
    )
