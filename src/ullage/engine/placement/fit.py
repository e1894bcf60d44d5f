"""Does it fit: workloads placed one after the other, each on the node that the policy scores best.

Batches are judged in a stated order: by the kinds that the policy names (volumes largest first, then
networks, then machines), then by priority, then as they were given; under several quotas the one that has
least of what it is entitled to has the next turn. Each is judged on the state that those before it left. One
that does not fit is an error with its reason and the others go on. Workloads of one gang, and the replicas of
an atomic batch, are placed together or not at all; asked to be atomic, one failure leaves nothing placed.

Where some are refused and time is given, all are searched for together, then tried in other orders. The hard
thing is what a refusal then proves: one that stands with no other batch in the way is for good; one that
stands only as the others are placed is, where it is proven that not all of them have a place.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.bench import Bench
from ullage.engine.placement.gangs import units_of
from ullage.engine.placement.judging import SEARCHES_MAX, Judging
from ullage.engine.placement.orders import is_near_others, other_orders
from ullage.engine.placement.outcome import Outcome
from ullage.engine.placement.preemption import Preemption
from ullage.engine.placement.selectors import Namespaces
from ullage.engine.quota.claims import Claims
from ullage.engine.quota.judging import QuotaJudging, is_under_quota
from ullage.engine.steps import Steps, counted
from ullage.engine.trial import Trial
from ullage.model.cluster import Batch
from ullage.model.plan import Plan
from ullage.model.settings import Rules, rules_for

TOGETHER_MAX: Final = 100
"""Batches that are searched for together."""
BESIDE_OTHERS: Final = "with the others where they are"
"""What is added to a proof that holds only as other batches are placed."""
ANOTHER_ORDER: Final = "placed in another order"
VOLUME_KINDS: Final = frozenset(("zmount", "volume"))


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
    names_remedies: bool = True,
    first: Mapping[str, int] | None = None,
    by_priority: bool = False,
    only_now: bool = False,
    bench: Bench | None = None,
    steps: Steps | None = None,
) -> FitAnswer:
    """Return where workloads would go; `placement` overrides how the policy scores nodes.

    Those that are to be `first` have their turns before all others, by their numbers. `by_priority`,
    workloads that no quota counts get the place of less important ones. `only_now`, nobody is waited for who
    is on the way out. What is refused is looked at again by
    exact search, for so many seconds each; where several batches are asked for, all of them together first. A
    `bench` of these columns keeps what the next question needs, too.
    """
    asked_of = (bench or Bench(columns)).for_question(batches)
    asking = _Asking(asked_of, batches, placement, seed, exact_seconds)
    asking.first = first or {}
    asking.steps = steps
    if by_priority:
        asking.schedule(only_now=only_now)
    found = asking.place(batches, together=atomic, atomic=atomic, names_remedies=names_remedies)
    if not exact_seconds or len(batches) == 1 or not any(each.refusal for each in found):
        return asking.answer(found)
    names_differ = len({batch.key for batch in batches}) == len(batches)
    if atomic:
        reordered = (
            asking.in_another_order(batches, found, atomic=True) if names_differ and _doubt(found) else []
        )
        return asking.answer(reordered or found)
    if not names_differ:
        return asking.answer([_as_sure_as(each, set(), "two of them have one name") for each in found])
    hopeless = asking.hopeless(batches, found)
    if all(outcome.subject in hopeless for outcome in found if outcome.refusal):
        return asking.answer(found)
    if len(batches) > TOGETHER_MAX:
        doubt = f"{len(batches)} are too many to be searched for together (at most {TOGETHER_MAX})"
        return asking.answer([_as_sure_as(outcome, hopeless, doubt) for outcome in found])
    jointly, doubt = asking.place_jointly(batches, found, hopeless)
    return asking.answer(jointly or [_as_sure_as(outcome, hopeless, doubt) for outcome in found])


def in_admission_order(batches: Sequence[Batch], rules: Rules) -> list[Batch]:
    """Return batches by kind as the policy orders them, then by priority; other kinds come last, by name."""
    rank = {kind: place for place, kind in enumerate(rules.admission_order)}

    def place(batch: Batch) -> tuple[int, str, int, int]:
        workload = batch.workload
        kind = workload.kind if rank else ""
        size = -sum(workload.requests.values()) if rank and kind in VOLUME_KINDS else 0
        return rank.get(kind, len(rank)), "" if kind in rank else kind, size, -workload.priority

    return sorted(batches, key=place)


class _Asking:
    """A question about batches: each look at it begins with the cluster as it is, on one trial."""

    def __init__(
        self,
        bench: Bench,
        batches: Sequence[Batch],
        placement: str,
        seed: int | None,
        exact_seconds: int,
    ) -> None:
        columns = self._columns = bench.columns
        snapshot = columns.snapshot
        self._rules = rules_for(snapshot.policy, snapshot.resource_types)
        self._exact_seconds = exact_seconds
        self._running = bench.running
        chosen = placement or self._rules.placement
        self._trial = bench.trial(chosen) if seed is None else Trial(columns, chosen, seed, keeps_spare=True)
        self._trial.devices.expect(batches)
        self._empty = self._trial.mark()
        self._asked = {batch.key: batch.workload for batch in batches}
        self.first: Mapping[str, int] = {}
        self.steps: Steps | None = None
        self.by_priority = False
        self._quotas: QuotaJudging | None = None
        if is_under_quota(bench.book, batches):
            claims = Claims(self._trial, bench.accounts, batches, exact_seconds)
            self._quotas = QuotaJudging(claims, snapshot.resource_types)

    def schedule(self, *, only_now: bool) -> None:
        """Judge as a scheduler of our own does: no budget is broken; and, unlike others, few drives first."""
        self.by_priority = True
        if self._quotas is not None:
            self._quotas.claims.heeds_budgets = True
            self._quotas.only_now = only_now
        if self._trial.preferences is not None:
            self._trial.preferences.after_disks = True

    def _judging(self, exact_seconds: int, *, names_remedies: bool = False) -> Judging:
        self._trial.undo(self._empty)
        if self._quotas:
            self._quotas.restart()
        return Judging(
            self._trial,
            self._rules,
            exact_seconds,
            names_remedies=names_remedies,
            running=self._running,
            quotas=self._quotas,
            preemption=Preemption(self._trial) if self.by_priority else None,
        )

    def place(
        self,
        batches: Sequence[Batch],
        *,
        together: bool,
        atomic: bool = False,
        names_remedies: bool = True,
    ) -> list[Outcome]:
        """Return what becomes of batches; together, one failure leaves nothing placed.

        Where they were asked to be atomic, those of one quota are one claim under it.
        """
        judging = self._judging(self._exact_seconds, names_remedies=names_remedies)
        ordered = in_admission_order(batches, self._rules)
        if self._quotas and not self._rules.admission_order:
            ordered = self._quotas.in_turns(ordered)
        if self.first:
            last = max(self.first.values()) + 1
            ordered.sort(key=lambda batch: self.first.get(batch.key, last))
        one_unit = together and ordered and (self._exact_seconds or (atomic and self._quotas))
        units = [ordered] if one_unit else list(units_of(ordered))
        outcomes = [
            outcome
            for unit in counted(units, len(units), "workloads judged", self.steps)
            for outcome in judging.judge_together(unit, atomic=atomic)
        ]
        if together and any(outcome.refusal for outcome in outcomes):
            return [outcome.undone() for outcome in outcomes]
        return outcomes

    def hopeless(self, batches: Sequence[Batch], found: Sequence[Outcome]) -> set[str]:
        """Return the batches that are refused for good even where no other batch is asked for."""
        refused = {outcome.subject for outcome in found if outcome.refusal}
        judging = self._judging(self._exact_seconds)
        namespaces = Namespaces(self._columns.snapshot.namespaces)
        units = [unit for unit in units_of(batches) if any(each.key in refused for each in unit)]
        proven: set[str] = set()
        for unit in units[:SEARCHES_MAX]:
            if not any(is_near_others(namespaces, batch.workload, batches) for batch in unit):
                alone = judging.judge_alone(unit)
                if any(each.refusal and each.certificate == "impossible" for each in alone):
                    proven |= {batch.key for batch in unit}
        return proven

    def place_jointly(
        self, batches: Sequence[Batch], found: Sequence[Outcome], hopeless: Collection[str]
    ) -> tuple[list[Outcome], str]:
        """Return outcomes in which all that is not hopeless is placed whole; else none, and why that is open.

        Of what is hopeless as much is placed as before. Nothing is open where it is proven that all of them
        have no place.
        """
        before = {outcome.subject: outcome for outcome in found}
        reduced = [
            msgspec.structs.replace(batch, replicas=before[batch.key].placed)
            if batch.key in hopeless
            else batch
            for batch in batches
        ]
        wanted = [batch for batch in reduced if batch.replicas or batch.key not in hopeless]
        jointly = self.place(wanted, together=True, names_remedies=False)
        doubt = _doubt(jointly)
        if doubt:
            jointly = self.in_another_order(wanted, found)
        after = {outcome.subject: outcome for outcome in jointly if not outcome.refusal}
        if len(after) < len(wanted):
            return [], doubt
        return [
            outcome._replace(nodes=after[outcome.subject].nodes if outcome.subject in after else ())
            if outcome.subject in hopeless
            else after[outcome.subject]
            for outcome in found
        ], ""

    def in_another_order(
        self, batches: Sequence[Batch], found: Sequence[Outcome], *, atomic: bool = False
    ) -> list[Outcome]:
        """Return outcomes of all batches, placed by scores in an order in which all fit; none without one.

        What is one claim under quotas is the same in every order.
        """
        if atomic and self._quotas:
            return []
        refused = {outcome.subject for outcome in found if outcome.refusal}
        position = {outcome.subject: index for index, outcome in enumerate(found)}
        for order in other_orders(self._trial, batches, refused):
            judging = self._judging(exact_seconds=0)
            outcomes: list[Outcome] = []
            for unit in units_of(order):
                outcomes += judging.judge_together(unit)
                if any(outcome.refusal for outcome in outcomes[-len(unit) :]):
                    break
            else:
                outcomes.sort(key=lambda outcome: position[outcome.subject])
                return [outcome._replace(certificate_note=ANOTHER_ORDER) for outcome in outcomes]
        return []

    def answer(self, outcomes: Sequence[Outcome]) -> FitAnswer:
        """Return outcomes with the plan they make."""
        if self._quotas:
            outcomes = self._quotas.with_threats(outcomes, self._asked)
            self._quotas.restart()
        snapshot = self._columns.snapshot
        steps = tuple(step for outcome in outcomes for step in outcome.steps())
        refusals = tuple(outcome.refusal for outcome in outcomes if outcome.refusal)
        return FitAnswer(
            tuple(outcomes), Plan("fit", snapshot.revision, snapshot.policy.name, steps, refusals)
        )


def _doubt(jointly: Sequence[Outcome]) -> str:
    """Return why a search for all together does not prove that they have no place; nothing where it does.

    Nothing too where all of them have one.
    """
    refused = [outcome for outcome in jointly if outcome.refusal]
    proven = any(outcome.certificate == "impossible" and outcome.certificate_note for outcome in refused)
    if not refused or proven:
        return ""
    notes = [outcome.certificate_note for outcome in refused if outcome.certificate == "unknown"]
    return next(filter(None, notes), "what runs already, or is refused for what it is, is not searched for")


def _as_sure_as(outcome: Outcome, hopeless: Collection[str], doubt: str) -> Outcome:
    """Return a refusal whose proof holds only beside the other batches with words that say so.

    Where it is in doubt that there is no place for all of them together, it is none.
    """
    proven = outcome.refusal is not None and outcome.certificate == "impossible"
    if not proven or not outcome.certificate_note or outcome.subject in hopeless:
        return outcome
    if not doubt:
        return outcome._replace(certificate_note=BESIDE_OTHERS)
    note = f"{BESIDE_OTHERS} it has no place, but they might stand elsewhere ({doubt})"
    return outcome._replace(certificate="unknown", certificate_note=note)
