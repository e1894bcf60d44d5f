"""Which batches are decided as one claim under their quotas, and what each of them has of it.

Batches that stand or fall together are first placed where there is room. If not all of them have it, those of
one quota are counted and decided as one, before any of them is placed; then each takes its share. Of a gang
of which some are enough, these are one claim, and each beyond them is one by itself.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import msgspec

from ullage.engine.placement.outcome import Outcome
from ullage.engine.placement.shapes import Shape
from ullage.engine.quota.as_one import Together, as_one
from ullage.engine.quota.claim_rooms import Wanted
from ullage.engine.quota.judging import Judged, QuotaJudging, with_nodes
from ullage.model.cluster import Batch, Workload


class Share:
    """What a batch has of a claim that several make: a look at it, and then what was decided."""

    def __init__(self, look: Literal["", "free", "count"], together: Together | None = None) -> None:
        self.look = look
        self.together = together
        self.wanted: Wanted | None = None
        self.nodes: tuple[str, ...] = ()
        self.is_first = False
        self.proven = True

    @property
    def is_refused_by_quotas(self) -> bool:
        """Whether quotas have something against all of them together."""
        return self.together is not None and bool(self.together.decision.refusals) and not self.together.nodes

    def looked(self, quotas: QuotaJudging, asked: Workload, shape: Shape, outcome: Outcome) -> Outcome:
        """Return an outcome as it is for a look: placed where there is room, or only counted."""
        if self.look == "free":
            return quotas.placed_free(asked, shape, outcome)
        self.wanted = Wanted(asked, shape, outcome.replicas)
        return outcome

    def placed(self, quotas: QuotaJudging, asked: Workload, shape: Shape, outcome: Outcome) -> Judged:
        """Return an outcome with its share of what was decided; the trial shows it."""
        together = self.together
        if together is None or not together.nodes:
            return self._refused(quotas, asked, shape, outcome)
        if self.is_first:
            quotas.claims.let_go(together.waited)
            quotas.claims.evict(together.goes)
            outcome = quotas.with_spared(outcome, together.decision)._replace(
                evicted=together.evicted,
                waits_for=together.waits_for,
                fewest_proven=together.decision.proven and self.proven,
                evicted_min=together.decision.victims_min,
            )
        if self.wanted is not None:
            quotas.claims.put(self.wanted, self.nodes)
            outcome = with_nodes(outcome, self.nodes)
        if outcome.placed == outcome.replicas:
            return Judged(outcome, None, "")
        return quotas.placed(asked, shape, outcome)

    def _refused(self, quotas: QuotaJudging, asked: Workload, shape: Shape, outcome: Outcome) -> Judged:
        outcome = quotas.placed_free(asked, shape, outcome)
        together = self.together
        if together is None or outcome.placed == outcome.replicas:
            return Judged(outcome, None, "")
        outcome = quotas.with_spared(outcome, together.decision)
        refusal = together.refusal
        if refusal is not None:
            count = outcome.replicas - outcome.placed
            refusal = msgspec.structs.replace(refusal, subject=asked.key, count=count)
        return Judged(outcome, refusal, together.barred, proven=together.decision.proven)


class Looks(NamedTuple):
    """How batches are looked at: judged with a share, and everything as it was before."""

    quotas: QuotaJudging
    judge: Callable[[Batch, Share | None], Outcome]
    restart: Callable[[], None]


def shares_of(looks: Looks, batches: Sequence[Batch], enough: int | None) -> list[Share | None]:
    """Return the share of each batch; none where each replica is a claim of its own.

    `enough` is how many of them are, where not all must run.
    """
    alone: list[Share | None] = [None] * len(batches)
    if sum(batch.replicas for batch in batches) <= 1 or (enough is not None and enough <= 1):
        return alone
    found = _looked(looks, batches, "free")
    looks.restart()
    placed = sum(outcome.placed for outcome, _ in found)
    if placed >= (sum(batch.replicas for batch in batches) if enough is None else enough):
        return alone
    if any(outcome.refusal for outcome, _ in found):
        return [Share("") for _ in batches]
    counted = _looked(looks, batches, "count")
    kept = sum(outcome.placed for outcome, _ in counted)
    wanted = [(place, share.wanted) for place, (_, share) in enumerate(counted) if share.wanted is not None]
    shares: list[Share | None] = []
    for chosen in _choices(wanted, None if enough is None else enough - kept):
        shares = _decided(looks.quotas, len(batches), chosen)
        looks.restart()
        if all(share is None or share.together is None or share.together.nodes for share in shares):
            break
        _looked(looks, batches, "count")
    looks.restart()
    return shares


def _looked(
    looks: Looks, batches: Sequence[Batch], look: Literal["free", "count"]
) -> list[tuple[Outcome, Share]]:
    found = []
    for batch in batches:
        share = Share(look)
        found.append((looks.judge(batch, share), share))
    return found


Numbered = tuple[int, Wanted]
"""A place among the batches, and what is wanted of the batch."""


def _choices(wanted: Sequence[Numbered], enough: int | None) -> list[list[Numbered]]:
    """Return who is to run together: all, or as many as are enough, in order or the smallest first."""
    if enough is None:
        return [list(wanted)]
    by_size = sorted(wanted, key=lambda each: sum(each[1].workload.requests.values()))
    first, smallest = _cut(wanted, enough), _cut(by_size, enough)
    return [first] if first == smallest else [first, smallest]


def _cut(wanted: Sequence[Numbered], enough: int) -> list[Numbered]:
    found = []
    for place, each in wanted:
        count = min(each.replicas, enough)
        enough -= count
        if count:
            found.append((place, each._replace(replicas=count)))
    return sorted(found, key=lambda each: each[0])


def _decided(quotas: QuotaJudging, batches: int, wanted: Sequence[Numbered]) -> list[Share | None]:
    """Return shares in what is decided of those that are wanted, one quota after the other."""
    shares: list[Share | None] = [None] * batches
    by_quota: dict[int, list[Numbered]] = {}
    for place, each in wanted:
        if each.replicas:
            by_quota.setdefault(quotas.claims.quota_of(each.workload), []).append((place, each))
    decided: list[Together] = []
    for group in by_quota.values():
        together = as_one(quotas, [each for _, each in group])
        decided.append(together)
        for number, (place, _) in enumerate(group):
            share = shares[place] = Share("", together)
            share.is_first = number == 0
            if together.nodes:
                share.wanted, share.nodes = together.wanted[number], together.nodes[number]
        if not together.nodes:
            break
    several = sum(bool(each.goes) for each in decided) > 1
    if not all(each.nodes for each in decided):
        refused = decided[-1]
        return [share if share and share.together is refused else Share("") for share in shares]
    for share in filter(None, shares):
        share.proven = not several
    return shares
