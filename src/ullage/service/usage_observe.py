"""Recording usage: a source is read, what it tells beyond what it told before is added to the ledger's file.

Whatever interrupts it, each reading is there as a whole or not at all, and reading again what was read counts
nothing twice: for each source and stream the ledger knows the last moment that was told. With a cluster, what
crowds use is added up, and what is committed is recorded too, so that there is a history to forecast from;
sums are kept as long as one source tells of everybody, and made when somebody asks otherwise.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np

from ullage.engine.usage.book import Samples, Stream, kept_day
from ullage.engine.usage.buckets import Integers
from ullage.engine.usage.gathered import Gathered
from ullage.engine.usage.levels import DAY_SECONDS
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.model.usage import COMMITTED, USAGE
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, read_cluster
from ullage.service.clock import now_seconds
from ullage.service.ledger_file import file_of, ledger_path, told_path
from ullage.service.observed import LIVE, METRICS, crowds_of, now_of, observations

if TYPE_CHECKING:
    from ullage.engine.usage.now import Now
    from ullage.stores.usage_known import Known
    from ullage.stores.usage_reading import Recorder, Told

LATE_SECONDS: Final = 3600
"""A source with a history is asked so far back beyond what it told last: some of it may come late."""
_DAY_BITS: Final = 32
NEVER: Final = -1
"""Before everything that was told: what is told then is in no sums."""
STORAGE: Final = "storage-space"


class ObserveQuestion(NamedTuple):
    """What is recorded: a source, once or every so many seconds, for a time or until it is interrupted.

    Without a source it is the metrics API of a live cluster; of another one, only what is committed.
    """

    source: str = ""
    every_seconds: int = 0
    for_seconds: int = 0


class ObserveReport(Record, frozen=True):
    """The answer to `ullage usage observe`.

    `known` are points that were recorded before, `late` those of a table that were not, and are older than
    what was; `recorded` are days of streams that were added to.
    """

    ledger: str
    source: str
    readings: int
    points: int
    dropped: int
    known: int
    streams: int
    recorded: int
    last_seconds: int | None = None
    failures: tuple[str, ...] = ()
    late: int = 0


class Fresh:
    """What of a source is new: later than what it told of the same stream before.

    `first_seconds` is the moment of the first use that is new; where none is, it is `at_most`. `old` has how
    many points are not new, by stream and the day under which they are kept. `told` says how far those go
    that are new.
    """

    def __init__(self, known: "Known", at_most: int) -> None:
        self.known = known
        self.told: list[Told] = []
        self.first_seconds = at_most
        self.old: dict[tuple[Stream, int], int] = {}
        self.points = 0

    def of(self, samples: Samples, now: "Now | None" = None) -> Samples:
        """Return the points that are new, and note how far they go; `now` takes in the others, too."""
        from ullage.stores.usage_reading import Told

        names = samples.subjects, samples.resource, samples.measure
        new = samples.at_seconds > self.known.before(*names)[samples.numbers]
        if now is not None:
            now.add(samples, new)
        count = int(np.count_nonzero(new))
        self.points += count
        if count < len(new):
            self._note_old(samples, samples.numbers[~new], samples.at_seconds[~new])
        numbers, moments = samples.numbers[new], samples.at_seconds[new]
        if samples.measure == USAGE:
            self.first_seconds = int(moments.min(initial=self.first_seconds))
        last = np.full(len(samples.subjects), -1, np.int64)
        np.maximum.at(last, numbers, moments)
        self.told.append(Told(samples.resource, samples.measure, samples.subjects, last))
        return samples._replace(numbers=numbers, at_seconds=moments, amounts=samples.amounts[new])

    def before(self, subjects: Sequence[str], resource: str) -> Integers:
        """Return up to when use of subjects was told before."""
        return self.known.before(subjects, resource, USAGE)

    def note_sums(self, samples: Samples) -> None:
        """Note that what was added up within a reading is told by its source, too."""
        from ullage.stores.usage_reading import Told

        last = np.full(len(samples.subjects), -1, np.int64)
        np.maximum.at(last, samples.numbers, samples.at_seconds)
        self.told.append(Told(samples.resource, samples.measure, samples.subjects, last))

    def goes_on(self) -> bool:
        """Whether all that is new is later than all before, and nobody is told of without anything new."""
        before = self.known.told_until_seconds
        new = {
            (each.subjects[place], each.resource)
            for each in self.told
            if each.measure == USAGE
            for place in np.flatnonzero(each.last_seconds >= 0).tolist()
        }
        old = {(stream.subject, stream.resource) for stream, _ in self.old if stream.measure == USAGE}
        return before is None or (self.first_seconds > before and old <= new)

    def until_seconds(self) -> int | None:
        """Return the last moment of what is new; None where nothing is."""
        last = max((int(each.last_seconds.max(initial=-1)) for each in self.told), default=-1)
        return None if last < 0 else last

    def last_seconds(self) -> dict[Stream, int]:
        """Return the last moment of each stream of which anything is new."""
        found: dict[Stream, int] = {}
        for resource, measure, subjects, last in self.told:
            for place in np.flatnonzero(last >= 0).tolist():
                stream = Stream(subjects[place], resource, measure)
                found[stream] = max(int(last[place]), found.get(stream, -1))
        return found

    def _note_old(self, samples: Samples, numbers: Integers, moments: Integers) -> None:
        days = moments // DAY_SECONDS
        pairs, counts = np.unique(numbers << _DAY_BITS | days, return_counts=True)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            stream = Stream(samples.subjects[pair >> _DAY_BITS], samples.resource, samples.measure)
            key = stream, kept_day(stream, pair & (1 << _DAY_BITS) - 1)
            self.old[key] = self.old.get(key, 0) + count


def usage_observe(
    asked: Asked, question: ObserveQuestion, sleep: Callable[[float], None] = time.sleep
) -> Answer:
    """Record what a source tells, and answer how much that was."""
    from ullage.service.usage_observe_page import usage_observe_page

    if not asked.ledger:
        raise InputError("no ledger is named to record usage in", remedy="name its file with --ledger FILE")
    if not question.source and not asked.cluster:
        raise InputError(
            "nothing to observe is named", remedy="name FILE.csv, prometheus:URL, metrics or host, or use -c"
        )
    question = question._replace(source=question.source or (METRICS if asked.cluster == LIVE else ""))
    path = file_of(ledger_path(asked.ledger, asked), "usage")
    path.parent.mkdir(parents=True, exist_ok=True)
    total = ObserveReport(told_path(path), question.source, 0, 0, 0, 0, 0, 0)
    for report in _readings(asked, question, path, sleep):
        total = _sum(total, report)
    return Answer(
        lambda: usage_observe_page(total, asked),
        lambda: versioned("ObserveReport", total, ResourceTypes()),
        yes=bool(total.readings),
    )


def _readings(
    asked: Asked, question: ObserveQuestion, path: Path, sleep: Callable[[float], None]
) -> Iterator[ObserveReport]:
    """Yield each reading; one that fails ends all if it is the only one, and is told otherwise.

    An interruption ends them: what was recorded until then is told.
    """
    from ullage.stores.usage_reading import Recorder

    end = time.monotonic() + question.for_seconds
    recorder = Recorder(path, known_as(asked, question.source))
    try:
        while True:
            begin = time.monotonic()
            try:
                yield record(asked, question.source, recorder)
            except InputError as error:
                if not question.every_seconds:
                    raise
                yield ObserveReport("", question.source, 0, 0, 0, 0, 0, 0, failures=(str(error),))
            wait = max(0.0, begin + question.every_seconds - time.monotonic())
            if not question.every_seconds or (question.for_seconds and time.monotonic() + wait > end):
                return
            sleep(wait)
    except KeyboardInterrupt:
        return


def known_as(asked: Asked, source: str) -> str:
    """Return what a source is known by, or the cluster of which only what is committed is recorded."""
    return source_name(source) if source else f"cluster:{asked.cluster}"


def record(asked: Asked, source: str, recorder: "Recorder") -> ObserveReport:
    """Read a source once and add what is new to a ledger, in one step."""
    from ullage.stores.opening import bring_up_to_date

    path = recorder.path
    if path.exists():
        bring_up_to_date(path)  # its promises are read first
    return record_of(asked, source, recorder, _snapshot(asked, source, path))


def record_of(
    asked: Asked,
    source: str,
    recorder: "Recorder",
    snapshot: Snapshot | None,
    *,
    commits: bool = True,
    crowds: bool = True,
    still_is: bool = False,
) -> ObserveReport:
    """Do the same with a cluster that was read already.

    Unless it `commits`, what is committed is left to others; and what crowds use, unless these are wanted.
    What is committed was so when the cluster was taken, or `still_is` so.
    """
    from ullage.stores.reading import not_collecting
    from ullage.stores.usage_late import late_points

    known = recorder.known()
    at_seconds = now_seconds()
    fresh = Fresh(known, at_seconds)
    since = known.told_until_seconds
    since_seconds = None if since is None else since - LATE_SECONDS
    read = observations(source, asked, snapshot, since_seconds=since_seconds) if source else iter(())
    gathered = Gathered()
    members = snapshot if crowds else None
    now = now_of(source, members)
    new = (fresh.of(_checked(each, at_seconds, source), now) for each in read)
    with not_collecting() if now is not None else contextlib.nullcontext():
        dropped = crowds_of(gathered, new, members, now, fresh)
    if source and not fresh.points and not fresh.old:
        raise InputError("nothing was observed", where=source, remedy="see that it has values and times")
    points, old = fresh.points, sum(fresh.old.values())
    late = late_points(recorder.path, fresh.old) if source and is_table(source) else 0
    last = fresh.until_seconds()
    if snapshot is not None and commits:
        taken = at_seconds if still_is or snapshot.taken_seconds is None else snapshot.taken_seconds
        for samples in committed_of(snapshot, taken):
            gathered.add(fresh.of(samples))
    if source and is_table(source) and not fresh.goes_on():
        fresh.first_seconds = NEVER  # sums of some would be told as those of all
    streams = len(gathered)
    recorded = _recorded(recorder, gathered, fresh, at_seconds) if streams else 0
    return ObserveReport(
        "",
        source,
        1,
        points,
        dropped,
        old - late,
        streams,
        recorded,
        last_seconds=since if last is None else last,
        late=late,
    )


def _recorded(recorder: "Recorder", gathered: Gathered, fresh: Fresh, at_seconds: int) -> int:
    """Write what is new: as it came where it may wait, else into the days of its streams."""
    from ullage.stores.usage import Batch, Marks, append
    from ullage.stores.usage_reading import Reading

    source = recorder.source
    if not gathered.is_book:
        reading = Reading(source, gathered.parts, fresh.told, at_seconds, fresh.first_seconds)
        waiting = recorder.wait(fresh.known, reading)
        if waiting is not None:
            return waiting
    marks = Marks(fresh.known.batches, fresh.last_seconds())
    return append(recorder.path, Batch(source, gathered.book(), marks, at_seconds, fresh.first_seconds))


def is_table(source: str) -> bool:
    """Whether a source is a table: others are asked for what is new, and tell again only what they told."""
    return source not in {METRICS, "host"} and source.partition(":")[0] != "prometheus"


def source_name(source: str) -> str:
    """Return what a source is known by: a file by its whole path, an address without a window."""
    word, _, rest = source.partition(":")
    if source in {METRICS, "host", "-"}:
        return source
    if word == "prometheus":
        return f"{word}:{rest.partition('?')[0].rstrip('/')}"
    return str(Path(source).resolve())


def committed_of(snapshot: Snapshot, at_seconds: int) -> Iterator[Samples]:
    """Yield what is committed at a moment of the cluster, its groups, quotas and classes of drives."""
    from ullage.engine.capacity.summary import summarise_groups, total
    from ullage.engine.quota.use import quota_use
    from ullage.service.disks_list import disks_of, totals_of
    from ullage.service.held import columns_of

    columns = columns_of(snapshot)
    groups = summarise_groups(columns)
    levels: dict[str, dict[str, int]] = {}

    def put(subject: str, resource: str, amount: int) -> None:
        levels.setdefault(resource, {})[subject] = amount

    for resource, amount in total(groups, "cluster").committed.items():
        put("cluster", resource, amount)
    for group in groups:
        for resource, amount in group.committed.items():
            put(f"group/{group.name}", resource, amount)
    for use in quota_use(columns):
        for resource, amount in use.used.items():
            put(f"quota/{use.quota.name}", resource, amount)
    for each in totals_of(disks_of(columns)):
        put(f"drives/{each.drive_class}", STORAGE, each.used_bytes + each.promised_bytes)
    for resource, amounts in sorted(levels.items()):
        yield Samples(
            resource,
            COMMITTED,
            list(amounts),
            np.arange(len(amounts)),
            np.full(len(amounts), at_seconds, np.int64),
            np.array(list(amounts.values()), np.int64),
        )


def _snapshot(asked: Asked, source: str, path: Path) -> Snapshot | None:
    """Return the cluster, where one is named or it is the live one that is observed.

    A ledger that is not there yet has no promises.
    """
    if not asked.cluster and source != METRICS:
        return None
    ledger = asked.ledger if path.exists() else ""
    return read_cluster(msgspec.structs.replace(asked, cluster=asked.cluster or LIVE, ledger=ledger))


def _checked(samples: Samples, at_seconds: int, source: str) -> Samples:
    if len(samples.at_seconds) and int(samples.at_seconds.max()) > at_seconds + DAY_SECONDS:
        raise InputError(
            f"an observation of {int(samples.at_seconds.max())} s since 1970 is of the future",
            where=source,
            remedy="correct the times, or the clock of this host",
        )
    return samples


def _sum(total: ObserveReport, report: ObserveReport) -> ObserveReport:
    return ObserveReport(
        total.ledger,
        total.source,
        total.readings + report.readings,
        total.points + report.points,
        total.dropped + report.dropped,
        total.known + report.known,
        max(total.streams, report.streams),
        total.recorded + report.recorded,
        total.last_seconds if report.last_seconds is None else report.last_seconds,
        (*total.failures, *report.failures),
        total.late + report.late,
    )
