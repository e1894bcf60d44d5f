"""Quotas in the judging of batches: how many replicas may run at once, and for how many more others go."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec

from ullage.engine.placement.outcome import Evicted, Leaving, Outcome, Spared
from ullage.engine.placement.shapes import Shape
from ullage.engine.quota.book import NO_QUOTA, Book, Member, share_something
from ullage.engine.quota.by_gpu_size import evicting_by_size
from ullage.engine.quota.changes import Changes
from ullage.engine.quota.claim_rooms import Wanted, summed
from ullage.engine.quota.claims import Claims
from ullage.engine.quota.decision import Decision
from ullage.engine.quota.gpu_parts import Part, on_nodes
from ullage.engine.quota.heeded_budgets import with_broken
from ullage.engine.quota.ordering import by_entitlement
from ullage.engine.quota.threats import Threats
from ullage.engine.quota.told import Words
from ullage.model.cluster import Batch, Workload
from ullage.model.plan import Refusal
from ullage.model.resources import ResourceTypes

EVICTING_MAX: Final = 200
"""Replicas of one batch for which victims are looked for one after the other."""
ONE_BY_ONE_MAX: Final = 400
"""Workloads that could be evicted up to which the victims of each replica are searched for exactly."""
SPARED_TOLD: Final = 3
Labels: TypeAlias = Sequence[Mapping[str, str]]
"""The label of each who runs, by quota."""
BESIDE_MAX: Final = 5
"""Batches refused before one up to which changes are tried that let all of them run."""


def is_under_quota(book: Book, batches: Sequence[Batch]) -> bool:
    """Whether a quota concerns any of these batches; if not, nobody needs to be counted."""
    places = (book.place_of(batch.workload.namespace, batch.workload.labels) for batch in batches)
    return any(place != NO_QUOTA for place in places)


class Judged(NamedTuple):
    """What quotas made of a batch, and what they have against the rest of it; none where only room lacks.

    `proven` if it is sure that nobody can be evicted for the rest; `decision` is the last one on the way.
    """

    outcome: Outcome
    refusal: Refusal | None
    barred: str
    proven: bool = True
    decision: Decision | None = None


class QuotaJudging:
    """The quotas of a question, as batch after batch is judged under them."""

    def __init__(self, claims: Claims, types: ResourceTypes) -> None:
        self.claims = claims
        self._words = Words(claims.rules, types)
        self.changes = Changes(claims, types)
        self._types = types
        self._refused: list[_Refused] = []
        self.only_now = False

    def in_turns(self, batches: Sequence[Batch]) -> list[Batch]:
        """Return batches in the order of entitlement: the quota that has least of its own goes first."""
        rules = self.claims.rules
        places = range(len(rules.book.quotas))
        bounds = [rules.bound_of(quota, "guaranteed") for quota in places]
        return by_entitlement(batches, self.claims.member_of, self.claims.standing.used, bounds)

    def refusal_of(self, asked: Workload, count: int) -> Refusal | None:
        """Return what quotas have against one more of a workload that is not to evict anyone."""
        decision = self.claims.judged(asked)
        if not decision.refusals:
            return None
        one = Outcome(asked.key, asked.kind, 1, 1, "ok", ())

        def attempt(claims: Claims) -> Outcome:
            return one if not claims.judged(asked).refusals else one._replace(placed=0)

        return self.changes.named(self.refusal(asked, count, decision), asked, 1, attempt)

    def keep(self, asked: Workload, nodes: Mapping[str, int]) -> None:
        """Count replicas that stay where they are."""
        for each, count in on_nodes(self.claims.accounts, asked, nodes.items()):
            self.claims.take(each, count)

    def restart(self) -> None:
        """Judge what follows as if nothing had been asked for before."""
        self.claims.undo(0)
        self._refused = []

    def placed(self, asked: Workload, shape: Shape, outcome: Outcome) -> Judged:
        """Return an outcome with as many replicas as can run, each for itself; the trial shows it.

        What is refused names the changes of quotas that let all of them run, and with them those that were
        refused before, which would take what is changed for it.
        """
        claims = self.claims
        mark = claims.mark_both()
        judged = self._placed(asked, shape, outcome)
        if judged.refusal is None:
            return judged
        claims.undo_both(mark)
        refused = _Refused(asked, shape, outcome, claims.mark())
        refusal = self._with_changes(judged.refusal, refused)
        judged = self._placed(asked, shape, outcome)
        if refusal.remedies:
            left = judged.outcome._replace(evicted=(), waits_for=())
            self._refused.append(_Refused(asked, shape, left, claims.mark()))
        return judged._replace(refusal=refusal)

    def _with_changes(self, refusal: Refusal, last: "_Refused") -> Refusal:
        """Return the refusal of a batch with the changes under which it runs, and those refused before it."""
        self._refused = [each for each in self._refused if each.mark <= last.mark]
        before = [each for each in self._refused if self._share_something(each, last)]
        together = [*before[:BESIDE_MAX], last] if len(before) <= BESIDE_MAX else [last]

        def attempt(changed: Claims) -> Outcome:
            start = changed.mark_both()
            judging = self.under(changed)
            found = [judging._placed(*each[:3]).outcome for each in together]  # noqa: SLF001 - one of these
            changed.undo_both(start)
            if len(found) == 1:
                return found[0]
            fits = all(each.placed == each.replicas for each in found)
            return Outcome(last.asked.key, last.asked.kind, 1, 1 if fits else 0, "ok", ())._replace(
                evicted=tuple(victim for each in found for victim in each.evicted),
                waits_for=tuple(leaving for each in found for leaving in each.waits_for),
            )

        if len(together) == 1:
            named = self.changes.named(refusal, last.asked, last.outcome.replicas, attempt)
        else:
            named = self.changes.named(refusal, summed([each.wanted for each in together]), 1, attempt)
        return _beside(named, [each.asked.key for each in before], tried=len(together) > 1)

    def _share_something(self, one: "_Refused", other: "_Refused") -> bool:
        quotas = [self.claims.quota_of(each.asked) for each in (one, other)]
        return share_something(self.claims.book, *quotas)

    def placed_free(self, asked: Workload, shape: Shape, outcome: Outcome) -> Outcome:
        """Return an outcome with as many replicas as may run and have room while nobody goes."""
        return self._free(self.claims.parts(asked, shape), asked, outcome)

    def _free(self, parts: Sequence[Part], asked: Workload, outcome: Outcome) -> Outcome:
        for part in parts:
            if part.workload is not asked:
                self.claims.ask_as((part.workload, 0))
            nodes = self.claims.place(part.workload, part.shape, outcome.replicas - outcome.placed)
            outcome = with_counts(outcome, nodes)
        return outcome

    def _placed(self, asked: Workload, shape: Shape, outcome: Outcome) -> Judged:
        """Place replicas where there is room, then where others go: one size of GPUs after the other."""
        claims = self.claims
        parts = claims.parts(asked, shape)
        outcome = self._free(parts, asked, outcome)
        if len(parts) == 1:
            return self.evicting(parts[0].workload, parts[0].shape, outcome)
        if outcome.placed == outcome.replicas:
            return Judged(outcome, None, "")
        one_by_one = len(claims.accounts.evictable) <= ONE_BY_ONE_MAX
        judged = evicting_by_size(self, parts, outcome, EVICTING_MAX if one_by_one else 0)
        refused = judged.decision is not None and judged.decision.verdict == "refuse"
        all_run = judged.outcome.placed == outcome.replicas
        return judged if all_run or refused else judged._replace(barred=_turns_told())

    def evicting(self, asked: Workload, shape: Shape, outcome: Outcome) -> Judged:
        """Return an outcome with as many more replicas as can run where others go; the trial shows it.

        Who is on the way out is waited for before anybody more is evicted, and nobody is evicted whose quota
        gives enough by those. Where the same go whether they are waited for or not, they are not. If it is to
        run `only_now`, nobody is waited for.
        """
        claims = self.claims
        if self.only_now or outcome.placed == outcome.replicas or not claims.leaving():
            return self._evicting(asked, shape, outcome)
        mark = claims.mark_both()
        now = self._evicting(asked, shape, outcome)
        claims.undo_both(mark)
        leaving = claims.leaving()
        claims.let_go(leaving)
        later = claims.place(asked, shape, outcome.replicas - outcome.placed)
        judged = self._evicting(asked, shape, with_counts(outcome, later))
        found = judged.outcome
        new = Counter(dict(found.nodes)) - Counter(dict(outcome.nodes))
        if not new:
            claims.undo_both(mark)
            return judged
        same = (now.outcome.nodes, now.outcome.evicted) == (found.nodes, found.evicted)
        one, evicting = claims.accounts.member_of(asked), bool(found.evicted) and not same
        needed = [each for each in leaving if claims.is_in_the_way(each, one, new, evicting=evicting)]
        waits_for = tuple(self.told_leaving(each) for each in needed)
        return judged._replace(outcome=found._replace(waits_for=(*found.waits_for, *waits_for)))

    def _evicting(self, asked: Workload, shape: Shape, outcome: Outcome) -> Judged:
        rest = outcome.replicas - outcome.placed
        if not rest:
            return Judged(outcome, None, "")
        if len(self.claims.accounts.evictable) > ONE_BY_ONE_MAX:
            found, decision = self._at_once(asked, shape, outcome)
        else:
            found, decision = self._one_by_one(asked, shape, outcome)
        rest = found.replicas - found.placed
        if not rest:
            return Judged(found, None, "", decision=decision)
        if decision.verdict != "refuse":
            return Judged(found, None, _turns_told(), decision=decision)
        found = self.with_spared(found, decision)
        refusal = self.refusal(asked, rest, decision) if decision.refusals else None
        return Judged(found, refusal, self.barred(decision), decision.proven, decision)

    def _one_by_one(self, asked: Workload, shape: Shape, outcome: Outcome) -> tuple[Outcome, Decision]:
        """Evict for one replica after the other, each time by the exact search, until one is refused."""
        most = min(outcome.replicas, outcome.placed + EVICTING_MAX)
        while True:
            labels = self.labels()
            decision = self.claims.decide(asked, shape)
            if decision.verdict == "refuse":
                return outcome, decision
            turns = outcome.evicting_turns + bool(decision.victims)
            outcome = self._with(outcome, decision, [decision.node], labels)._replace(evicting_turns=turns)
            if outcome.placed == most:
                return outcome, decision

    def _at_once(self, asked: Workload, shape: Shape, outcome: Outcome) -> tuple[Outcome, Decision]:
        """Evict for as many of the replicas that are left as can run, all of them as one claim.

        That they are judged as one is for speed, so that it is not proven that nobody else would do.
        """
        fits, fails = 0, outcome.replicas - outcome.placed + 1
        labels = self.labels()
        tried = fails - 1
        while True:
            mark = self.claims.mark_both()
            decision, gang = self.claims.decide_together([Wanted(asked, shape, tried)])
            decision = decision._replace(proven=decision.proven and tried == 1)
            if gang is not None:
                if tried + 1 == fails:
                    return self._with(outcome, decision, gang.nodes, labels), decision
                self.claims.undo_both(mark)
                fits = tried
            else:
                refused = decision
                fails = tried
            if fails == 1:
                return outcome, refused
            tried = max(1, (fits + fails) // 2)

    def _with(self, outcome: Outcome, decision: Decision, nodes: Sequence[str], labels: Labels) -> Outcome:
        """Return an outcome with replicas on some nodes more, and those that went for them."""
        found = self.with_spared(with_nodes(outcome, nodes), decision)
        return found._replace(
            evicted=(*found.evicted, *(self.told(victim, labels) for victim in decision.victims)),
            fewest_proven=found.fewest_proven and decision.proven,
            evicted_min=found.evicted_min + decision.victims_min,
        )

    def with_spared(self, outcome: Outcome, decision: Decision) -> Outcome:
        """Return an outcome that names those who would have gone if they had run for longer."""
        known = {each.workload for each in outcome.spared}
        more = tuple(
            Spared(each.key, each.node, self._quota_name(each), self.claims.accounts.spared[each.key])
            for each in decision.spared
            if each.key not in known
        )
        return outcome._replace(spared=(*outcome.spared, *more)) if more else outcome

    def barred(self, decision: Decision) -> str:
        """Return why nobody is evicted, and who would be, had they run for longer."""
        told = self._words.barred(decision)
        if not decision.spared:
            return told
        names = ", ".join(each.key for each in decision.spared[:SPARED_TOLD])
        more = len(decision.spared) - SPARED_TOLD
        names += f" and {more} more" if more > 0 else ""
        accounts = self.claims.accounts
        least, left = (
            accounts.run_time.least_seconds,
            max(accounts.spared[each.key] for each in decision.spared),
        )
        return f"{names} ran for less than {least} s and would be evicted for it in {left} s"

    def with_threats(self, outcomes: Sequence[Outcome], asked: Mapping[str, Workload]) -> list[Outcome]:
        """Return outcomes with budgets they break, who is over quota in the end, and who could evict them."""
        self.claims.undo(0)
        outcomes = with_broken(outcomes, self.claims.accounts)
        threats = Threats(self.claims.accounts, outcomes, asked)
        try:
            found = [
                outcome._replace(
                    over_quota=threats.over_quota(outcome.subject),
                    pushed=threats.pushed(outcome.subject),
                    threats=threats.to(outcome.subject),
                )
                for outcome in outcomes
            ]
        finally:
            threats.undo()
        return [outcome._replace(threats_complete=threats.complete) for outcome in found]

    def under(self, claims: Claims) -> "QuotaJudging":
        """Return the judging of the same question under other claims."""
        return QuotaJudging(claims, self._types)

    def refusal(self, asked: Workload, count: int, decision: Decision) -> Refusal:
        """Return what quotas have against so many of a workload."""
        reason = "; ".join(filter(None, (self._words.refusals(decision), self.barred(decision))))
        return Refusal(asked.key, count, reason)

    def labels(self) -> Labels:
        """Return the labels of everybody who runs, by quota, as they are now."""
        standing = self.claims.standing
        return [standing.labels(quota) for quota in range(len(standing.book.quotas))]

    def told(self, victim: Member, labels: Labels) -> Evicted:
        """Return a victim as it is told of, with the label it had, and the gang if all of it has gone."""
        return Evicted(
            victim.key,
            victim.node,
            self._quota_name(victim),
            "" if victim.quota == NO_QUOTA else labels[victim.quota].get(victim.key, ""),
            victim.takes,
            self.claims.gang_that_went(victim),
        )

    def told_leaving(self, member: Member) -> Leaving:
        """Return one who is waited for as it is told of."""
        return Leaving(member.key, member.node, self._quota_name(member), member.takes)

    def _quota_name(self, member: Member) -> str:
        return "" if member.quota == NO_QUOTA else self.claims.book.quotas[member.quota].name


class _Refused(NamedTuple):
    """A batch of which not all run, as it was judged, and up to where things had changed then."""

    asked: Workload
    shape: Shape
    outcome: Outcome
    mark: int

    @property
    def wanted(self) -> Wanted:
        """What of it does not run."""
        return Wanted(self.asked, self.shape, self.outcome.replicas - self.outcome.placed)


def _beside(refusal: Refusal, before: Sequence[str], *, tried: bool) -> Refusal:
    """Return a refusal whose remedies say what becomes of those refused before it."""
    if not before:
        return refusal
    names = f"{before[0]} and {len(before) - 1} more" if len(before) > 1 else before[0]
    runs = "runs then too" if len(before) == 1 else "run then too"
    words = f" ({names} {runs})" if tried else f" (if {names}, refused before it, are not asked for)"
    remedies = tuple(msgspec.structs.replace(each, text=each.text + words) for each in refusal.remedies)
    told = "; or ".join(each.text for each in remedies) or refusal.remedy
    return msgspec.structs.replace(refusal, remedy=told, remedies=remedies)


def _turns_told() -> str:
    return f"victims were looked for only for {EVICTING_MAX} replicas"


def with_nodes(outcome: Outcome, nodes: Iterable[str]) -> Outcome:
    """Return an outcome with one replica more on each of these nodes."""
    return with_counts(outcome, Counter(nodes))


def with_counts(outcome: Outcome, nodes: Mapping[str, int]) -> Outcome:
    """Return an outcome with so many replicas more on some nodes."""
    counts = Counter(dict(outcome.nodes)) + Counter(nodes)
    return outcome._replace(placed=sum(counts.values()), nodes=tuple(sorted(counts.items())))
