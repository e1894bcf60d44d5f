"""Does it fit: workloads placed one after the other, each on the node that the policy scores best.

Batches are judged in a stated order: by the kinds that the policy names (volumes largest first, then
networks, then machines), then by priority, then as they were given; each on the state that those before it
left. One that does not fit is an error with its reason and the others go on. Workloads of one gang, and the
replicas of an atomic batch, are placed together or not at all; asked to be atomic, one failure leaves nothing
placed.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from ullage.engine.capacity.admission import admit, admit_resize, judge
from ullage.engine.capacity.units import refused_by_kind
from ullage.engine.columns import Columns
from ullage.engine.placement.batches import place_replicas
from ullage.engine.placement.before import BeforePlacement
from ullage.engine.placement.certified import certified
from ullage.engine.placement.refusal import explain_refusal, resize_remedy
from ullage.engine.placement.remedies import NONE_OWN, Own, Remedies
from ullage.engine.placement.running import Running
from ullage.engine.placement.selectors import Namespaces, selector_of
from ullage.engine.trial import Mark, Trial
from ullage.model.cluster import Batch, Workload
from ullage.model.errors import InputError
from ullage.model.plan import Plan, Refusal, Step
from ullage.model.resources import NOTHING, Resources
from ullage.model.settings import Rules, rules_for
from ullage.model.verdict import Verdict

REPLICAS_MAX: Final = 10_000_000
REMEDIES_MAX: Final = 50
"""Refusals of one question for which remedies are looked for."""
REMEDIES_TOLD: Final = 3
TOGETHER_MAX: Final = 100
"""Batches that are searched for together."""
BESIDE_OTHERS: Final = "with the others where they are"
"""What is added to a proof that holds only as other batches are placed."""
SEARCHES_MAX: Final = 50
"""Refusals of one question for which an exact search is made."""
VOLUME_KINDS: Final = frozenset(("zmount", "volume"))


class Outcome(NamedTuple):
    """What became of one batch: how many replicas stand where, and why not all of them do.

    `requests` is what one replica takes from its node, which may be more than was asked for. `certificate`
    says how far that is known: placed by scores or by exact search; refused for good, or not known.
    """

    subject: str
    kind: str
    replicas: int
    placed: int
    state: Literal["ok", "error", "init", "paused", "deleted"]
    nodes: tuple[tuple[str, int], ...]
    verdict: Verdict | None = None
    refusal: Refusal | None = None
    requests: Resources = NOTHING
    action: Literal["place", "resize", "keep"] = "place"
    certificate: Literal["greedy", "exact", "impossible", "unknown"] = "greedy"
    certificate_note: str = ""


class FitAnswer(NamedTuple):
    """The outcome of every batch in the order in which they were judged, and the plan they make."""

    outcomes: tuple[Outcome, ...]
    plan: Plan

    @property
    def fits(self) -> bool:
        """Whether everything that was asked for has its place."""
        return self.plan.complete


def fit(
    columns: Columns,
    batches: Sequence[Batch],
    *,
    atomic: bool = False,
    placement: str = "",
    seed: int | None = None,
    exact_seconds: int = 0,
) -> FitAnswer:
    """Return where workloads would go; `placement` overrides how the policy scores nodes.

    What is refused is looked at again by exact search, for so many seconds each; where several batches are
    asked for, all of them together first.
    """
    found = _fit(columns, batches, Asking(atomic, placement, seed, exact_seconds))
    if found.fits or atomic or not exact_seconds or len(batches) == 1:
        return found
    few = len(batches) <= TOGETHER_MAX
    if few:
        jointly = _fit(columns, batches, Asking(True, placement, seed, exact_seconds))  # noqa: FBT003 - a field
        if jointly.fits:
            return jointly
    by_key = {batch.key: batch for batch in batches}
    outcomes = []
    for outcome in found.outcomes:
        proven = outcome.refusal is not None and outcome.certificate == "impossible"
        if proven and outcome.certificate_note:
            batch = by_key[outcome.subject]
            alone = few and not _is_near_others(columns, batch.workload, batches)
            if alone:
                itself = _fit(columns, [batch], Asking(False, placement, seed, exact_seconds))  # noqa: FBT003 - a field
                alone = not itself.fits and itself.outcomes[0].certificate == "impossible"
            if not alone:
                outcome = outcome._replace(certificate_note=BESIDE_OTHERS)  # noqa: PLW2901 - the same, less sure
        outcomes.append(outcome)
    return found._replace(outcomes=tuple(outcomes))


def _is_near_others(columns: Columns, workload: Workload, batches: Sequence[Batch]) -> bool:
    """Whether it must be near others that are asked for: impossible alone, it may be possible beside them."""
    affinity = workload.constraints.affinity
    terms = affinity.pod_affinity.required if affinity and affinity.pod_affinity else ()
    namespaces = Namespaces(columns.snapshot.namespaces)
    selectors = [selector_of(term, workload.namespace, workload.labels) for term in terms]
    return any(
        namespaces.means(selector, other.workload.namespace, other.workload.labels, of_newcomer=True)
        for selector in selectors
        for other in batches
        if other.key != workload.key
    )


class Asking(NamedTuple):
    """How batches are to be placed."""

    atomic: bool
    placement: str
    seed: int | None
    exact_seconds: int


def _fit(columns: Columns, batches: Sequence[Batch], asking: Asking) -> FitAnswer:
    atomic, placement, seed, exact_seconds = asking
    snapshot = columns.snapshot
    rules = rules_for(snapshot.policy, snapshot.resource_types)
    trial = Trial(columns, placement or rules.placement, seed)
    trial.devices.expect(batches)
    judging = _Judging(trial, rules, exact_seconds)
    outcomes: list[Outcome] = []
    ordered = in_admission_order(batches, rules)
    for together in [ordered] if atomic and exact_seconds and ordered else _units(ordered):
        outcomes += judging.judge_together(together)
    if atomic and any(outcome.refusal for outcome in outcomes):
        outcomes = [_undone(outcome) for outcome in outcomes]
    steps = tuple(step for outcome in outcomes for step in _steps(outcome))
    refusals = tuple(outcome.refusal for outcome in outcomes if outcome.refusal)
    return FitAnswer(tuple(outcomes), Plan("fit", snapshot.revision, snapshot.policy.name, steps, refusals))


def in_admission_order(batches: Sequence[Batch], rules: Rules) -> list[Batch]:
    """Return batches by kind as the policy orders them, then by priority; other kinds come last, by name."""
    rank = {kind: place for place, kind in enumerate(rules.admission_order)}

    def place(batch: Batch) -> tuple[int, str, int, int]:
        workload = batch.workload
        kind = workload.kind if rank else ""
        size = -sum(workload.requests.values()) if rank and kind in VOLUME_KINDS else 0
        return rank.get(kind, len(rank)), "" if kind in rank else kind, size, -workload.priority

    return sorted(batches, key=place)


def _units(batches: Sequence[Batch]) -> Iterator[list[Batch]]:
    """Yield batches that stand or fall together; a gang is judged where its first workload is."""
    gangs: dict[tuple[str, str], list[Batch]] = {}
    for batch in batches:
        workload = batch.workload
        if not workload.gang:
            yield [batch]
        elif (workload.namespace, workload.gang) not in gangs:
            key = (workload.namespace, workload.gang)
            gangs[key] = [each for each in batches if (each.workload.namespace, each.workload.gang) == key]
            yield gangs[key]


class _Judging:
    """Batches judged on one trial."""

    def __init__(self, trial: Trial, rules: Rules, exact_seconds: int) -> None:
        self._trial = trial
        self._exact_seconds = exact_seconds
        self._searches_left = SEARCHES_MAX if exact_seconds else 0
        self._rules = rules
        self._running = Running(trial.columns.snapshot)
        self._remedies_left = REMEDIES_MAX
        self._before = BeforePlacement(trial.columns.snapshot)

    def judge_together(self, batches: Sequence[Batch]) -> list[Outcome]:
        """Return what becomes of batches that stand or fall together."""
        mark, charged = self._trial.mark(), self._before.mark()
        found = [self._judge(batch) for batch in batches]
        if self._searches_left and any(outcome.certificate == "unknown" for outcome in found):
            found = self._certified([self._before.completed(each.workload) for each in batches], found, mark)
        if (len(batches) > 1 or batches[0].atomic) and any(outcome.refusal for outcome in found):
            self._trial.undo(mark)
            self._before.undo(charged)
            return [_undone(outcome) for outcome in found]
        return found

    def _certified(self, asked: Sequence[Workload], found: list[Outcome], mark: Mark) -> list[Outcome]:
        """Return outcomes with the word of an exact search, and charge what it has placed."""
        self._searches_left -= 1
        changed = certified(self._trial, mark, asked, found, self._exact_seconds)
        for workload, before, after in zip(asked, found, changed, strict=True):
            self._before.take(workload, after.placed - before.placed)
        return changed

    def _judge(self, batch: Batch) -> Outcome:
        """Return what becomes of a batch, and leave its replicas placed."""
        if not 0 <= batch.replicas <= REPLICAS_MAX:
            raise InputError(
                f"workload {batch.key} asks for {batch.replicas} replicas", remedy=f"use 0 to {REPLICAS_MAX}"
            )
        workload = self._before.completed(batch.workload)
        taken = self._trial.columns.taken(workload)
        outcome = Outcome(workload.key, workload.kind, batch.replicas, 0, "ok", (), requests=taken)
        refusal = self._refused_outright(workload, batch.replicas)
        if refusal is not None:
            final = workload.state in {"error", "deleted"}
            state = workload.state if final else "error"
            return outcome._replace(state=state, refusal=refusal, certificate="impossible")
        running = self._running.replicas_of(workload)
        admitted, bound = self._before.admits(workload, batch.replicas, running)
        found = self._placed(workload, running, outcome._replace(replicas=admitted))
        self._before.take(workload, found.placed)
        return _with_bound(found, batch.replicas, bound) if bound else found

    def _placed(self, workload: Workload, running: Sequence[Workload], outcome: Outcome) -> Outcome:
        itself = self._trial.columns.snapshot.workloads.get(workload.key)
        if itself is not None and itself.holds_capacity and outcome.replicas == 1:
            if workload.node in {"", itself.node}:
                return self._resize(itself, workload, outcome._replace(action="resize"))
            return self._place(workload, outcome)
        return self._update(running, workload, outcome) if running else self._place(workload, outcome)

    def _refused_outright(self, workload: Workload, replicas: int) -> Refusal | None:
        """Return why a workload is not even tried."""
        if workload.state in {"error", "deleted"}:
            reason = f"its state is {workload.state}, which is final"
            return Refusal(workload.key, replicas, reason, remedy="ask for it anew, in state init")
        too_small = refused_by_kind(workload.kind, workload.requests, self._rules)
        if too_small:
            return Refusal(workload.key, replicas, too_small, remedy="raise its memory request")
        bound = self._before.refusal(workload)
        if bound:
            parts = bound.split("; ")
            facts, fixes = parts[::2], parts[1::2]
            return Refusal(workload.key, replicas, "; ".join(facts), remedy=" and ".join(fixes))
        gates = workload.constraints.scheduling_gates
        if gates:
            reason = f"it is held back by scheduling gates ({', '.join(sorted(gates))})"
            return Refusal(workload.key, replicas, reason, remedy="remove the gates")
        return None

    def _resize(self, running: Workload, asked: Workload, outcome: Outcome) -> Outcome:
        """Judge a workload that runs already: only what it grows by is new."""
        trial = self._trial
        before = msgspec.structs.replace(running, requests=trial.columns.taken(running))
        after = msgspec.structs.replace(asked, requests=outcome.requests)
        row = trial.row_of[running.node]
        verdict = admit_resize(trial.place_of(row), before, after)
        if not verdict.admitted:
            remedy = resize_remedy(verdict.shortfalls, trial.columns.snapshot.resource_types)
            refusal = Refusal(outcome.subject, 1, verdict.reason, verdict.shortfalls, remedy)
            return outcome._replace(state="error", verdict=verdict, refusal=refusal)
        mark, shape = trial.mark(), trial.shape_of(asked)
        trial.evict(running)
        lacking = trial.devices.lacking(shape, row, trial.shape_of(running))
        if lacking:
            trial.undo(mark)
            remedy = "ask for less of a device, or move it to a node with more free"
            refusal = Refusal(outcome.subject, 1, f"{running.node}: {lacking}", remedy=remedy)
            return outcome._replace(state="error", refusal=refusal)
        trial.place(shape, row)
        return outcome._replace(placed=1, nodes=((running.node, 1),), verdict=verdict)

    def _update(self, running: Sequence[Workload], asked: Workload, outcome: Outcome) -> Outcome:
        """Judge a set of replicas of which some run already.

        Those stay where they are while their node has room for the new size; the others give up their place
        and are placed anew, and what is too many goes.
        """
        trial = self._trial
        shape = trial.shape_of(asked)
        counts: dict[str, int] = {}
        for position, replica in enumerate(running):
            held = trial.columns.taken(replica)
            row = trial.row_of[replica.node]
            stays = position < outcome.replicas and (
                held == outcome.requests
                or judge(trial.place_of(row), asked.key, outcome.requests, held=held).admitted
            )
            trial.evict(replica)
            if stays and not trial.devices.lacking(shape, row, trial.shape_of(replica)):
                trial.place(shape, row)
                counts[replica.node] = counts.get(replica.node, 0) + 1
        kept = sum(counts.values())
        own = Own(frozenset(each.key for each in running), kept)
        added = self._place(asked, outcome._replace(replicas=outcome.replicas - kept), own)
        for node, count in added.nodes:
            counts[node] = counts.get(node, 0) + count
        same = kept == len(running) and all(trial.columns.taken(each) == outcome.requests for each in running)
        return added._replace(
            replicas=outcome.replicas,
            placed=kept + added.placed,
            nodes=tuple(sorted(counts.items())),
            action="keep" if same and not added.nodes else "resize",
        )

    def _place(self, asked: Workload, outcome: Outcome, own: Own = NONE_OWN) -> Outcome:
        """Place replicas on the nodes that score best."""
        trial = self._trial
        shape = trial.shape_of(asked)
        taking = msgspec.structs.replace(asked, requests=outcome.requests)
        first = trial.pick(shape) if outcome.replicas else -1
        verdict = admit(trial.place_of(first), taking) if first >= 0 else None
        mark = trial.mark()
        counts = place_replicas(trial, shape, outcome.replicas)
        placed = sum(counts.values())
        nodes = tuple(sorted((trial.nodes[row].name, count) for row, count in counts.items()))
        outcome = outcome._replace(placed=placed, nodes=nodes, verdict=verdict)
        if placed == outcome.replicas:
            return outcome
        refusal = explain_refusal(trial, shape, taking, outcome.replicas - placed)
        if refusal.shortfalls:
            nearest = trial.row_of[refusal.shortfalls[0].node]
            verdict = admit(trial.place_of(nearest), taking)
        refusal = self._with_remedies(refusal, asked, outcome, mark, own)
        return outcome._replace(state="error", verdict=verdict, refusal=refusal, certificate="unknown")

    def _with_remedies(
        self, refusal: Refusal, asked: Workload, outcome: Outcome, mark: Mark, own: Own
    ) -> Refusal:
        """Return a refusal with what would help, tried on the state before the batch, which is restored."""
        if self._remedies_left <= 0:
            return refusal
        self._remedies_left -= 1
        trial = self._trial
        trial.undo(mark)
        found = Remedies(trial, asked, outcome.replicas, outcome.placed, own).find()
        shape = trial.shape_of(asked)
        for node, count in outcome.nodes:
            trial.place(shape, trial.row_of[node], count)
        if not found:
            return refusal
        texts = "; or ".join(each.text for each in found[:REMEDIES_TOLD])
        return msgspec.structs.replace(refusal, remedy=texts, remedies=found)


def _with_bound(outcome: Outcome, replicas: int, bound: str) -> Outcome:
    """Return an outcome of which a quota lets in only a part, or of which that part has no place either."""
    reason, _, remedy = bound.rpartition("; ")
    count = replicas - outcome.placed
    refusal = outcome.refusal
    if refusal is not None:
        reason = f"{reason}; and of what it admits: {refusal.reason}"
        remedy = f"{remedy}; and then: {refusal.remedy}"
    refusal = Refusal(outcome.subject, count, reason, refusal.shortfalls if refusal else (), remedy)
    return outcome._replace(replicas=replicas, state="error", refusal=refusal, certificate="impossible")


def _undone(outcome: Outcome) -> Outcome:
    """Return an outcome of which nothing stands, because another one failed."""
    state = outcome.state if outcome.refusal else "init"
    return outcome._replace(placed=0, nodes=(), state=state)


def _steps(outcome: Outcome) -> list[Step]:
    if outcome.action == "keep":
        return []
    return [
        Step(outcome.action, outcome.subject, to_node=node, resources=outcome.requests, count=count)
        for node, count in outcome.nodes
    ]
