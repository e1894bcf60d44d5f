"""A fit answer with the step of the ledger that would hold it: made now, committed now or later.

The answer is planned on the cluster with every promise counted, and on a revision of the ledger.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ullage.engine.ledger.of_plan import committed
from ullage.engine.ledger.of_waiting import Asking, lined_up
from ullage.engine.ledger.promises import with_promises
from ullage.engine.ledger.state import LedgerState
from ullage.engine.placement.bench import Bench
from ullage.engine.placement.fit import FitAnswer
from ullage.model.cluster import Batch, Snapshot
from ullage.model.errors import InputError
from ullage.model.ledger import Expire, Extend, Resize, Together
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.settings import rules_for
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, check_namespace, placed_within, read_whole, standing
from ullage.service.clock import now_seconds
from ullage.service.fit import Commit, FitQuestion, fit_report, judged, prepared
from ullage.service.fit_commit_key import question_of
from ullage.service.held import bench_of, held
from ullage.service.held_promises import ledger_now, promised
from ullage.service.ledger_file import alive, ledger_path, read_ledger
from ullage.service.plan_record import FitPlan
from ullage.service.selector import with_node_names
from ullage.service.wanted import Choice, Wanted
from ullage.stores.codec import command_text

if TYPE_CHECKING:
    from ullage.service.question_records import Plan

NOWHERE_ELSE: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
HOLD_SECONDS: Final = 3600
"""How long is held what nobody says for how long."""


class Planned(NamedTuple):
    """An answer, and how it is committed; `command` is None where there is nothing to hold."""

    bench: Bench
    found: FitAnswer
    wanted: Wanted
    state: LedgerState
    at_seconds: int
    command: Together | None
    kept: tuple[str, ...]
    in_line: tuple[str, ...]

    @property
    def owners(self) -> frozenset[str]:
        """Who was asked about."""
        return frozenset(batch.key for batch in self.wanted.batches)

    @property
    def may_be_committed(self) -> bool:
        """Whether there is something to hold, and it may be: all, or some where not all are wanted."""
        return self.command is not None and (self.found.fits or not self.wanted.atomic)


class NothingWaits(NamedTuple):
    """That there is nothing to plan: no workloads were named, and in this cluster none waits."""

    snapshot: Snapshot


def refuse_shapes(question: FitQuestion) -> None:
    """Refuse to hold what nobody would own."""
    if question.shape:
        raise InputError(
            "a shape cannot be held: nobody would own it", where="--commit", remedy="name workloads with -f"
        )


def planned(
    asked: Asked,
    question: FitQuestion,
    commit: Commit,
    state: LedgerState,
    counted: Snapshot | None = None,
    *,
    on_nodes: Mapping[str, tuple[str, ...]] = NOWHERE_ELSE,
) -> Planned | NothingWaits:
    """Return what a commit would do on a state of the ledger, which nobody may have changed.

    `counted` is the cluster with every promise, where that was made already; workloads that `on_nodes` names
    go to these nodes and no others.
    """
    choice = Choice(question.paths, "", question.replicas, question.pod_template)
    at_seconds = max(now_seconds(), state.at_seconds)
    entries = alive(state.entries, at_seconds)
    whole = standing(read_whole(asked))
    everybody = with_promises(whole, entries) if counted is None else counted
    if not question.paths:
        check_namespace(everybody, asked.namespace)
    wanted = choice.wanted(everybody, asked.namespace)
    if not question.paths and not wanted.batches:
        return NothingWaits(everybody)
    batches = _pinned(placed_within(everybody, asked.selector, wanted.batches), on_nodes)
    wanted = wanted._replace(batches=batches, atomic=wanted.atomic or question.atomic)
    _check(wanted, commit)
    bench = bench_of(prepared(everybody, wanted, question), everybody)
    found = judged(bench, wanted, question)
    raw = prepared(whole, wanted, question)
    until = at_seconds + commit.hold_seconds
    over = state.due(at_seconds)
    known = [each.name for each in state.capacities]
    plan = committed(raw, entries, wanted.batches, found, until, over=over, known=known)
    asking = Asking(
        bench.columns,
        found.outcomes,
        {batch.key: batch.workload for batch in wanted.batches},
        [entry for entry in entries if entry.holds],
        [each for each in state.waiting if each.expires_seconds > at_seconds],
        until,
        commit.waits,
        rules_for(whole.policy, whole.resource_types).few_drives == "yes",
    )
    command, in_line = lined_up(plan.command, asking)
    if commit.extends:
        command = _extended(command, (*plan.kept, *in_line), entries, until)
    return Planned(bench, found, wanted, state, at_seconds, command, plan.kept, tuple(in_line))


def fit_plan(asked: Asked, told: "Plan", paths: tuple[str, ...]) -> Answer:
    """Answer whether workloads fit, with a plan to be committed later (a FitPlan); nothing is written."""
    from ullage.service.fit_page import fit_page

    question = FitQuestion(
        paths,
        "",
        told.replicas,
        told.atomic,
        told.pod_template,
        told.placement or "",
        told.seed,
        told.exact_seconds,
        told.run_min_seconds,
    )
    hold_seconds = told.hold_seconds or HOLD_SECONDS
    commit = Commit(hold_seconds, extends=told.hold_seconds is not None, waits=told.waits)
    found = _planned_held(asked, question, commit, _places(told.on_nodes))
    if isinstance(found, NothingWaits):
        raise InputError("nothing waits in the cluster", remedy="send the workloads that are meant")
    report = fit_report(found.bench, found.found, found.wanted)
    plan = FitPlan(
        report=versioned("FitReport", report, found.wanted.types),
        fits=found.found.fits,
        atomic=found.wanted.atomic,
        step=_step(found, question_of(asked, question, found.wanted, commit)),
        ledger_revision=found.state.revision,
        at_seconds=found.at_seconds,
        hold_seconds=hold_seconds,
        kept=found.kept,
        in_line=found.in_line,
        owners=tuple(sorted(found.owners)),
    )
    return Answer(
        lambda: fit_page(report, found.bench.columns, asked), lambda: msgspec.to_builtins(plan), plan.fits
    )


def _planned_held(
    asked: Asked, question: FitQuestion, commit: Commit, on_nodes: Mapping[str, tuple[str, ...]]
) -> Planned | NothingWaits:
    """Return the plan of a cluster that may be held: then what is counted and known of it serves again."""
    kept = held(asked.cluster)
    if kept is None:
        state = read_ledger(ledger_path(asked.ledger, asked)) if asked.ledger else LedgerState()
        return planned(asked, question, commit, state, on_nodes=on_nodes)
    read = ledger_now(kept, asked) if asked.ledger else None
    counted = promised(kept, read_whole(asked), read, asked)
    state = LedgerState() if read is None else read.state
    return planned(asked, question, commit, state, counted, on_nodes=on_nodes)


def _places(on_nodes: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return the nodes of each workload that has any named for it."""
    found: dict[str, tuple[str, ...]] = {}
    for pair in on_nodes:
        workload, equal, node = pair.partition("=")
        if not (workload and equal and node):
            raise InputError(f"{pair!r} names no node", where="onNodes", remedy="write NAMESPACE/NAME=NODE")
        found[workload] = (*found.get(workload, ()), node)
    return found


def _pinned(batches: tuple[Batch, ...], on_nodes: Mapping[str, tuple[str, ...]]) -> tuple[Batch, ...]:
    """Return batches that go to the nodes named for them.

    Those that are to be spread stay as they are: over fewer nodes they would be spread by another measure.
    """
    found = []
    for batch in batches:
        nodes = on_nodes.get(batch.key)
        if nodes and not batch.workload.constraints.topology_spread:
            constraints = with_node_names(batch.workload.constraints, nodes)
            batch = msgspec.structs.replace(  # noqa: PLW2901 - the same batch, with its nodes
                batch, workload=msgspec.structs.replace(batch.workload, constraints=constraints)
            )
        found.append(batch)
    return tuple(found)


def _step(found: Planned, question: str) -> str:
    if found.command is None:
        return ""
    return command_text(msgspec.structs.replace(found.command, question=question))


def _check(wanted: Wanted, commit: Commit) -> None:
    if wanted.atomic and commit.waits:
        raise InputError(
            "those who wait are held one by one, and all or none is asked for",
            where="--wait",
            remedy="leave out one of them",
        )


def _extended(
    command: Together | None, kept: Iterable[str], entries: Iterable[LedgerEntry], until: int
) -> Together | None:
    """Return the commands of a plan, and those that hold as long what is held, or in line, already."""
    parts = command.commands if command is not None else ()
    names = {*kept, *(each.reservation for each in parts if isinstance(each, Resize))}
    ends: dict[str, int] = {}
    for entry in entries:
        if entry.reservation in names and entry.expires_seconds is not None:
            ends[entry.reservation] = max(entry.expires_seconds, ends.get(entry.reservation, 0))
    extends = [Extend(name, until) for name in sorted(ends) if ends[name] < until]
    if not extends:
        return command
    return Together((*(parts or (Expire(),)), *extends), line_last=True)
