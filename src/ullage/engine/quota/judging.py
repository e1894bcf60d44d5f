"""Quotas in the judging of batches: how many replicas may run at once, and for how many more others go."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ullage.engine.placement.outcome import Evicted, Outcome
from ullage.engine.placement.shapes import Shape
from ullage.engine.quota.book import NO_QUOTA, Book, Member
from ullage.engine.quota.changes import Changes
from ullage.engine.quota.claims import Claims
from ullage.engine.quota.decision import Decision
from ullage.engine.quota.ordering import by_entitlement
from ullage.engine.quota.threats import threats_to
from ullage.engine.quota.told import Words
from ullage.engine.quota.validation import in_force
from ullage.model.cluster import Batch, Quota, Workload
from ullage.model.plan import Refusal
from ullage.model.resources import ResourceTypes

EVICTING_MAX: Final = 200
"""Replicas of one batch for which victims are looked for one after the other."""
ONE_BY_ONE_MAX: Final = 400
"""Workloads that could be evicted up to which the victims of each replica are searched for exactly."""
NO_CHANGE: Final = "no single change of a quota lets it run: ask for less, or wait until others are done"


def is_under_quota(quotas: Iterable[Quota], batches: Sequence[Batch]) -> bool:
    """Whether a quota concerns any of these batches; if not, nobody needs to be counted."""
    book = Book(in_force(quotas))
    places = (book.place_of(batch.workload.namespace, batch.workload.labels) for batch in batches)
    return any(place != NO_QUOTA for place in places)


class Judged(NamedTuple):
    """What quotas made of a batch, and what they have against the rest of it; none where only room lacks."""

    outcome: Outcome
    refusal: Refusal | None
    barred: str


class QuotaJudging:
    """The quotas of a question, as batch after batch is judged under them."""

    def __init__(self, claims: Claims, types: ResourceTypes) -> None:
        self.claims = claims
        self._words = Words(claims.rules, types)
        self._changes = Changes(claims, types)

    def in_turns(self, batches: Sequence[Batch]) -> list[Batch]:
        """Return batches in the order of entitlement: the quota that has least of its own goes first."""
        rules = self.claims.rules
        places = range(len(rules.book.quotas))
        bounds = [rules.bound_of(quota, "guaranteed") for quota in places]
        return by_entitlement(batches, self.claims.member_of, self.claims.standing.used, bounds)

    def refusal_of(self, asked: Workload, shape: Shape, count: int) -> Refusal | None:
        """Return what quotas have against one more of a workload that is not to evict anyone."""
        decision = self.claims.judged(asked)
        return self._refusal(asked, shape, count, decision) if decision.refusals else None

    def evicting(self, asked: Workload, shape: Shape, outcome: Outcome, *, together: bool) -> Judged:
        """Return an outcome with as many more replicas as can run where others go; the trial shows it."""
        rest = outcome.replicas - outcome.placed
        if not rest:
            return Judged(outcome, None, "")
        if (together and rest > 1) or self.claims.evictable > ONE_BY_ONE_MAX:
            found, decision = self._at_once(asked, shape, outcome, together=together)
        else:
            found, decision = self._one_by_one(asked, shape, outcome)
        rest = found.replicas - found.placed
        if not rest:
            return Judged(found, None, "")
        if decision.verdict != "refuse":
            return Judged(found, None, f"victims were looked for only for {EVICTING_MAX} replicas")
        refusal = self._refusal(asked, shape, rest, decision) if decision.refusals else None
        return Judged(found, refusal, self._words.barred(decision))

    def _one_by_one(self, asked: Workload, shape: Shape, outcome: Outcome) -> tuple[Outcome, Decision]:
        """Evict for one replica after the other, each time by the exact search, until one is refused."""
        most = min(outcome.replicas, outcome.placed + EVICTING_MAX)
        while True:
            labels = self._labels()
            decision = self.claims.decide(asked, shape)
            if decision.verdict == "refuse":
                return outcome, decision
            outcome = self._with(outcome, decision, [decision.node], labels)
            if outcome.placed == most:
                return outcome, decision

    def _at_once(
        self, asked: Workload, shape: Shape, outcome: Outcome, *, together: bool
    ) -> tuple[Outcome, Decision]:
        """Evict for all replicas that are left; where some may run without others, for as many as can."""
        fits, fails = 0, outcome.replicas - outcome.placed + 1
        labels = self._labels()
        tried = fails - 1
        while True:
            mark = self.claims.mark_both()
            decision, gang = self.claims.decide_together(asked, shape, tried)
            if gang is not None:
                if tried + 1 == fails:
                    return self._with(outcome, decision, gang.nodes, labels), decision
                self.claims.undo_both(mark)
                fits = tried
            else:
                refused = decision
                fails = tried
            if together or fails == 1:
                return outcome, refused
            tried = max(1, (fits + fails) // 2)

    def _with(
        self, outcome: Outcome, decision: Decision, nodes: Sequence[str], labels: dict[str, str]
    ) -> Outcome:
        """Return an outcome with replicas on some nodes more, and those that went for them."""
        counts = Counter(dict(outcome.nodes))
        counts.update(nodes)
        return outcome._replace(
            placed=outcome.placed + len(nodes),
            nodes=tuple(sorted(counts.items())),
            evicted=(*outcome.evicted, *(self._evicted(victim, labels) for victim in decision.victims)),
            fewest_proven=outcome.fewest_proven and decision.proven,
        )

    def with_threats(self, outcomes: Sequence[Outcome], asked: Mapping[str, Workload]) -> list[Outcome]:
        """Return outcomes with who of them is over quota in the end, and who could evict them later."""
        claims = self.claims
        claims.undo(0)
        for outcome in outcomes:
            claims.apply(outcome._replace(placed=0), asked[outcome.subject])
        over = [claims.apply(outcome, asked[outcome.subject]) for outcome in outcomes]
        found = [
            outcome._replace(
                over_quota=count,
                threats=threats_to(claims.standing, claims.quota_of(asked[outcome.subject])) if count else (),
            )
            for outcome, count in zip(outcomes, over, strict=True)
        ]
        claims.undo(0)
        return found

    def _refusal(self, asked: Workload, shape: Shape, count: int, decision: Decision) -> Refusal:
        reason = "; ".join(filter(None, (self._words.refusals(decision), self._words.barred(decision))))
        remedies = tuple(self._changes.that_help(asked, shape, decision))
        remedy = "; or ".join(each.text for each in remedies) or NO_CHANGE
        return Refusal(asked.key, count, reason, remedy=remedy, remedies=remedies)

    def _labels(self) -> dict[str, str]:
        standing = self.claims.standing
        return {
            key: label
            for quota in range(len(standing.book.quotas))
            for key, label in standing.labels(quota).items()
        }

    def _evicted(self, victim: Member, labels: dict[str, str]) -> Evicted:
        quota = "" if victim.quota == NO_QUOTA else self.claims.book.quotas[victim.quota].name
        return Evicted(victim.key, victim.node, quota, labels.get(victim.key, ""), victim.takes)
