"""What is wrong, and what breaks: findings of the cluster as it is, and of nodes or drives that are lost.

Lost ones are named (--lose, all of them together), or any so many nodes are (--nodes-lost). Where neither
is asked for, the policy's spare nodes are: any so many of each group that keeps spare ones. Losses that leave
someone without a place are looked at once more, exactly (check_exact.py).
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.engine.balance.host_losses import HostLosses
from ullage.engine.balance.of_snapshot import is_of_machines
from ullage.engine.balance.rebalance import fleet_of
from ullage.engine.capacity.summary import Summary, summarise_groups
from ullage.engine.columns import Columns
from ullage.engine.redundancy.budgets import Budget, Budgets
from ullage.engine.redundancy.losses import Losses, LossReport, Survey
from ullage.engine.storage.hollow_promises import hollow_promises
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.plan import Step
from ullage.model.settings import rules_for
from ullage.model.verdict import Finding
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, read_cluster
from ullage.service.check_drives import EMPTY_VOLUMES, DriveLossStatus, drive_loss_of
from ullage.service.check_exact import ExactLooks
from ullage.service.check_findings import (
    budget_findings,
    cluster_findings,
    loss_findings,
    owner_findings,
    proof_words,
    survey_findings,
)
from ullage.service.check_lost import lost_drives, lost_nodes
from ullage.service.check_machines import TRIED, Machines, Redundancy, machines_of
from ullage.service.check_swap import swap_findings, swap_needs
from ullage.service.fit import EXACT_SECONDS
from ullage.service.held import columns_of
from ullage.service.observed import read_usage
from ullage.service.progress import listener
from ullage.service.words import plural

if TYPE_CHECKING:
    from ullage.engine.usage.book import Book

NODES_LOST_MAX: Final = 3
_ORDER: Final = {"error": 0, "warning": 1, "info": 2}
CHECKS: Final = (
    ("over-commitment", ("over-committed", "promise-hollow")),
    ("spare nodes", ("no-spare",)),
    ("nodes", ("node-",)),
    ("drives", ("drive-", "cache-")),
    ("quotas", ("quota-",)),
    ("workloads", ("pending", "memory-unbounded", "limit-below-request", "no-owner")),
    ("disruption budgets", ("budget-",)),
    ("use", ("usage-",)),
)
"""What is checked of the cluster as it is, and how the codes of its findings begin."""


class CheckQuestion(NamedTuple):
    """What is lost: named nodes and domains together, or any so many nodes; None leaves it to the policy.

    A loss with losers is searched exactly for so many seconds; 0: not at all. `balances` looks at unhealthy
    groups of machines after a proposed balance too. `usage` is a source of what is really used, if any.
    """

    lose: tuple[str, ...] = ()
    nodes_lost: int | None = None
    placement: str = ""
    exact_seconds: int = EXACT_SECONDS
    balances: bool = True
    usage: str = ""


class Checked(Record, frozen=True):
    """One check: it passed unless it found an error."""

    name: str
    passed: bool
    errors: int
    warnings: int
    detail: str
    findings: tuple[Finding, ...]


class LoserStatus(Record, frozen=True):
    """A workload that a loss leaves without a place."""

    workload: str
    node: str
    reason: str
    remedy: str


class LossStatus(Record, frozen=True):
    """What the loss of some nodes together means; `alike` is how many losses are just like it.

    `moves` are told for losses that were named. `not_restarted` are pods that nobody starts again.
    `certificate` says whether all were placed one after the other (greedy) or by exact search, or whether it
    is proven that there is no place for all of them.
    """

    nodes: tuple[str, ...]
    alike: int
    replaced: int
    losers: tuple[LoserStatus, ...]
    not_restarted: tuple[str, ...]
    daemons: int
    certificate: str
    certificate_note: str = ""
    moves: tuple[Step, ...] = ()


class SurveyStatus(Record, frozen=True):
    """Every loss of so many nodes of a group, or of all nodes: how many there are and were tried.

    `looked_at_exactly` kinds that failed at first were searched exactly; those in `saved` fail no longer.
    """

    nodes_lost: int
    group: str
    nodes: int
    losses: int
    kinds: int
    tried: int
    failing_kinds: int
    failing_losses: int
    worst: tuple[LossStatus, ...]
    looked_at_exactly: int
    saved: tuple[LossStatus, ...]


class BudgetStatus(Record, frozen=True):
    """A disruption budget: how many may be evicted now, as counted here and as the cluster states."""

    name: str
    expected: int
    healthy: int
    desired: int
    allowed: int
    stated: int | None = None
    problem: str = ""


class CheckReport(Record, frozen=True):
    """The answer to `ullage check`; `redundancy` is told of clusters of machines."""

    cluster: str
    revision: int
    policy: str
    placement: str
    passed: bool
    checks: tuple[Checked, ...]
    loss: LossStatus | None
    surveys: tuple[SurveyStatus, ...]
    budgets: tuple[BudgetStatus, ...]
    not_simulated: tuple[str, ...]
    redundancy: Redundancy | None = None
    drive_loss: DriveLossStatus | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding, the worst first."""
        found = [finding for each in self.checks for finding in each.findings]
        return tuple(sorted(found, key=lambda each: _ORDER[each.severity]))


def check(asked: Asked, question: CheckQuestion) -> Answer:
    """Answer what is wrong with a cluster, and what breaks."""
    return check_of(read_cluster(asked), asked, question)


def check_of(snapshot: Snapshot, asked: Asked, question: CheckQuestion) -> Answer:
    """Answer what is wrong with a cluster that was read already."""
    from ullage.service.check_page import check_page, check_suite

    book = read_usage(question.usage, asked, snapshot) if question.usage else None
    report = check_report(snapshot, question, book)
    types = snapshot.resource_types
    return Answer(
        lambda: check_page(report, asked),
        lambda: versioned("CheckReport", report, types),
        report.passed,
        shortened=lambda: check_page(report, asked, shortened=True),
        suite=lambda: check_suite(report),
    )


def check_report(snapshot: Snapshot, question: CheckQuestion, book: "Book | None" = None) -> CheckReport:
    """Return everything that was checked; what is really used is in a book."""
    if (question.nodes_lost or 0) > len(snapshot.nodes):
        what = f"{question.nodes_lost} nodes cannot be lost of {len(snapshot.nodes)}"
        raise InputError(what, where="--nodes-lost", remedy=f"use 0 to {len(snapshot.nodes)}")
    drives = lost_drives(snapshot, question.lose)
    lost = () if drives else lost_nodes(snapshot, question.lose)
    columns = columns_of(snapshot)
    groups = summarise_groups(columns)
    budgets = Budgets(snapshot)
    placement = question.placement or rules_for(snapshot.policy, snapshot.resource_types).placement
    weighed = placement == "preferences" and not question.placement
    placement = "spread" if weighed else placement
    asking = _Asking(columns, budgets, placement, ExactLooks(question.exact_seconds))
    loss = asking.loss(question.lose, lost) if lost else None
    drive_loss = asking.drive_loss(question.lose, drives) if drives else None
    surveys = [asking.survey(*each) for each in _surveys(groups, question)]
    found = (
        *cluster_findings(columns, groups, book),
        *hollow_promises(columns),
        *owner_findings(snapshot),
        *budget_findings(budgets.all),
    )
    machines = machines_of(snapshot, balances=question.balances)
    of_cluster = _checks_of(found, budgets.all, has_usage=book is not None)
    checks = (*of_cluster, *_machine_checks(columns, machines), *asking.checks)
    return CheckReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        placement=placement,
        passed=all(each.passed for each in checks),
        checks=checks,
        loss=loss,
        surveys=tuple(surveys),
        budgets=tuple(budget_status(each) for each in budgets.all),
        not_simulated=(
            *(OF_MACHINES if asking.is_of_machines else NOT_SIMULATED),
            *([EMPTY_VOLUMES] if drives else []),
            *([OTHER_PLACEMENTS] if asking.looks.undecided else []),
            *([UNWEIGHED] if weighed and not asking.is_of_machines else []),
            *snapshot.unknowns,
        ),
        redundancy=machines.redundancy,
        drive_loss=drive_loss,
    )


NOT_SIMULATED: Final = (
    "eviction of others, where priority would allow it",
    "whether pods are ready",
    "how long it takes to start again",
)


OF_MACHINES: Final = ("stopping others to make room", "how long it takes to start again")
"""The same of virtual machines."""
OTHER_PLACEMENTS: Final = "placements other than one after the other, the most important and largest first"
"""Where some loss was left without an exact answer."""
UNWEIGHED: Final = "what the scheduler prefers (--placement preferences weighs it, and takes longer)"
"""Where the policy would weigh preferences, losses are tried without: there may be thousands of them."""


def _surveys(groups: Sequence[Summary], question: CheckQuestion) -> Iterator[tuple[int, str]]:
    """Yield how many nodes are lost of which group; an empty group means all nodes."""
    if question.nodes_lost is not None:
        if question.nodes_lost:
            yield question.nodes_lost, ""
    elif not question.lose:
        for group in groups:
            if group.spare_nodes:
                yield min(group.spare_nodes, NODES_LOST_MAX), group.name


class _Asking:
    """Losses asked about one after the other; what is made for the first serves all."""

    def __init__(self, columns: Columns, budgets: Budgets, placement: str, looks: ExactLooks) -> None:
        self._columns = columns
        self._budgets = budgets
        self._placement = placement
        self.looks = looks
        self._losses: Losses | HostLosses | None = None
        self.is_of_machines = is_of_machines(columns.snapshot)
        self.checks: list[Checked] = []

    def _made(self) -> Losses | HostLosses:
        if self._losses is None and self.is_of_machines:
            self._losses = HostLosses(fleet_of(self._columns.snapshot))
        elif self._losses is None:
            self._losses = Losses(self._columns, self._placement)
        return self._losses

    def loss(self, lose: Sequence[str], nodes: Sequence[str]) -> LossStatus:
        """Return what the loss of named nodes means."""
        report = self.looks.at_loss(self._made(), self._made().of(nodes, listener()))
        broken = self._budgets.broken_by(nodes)
        what = " and ".join(each.replace("/", " ", 1) for each in lose)
        detail = f"{len(report.moves)} of {plural(report.displaced, 'workload')} placed anew"
        between = "; " if report.losers else " "
        detail = between.join(filter(None, (detail, proof_words(report))))
        self.checks.append(checked(f"loss of {what}", loss_findings(report, broken, what), detail))
        return _loss_status(report, in_full=True)

    def drive_loss(self, lose: Sequence[str], drives: Sequence[tuple[str, str]]) -> DriveLossStatus:
        """Return what the loss of named drives means."""
        status, findings, tried = drive_loss_of(self._columns, drives, self._placement)
        what = " and ".join(each.replace("/", " ", 1) for each in lose)
        self.checks.append(checked(f"loss of {what}", findings, tried))
        return status

    def survey(self, nodes_lost: int, group: str) -> SurveyStatus:
        """Return what every loss of so many nodes means."""
        inside = [each.name for each in self._columns.nodes if each.group == group] if group else None
        every = self._made().every(nodes_lost, inside, listener())
        survey = self.looks.at_survey(self._made(), every)
        nodes_lost = survey.nodes_lost
        broken = self._budgets.worst(nodes_lost, None if inside is None else set(inside))
        count = len(self._columns.nodes) if inside is None else len(inside)
        where = f" of group {group}" if group else ""
        what = f"any {nodes_lost} node{'' if nodes_lost == 1 else 's'}{where}"
        found = survey_findings(survey, broken, what)
        self.checks.append(checked(f"loss of {what}", found, tried_words(survey)))
        return _survey_status(survey, group, count)


def tried_words(survey: Survey) -> str:
    """Return how many losses there are, of how many kinds, whether all were tried, and which exactly."""
    losses = f"{survey.losses} loss{'' if survey.losses == 1 else 'es'}"
    kinds = f"{survey.kinds} kind{'' if survey.kinds == 1 else 's'}"
    tried = f"{survey.tried} of them tried, the fullest nodes first" if survey.untried else "all tried"
    words = f"{losses}, {kinds}, {tried}"
    if not survey.looked:
        return words
    failing = plural(survey.failing + len(survey.saved), "failing kind")
    saved = f", {len(survey.saved)} saved by that" if survey.saved else ""
    return f"{words}; {survey.looked} of {failing} looked at exactly{saved}"


def _checks_of(found: Sequence[Finding], budgets: Sequence[Budget], *, has_usage: bool) -> Iterator[Checked]:
    left_out = {*(() if budgets else ("disruption budgets",)), *(() if has_usage else ("use",))}
    for name, beginnings in CHECKS:
        if name not in left_out:
            yield checked(name, [each for each in found if each.code.startswith(beginnings)], "")


def _machine_checks(columns: Columns, machines: Machines) -> Iterator[Checked]:
    """Yield checks of memory behind promises: of swap where it may matter, of redundancy where it is kept."""
    needs = swap_needs(columns, machines.standby)
    short = list(swap_findings(needs, columns.snapshot.resource_types["memory"]))
    if short or any(each.is_over_committing for each in needs):
        yield checked("swap", short, "")
    for name, findings in machines.findings.items():
        yield checked(name, findings, TRIED.get(name, ""))


def checked(name: str, findings: Sequence[Finding], detail: str) -> Checked:
    """Return a check with what it found."""
    errors = sum(each.severity == "error" for each in findings)
    warnings = sum(each.severity == "warning" for each in findings)
    return Checked(name, not errors, errors, warnings, detail, tuple(findings))


def _loss_status(report: LossReport, *, in_full: bool) -> LossStatus:
    moves = (Step("move", each.workload, each.to_node, each.from_node) for each in report.moves)
    return LossStatus(
        report.nodes,
        report.alike,
        len(report.moves),
        tuple(LoserStatus(*each) for each in report.losers),
        report.unowned,
        report.daemons,
        report.certificate,
        report.certificate_note,
        tuple(moves) if in_full else (),
    )


def _survey_status(survey: Survey, group: str, nodes: int) -> SurveyStatus:
    return SurveyStatus(
        survey.nodes_lost,
        group,
        nodes,
        survey.losses,
        survey.kinds,
        survey.tried,
        survey.failing,
        survey.failing_losses,
        tuple(_loss_status(each, in_full=False) for each in survey.worst),
        survey.looked,
        tuple(_loss_status(each, in_full=False) for each in survey.saved),
    )


def budget_status(budget: Budget) -> BudgetStatus:
    """Return a budget as reports tell it."""
    return BudgetStatus(
        budget.key,
        budget.expected,
        budget.healthy,
        budget.desired,
        budget.allowed,
        budget.stated,
        budget.problem,
    )
