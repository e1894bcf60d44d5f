"""Observations of a Prometheus: range queries over a window, in bounded parts, as columns.

Points lie on a grid of whole steps since 1970, so that reading a window again, or one that overlaps, gives
the same points. The hard thing is what is not there: a moment without a value between two that have one is a
point that was dropped, up to some hours; what was away for longer was not running. A pod is the sum of its
containers at the same moments, and is dropped where one of them is.
"""

import os
import time
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from ullage.engine.usage.book import Samples
from ullage.engine.usage.buckets import Integers
from ullage.engine.usage.summaries import AMOUNT_MAX
from ullage.model.cluster import Snapshot
from ullage.model.errors import InputError
from ullage.sources.given import refuse_others
from ullage.sources.places import one_line
from ullage.sources.usage.csv_samples import subject_problem
from ullage.sources.usage.prometheus_answers import Labels, Numbers, Series, ask_values
from ullage.sources.usage.prometheus_clusters import meant_of, require_one
from ullage.sources.usage.prometheus_nodes import NodeNames
from ullage.sources.usage.prometheus_parts import Part, Window, answers, parts_of, window_of
from ullage.sources.usage.prometheus_queries import CLUSTER, CONTAINERS, EVENTS, NAMES, NODES, Query, chosen
from ullage.sources.usage.prometheus_server import (
    Asked,
    PrometheusOptions,
    PrometheusServer,
    TooMuchError,
    options_of,
)
from ullage.sources.usage.whole_amounts import whole_amounts

GAP_SECONDS_MAX: Final = 6 * 3600
_NOTHING: Final = (
    "let it scrape kubelets (container_*) or node exporters (node_*), widen the window, "
    "or name the tenant (X-Scope-OrgID) in $ULLAGE_PROMETHEUS_HEADERS"
)


def read_prometheus(
    url: str,
    window: Window | None = None,
    options: PrometheusOptions | None = None,
    snapshot: Snapshot | None = None,
) -> Iterator[Samples]:
    """Yield what a Prometheus has of containers, pods and nodes.

    A window may also stand behind the address, as `?window=14d&step=5m`; else it is that of the last two
    weeks. So may a label of the cluster that is meant, as `?match=cluster=blue`. Without options, those of
    the environment count (`options_of`). The snapshot says what nodes are called. An InputError says in one
    line what is wrong.
    """
    refuse_others("prometheus")
    address, _, said = url.partition("?")
    server = PrometheusServer(address, options_of(os.environ) if options is None else options)
    try:
        yield from observe(server, window or window_of(said, int(time.time())), snapshot)
    finally:
        server.close()


def observe(server: Asked, window: Window, snapshot: Snapshot | None = None) -> Iterator[Samples]:
    """Yield what a server has, however it is reached."""
    window = window.aligned()
    server = meant_of(server, window)
    names = names_there(server, NAMES, window)
    queries = chosen(names)
    if not queries:
        of_which = "".join(f" of {one_line(each)}" for each in window.matches)
        raise InputError(
            f"it knows nothing of containers or nodes{of_which}", where=server.name, remedy=_NOTHING
        )
    require_one(server, window)
    nodes = NodeNames(server, names, window, snapshot)
    parts: dict[str, list[Part]] = {}
    known: dict[tuple[str, str], set[str]] = {}
    for query in queries:
        if query.counted not in parts:
            parts[query.counted] = parts_of(server, query, window)
        before = known.setdefault((query.resource, query.measure), set())
        found: set[str] = set()
        for part in parts[query.counted]:
            grid = _Grid(query, window, nodes, frozenset(before))
            for series in answers(server, query, part, window):
                for samples in grid.samples(series):
                    found.update(samples.subjects if query.what == NODES else ())
                    yield samples
        before |= found


def names_there(server: Asked, names: Sequence[str], window: Window) -> frozenset[str]:
    """Return those of some names of metrics that are there in a window."""
    matcher = f'{{__name__=~"{"|".join(names)}"{CLUSTER}}}'
    try:
        found = ask_values(server, "__name__", matcher, window.first_seconds, window.last_seconds)
    except TooMuchError as error:
        raise InputError(
            f"it cannot say what it has: {error}", where=server.name, remedy="ask again, or raise its limits"
        ) from None
    return frozenset(found)


class _Grid:
    """What is known of the series of one part: when each was seen last.

    Nodes of which the same is known `otherwise`, in a way that goes before, are left out.
    """

    def __init__(
        self, query: Query, window: Window, nodes: NodeNames, otherwise: frozenset[str] = frozenset()
    ) -> None:
        self._query = query
        self._window = window
        self._nodes = nodes
        self._otherwise = otherwise
        self._last: dict[str, int] = {}

    def samples(self, series: Series) -> Iterator[Samples]:
        """Yield what an answer shows, and what it lacks."""
        subjects, known = _subjects([self._subject(each) for each in series.labels])
        numbers = known[series.numbers]
        slots = np.rint((series.seconds - self._window.first_seconds) / self._window.step_seconds).astype(
            np.int64
        )
        scaled = scaled_of(series.values, self._query.scale)
        meant = numbers >= 0
        if not meant.all():
            numbers, slots, scaled = numbers[meant], slots[meant], scaled[meant]
        if not len(numbers):
            return
        if len(subjects) < len(series.labels):
            numbers, slots, scaled = _largest(numbers, slots, scaled)
        amounts = whole_amounts(scaled, slots, _places(subjects)[numbers])
        if self._query.what != EVENTS:
            numbers, slots, amounts = self._with_gaps(subjects, numbers, slots, amounts)
        yield self._columns(subjects, numbers, slots, amounts)
        if self._query.what == CONTAINERS:
            yield self._columns(*_pods(subjects, numbers, slots, amounts))

    def _subject(self, labels: Labels) -> str:
        if self._query.what == NODES:
            subject = f"node/{self._nodes.of(labels)}"
            if subject in self._otherwise:
                return ""
        else:
            subject = f"container/{labels.namespace}/{labels.pod}/{labels.container}"
        return "" if subject_problem(subject) else subject

    def _with_gaps(
        self, subjects: Sequence[str], numbers: Integers, slots: Integers, amounts: Integers
    ) -> tuple[Integers, Integers, Integers]:
        """Return the points with those that were dropped between them, marked as such."""
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        before = np.empty_like(slots)
        before[1:] = slots[:-1]
        for place in starts.tolist():
            before[place] = self._last.get(subjects[numbers[place]], slots[place] - 1)
        ends = np.append(starts[1:], len(numbers)) - 1
        self._last.update(zip((subjects[each] for each in numbers[ends]), slots[ends].tolist(), strict=True))
        lacking = np.maximum(slots - before - 1, 0)
        lacking[lacking * self._window.step_seconds > GAP_SECONDS_MAX] = 0
        total = int(lacking.sum())
        if not total:
            return numbers, slots, amounts
        nth = np.arange(total) - np.repeat(np.cumsum(lacking) - lacking, lacking)
        return (
            np.concatenate((numbers, np.repeat(numbers, lacking))),
            np.concatenate((slots, np.repeat(before + 1, lacking) + nth)),
            np.concatenate((amounts, np.full(total, -1, np.int64))),
        )

    def _columns(
        self, subjects: Sequence[str], numbers: Integers, slots: Integers, amounts: Integers
    ) -> Samples:
        seconds = self._window.first_seconds + slots * self._window.step_seconds
        return Samples(self._query.resource, self._query.measure, subjects, numbers, seconds, amounts)


def scaled_of(values: Numbers, scale: int) -> Numbers:
    """Return values in the steps of their resource; -1 where one is none."""
    good = (values >= 0) & (values <= AMOUNT_MAX // scale // 2)
    return np.where(good, np.where(good, values, 0) * scale, -1)


def _places(subjects: Sequence[str]) -> Integers:
    """Return which place each of some names has in their order."""
    return np.argsort(np.array(sorted(range(len(subjects)), key=subjects.__getitem__), np.int64))


def _subjects(names: Sequence[str]) -> tuple[list[str], Integers]:
    """Return the different names, and for each one given its number; -1 where it is empty."""
    numbers: dict[str, int] = {}
    known = [numbers.setdefault(name, len(numbers)) if name else -1 for name in names]
    return list(numbers), np.array(known, np.int64)


def _sorted(numbers: Integers, slots: Integers) -> tuple[Integers, Integers]:
    """Return the order by number and slot, and where each pair of both begins in it."""
    order = np.lexsort((slots, numbers))
    is_new = (np.diff(numbers[order], prepend=-1) != 0) | (np.diff(slots[order], prepend=-1) != 0)
    return order, np.flatnonzero(is_new)


def _largest(numbers: Integers, slots: Integers, amounts: Numbers) -> tuple[Integers, Integers, Numbers]:
    """Return one point for each subject and moment: the largest of those that there are."""
    order, starts = _sorted(numbers, slots)
    if not len(order):
        return numbers, slots, amounts
    firsts = order[starts]
    return numbers[firsts], slots[firsts], np.maximum.reduceat(amounts[order], starts)


def _pods(
    subjects: Sequence[str], numbers: Integers, slots: Integers, amounts: Integers
) -> tuple[list[str], Integers, Integers, Integers]:
    """Return the sums of the containers of each pod at each moment; dropped where one of them is."""
    pods, of_container = _subjects(["pod/" + each.partition("/")[2].rpartition("/")[0] for each in subjects])
    numbers = of_container[numbers]
    order, starts = _sorted(numbers, slots)
    sums = np.add.reduceat(amounts[order], starts)
    least = np.minimum.reduceat(amounts[order], starts)
    firsts = order[starts]
    return pods, numbers[firsts], slots[firsts], np.where(least < 0, -1, sums)
