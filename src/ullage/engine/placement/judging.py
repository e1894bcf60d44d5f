"""One batch after the other on a trial: refused for what it is, resized where it runs, or placed anew.

What does not fit is explained, with remedies that were tried; what placing by scores alone refuses is looked
at again by exact search (certified.py).
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from ullage.engine.capacity.admission import admit, admit_resize
from ullage.engine.capacity.units import refused_by_kind
from ullage.engine.placement.batches import place_replicas
from ullage.engine.placement.before import BeforePlacement
from ullage.engine.placement.certified import certified
from ullage.engine.placement.chosen_volumes import with_volumes
from ullage.engine.placement.device_claims import REMEDY, what_it_claims
from ullage.engine.placement.disk_holders import served_on
from ullage.engine.placement.gang_outcomes import TooFew, naming, of_gang, with_enough_of_gangs
from ullage.engine.placement.gangs import Gang, GangKey, Gangs, gang_key, gangs_of, units_of
from ullage.engine.placement.kept_disks import KeptDisks
from ullage.engine.placement.numbered import numbered, placed_by_claims
from ullage.engine.placement.outcome import Outcome, Served
from ullage.engine.placement.preemption import Preemption
from ullage.engine.placement.refusal import explain_refusal, resize_remedy
from ullage.engine.placement.refused_batch import NONE_OWN, Own, with_bound
from ullage.engine.placement.remedies import Around, Remedies
from ullage.engine.placement.running import Running
from ullage.engine.placement.shares import Looks, Share, shares_of
from ullage.engine.placement.staying import resized, stayed, without_disks
from ullage.engine.quota.judging import QuotaJudging
from ullage.engine.trial import Mark, Trial
from ullage.model.cluster import Batch, Workload
from ullage.model.errors import InputError
from ullage.model.plan import Refusal
from ullage.model.settings import Rules

REPLICAS_MAX: Final = 10_000_000
REMEDIES_MAX: Final = 50
"""Refusals of one question for which remedies are looked for."""
SEARCHES_MAX: Final = 50
"""Refusals of one question for which an exact search is made."""


class _Moment(NamedTuple):
    """To where everything can be taken back."""

    trial: Mark
    before: tuple[int, int]
    claims: int
    preemption: tuple[int, int]


class Judging:
    """Batches judged on one trial, one after the other; each stays placed as far as it fits."""

    def __init__(
        self,
        trial: Trial,
        rules: Rules,
        exact_seconds: int,
        *,
        names_remedies: bool = True,
        running: Running | None = None,
        quotas: QuotaJudging | None = None,
        preemption: Preemption | None = None,
    ) -> None:
        self._preemption = preemption
        self._trial = trial
        self._exact_seconds = exact_seconds
        self._searches_left = SEARCHES_MAX if exact_seconds else 0
        self._rules = rules
        self._running = running or Running(trial.columns.snapshot)
        self._around = Around(trial)
        self._remedies_left = REMEDIES_MAX if names_remedies else 0
        self._before = BeforePlacement(trial.columns.snapshot)
        self._quotas = quotas
        self._share: Share | None = None
        self._barred = False

    def judge_alone(self, batches: Sequence[Batch]) -> list[Outcome]:
        """Return what would become of batches that stand or fall together, and leave nothing placed."""
        mark = self._mark()
        found = self.judge_together(batches)
        self._undo(mark)
        return found

    def _mark(self) -> _Moment:
        quotas, preemption = self._quotas, self._preemption
        return _Moment(
            self._trial.mark(),
            self._before.mark(),
            quotas.claims.mark() if quotas else 0,
            preemption.mark() if preemption else (0, 0),
        )

    def _undo(self, moment: _Moment) -> None:
        self._trial.undo(moment.trial)
        self._before.undo(moment.before)
        if self._quotas:
            self._quotas.claims.undo(moment.claims)
        if self._preemption:
            self._preemption.undo(moment.preemption)

    def judge_together(self, batches: Sequence[Batch], *, atomic: bool = False) -> list[Outcome]:
        """Return what becomes of batches that stand or fall together; atomic, with every one of them."""
        mark = self._mark()
        gangs = gangs_of(batches, self._running)
        short = {
            key: self._too_few(gang, [each for each in batches if gang_key(each.workload) == key])
            for key, gang in gangs.items()
            if gang.missing
        }
        found = self._judge_units(batches, gangs, short, atomic=atomic)
        in_doubt = any(outcome.certificate == "unknown" for outcome in found)
        goes = any(outcome.evicted or outcome.waits_for for outcome in found)
        if self._searches_left and in_doubt and not goes and not self._barred:
            asked = [self._before.completed(each.workload) for each in batches]
            found = self._certified(asked, found, mark.trial)
        found = with_enough_of_gangs(batches, found, gangs)
        if self._stands(batches, found, gangs):
            return with_volumes(self._trial, self._before.completed, batches, found)
        self._undo(mark)
        return [of_gang(outcome.undone(), gangs) for outcome in found]

    def _judge_units(
        self,
        batches: Sequence[Batch],
        gangs: Gangs,
        short: Mapping[GangKey | None, TooFew],
        *,
        atomic: bool,
    ) -> list[Outcome]:
        """Return what becomes of batches, one gang after the other; it is noted whether quotas bar one."""
        found: dict[int, Outcome] = {}
        self._barred = False
        for unit in [list(batches)] if atomic else units_of(batches):
            shares = self._shares(unit, gangs, short, atomic=atomic)
            self._barred |= any(share is not None and share.is_refused_by_quotas for share in shares)
            for batch, share in zip(unit, shares, strict=True):
                found[id(batch)] = self._judge(batch, short, share)
        return [found[id(batch)] for batch in batches]

    def _shares(
        self,
        unit: Sequence[Batch],
        gangs: Gangs,
        short: Mapping[GangKey | None, TooFew],
        *,
        atomic: bool,
    ) -> Sequence[Share | None]:
        """Return what each batch has of a claim under quotas that it makes together with others."""
        key = gang_key(unit[0].workload) if unit else None
        together = atomic or key is not None or any(batch.atomic for batch in unit)
        if not self._quotas or not together or short:
            return [None] * len(unit)
        mark, remedies_left = self._mark(), self._remedies_left
        self._remedies_left = 0
        looks = Looks(
            self._quotas, lambda batch, share: self._judge(batch, short, share), lambda: self._undo(mark)
        )
        enough = None
        if not atomic and key in gangs and not any(batch.atomic for batch in unit):
            enough = gangs[key].members_min - gangs[key].running
        found = shares_of(looks, unit, enough)
        self._remedies_left = remedies_left
        return found

    def _stands(self, batches: Sequence[Batch], found: Sequence[Outcome], gangs: Gangs) -> bool:
        """Whether what was placed stays: all of it, enough of a gang, or a part of what needs no others."""
        if not any(outcome.refusal for outcome in found):
            return True
        keys = {gang_key(batch.workload) for batch in batches}
        if len(keys) == 1 and keys <= gangs.keys():
            (gang,) = gangs.values()
            return gang.is_enough(sum(outcome.placed for outcome in found))
        return len(batches) == 1 and not batches[0].atomic and keys == {None}

    def _too_few(self, gang: Gang, members: Sequence[Batch]) -> TooFew:
        """Return why a gang is not even tried of which too few are asked for; what would help was tried."""
        if gang.is_unsaid:
            return TooFew(gang.too_few_asked, gang.remedy())
        trial = self._trial
        mark = trial.mark()
        fits = True
        for batch in members:
            shape = trial.shape_of(self._before.completed(batch.workload))
            new = max(batch.replicas - len(self._running.replicas_of(batch.workload)), 0)
            fits &= sum(place_replicas(trial, shape, new).values()) == new
        more = sum(place_replicas(trial, shape, gang.missing).values()) == gang.missing
        trial.undo(mark)
        return TooFew(gang.too_few_asked, gang.remedy(fits=fits, more=more))

    def _certified(self, asked: Sequence[Workload], found: list[Outcome], mark: Mark) -> list[Outcome]:
        """Return outcomes with the word of an exact search, and charge what it has placed."""
        self._searches_left -= 1
        changed = certified(self._trial, mark, asked, found, self._exact_seconds)
        for workload, before, after in zip(asked, found, changed, strict=True):
            self._before.take(workload, after.placed - before.placed)
            if self._quotas and after.placed > before.placed:
                self._quotas.claims.take(workload, after.placed - before.placed)
        return changed

    def _judge(
        self, batch: Batch, short: Mapping[GangKey | None, TooFew], share: Share | None = None
    ) -> Outcome:
        """Return what becomes of a batch, with its share of a claim, and leave its replicas placed."""
        if not 0 <= batch.replicas <= REPLICAS_MAX:
            raise InputError(
                f"workload {batch.key} asks for {batch.replicas} replicas", remedy=f"use 0 to {REPLICAS_MAX}"
            )
        workload = self._before.completed(batch.workload)
        taken = self._trial.columns.taken(workload)
        outcome = Outcome(workload.key, workload.kind, batch.replicas, 0, "ok", (), requests=taken)
        refusal = self._refused_outright(workload, batch.replicas)
        too_few = short.get(gang_key(workload)) if batch.replicas else None
        if refusal is None and too_few is not None:
            refusal = Refusal(workload.key, batch.replicas, too_few.reason, remedy=too_few.remedy)
        if refusal is not None:
            state = workload.state if workload.state in {"error", "deleted"} else "error"
            return outcome._replace(state=state, refusal=refusal, certificate="impossible")
        running = self._running.replicas_of(workload)
        if self._quotas:
            itself = self._trial.columns.snapshot.workloads.get(workload.key)
            self._quotas.claims.release([*running, *([itself] if itself is not None else [])])
        admitted, bound = self._before.admits(workload, batch.replicas, running)
        self._share = share
        found = self._placed(workload, running, outcome._replace(replicas=admitted))
        self._before.take(workload, found.placed)
        return with_bound(found, batch.replicas, bound) if bound else found

    def _placed(self, workload: Workload, running: Sequence[Workload], outcome: Outcome) -> Outcome:
        itself = self._trial.columns.snapshot.workloads.get(workload.key)
        if itself is not None and itself.holds_capacity and outcome.replicas == 1:
            if workload.node in {"", itself.node}:
                return self._resize(itself, workload, outcome._replace(action="resize"))
            return self._place(workload, outcome)
        anew = not running and not any(numbered(self._trial, workload, (), outcome.replicas))
        return self._place(workload, outcome) if anew else self._update(running, workload, outcome)

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
        claimed = what_it_claims(workload)
        if claimed and not self._runs_there(workload):
            return Refusal(workload.key, replicas, f"it {claimed}", remedy=REMEDY)
        lost = self._trial.volumes.lost(workload)
        if lost is not None:
            return Refusal(workload.key, replicas, lost.reason, remedy=lost.remedy)
        gates = workload.constraints.scheduling_gates
        if gates:
            reason = f"it is held back by scheduling gates ({', '.join(sorted(gates))})"
            return Refusal(workload.key, replicas, reason, remedy="remove the gates")
        return None

    def _runs_there(self, workload: Workload) -> bool:
        """Whether a workload runs where it is asked for, with all that it was given."""
        itself = self._trial.columns.snapshot.workloads.get(workload.key)
        return itself is not None and itself.holds_capacity and workload.node in {"", itself.node}

    def _resize(self, running: Workload, asked: Workload, outcome: Outcome) -> Outcome:
        """Judge a workload that runs already: only what it grows by is new."""
        trial = self._trial
        kept = KeptDisks(trial, asked, [running])
        missing = kept.lacking_if_off(running)
        if missing is not None and kept.of(running).has_data:
            return without_disks(outcome, running, missing)
        if missing is not None:
            return self._elsewhere(running, asked, outcome)
        before = msgspec.structs.replace(running, requests=trial.columns.taken(running))
        after = msgspec.structs.replace(asked, requests=outcome.requests)
        row = trial.row_of[running.node]
        if self._quotas:
            bound = self._quotas.refusal_of(asked, 1)
            if bound is not None:
                return outcome._replace(state="error", refusal=bound, certificate="impossible")
            self._quotas.claims.take(asked, 1)
        verdict = admit_resize(trial.place_of(row), before, after)
        if not verdict.admitted:
            remedy = resize_remedy(verdict.shortfalls, trial.columns.snapshot.resource_types)
            refusal = Refusal(outcome.subject, 1, verdict.reason, verdict.shortfalls, remedy)
            return outcome._replace(state="error", verdict=verdict, refusal=refusal)
        return resized(trial, kept, running, asked, outcome._replace(verdict=verdict))

    def _elsewhere(self, running: Workload, asked: Workload, outcome: Outcome) -> Outcome:
        """Place a promise on another node; where there is none it stays as it is."""
        mark = self._trial.mark()
        self._trial.evict(running)
        found = self._place(asked, outcome._replace(action="place"))
        if not found.placed:
            self._trial.undo(mark)
        return found if found.placed else found._replace(action="resize")

    def _update(self, running: Sequence[Workload], asked: Workload, outcome: Outcome) -> Outcome:
        """Judge a set of replicas of which some run already.

        Those stay where they are while their node has room for the new size; the others give up their place
        and are placed anew, and what is too many goes.
        """
        trial, mark = self._trial, self._mark()
        shape = trial.shape_of(asked)
        found = stayed(trial, asked, running, outcome)
        if isinstance(found, Outcome):
            return found
        counts, replanned, names = found
        if self._quotas:
            self._quotas.keep(asked, counts)
        rest = outcome._replace(replicas=outcome.replicas - len(names))
        by_claims = placed_by_claims(trial, asked, names, rest, self._quotas)
        if isinstance(by_claims, Outcome):
            self._undo(mark)
            return by_claims._replace(replicas=outcome.replicas)
        for each in by_claims:
            counts[each.node] = counts.get(each.node, 0) + 1
        replanned += by_claims
        kept = sum(counts.values())
        own = Own(frozenset(each.key for each in running), kept)
        added = self._place(asked, outcome._replace(replicas=outcome.replicas - kept), own)
        disks: list[Served] = [served for each in replanned for served in each.disks]
        for node, count in added.nodes:
            counts[node] = counts.get(node, 0) + count
            disks += served_on(shape, trial.row_of[node], count)
        same = kept == len(running) and all(trial.columns.taken(each) == outcome.requests for each in running)
        return added._replace(
            replicas=outcome.replicas,
            placed=kept + added.placed,
            nodes=tuple(sorted(counts.items())),
            action="keep" if same and not (added.nodes or replanned) else "resize" if running else "place",
            disks=tuple(disks),
            replanned=replanned,
        )

    def _place(self, asked: Workload, outcome: Outcome, own: Own = NONE_OWN) -> Outcome:
        """Place replicas on the nodes that score best."""
        trial = self._trial
        shape = trial.shape_of(asked)
        taking = msgspec.structs.replace(asked, requests=outcome.requests)
        first = trial.pick(shape) if outcome.replicas else -1
        verdict = admit(trial.place_of(first), taking) if first >= 0 else None
        mark = trial.mark()
        bound = self._quotas if self._quotas and self._quotas.claims.concerns(asked) else None
        outcome = outcome._replace(verdict=verdict)
        share, barred = self._share, ""
        if bound:
            if share is not None and share.look:
                return share.looked(bound, asked, shape, outcome)
            judged = (
                share.placed(bound, asked, shape, outcome) if share else bound.placed(asked, shape, outcome)
            )
            outcome, against, barred, proven = judged[:4]
            if against is not None:
                self._barred = True
                outcome = outcome._replace(state="error", refusal=against)
                return outcome._replace(certificate="impossible" if proven else "unknown")
        else:
            counts = place_replicas(trial, shape, outcome.replicas)
            nodes = tuple(sorted((trial.nodes[row].name, count) for row, count in counts.items()))
            outcome = outcome._replace(placed=sum(counts.values()), nodes=nodes)
            if self._preemption:
                outcome = self._preemption.placed(asked, shape, outcome)
                if outcome.placed < outcome.replicas and self._remedies_left > 0:
                    barred = self._preemption.barred_by_budgets(asked, shape)
        if outcome.placed == outcome.replicas:
            return outcome
        refusal = explain_refusal(trial, shape, taking, outcome.replicas - outcome.placed)
        if refusal.shortfalls:
            nearest = trial.row_of[refusal.shortfalls[0].node]
            verdict = admit(trial.place_of(nearest), taking)
        if not outcome.evicted and not outcome.waits_for:
            refusal = self._with_remedies(refusal, asked, outcome, mark, own)
        if barred:
            refusal = msgspec.structs.replace(refusal, reason=f"{refusal.reason}; {barred}")
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
        found = Remedies(self._around, asked, outcome.replicas, outcome.placed, own).find()
        shape = trial.shape_of(asked)
        for node, count in outcome.nodes:
            trial.place(shape, trial.row_of[node], count)
        return naming(refusal, found)
