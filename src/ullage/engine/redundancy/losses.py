"""What happens when nodes are lost: what ran there is placed anew on the others, and who stays without.

Workloads are placed anew by priority, then the largest first. Daemons go with their node, and what is about
to end anyway is not started again. What nodes hold for failover is there for this. For every loss of k nodes
only one of each kind is tried: nodes that differ in nothing that a rule or a sum could see (alike.py) stand
in for each other. Kinds that surely leave nobody out (sure.py) are not played through.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Final, Literal, NamedTuple

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.counters import Member
from ullage.engine.placement.refusal import explain_refusal
from ullage.engine.placement.shapes import Shape, size_of
from ullage.engine.redundancy.alike import classes_of, kinds_of_loss, losses_of, number_of_kinds
from ullage.engine.redundancy.daemons import is_daemon
from ullage.engine.redundancy.local_volumes import volume_only_on
from ullage.engine.redundancy.side_by_side import TRIED, Loss, can_do, place_side_by_side
from ullage.engine.redundancy.sure import Sure, open_nodes
from ullage.engine.steps import Steps, counted
from ullage.engine.trial import Trial
from ullage.model.cluster import Workload
from ullage.model.errors import InputError
from ullage.model.plan import Refusal

LOSSES_MAX: Final = 500_000
"""Kinds of loss that are looked at for one question."""
PLACED_MAX: Final = 400_000
"""Workloads placed anew over all kinds of loss, after which no more are played through."""
PLACED_SIDE_BY_SIDE_MAX: Final = 1_500_000
"""The same where losses are played through side by side, which is quicker."""
REPORTED_MAX: Final = 20
"""Losses that a survey tells all about."""


class Loser(NamedTuple):
    """A workload without a place, the node it ran on, what keeps it off the others and what would help."""

    workload: str
    node: str
    reason: str
    remedy: str


class Move(NamedTuple):
    """A workload that is placed anew."""

    workload: str
    from_node: str
    to_node: str


class LossReport(NamedTuple):
    """What the loss of some nodes means; `alike` is how many losses are just like it, itself included.

    `unowned` are pods that nobody starts again: they are among the moves and losers all the same.
    `certificate` says how all found a place, one after the other or by exact search (loss_proofs.py), or
    whether it is proven that there is none for all of them; `certificate_note` is the proof, or why not.
    """

    nodes: tuple[str, ...]
    alike: int
    moves: tuple[Move, ...]
    losers: tuple[Loser, ...]
    unowned: tuple[str, ...]
    daemons: int
    certificate: Literal["greedy", "exact", "impossible", "unknown"] = "greedy"
    certificate_note: str = ""

    @property
    def displaced(self) -> int:
        """How many workloads are to be placed anew."""
        return len(self.moves) + len(self.losers)


class Survey(NamedTuple):
    """All losses of k nodes: how many there are, of how many kinds, and what became of those that were tried.

    Where more nodes were to be lost than there are, all are. Kinds that were not tried were too many; the
    fullest nodes were tried first. `failing` kinds stand for `failing_losses`; the worst of them are told in
    full. `looked` of those told were looked at exactly, and those in `saved` no longer fail.
    """

    nodes_lost: int
    losses: int
    kinds: int
    tried: int
    failing: int
    failing_losses: int
    worst: tuple[LossReport, ...]
    looked: int = 0
    saved: tuple[LossReport, ...] = ()

    @property
    def untried(self) -> int:
        """How many kinds of loss were not tried."""
        return self.kinds - self.tried


class Run(NamedTuple):
    """A running workload in the order in which workloads are placed anew; `shape` is a number.

    Names come last, so that nodes with equal workloads are emptied in the same order.
    """

    priority_falling: int
    size_falling: int
    shape: int
    key: str


class Losses:
    """A cluster whose losses are asked about."""

    def __init__(self, columns: Columns, placement: str = "spread") -> None:
        self.trial = Trial(columns.without_standby(), placement)
        self.trial.remember_looks()
        count = len(self.trial.nodes)
        self._runs: list[list[Run]] = [[] for _ in range(count)]
        self._going: list[list[Member]] = [[] for _ in range(count)]
        self._daemons = [0] * count
        self.shapes: list[Shape] = []
        going = list(self._read(columns))
        if self.trial.rules.counters:
            for workload in going:
                row = self.trial.row_of[workload.node]
                self._going[row].append(self.trial.rules.members.of(workload))
        for listed in self._runs:
            listed.sort()

    def _read(self, columns: Columns) -> Iterator[Workload]:
        """Take note of what runs where; yield what goes with its node."""
        trial = self.trial
        whole = trial.wholes()
        sizes: list[int] = []
        numbers: dict[Shape, int] = {}
        for workload in columns.snapshot.workloads:
            if not workload.holds_capacity:
                continue
            row = trial.row_of[workload.node]
            if is_daemon(workload) or workload.terminating:
                self._daemons[row] += not workload.terminating and not workload.promised
                yield workload
                continue
            shape = trial.shape_of(workload)
            number = numbers.get(shape)
            if number is None:
                number = numbers[shape] = len(self.shapes)
                self.shapes.append(shape)
                sizes.append(size_of(shape, whole))
            self._runs[row].append(Run(-workload.priority, -sizes[number], number, workload.key))

    def of(self, names: Collection[str], steps: Steps | None = None) -> LossReport:
        """Return what the loss of these nodes together means."""
        unknown = sorted(set(names) - set(self.trial.row_of))
        if unknown:
            raise InputError(f"node {unknown[0]} is unknown", remedy="name a node of the cluster")
        return self._report(tuple(sorted({self.trial.row_of[name] for name in names})), 1, steps)

    def _report(self, rows: tuple[int, ...], alike: int, steps: Steps | None = None) -> LossReport:
        """Place anew what runs on some nodes, and take everything back."""
        trial = self.trial
        workloads = trial.columns.snapshot.workloads
        moves: list[Move] = []
        losers: list[Loser] = []
        unowned: list[str] = []
        refusals: dict[int, Refusal] = {}
        with self.without(rows):
            anew, count = self._place_anew(rows), len(self.waiting(rows)) if steps else 0
            for run, row in counted(anew, count, "workloads placed anew", steps):
                workload = workloads[run.key]
                if is_unowned(workload):
                    unowned.append(run.key)
                if row >= 0:
                    moves.append(Move(run.key, workload.node, trial.nodes[row].name))
                    continue
                refusal = refusals.get(run.shape)
                if refusal is None:
                    refusal = refusals[run.shape] = self._why_lost(run, workload, rows)
                losers.append(Loser(run.key, workload.node, refusal.reason, refusal.remedy))
        names = tuple(trial.nodes[row].name for row in rows)
        daemons = sum(self._daemons[row] for row in rows)
        report = LossReport(names, alike, tuple(moves), tuple(losers), tuple(sorted(unowned)), daemons)
        return report._replace(certificate="unknown") if losers else report

    def _why_lost(self, run: Run, workload: Workload, rows: tuple[int, ...]) -> Refusal:
        local = volume_only_on(self.trial, workload, rows)
        if local:
            remedy = "keep a copy of its data elsewhere, on storage that other nodes reach"
            return Refusal(run.key, 1, local, remedy=remedy)
        return why_nowhere(self.trial, self.shapes[run.shape], workload)

    @contextmanager
    def without(self, rows: tuple[int, ...]) -> Iterator[None]:
        """Take nodes with all that runs on them out of the cluster, and bring everything back."""
        trial = self.trial
        mark = trial.mark()
        self._count_going(rows, -1)
        for row in rows:
            trial.lose(row)
            for run in self._runs[row]:
                if trial.is_counted(self.shapes[run.shape]):
                    trial.place(self.shapes[run.shape], row, -1)
        yield
        self._count_going(rows, 1)
        trial.undo(mark)

    def _count_going(self, rows: tuple[int, ...], count: int) -> None:
        """Let rules see, or no longer see, what goes with its node."""
        for row in rows:
            for member in self._going[row]:
                for counter in self.trial.rules.counted_by(member):
                    counter.add(row, count)

    def _place_anew(self, rows: tuple[int, ...]) -> Iterator[tuple[Run, int]]:
        """Yield each workload of lost nodes with the row it goes to; last those with none, -1.

        One without a place is tried again when others have theirs: it may have to be near one of them.
        """
        trial = self.trial
        waiting: Sequence[Run] = self.waiting(rows)
        placed = True
        while waiting and placed:
            left: list[Run] = []
            for run in waiting:
                shape = self.shapes[run.shape]
                row = trial.pick(shape)
                if row < 0:
                    left.append(run)
                    continue
                trial.place(shape, row)
                yield run, row
            placed = len(left) < len(waiting)
            waiting = left
        for run in waiting:
            yield run, -1

    def waiting(self, rows: tuple[int, ...]) -> list[Run]:
        """Return what is to be placed anew when nodes are lost, in order."""
        if len(rows) == 1:
            return self._runs[rows[0]]
        return sorted(run for row in rows for run in self._runs[row])

    def every(
        self, nodes_lost: int, names: Collection[str] | None = None, steps: Steps | None = None
    ) -> Survey:
        """Return what every loss of so many nodes means; of these nodes alone where some are named."""
        trial = self.trial
        classes = classes_of(trial, self.shapes, self._seen_on)
        if names is not None:
            wanted = {trial.row_of[name] for name in names}
            kept = ([row for row in rows if row in wanted] for rows in classes)
            classes = [rows for rows in kept if rows]
        classes.sort(key=lambda rows: (-len(self._runs[rows[0]]), rows[0]))
        nodes_lost = min(nodes_lost, sum(map(len, classes)))
        kinds = list(islice(kinds_of_loss(classes, nodes_lost), LOSSES_MAX))
        losers = self._losers([rows for rows, _ in kinds], nodes_lost, steps)
        failing = [(-count, *kind) for count, kind in zip(losers, kinds, strict=True) if count]
        failing.sort()
        return Survey(
            nodes_lost,
            losses_of(classes, nodes_lost),
            number_of_kinds(classes, nodes_lost),
            sum(count is not None for count in losers),
            len(failing),
            sum(alike for _, _, alike in failing),
            tuple(self._report(rows, alike) for _, rows, alike in failing[:REPORTED_MAX]),
        )

    def _losers(
        self, losses: Sequence[tuple[int, ...]], nodes_lost: int, steps: Steps | None = None
    ) -> list[int | None]:
        """Return how many workloads each loss leaves without a place; None for those not played through.

        Losses of one node are all played through: together they place every workload once.
        """
        side_by_side = can_do(self.trial, self.shapes)
        left = PLACED_SIDE_BY_SIDE_MAX if side_by_side else PLACED_MAX
        losers: list[int | None] = [None] * len(losses)
        if nodes_lost > 1:
            losers = [0 if sure else None for sure in self._sure().of(losses)]
        played: list[int] = []
        for number, rows in enumerate(losses):
            if losers[number] is None and (left > 0 or nodes_lost == 1):
                left -= sum(len(self._runs[row]) for row in rows)
                played.append(number)
        chosen = [losses[number] for number in played]
        if side_by_side:
            counts = self._played_side_by_side(chosen, steps)
        else:
            counts = self._played(counted(chosen, len(chosen), TRIED, steps))
        for number, count in zip(played, counts, strict=True):
            losers[number] = count
        return losers

    def _sure(self) -> Sure:
        """Return what tells losses that surely leave nobody out."""
        kinds = sorted({run[:-1] for listed in self._runs for run in listed})
        place_of = {kind: place for place, kind in enumerate(kinds)}
        open_by_shape = open_nodes(self.trial, self.shapes)
        return Sure(
            [[place_of[run[:-1]] for run in listed] for listed in self._runs],
            [open_by_shape[shape] for _, _, shape in kinds],
        )

    def _played_side_by_side(self, losses: Sequence[tuple[int, ...]], steps: Steps | None) -> Iterator[int]:
        """Yield how many workloads each loss leaves without a place."""
        prepared = [Loss(rows, [run.shape for run in self.waiting(rows)]) for rows in losses]
        for placed in place_side_by_side(self.trial, self.shapes, prepared, steps):
            yield int((placed < 0).sum())

    def _played(self, losses: Iterable[tuple[int, ...]]) -> Iterator[int]:
        """Yield the same, loss by loss."""
        for rows in losses:
            with self.without(rows):
                losers = sum(row < 0 for _, row in self._place_anew(rows))
            yield losers

    def _seen_on(self, row: int) -> tuple[object, ...]:
        """Return what runs on a node, as far as others can tell."""
        return (
            tuple((run.priority_falling, run.shape) for run in self._runs[row]),
            tuple(sorted(id(member) for member in self._going[row])),
        )


def is_unowned(workload: Workload) -> bool:
    """Whether nobody starts a workload again where it is gone: a pod of its own."""
    return workload.kind == "Pod" and not workload.owner


def why_nowhere(trial: Trial, shape: Shape, workload: Workload) -> Refusal:
    """Return why a workload that ran has no place on the nodes that are left."""
    asked = msgspec.structs.replace(workload, node="", requests=shape.requests)
    return explain_refusal(trial, shape, asked, 1)
