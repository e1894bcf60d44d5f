"""What is worth saying of the cluster as it is, of losses and disruption budgets: findings with remedies."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from ullage.engine.capacity.findings import findings_of
from ullage.engine.capacity.summary import Summary
from ullage.engine.columns import Columns
from ullage.engine.quota.use import quota_use
from ullage.engine.redundancy.budgets import Broken, Budget
from ullage.engine.redundancy.drain import how_to_unblock, why_blocked
from ullage.engine.redundancy.losses import Loser, LossReport, Survey, is_unowned
from ullage.model.cluster import Snapshot
from ullage.model.verdict import Finding
from ullage.service.words import plural, several

if TYPE_CHECKING:
    from ullage.engine.usage.book import Book

SPARE: Final = "keep room for it elsewhere"
OWNED: Final = "let a Deployment, StatefulSet or Job own them"
EXACT: Final = "keep more room elsewhere: a scheduler places one after the other, and may not find this way"
BUDGET: Final = "spread its workloads over more nodes, or run more of them"


class Certified(Protocol):
    """An answer that says how sure it is."""

    @property
    def certificate(self) -> str:
        """Placed one after the other or by exact search, impossible, or unknown."""

    @property
    def certificate_note(self) -> str:
        """The proof, or why there is none."""


def cluster_findings(columns: Columns, groups: list[Summary], book: "Book | None") -> tuple[Finding, ...]:
    """Return what is wrong with the cluster as it is, and where usage is known, with that."""
    if book is None:
        return findings_of(columns, groups, quota_use(columns))
    from ullage.engine.usage.hollow import observed_on, usage_findings
    from ullage.engine.usage.strangers import stranger_findings

    observed = observed_on(columns, book)
    return (
        *findings_of(columns, groups, quota_use(columns), observed),
        *usage_findings(columns, book),
        *stranger_findings(columns, book),
    )


def budget_findings(budgets: Sequence[Budget]) -> Iterator[Finding]:
    """Yield budgets that block every eviction, or that the cluster counts otherwise."""
    for budget in budgets:
        subject = f"budget/{budget.key}"
        if not budget.allowed and budget.healthy:
            message = f"{why_blocked(budget)}; a drain would wait"
            yield Finding("budget-blocks", "warning", subject, message, how_to_unblock(budget))
        if budget.stated is not None and budget.stated != budget.counted:
            message = (
                f"budget {budget.key}: the cluster states that {budget.stated} may be evicted, "
                f"the pods seen here allow {budget.counted}"
            )
            remedy = "look for pods that are not ready, or for a rollout in progress"
            yield Finding("budget-differs", "info", subject, message, remedy)


def owner_findings(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield the pods that nobody would start again."""
    bare = [each.key for each in snapshot.workloads if each.holds_capacity and is_unowned(each)]
    if bare:
        yield Finding("no-owner", "info", "cluster", _without_owner(bare, "the node"), OWNED)


def loss_findings(report: LossReport, broken: Sequence[Broken], what: str) -> list[Finding]:
    """Return what the loss of named nodes means for each workload and budget that suffers."""
    alike: dict[tuple[str, str], list[Loser]] = {}
    for loser in report.losers:
        alike.setdefault((loser.reason, loser.remedy), []).append(loser)
    found = [_unplaced(losers, what) for losers in alike.values()]
    if report.certificate == "exact":
        found.append(_saved(report))
    if report.unowned:
        message = _without_owner(report.unowned, what)
        found.append(Finding("loss-not-restarted", "warning", "cluster", message, OWNED))
    return [*found, *map(_broken, broken)]


def _unplaced(losers: Sequence[Loser], what: str) -> Finding:
    """Return the finding about workloads that the same keeps off all other nodes."""
    first = losers[0]
    named = several([f"{each.workload} (on {each.node})" for each in losers])
    who = f"workload {named} has" if len(losers) == 1 else f"{len(losers)} workloads, {named}, have"
    return Finding(
        "loss-unplaced",
        "error",
        f"workload/{first.workload}" if len(losers) == 1 else "cluster",
        f"{who} no place when {what} {_are(what)} lost: {first.reason}",
        first.remedy,
    )


def survey_findings(survey: Survey, broken: Sequence[Broken], what: str) -> list[Finding]:
    """Return the worst of all losses of so many nodes, and how many others cost someone."""
    found = [*map(_worst, survey.worst), *map(_saved, survey.saved)]
    more = survey.failing - len(survey.worst)
    if more > 0:
        message = f"{plural(more, 'more kind')} of loss ({what}) leave workloads without a place"
        if survey.looked:
            message += " when they are placed one after the other, and were not looked at exactly"
        found.append(Finding("loss-unplaced", "error", "cluster", message, SPARE))
    if survey.untried:
        message = f"{survey.untried} of {survey.kinds} kinds of loss ({what}) were not tried: too many"
        remedy = "ask about fewer nodes at once, or about part of the cluster (-l)"
        found.append(Finding("loss-untried", "warning", "cluster", message, remedy))
    return [*found, *map(_broken, broken)]


def _worst(report: LossReport) -> Finding:
    first = report.losers[0]
    losers = several([each.workload for each in report.losers])
    proof = proof_words(report)
    return Finding(
        "loss-unplaced",
        "error",
        _subject(report),
        f"{_losing(report)} leaves {len(report.losers)} of {plural(report.displaced, 'workload')} without a "
        f"place ({losers}); {first.workload}: {first.reason}{'; ' if proof else ''}{proof}",
        first.remedy,
    )


def _saved(report: LossReport) -> Finding:
    """Return the finding about a loss that is survived, but not by placing one after the other."""
    message = (
        f"{_losing(report)} leaves nobody without a place only if {plural(report.displaced, 'workload')} "
        "go where an exact search puts them, not one after the other"
    )
    return Finding("loss-exact-only", "warning", _subject(report), message, EXACT)


def _losing(report: LossReport) -> str:
    noun = "node" if len(report.nodes) == 1 else "nodes"
    alike = f" ({report.alike} losses like it)" if report.alike > 1 else ""
    return f"losing {noun} {several(report.nodes)}{alike}"


def _subject(report: LossReport) -> str:
    return f"node/{report.nodes[0]}" if len(report.nodes) == 1 else "cluster"


def proof_words(loss: Certified) -> str:
    """Return how sure the answer about a loss is; nothing where there was no exact look."""
    if loss.certificate == "exact":
        return "by exact search"
    if loss.certificate == "impossible":
        return "proven: no placement holds all"
    return f"not proven: {loss.certificate_note}" if loss.certificate_note else ""


def _broken(broken: Broken) -> Finding:
    budget = broken.budget
    message = (
        f"losing {several(broken.nodes)} takes {broken.lost} of {budget.healthy} workloads of "
        f"budget {budget.key}, which allows {budget.allowed} to go"
    )
    return Finding("loss-breaks-budget", "warning", f"budget/{budget.key}", message, BUDGET)


def _without_owner(keys: Sequence[str], when: str) -> str:
    again = "nobody starts it again when" if len(keys) == 1 else "nobody starts them again when"
    return f"{plural(len(keys), 'pod')} ({several(keys)}) without an owner: {again} {when} {_are(when)} lost"


def _are(what: str) -> str:
    """Return the verb for one node or domain, or for several joined by `and`."""
    return "are" if " and " in what else "is"
