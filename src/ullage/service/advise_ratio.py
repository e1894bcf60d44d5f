"""How far memory can be over-committed, group by group: the risk at every ratio, and which one is advised."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from statistics import median_low
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.engine.columns import Columns
from ullage.engine.steps import Steps, part_of
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.resources import Amount
from ullage.model.settings import print_fraction
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, read_cluster
from ullage.service.progress import listener
from ullage.service.rebalance import check_groups

if TYPE_CHECKING:
    from ullage.engine.usage.book import Book
    from ullage.engine.usage.ratio import Curve
    from ullage.engine.usage.ratio_evidence import GroupEvidence
    from ullage.engine.usage.ratio_nodes import Evidence

MEMORY: Final = "memory"
PEAKED_SHOWN: Final = 5
HOUR_SECONDS: Final = 3600
DAY_SECONDS: Final = 86_400
NOT_SIMULATED: Final = (
    "workloads unlike those that were observed, and days unlike them, such as one sale a year",
    "peaks between two looks, where the source notes none",
    "memory that is kept for failover: a node that takes over is fuller than it was",
)


class RatioQuestion(NamedTuple):
    """What is asked: which part of the time may be over, in which groups, and the seed of nodes."""

    usage: str = ""
    risk: float = 0.001
    with_swap: bool = False
    groups: tuple[str, ...] = ()
    seed: int = 1


class RatioPoint(Record, frozen=True):
    """The risk at a ratio: the share of node-time that was seen over, and the bound of it that counts."""

    ratio: str
    seen: float
    risk: float
    seen_with_swap: float
    risk_with_swap: float


class PeakedTogether(Record, frozen=True):
    """Who used how much at the worst moment, beside what it uses on the mean and what it was promised."""

    name: str
    used: Amount
    mean: Amount
    promised: Amount


class GroupAdvice(Record, frozen=True):
    """What is advised for a group; `lacking` says why nothing can be told, and 1 is advised then.

    `ratio` keeps within memory, `ratio_with_swap` within memory and swap. The `gain` is what more can be
    promised than by the ratio of now, and `more` how many of the `typical` request that holds.
    """

    group: str
    nodes: int
    lacking: str
    parts: str
    known: float
    days: int
    slot_hours: int
    growth_a_day: float
    current_ratio: str | None
    current_risk: float | None
    ratio: str
    risk: float | None
    ratio_with_swap: str
    next_ratio: str | None
    next_risk: float | None
    allocatable: Amount
    promised: Amount
    gain: Amount
    typical: Amount
    more: int
    worst_at: str
    peaked: tuple[PeakedTogether, ...]
    curve: tuple[RatioPoint, ...]

    @property
    def is_too_high(self) -> bool:
        """Whether the ratio of now is above what is advised."""
        return self.current_ratio is None or Fraction(self.current_ratio) > Fraction(self.ratio)


class RatioReport(Record, frozen=True):
    """The answer to `ullage advise ratio`."""

    cluster: str
    revision: int
    policy: str
    risk: float
    with_swap: bool
    seed: int
    groups: tuple[GroupAdvice, ...]
    not_simulated: tuple[str, ...]

    @property
    def within(self) -> bool:
        """Whether no group of which enough is known is over the stated risk by its ratio of now."""
        return all(
            each.lacking or (each.current_risk is not None and each.current_risk <= self.risk)
            for each in self.groups
        )


def advise_ratio(asked: Asked, question: RatioQuestion) -> Answer:
    """Answer how far memory can be over-committed."""
    from ullage.engine.usage.ratio_evidence import LOOKED_AT
    from ullage.service.observed import read_peaks_usage

    if not 0 < question.risk < 1:
        raise InputError(f"a risk of {question.risk} is none", where="--risk", remedy="use 0.001 for 0.1 %")
    snapshot = read_cluster(asked)
    check_groups(snapshot, question.groups)
    book = read_peaks_usage(question.usage, asked, snapshot, MEMORY, LOOKED_AT)
    return advise_ratio_of(snapshot, book, asked, question)


def advise_ratio_of(snapshot: Snapshot, book: "Book", asked: Asked, question: RatioQuestion) -> Answer:
    """Answer the same of a cluster and of usage that were read already."""
    from ullage.service.advise_ratio_page import ratio_page

    report = ratio_report(snapshot, book, question)
    types = snapshot.resource_types
    return Answer(
        lambda: ratio_page(report, types, asked, question.usage),
        lambda: versioned("RatioReport", report, types),
        report.within,
    )


def ratio_report(snapshot: Snapshot, book: "Book", question: RatioQuestion) -> RatioReport:
    """Return the advice for every group that is meant."""
    columns = Columns(snapshot)
    names = [group.name for group in snapshot.groups if any(n.group == group.name for n in snapshot.nodes)]
    meant = [name for name in names if not question.groups or name in question.groups]
    steps = [part_of(listener(), number, len(meant)) for number in range(len(meant))]
    return RatioReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        risk=question.risk,
        with_swap=question.with_swap,
        seed=question.seed,
        groups=tuple(
            _advice(columns, book, name, question, told) for name, told in zip(meant, steps, strict=True)
        ),
        not_simulated=(*NOT_SIMULATED, *snapshot.unknowns),
    )


def _advice(
    columns: Columns, book: "Book", group: str, question: RatioQuestion, steps: Steps | None
) -> GroupAdvice:
    from ullage.engine.usage.ratio import DAYS_MIN, RATIO_MAX, STEP, curve_of
    from ullage.engine.usage.ratio_evidence import group_evidence

    found = group_evidence(book, columns, group)
    current = _current(columns, group)
    curve = None
    lacking = found.lacking
    if found.evidence is not None:
        more = [] if current is None or not 1 <= current <= RATIO_MAX else [current]
        curve = curve_of(found.evidence, seed=question.seed, more=more, steps=steps)
        if curve.days < DAYS_MIN:
            lacking = f"{curve.days} days were observed for the most part, {DAYS_MIN} are needed"
    advised = {swap: Fraction(1) for swap in (False, True)}
    if curve is not None and not lacking:
        advised = {swap: curve.highest(question.risk, with_swap=swap) for swap in advised}
    ratio = advised[question.with_swap]
    swap = question.with_swap
    following = ratio + STEP
    return GroupAdvice(
        group,
        len(_rows(columns, group)),
        lacking,
        found.parts,
        found.known,
        curve.days if curve else 0,
        found.slot_hours,
        curve.growth if curve else 0.0,
        None if current is None else print_fraction(current),
        _risk(curve, current, with_swap=swap),
        print_fraction(ratio),
        _risk(curve, ratio, with_swap=swap),
        print_fraction(advised[True]),
        None if _risk(curve, following, with_swap=swap) is None else print_fraction(following),
        _risk(curve, following, with_swap=swap),
        *_gain(columns, group, ratio),
        *_worst(found),
        tuple(
            RatioPoint(print_fraction(each.ratio), each.seen, each.risk, each.seen_swap, each.risk_swap)
            for each in (curve.points if curve else ())
        ),
    )


def _rows(columns: Columns, group: str) -> list[int]:
    """Return the nodes of a group that work and have memory, by row."""
    column = columns.resource_index.get(MEMORY)
    return [
        row
        for row, node in enumerate(columns.nodes)
        if node.group == group and node.state != "offline" and column is not None
    ]


def _current(columns: Columns, group: str) -> Fraction | None:
    """Return the highest ratio that a node of a group has now; None where there is no bound."""
    ratios = [columns.rules_of(columns.nodes[row]).ratio(MEMORY) for row in _rows(columns, group)]
    bounded = [each for each in ratios if each is not None]
    return max(bounded, default=Fraction(1)) if len(bounded) == len(ratios) else None


def _risk(curve: "Curve | None", ratio: Fraction | None, *, with_swap: bool) -> float | None:
    point = None if curve is None or ratio is None else curve.at(ratio)
    if point is None:
        return None
    return point.risk_swap if with_swap else point.risk


def _gain(columns: Columns, group: str, ratio: Fraction) -> tuple[Amount, Amount, Amount, Amount, int]:
    """Return memory, promises, what more can be promised than now, the typical request, and how many more."""
    rows = _rows(columns, group)
    column = columns.resource_index.get(MEMORY, -1)
    nodes = {columns.nodes[row].name for row in rows}
    requests = [
        columns.taken(each).of(MEMORY)
        for each in columns.snapshot.workloads
        if each.node in nodes and each.holds_capacity
    ]
    typical = median_low([each for each in requests if each] or [0])
    whole = promised = gain = more = 0
    for row in rows:
        allocatable, taken = int(columns.allocatable[row, column]), int(columns.committed[row, column])
        bounded = bool(columns.bounded[row, column])
        limit = ratio.numerator * allocatable // ratio.denominator
        now = int(columns.limit[row, column]) if bounded else limit
        whole += allocatable
        promised += taken
        gain += limit - now
        if typical:
            more += max(0, limit - taken) // typical - max(0, now - taken) // typical
    amounts = (Amount(MEMORY, each) for each in (whole, promised, gain, typical))
    return (*amounts, more)  # type: ignore[return-value]  # four amounts


def _worst(found: "GroupEvidence") -> tuple[str, tuple[PeakedTogether, ...]]:
    """Return when all parts together used most, and who used how much then."""
    evidence = found.evidence
    if evidence is None or not len(evidence.requests):
        return "", ()
    slot = int(evidence.uses.sum(axis=0).argmax())
    day, place = divmod(slot, evidence.day_slots)
    seconds = int(evidence.day_numbers[day]) * DAY_SECONDS + place * found.slot_hours * HOUR_SECONDS
    at = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%MZ")
    return at, _peaked(found.names, evidence, slot)


def _peaked(names: Sequence[str], evidence: "Evidence", slot: int) -> tuple[PeakedTogether, ...]:
    used: Counter[str] = Counter()
    mean: Counter[str] = Counter()
    promised: Counter[str] = Counter()
    for number, name in enumerate(names):
        used[name] += int(evidence.uses[number, slot])
        mean[name] += int(evidence.uses[number].mean())
        promised[name] += int(evidence.requests[number])
    most = sorted(used, key=lambda name: (-used[name], name))[:PEAKED_SHOWN]
    return tuple(
        PeakedTogether(name, *(Amount(MEMORY, each[name]) for each in (used, mean, promised)))
        for name in most
    )
