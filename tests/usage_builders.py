"""Books of usage, built from what was observed: `book({("node/n1", "memory"): [(0, 5), (60, 7)]})`.

Times are seconds since 1970; amounts are integers in the internal steps of their resource, and None is a
point that was dropped. A third part of a key names the measure.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ullage.engine.usage.book import Book, Samples
from ullage.engine.usage.summaries import Figures, Summaries
from ullage.model.usage import USAGE

Observed = Sequence[tuple[int, int | None]]
DAY = 86_400


def samples(subject: str, resource: str, observed: Observed, measure: str = USAGE) -> Samples:
    """Observations of one stream as columns."""
    amounts = [-1 if amount is None else amount for _, amount in observed]
    return Samples(
        resource,
        measure,
        (subject,),
        np.zeros(len(observed), np.int64),
        np.array([at for at, _ in observed], np.int64),
        np.array(amounts, np.int64),
    )


def book(streams: Mapping[tuple[str, ...], Observed]) -> Book:
    """A book of what was observed of each (subject, resource[, measure])."""
    found = Book()
    for (subject, resource, *measure), observed in streams.items():
        found.add(samples(subject, resource, observed, *measure))
    return found


def every(seconds: int, amounts: Iterable[int | None], start: int = 0) -> Observed:
    """Amounts that were observed one after the other, so many seconds apart."""
    return [(start + place * seconds, amount) for place, amount in enumerate(amounts)]


def joined(several: Iterable[Figures]) -> Figures:
    """What figures come to together."""
    found = Summaries()
    found.grow(1)
    for each in several:
        found.put(0, each)
    return found.of(np.array([0]))


HOMES = {
    "pod/shop/a": ("workload/shop/Deployment/web", "namespace/shop", "node/n1", "group/g", "cluster"),
    "pod/shop/b": ("workload/shop/Deployment/web", "namespace/shop", "node/n2", "group/g", "cluster"),
    "pod/shop/c": ("namespace/shop", "cluster"),
    "node/n1": ("group/g", "cluster"),
    "node/n2": ("group/g", "cluster"),
}
"""A workload of two pods on two nodes, and a pod of nobody."""


def homes(subject):
    """Say where a subject counts too."""
    return HOMES.get(subject, ())
