"""Rules between workloads with the numbers behind them: whom they mean, how many lie where, what is allowed.

A rule itself only knows masks and counts. Who stands behind a count is looked up here, among the running
workloads, once for all rules of a shape; workloads that others cannot tell apart are judged once.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

import msgspec
import numpy as np

from ullage.engine.placement.attachments import AttachLimit
from ullage.engine.placement.counters import Counter
from ullage.engine.placement.failover_room import FailoverRule
from ullage.engine.placement.node_columns import Flags
from ullage.engine.placement.rule_book import HARD
from ullage.engine.placement.rules import EVERY, SIZE_REASON, Away, Near, Rule, Spread
from ullage.engine.placement.selectors import requirements_of
from ullage.engine.placement.shapes import Shape
from ullage.engine.placement.volume_binding import Binding, SinglePod
from ullage.engine.placement.volume_places import OnNodes
from ullage.engine.trial import Trial
from ullage.model.cluster import Workload
from ullage.model.constraints import LabelSelector, Record, Requirement
from ullage.model.quantity import readable_bytes

Kind = Literal[
    "port", "anti-affinity", "anti-affinity of others", "affinity", "spread", "volume", "spare", "other"
]
NAMES_TOLD: Final = 3
COUNTS_TOLD: Final = 6
WORKLOADS_MAX: Final = 100
"""How many workloads of one rule are named; more are only counted."""
_AWAY: Final[tuple[tuple[str, Kind], ...]] = (
    ("host port ", "port"),
    ("pod anti-affinity by ", "anti-affinity"),
    ("anti-affinity of workloads there, by ", "anti-affinity of others"),
)
"""How the reasons of rules that keep workloads apart begin."""


class DomainCount(Record, frozen=True):
    """How many workloads that a rule counts lie on the nodes with one value of a label."""

    label: str
    value: str
    workloads: int


class BindingRule(Record, frozen=True):
    """A rule between workloads, or between a workload and its volumes.

    `reason` is what nodes that it closes are refused with, `nodes` how many it keeps the workload off by
    itself. `workloads` stand behind it (the first of them; `others` are as many more), `counts` say where.
    """

    kind: Kind
    reason: str
    nodes: int
    text: str
    counts: tuple[DomainCount, ...] = ()
    workloads: tuple[str, ...] = ()
    others: int = 0


class _Standing(NamedTuple):
    """A running workload that a rule counts, and its node."""

    key: str
    node: str


def binding_rules(trial: Trial, shape: Shape, but: str = "") -> tuple[BindingRule, ...]:
    """Return every rule between workloads that binds a shape, the one that keeps it off most nodes first.

    `but` is the key of the workload that the rules are about: it does not stand in its own way.
    """
    trial.scores(shape)
    rules = [
        rule
        for rule in (*shape.local_rules, *shape.wide_rules)
        if not rule.reason.startswith((SIZE_REASON, "another node is named"))
        and not (isinstance(rule, FailoverRule) and (rule.allows(EVERY) | ~shape.open).all())
    ]
    counters = [rule.counter for rule in rules if isinstance(rule, Away)]
    standing = _standing(trial, counters, but)
    spreads = _labels_of_spreads(shape)
    found = []
    for rule in rules:
        closed = ~rule.allows(EVERY)
        label = next(spreads) if isinstance(rule, Spread) else ""
        told = _told(trial, shape, rule, closed, standing=standing, label=label)
        found.append(msgspec.structs.replace(told, nodes=int(closed.sum())))
    return tuple(sorted(found, key=lambda each: -each.nodes))


def _labels_of_spreads(shape: Shape) -> Iterator[str]:
    """Yield the labels of the spreads that bind, in the order in which their rules were made."""
    for each in shape.workload.constraints.topology_spread:
        if each.when_unsatisfiable == HARD:
            yield each.topology_key


def _standing(trial: Trial, counters: Sequence[Counter], but: str) -> dict[int, list[_Standing]]:
    """Return the running workloads that each counter counts, by the counter's identity."""
    found: dict[int, list[_Standing]] = {id(counter): [] for counter in counters}
    if not found:
        return found
    meant: dict[tuple[object, ...], list[Counter]] = {}
    for workload in trial.columns.snapshot.workloads:
        if not workload.holds_capacity or workload.key == but:
            continue
        alike = (workload.namespace, id(workload.labels), id(workload.constraints), workload.terminating)
        if alike not in meant:
            member = trial.rules.members.of(workload)
            meant[alike] = [counter for counter in counters if counter.means(member)]
        for counter in meant[alike]:
            if counter.codes[trial.row_of[workload.node]] >= 0:
                found[id(counter)].append(_Standing(workload.key, workload.node))
    return found


def _told(
    trial: Trial,
    shape: Shape,
    rule: Rule,
    closed: Flags,
    *,
    standing: dict[int, list[_Standing]],
    label: str,
) -> BindingRule:
    """Return what is to be said about one rule."""
    if isinstance(rule, Away):
        return _away(rule, standing[id(rule.counter)])
    if isinstance(rule, Near):
        return _near(trial, shape, rule)
    if isinstance(rule, Spread):
        return _spread(trial, rule, label)
    if isinstance(rule, OnNodes):
        names = [trial.nodes[row].name for row in rule.reach.rows.tolist()]
        where = f"it is reached from {_listed(names)} only" if names else "no node can have it"
        return BindingRule("volume", rule.reason, 0, where)
    if isinstance(rule, Binding):
        return BindingRule("volume", rule.reason, 0, _open_claims(trial, rule, closed))
    if isinstance(rule, SinglePod):
        return _single(trial, shape, rule)
    if isinstance(rule, AttachLimit):
        return BindingRule("volume", rule.reason, 0, _attached(trial, closed))
    if rule.reason.startswith("no volume for claim"):
        return BindingRule("volume", rule.reason, 0, _opens(closed))
    if isinstance(rule, FailoverRule):
        return BindingRule("spare", rule.reason, 0, rule.room.why(shape, shape.open))
    return BindingRule("other", rule.reason, 0, rule.reason)


def _away(rule: Away, standing: Sequence[_Standing]) -> BindingRule:
    prefix, kind = next(each for each in _AWAY if rule.reason.startswith(each[0]))
    what = rule.reason.removeprefix(prefix)
    who = _listed([f"{each.key} on {each.node}" for each in standing])
    if not standing:
        text = "nobody stands against it"
    elif kind == "port":
        text = f"port {what} of the node is taken by {who}"
    elif kind == "anti-affinity":
        text = f"it must not share {what} with {who}"
    else:
        verb = "does" if len(standing) == 1 else "do"
        text = f"{who} {verb} not share {what} with it"
    named = tuple(each.key for each in standing[:WORKLOADS_MAX])
    return BindingRule(kind, rule.reason, 0, text, workloads=named, others=len(standing) - len(named))


def _near(trial: Trial, shape: Shape, rule: Near) -> BindingRule:
    terms = shape.member.required_near
    meant = " and ".join(dict.fromkeys(_selector_text(term.label_selector) for term in terms))
    labels = " and ".join(dict.fromkeys(term.topology_key for term in terms))
    counts = tuple(
        each
        for term, counter in zip(terms, rule.counters, strict=True)
        for each in _counts(trial, term.topology_key, counter)
        if each.workloads
    )
    if counts:
        text = f"it must share {labels} with workloads that have {meant}: {_counted(counts)}"
    elif rule.may_be_first:
        text = f"it may be the first that has {meant}, on a node that has {labels}"
    else:
        text = f"it must share {labels} with workloads that have {meant}, and none runs"
    return BindingRule("affinity", rule.reason, 0, text, tuple(dict.fromkeys(counts)))


def _spread(trial: Trial, rule: Spread, label: str) -> BindingRule:
    counts = tuple(_counts(trial, label, rule.counter, rule.present.tolist()))
    lowest = 0 if rule.from_zero else min((each.workloads for each in counts), default=0)
    most = rule.room + lowest
    base = "counted from 0, as too few values take part" if rule.from_zero else f"the emptiest has {lowest}"
    rest = f"one more may go where there are {most} at most" if most >= 0 else "one more is too many anywhere"
    text = f"{_counted(counts)}; {base}, so {rest}" if counts else f"no node with {label} takes part"
    without = int((~rule.labelled).sum())
    if without:
        text += f"; {without} without the label"
    return BindingRule("spread", rule.reason, 0, text, counts)


def _counts(
    trial: Trial, label: str, counter: Counter, present: Iterable[int] | None = None
) -> list[DomainCount]:
    """Return what is counted for each value of a label, the fewest first."""
    values = trial.node_columns.topology(label).values
    codes = range(len(values)) if present is None else present
    found = [DomainCount(label, values[code], int(counter.counts[code])) for code in codes]
    return sorted(found, key=lambda each: (each.workloads, each.value))


def _open_claims(trial: Trial, rule: Binding, closed: Flags) -> str:
    parts = []
    for claim in rule.claims:
        record = trial.columns.snapshot.claims.get(claim.key)
        of_class = f", class {record.storage_class}" if record is not None and record.storage_class else ""
        parts.append(f"claim {claim.name} ({readable_bytes(claim.wanted.size_bytes)}{of_class})")
    return f"{' and '.join(parts)}: {_opens(closed)}"


def _opens(closed: Flags) -> str:
    count = int((~closed).sum())
    return f"a volume can be had on {count} of {len(closed)} nodes"


def _single(trial: Trial, shape: Shape, rule: SinglePod) -> BindingRule:
    """Name who uses a claim of the workload that takes one pod only."""
    namespace = shape.workload.namespace
    claim = rule.reason.split()[1].removeprefix(f"{namespace}/")
    users = [
        workload.key
        for workload in trial.columns.snapshot.workloads
        if workload.holds_capacity and workload.namespace == namespace and _uses(workload, claim)
    ]
    text = f"used by {_listed(users)}" if users else "nobody uses it"
    named = tuple(users[:WORKLOADS_MAX])
    return BindingRule("volume", rule.reason, 0, text, workloads=named, others=len(users) - len(named))


def _uses(workload: Workload, claim: str) -> bool:
    return any(each.claim == claim for each in workload.volumes)


def _attached(trial: Trial, closed: Flags) -> str:
    attachments = trial.volumes.attachments
    full = [
        f"{trial.nodes[row].name} has {int(attachments.used[driver][row])} of {int(most[row])} of {driver}"
        for row in np.flatnonzero(closed).tolist()
        for driver, most in attachments.limits.items()
        if attachments.used[driver][row] >= most[row]
    ]
    return _listed(full) or "its volumes together are more than fit"


def _counted(counts: Sequence[DomainCount]) -> str:
    """Return counts in words, `zone-a 0, zone-b 2`."""
    shown = [f"{each.value} {each.workloads}" for each in counts]
    return _listed(shown, COUNTS_TOLD)


def _selector_text(selector: LabelSelector | None) -> str:
    """Return a label selector as kubectl writes one."""
    conditions = requirements_of(selector)
    if conditions is None:
        return "labels that nothing has"
    return ",".join(_condition(each) for each in conditions) or "any labels"


def _condition(each: Requirement) -> str:
    if each.operator == "In" and len(each.values) == 1:
        return f"{each.key}={each.values[0]}"
    if each.operator in {"In", "NotIn"}:
        return f"{each.key} {each.operator.lower()} ({','.join(each.values)})"
    return each.key if each.operator == "Exists" else f"!{each.key}"


def _listed(names: Sequence[str], most: int = NAMES_TOLD) -> str:
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
