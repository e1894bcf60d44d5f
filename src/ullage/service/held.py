"""Clusters that are held in memory, for whoever answers many questions: asking about one reads nothing.

    with holding([Held("production", snapshot, profile)]):
        fit(Asked("production"), question)      # as if -c named the file it came from

What a question makes of a cluster (its policy filled in, its promises counted) is kept as long as that is the
same, and so is what every question about it needs (a Bench). The hard thing is time: promises end without
anybody changing anything, so what is counted is kept until the first of them does. One question at a time may
use what is held; processes that were forked have each their own.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.model.cluster import Snapshot

if TYPE_CHECKING:
    from ullage.engine.columns import Columns
    from ullage.engine.placement.bench import Bench
    from ullage.service.ledger_reader import LedgerReader

VARIANTS_MAX: Final = 4
"""Variants of one cluster that are kept: other policies, other promises."""


class Span(NamedTuple):
    """From when until when something is as it is; without an end, for good."""

    from_seconds: int = 0
    until_seconds: int | None = None

    def has(self, at_seconds: int) -> bool:
        """Whether a moment lies in it."""
        ended = self.until_seconds is not None and at_seconds >= self.until_seconds
        return self.from_seconds <= at_seconds and not ended


class Variant:
    """A cluster as one kind of question sees it, and its bench, made from that of the one it differs from."""

    def __init__(self, snapshot: Snapshot, base: "Variant | None", span: Span) -> None:
        self.snapshot = snapshot
        self.span = span
        self._base = base
        self._bench: Bench | None = None

    def bench(self) -> "Bench":
        """Return what questions about it share."""
        if self._bench is None:
            base = self._base
            if base is None:
                self._bench = new_bench(self.snapshot)
            else:
                same = base.snapshot is self.snapshot
                self._bench = base.bench() if same else base.bench().about(self.snapshot)
        return self._bench


class Held:
    """One cluster as its source told it, under the name by which it is asked about.

    `profile` is the built-in policy that counts where neither the cluster nor the question names one.
    """

    def __init__(self, name: str, snapshot: Snapshot, profile: str) -> None:
        self.name = name
        self.snapshot = snapshot
        self.profile = profile
        self._variants: dict[Hashable, Variant] = {}
        self._reader: tuple[Hashable, LedgerReader] | None = None

    def kept(
        self,
        key: Hashable,
        make: Callable[[], Snapshot],
        *,
        base: Snapshot | None = None,
        at_seconds: int = 0,
        span: Callable[[], Span] = Span,
    ) -> Snapshot:
        """Return a variant of the cluster, made when it is first asked for or its time is over.

        `base` is the variant from which it differs little. Those that were not asked about for longest are
        let go of.
        """
        found = self._variants.pop(key, None)
        if found is None or not found.span.has(at_seconds):
            made = make()
            found = Variant(made, None if base is None else self.variant(base), span())
        self._variants[key] = found
        while len(self._variants) > VARIANTS_MAX:
            del self._variants[next(iter(self._variants))]
        return found.snapshot

    def variant(self, snapshot: Snapshot) -> Variant | None:
        """Return the variant that a snapshot is; None where it is none that is kept."""
        return next((each for each in self._variants.values() if each.snapshot is snapshot), None)

    def reader(self, place: Hashable, make: "Callable[[], LedgerReader]") -> "LedgerReader":
        """Return who reads a ledger again and again."""
        if self._reader is None or self._reader[0] != place:
            self._reader = place, make()
        return self._reader[1]


_HELD: ContextVar[Mapping[str, Held]] = ContextVar("held", default={})  # noqa: B039 - nobody changes it


@contextmanager
def holding(clusters: Sequence[Held]) -> Iterator[None]:
    """Answer questions about these clusters by their names, for as long as this lasts."""
    token = _HELD.set({each.name: each for each in clusters})
    try:
        yield
    finally:
        _HELD.reset(token)


def held(name: str) -> Held | None:
    """Return the cluster of a name, if it is held."""
    return _HELD.get().get(name)


def is_held(snapshot: Snapshot) -> bool:
    """Whether a cluster is one that is held, as some question sees it."""
    return any(each.variant(snapshot) is not None for each in _HELD.get().values())


def bench_of(snapshot: Snapshot, like: Snapshot | None = None) -> "Bench":
    """Return what questions about a cluster share: of one that is held, what the last one has left.

    `like` may be held where the cluster itself is not, and differ from it little.
    """
    for each in _HELD.get().values():
        found = each.variant(snapshot)
        if found is not None:
            return found.bench()
        near = None if like is None else each.variant(like)
        if near is not None:
            return near.bench().about(snapshot)
    return new_bench(snapshot)


def columns_of(snapshot: Snapshot) -> "Columns":
    """Return a cluster as columns: of one that is held, those that are there already."""
    for each in _HELD.get().values():
        found = each.variant(snapshot)
        if found is not None:
            return found.bench().columns
    from ullage.engine.columns import Columns

    return Columns(snapshot)


def new_bench(snapshot: Snapshot) -> "Bench":
    """Return a bench on which nothing is prepared."""
    from ullage.engine.columns import Columns
    from ullage.engine.placement.bench import Bench

    return Bench(Columns(snapshot))
