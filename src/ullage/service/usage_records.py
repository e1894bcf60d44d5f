"""Use as a server tells it: records that the process that speaks HTTP knows too, without any numbers."""

from typing import Annotated

from msgspec import Meta

from ullage.model.constraints import Record

_Seconds = Annotated[int, Meta(description="In seconds since 1970.")]


class ResourceUse(Record, frozen=True):
    """One resource of a cluster in whole units (cores, bytes): used, promised, and there for workloads."""

    resource: str
    used: float
    requested: float
    limit: float


class Recorded(Record, frozen=True):
    """What came of recording: how much was taken, and what is used now by resource.

    `last_seconds` is the last moment of which something was told; 0 where nothing was.
    """

    points: int = 0
    dropped: int = 0
    repeated: int = 0
    last_seconds: int = 0
    now: tuple[ResourceUse, ...] = ()


class SamplesTaken(Record, frozen=True):
    """How many observations were taken of those that were sent.

    `repeated` are not later than what was taken before of the same subject, resource and measure, and count
    no more. Of those that were taken, `dropped` have no value.
    """

    cluster: str
    points: int
    dropped: int
    repeated: int
    last_seconds: _Seconds


class UsageSeries(Record, frozen=True):
    """The peaks of a resource by one measure: each of the `step_seconds` that begin at its time.

    Values are in whole units (cores, bytes). Where nothing was observed there is no point.
    """

    resource: str
    measure: str
    step_seconds: int
    times: list[int]
    values: list[float]


class SubjectSeries(Record, frozen=True):
    """What was observed of a subject over time, for charts."""

    cluster: str
    subject: str
    from_seconds: _Seconds
    to_seconds: _Seconds
    series: tuple[UsageSeries, ...]
