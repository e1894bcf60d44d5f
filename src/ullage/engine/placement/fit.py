"""Does it fit: workloads placed one after the other, each on the node that the policy scores best.

Batches are judged in a stated order: by the kinds that the policy names (volumes largest first, then
networks, then machines), then by priority, then as they were given; each on the state that those before it
left. One that does not fit is an error with its reason and the others go on. Workloads of one gang, and the
replicas of an atomic batch, are placed together or not at all; asked to be atomic, one failure leaves nothing
placed.

Where some are refused and time is given, all are searched for together. The hard thing is what a refusal then
proves: only one that stands with no other batch in the way is for good.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.judging import SEARCHES_MAX, Judging
from ullage.engine.placement.outcome import Outcome
from ullage.engine.placement.selectors import Namespaces, selector_of
from ullage.engine.trial import Trial
from ullage.model.cluster import Batch, Workload
from ullage.model.plan import Plan
from ullage.model.settings import Rules, rules_for

TOGETHER_MAX: Final = 100
"""Batches that are searched for together."""
BESIDE_OTHERS: Final = "with the others where they are"
"""What is added to a proof that holds only as other batches are placed."""
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
) -> FitAnswer:
    """Return where workloads would go; `placement` overrides how the policy scores nodes.

    What is refused is looked at again by exact search, for so many seconds each; where several batches are
    asked for, all of them together first.
    """
    asking = _Asking(columns, placement, seed, exact_seconds)
    found = asking.place(batches, together=atomic)
    if atomic or not exact_seconds or len(batches) == 1 or not any(each.refusal for each in found):
        return asking.answer(found)
    names_differ = len({batch.key for batch in batches}) == len(batches)
    hopeless = asking.hopeless(batches, found) if names_differ else set[str]()
    if names_differ and len(batches) <= TOGETHER_MAX:
        jointly = asking.place_jointly(batches, found, hopeless)
        if jointly:
            return asking.answer(jointly)
    return asking.answer([_as_sure_as(outcome, hopeless) for outcome in found])


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
    """A question about batches: each look at it begins with the cluster as it is."""

    def __init__(self, columns: Columns, placement: str, seed: int | None, exact_seconds: int) -> None:
        snapshot = columns.snapshot
        self._columns = columns
        self._rules = rules_for(snapshot.policy, snapshot.resource_types)
        self._placement = placement or self._rules.placement
        self._seed = seed
        self._exact_seconds = exact_seconds

    def _judging(self, batches: Sequence[Batch], *, names_remedies: bool) -> Judging:
        trial = Trial(self._columns, self._placement, self._seed)
        trial.devices.expect(batches)
        return Judging(trial, self._rules, self._exact_seconds, names_remedies=names_remedies)

    def place(
        self, batches: Sequence[Batch], *, together: bool, names_remedies: bool = True
    ) -> list[Outcome]:
        """Return what becomes of batches; together, one failure leaves nothing placed."""
        judging = self._judging(batches, names_remedies=names_remedies)
        ordered = in_admission_order(batches, self._rules)
        units = [ordered] if together and self._exact_seconds and ordered else _units(ordered)
        outcomes = [outcome for unit in units for outcome in judging.judge_together(unit)]
        if together and any(outcome.refusal for outcome in outcomes):
            return [outcome.undone() for outcome in outcomes]
        return outcomes

    def hopeless(self, batches: Sequence[Batch], found: Sequence[Outcome]) -> set[str]:
        """Return the batches that are refused for good even where no other batch is asked for."""
        refused = {outcome.subject for outcome in found if outcome.refusal}
        judging = self._judging(batches, names_remedies=False)
        units = [unit for unit in _units(batches) if any(each.key in refused for each in unit)]
        proven: set[str] = set()
        for unit in units[:SEARCHES_MAX]:
            if not any(_is_near_others(self._columns, batch.workload, batches) for batch in unit):
                alone = judging.judge_alone(unit)
                if any(each.refusal and each.certificate == "impossible" for each in alone):
                    proven |= {batch.key for batch in unit}
        return proven

    def place_jointly(
        self, batches: Sequence[Batch], found: Sequence[Outcome], hopeless: Collection[str]
    ) -> list[Outcome]:
        """Return outcomes in which all that is not hopeless is placed whole; none where none are found.

        Of what is hopeless as much is placed as before.
        """
        before = {outcome.subject: outcome for outcome in found}
        reduced = [
            msgspec.structs.replace(batch, replicas=before[batch.key].placed)
            if batch.key in hopeless
            else batch
            for batch in batches
        ]
        wanted = [batch for batch in reduced if batch.replicas or batch.key not in hopeless]
        jointly = self.place(wanted, together=True, names_remedies=False) if wanted else []
        if not jointly or any(outcome.refusal for outcome in jointly):
            return []
        after = {outcome.subject: outcome for outcome in jointly}
        return [
            outcome._replace(nodes=after[outcome.subject].nodes if outcome.subject in after else ())
            if outcome.subject in hopeless
            else after[outcome.subject]
            for outcome in found
        ]

    def answer(self, outcomes: Sequence[Outcome]) -> FitAnswer:
        """Return outcomes with the plan they make."""
        snapshot = self._columns.snapshot
        steps = tuple(step for outcome in outcomes for step in outcome.steps())
        refusals = tuple(outcome.refusal for outcome in outcomes if outcome.refusal)
        return FitAnswer(
            tuple(outcomes), Plan("fit", snapshot.revision, snapshot.policy.name, steps, refusals)
        )


def _as_sure_as(outcome: Outcome, hopeless: Collection[str]) -> Outcome:
    """Return a refusal whose proof holds only beside the other batches with words that say so."""
    proven = outcome.refusal is not None and outcome.certificate == "impossible"
    if proven and outcome.certificate_note and outcome.subject not in hopeless:
        return outcome._replace(certificate_note=BESIDE_OTHERS)
    return outcome


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
