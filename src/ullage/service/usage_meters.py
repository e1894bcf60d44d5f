"""Meters as questions get them: from a table, Prometheus or the ledger; and recording them there."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.model.constraints import Record
from ullage.model.resources import ResourceTypes
from ullage.render import view
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked
from ullage.service.clock import now_seconds, told_time
from ullage.service.ledger_file import file_of, ledger_path, told_path
from ullage.service.ledger_server import ServerPlace
from ullage.service.words import fact_table, plural

if TYPE_CHECKING:
    from ullage.engine.capacity.metering import Reading
    from ullage.engine.usage.metering_counters import CounterName, Meters
    from ullage.sources.usage.prometheus_counters import Scraped

PROMETHEUS: Final = "prometheus"
NOWHERE: Final = Asked()


class MeterReport(Record, frozen=True):
    """The answer to `ullage usage meter`; `late` readings came too late to count, or were counted before."""

    ledger: str
    source: str
    counters: int
    readings: int
    late: int
    counters_kept: int
    last_seconds: int | None = None


class Found(NamedTuple):
    """Readings of a counter, and where it wraps around, if that is stated.

    Or the first one of a counter that began at 0, and when that was. Names of those that are scraped may
    lack an id that others of their family have.
    """

    name: "CounterName"
    readings: "list[Reading]"
    wraps_at: int | None = None
    began_seconds: int | None = None
    is_scraped: bool = False


def metered(source: str, gap_seconds: int, asked: Asked = NOWHERE) -> "Meters":
    """Return what the readings of a source come to."""
    from ullage.engine.usage.metering_counters import Meters

    meters = Meters(gap_seconds=gap_seconds)
    _take(meters, read_readings(source, asked))
    return meters


def _take(meters: "Meters", found: Iterable[Found]) -> int:
    """Put what was found of counters to what is known; return how many readings came too late."""
    from ullage.engine.usage.metering_families import Families

    families, late = Families(meters), 0
    for each in found:
        if each.began_seconds is not None:
            families.began(each.name, each.began_seconds, each.readings[0])
        elif each.is_scraped:
            late += families.add(each.name, each.readings)
        else:
            late += meters.add(each.name, each.readings, each.wraps_at)
    return late


def read_readings(source: str, asked: Asked = NOWHERE) -> Iterator[Found]:
    """Yield what a source has of counters: a table, or a Prometheus."""
    word, _, rest = source.partition(":")
    if word == PROMETHEUS:
        for each in _scraped(rest, asked):
            yield Found(each.name, each.readings, None, each.began_seconds, is_scraped=True)
        return
    from ullage.sources.usage.counters_csv import read_counters

    for name, found in read_counters(source).items():
        yield Found(name, found.readings, found.wraps_at)


def _scraped(url: str, asked: Asked) -> "Iterator[Scraped]":
    """Return what a Prometheus has: the one at an address, else the one that the live cluster runs."""
    address, _, said = url.partition("?")
    if address:
        from ullage.sources.usage.prometheus_counters import read_counters

        return read_counters(url)
    from ullage.sources.kubernetes.kubeconfig import find_access
    from ullage.sources.usage.prometheus_discovery import read_discovered_counters
    from ullage.sources.usage.prometheus_parts import window_of

    access = find_access(asked.context, asked.kubeconfig)
    return read_discovered_counters(access, window_of(said, now_seconds()), as_user=asked.as_user)


def recorded(asked: Asked) -> "Meters | None":
    """Return the meters that the ledger of a question has, if it is a file or of a server, and has any."""
    place = ledger_path(asked.ledger, asked) if asked.ledger else None
    if isinstance(place, ServerPlace):
        from ullage.service.usage_server import server_meters

        return server_meters(place)
    if not isinstance(place, Path) or not place.exists():
        return None
    from ullage.stores.usage_meters import read_meters

    return read_meters(place)


def usage_meter(source: str, ledger: str, asked: Asked = NOWHERE) -> Answer:
    """Record readings of counters in the file of a ledger, and answer how many they were.

    The question says which cluster is live, where the source is of it.
    """
    from ullage.stores.usage_meters import change_meters

    path = file_of(ledger_path(ledger), "metering")
    path.parent.mkdir(parents=True, exist_ok=True)
    found = list(read_readings(source, asked))

    def change(meters: "Meters") -> MeterReport:
        late = _take(meters, found)
        meters.forget()
        span = meters.span_seconds()
        return MeterReport(
            told_path(path),
            source,
            len({each.name for each in found}),
            sum(len(each.readings) for each in found if each.began_seconds is None),
            late,
            len(meters.counters),
            None if span is None else span[1],
        )

    report = change_meters(path, change)
    return Answer(
        lambda: _page(report),
        lambda: versioned("MeterReport", report, ResourceTypes()),
    )


def _page(report: MeterReport) -> view.Page:
    facts = (
        ("counters", str(report.counters)),
        ("readings", str(report.readings)),
        ("late or repeated", str(report.late)),
        ("counters kept", str(report.counters_kept)),
        ("until", told_time(report.last_seconds)),
    )
    what = f"{plural(report.readings, 'reading')} of {plural(report.counters, 'counter')}"
    return view.Page(
        title="Metering",
        verdict=view.Verdict(f"{what} are metered in {report.ledger}", "yes"),
        blocks=(fact_table("Metered", facts),),
        next_command=f"ullage usage report --ledger {report.ledger}",
        about=f"ledger {report.ledger}",
    )
