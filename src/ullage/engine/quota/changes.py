"""The smallest single change of a quota that lets all of a refused batch run: a bound of it, or of one above.

Each change is tried before it is named: the batch is judged anew under it, evictions included, so what is
said to happen happens. The least amount is looked for between the bound as it is and one that is surely
enough. The hard thing is the number of tries: where a bound is the only obstacle, the answer is what is short
of it, so likely amounts are tried first. Whether less would do as well is tried while tries are left; where
they are not enough to prove that it would not, that is said. Many amounts are tried in steps that all shares
of the resource are multiples of: whole cores where everybody asks for whole cores.
"""

from collections.abc import Callable, Iterator, Mapping
from math import gcd
from typing import Final, NamedTuple

import msgspec

from ullage.engine.placement.outcome import Outcome
from ullage.engine.quota.book import NO_QUOTA, Member
from ullage.engine.quota.claims import Claims
from ullage.engine.quota.least_change import Amounts, Range, Tries, guess, least
from ullage.engine.quota.queue_bounds import called, can_change, is_queue, raised
from ullage.model.cluster import Quota, Workload
from ullage.model.plan import Refusal, Remedy
from ullage.model.resources import GPU_MEMORY, NOTHING, Resources, ResourceTypes

MEMBERS_MAX: Final = 20_000
"""Running members up to which changes of quotas are tried: each try counts all of them anew."""
TRIES_MAX: Final = 200
TRIES_MIN: Final = 24
COUNTED_MAX: Final = 200_000
"""How often a batch is judged anew for one refusal: less often where many are counted each time."""
PROVING_MAX: Final = 400
PROVING_COUNTED_MAX: Final = 40_000
"""How often batches of one question are judged anew to prove that less is not enough, likewise."""
REFUSALS_MAX: Final = 20
"""Refusals of one question for which changes are looked for."""
NO_CHANGE: Final = (
    "no single change of a quota was found that lets it run: ask for less, or wait until others are done"
)
FEW: Final = 64
"""Amounts of a resource up to which each is tried; of more, only those in steps that all amounts share."""
NOT_PROVEN: Final = "less may be enough"
RAISED: Final = ("max", "borrowing_limit", "min")

Attempt = Callable[[Claims], Outcome]
"""What becomes of a batch under changed quotas; nothing stays changed."""


class Changes:
    """What could be changed so that all replicas of a batch run."""

    def __init__(self, claims: Claims, types: ResourceTypes) -> None:
        self._claims = claims
        self._types = types
        self._refusals_left = REFUSALS_MAX
        self._proving_left = min(PROVING_MAX, PROVING_COUNTED_MAX // max(1, self._members()))

    def named(self, refusal: Refusal, asked: Workload, replicas: int, attempt: Attempt) -> Refusal:
        """Return a refusal with the changes under which all replicas run, the quota's own first."""
        remedies = tuple(self._that_help(asked, replicas, attempt))
        remedy = "; or ".join(each.text for each in remedies) or NO_CHANGE
        return msgspec.structs.replace(refusal, remedy=remedy, remedies=remedies)

    def _that_help(self, asked: Workload, replicas: int, attempt: Attempt) -> Iterator[Remedy]:
        quota = self._claims.quota_of(asked)
        self._refusals_left -= 1
        if quota == NO_QUOTA or self._refusals_left < 0 or self._members() > MEMBERS_MAX:
            return
        book = self._claims.book
        one = self._claims.accounts.member_of(asked)
        more = {
            name: amount * replicas
            for name, amount in zip(book.resources, one.amounts, strict=True)
            if amount
        }
        trying = _Trying(self._claims, attempt, replicas)
        open_ones = []
        for above in book.chains[quota]:
            for bound in RAISED:
                ranges = self._ranges(above, bound, more, one)
                if ranges:
                    tries = Tries(trying.of(book.quotas[above], bound), trying.left)
                    found = guess(ranges, tries)
                    trying.left = tries.left
                    open_ones.append((book.quotas[above], bound, ranges, tries, found))
        for above_quota, bound, ranges, tries, found in open_ones:
            tries.left = before = min(trying.left, self._proving_left)
            best = least(ranges, tries, found)
            trying.left -= before - tries.left
            self._proving_left -= before - tries.left
            if best is not None:
                raised = {
                    each.name: best.amounts[each.name]
                    for each in ranges
                    if best.amounts[each.name] > each.before
                }
                outcome = trying.outcome(above_quota, bound, best.amounts)
                yield self._told(_Found(above_quota, bound, Resources(raised), outcome, best.proven))

    def _members(self) -> int:
        return sum(len(each) for each in self._claims.standing.members)

    def _ranges(self, place: int, bound: str, more: Mapping[str, int], one: Member) -> list[Range]:
        """Return how far a bound can be raised, by resource; none where that changes nothing."""
        claims = self._claims
        quota = claims.book.quotas[place]
        if not can_change(quota, bound):
            return []
        before: Resources = getattr(quota, bound) or NOTHING
        used = claims.book.readable(claims.standing.used[place])
        may_go = claims.book.readable(self._may_go(place, one)) if bound != "min" else NOTHING
        found = []
        for name in sorted(before):
            base = quota.min.of(name) if bound == "borrowing_limit" else 0
            most = used.of(name) + more.get(name, 0) - base
            needed = most - may_go.of(name)
            likely = [before[name], most]
            if bound == "min":
                from_sum = before[name] + self._lacking(name, more.get(name, 0))
                needed, likely = 0, [*likely, from_sum]
                most = max(most, from_sum)
                most = min(most, quota.max.get(name, most), self._left_above(quota, name, most))
            if name == GPU_MEMORY:
                needed = 0  # what it counts depends on the node
            if most > before[name]:
                step = 1 if most - max(needed, before[name]) <= FEW else self._step(name, more)
                near = tuple(amount for each in likely for amount in (each - step, each))
                found.append(Range(name, before[name], min(needed, most), most, near, step))
        return found

    def _step(self, name: str, more: Mapping[str, int]) -> int:
        """Return the largest amount that everything said of a resource is a multiple of."""
        book, place = self._claims.book, self._claims.book.resources.index(name)
        bounds = (book.mins, book.maxes, book.most_borrowed)
        said = {terms[place] or 0 for bound in bounds for terms in bound}
        used = {each.amounts[place] for members in self._claims.standing.members for each in members.values()}
        return gcd(more.get(name, 0), *said, *used) or 1

    def _may_go(self, place: int, one: Member) -> list[int]:
        """Return what those under a quota use who could go, at most, for a claim of such members."""
        claims, book = self._claims, self._claims.book
        claim = claims.rules.claim([one])
        never = book.quotas[one.quota].evicts_others == "Never"
        total = [0] * len(book.resources)
        for member in (*claims.accounts.evictable, *claims.accounts.leaving.values()):
            if member.quota == NO_QUOTA or place not in book.chains[member.quota]:
                continue
            own = member.quota == one.quota
            stays = (
                member.priority >= claim.own_below if own else never or not claim.is_below(member.priority)
            )
            if not stays or member.key in claims.accounts.leaving:
                total = [amount + less for amount, less in zip(total, member.amounts, strict=True)]
        return total

    def _lacking(self, name: str, more: int) -> int:
        """Return what the sum of the mins lacks for all who run and what is asked for."""
        book, place = self._claims.book, self._claims.book.resources.index(name)
        return max(0, self._claims.standing.sum_of_use()[place] + more - book.sum_of_mins[place])

    def _left_above(self, quota: Quota, name: str, most: int) -> int:
        """Return how high a min can be beside those of its brothers, within that of its parent."""
        book = self._claims.book
        if not quota.parent or is_queue(quota):
            return most
        parent = book.quotas[book.index[quota.parent]]
        brothers = (each for each in book.quotas if each.parent == quota.parent and each.name != quota.name)
        return parent.min.get(name, most) - sum(each.min.of(name) for each in brothers)

    def _told(self, found: "_Found") -> Remedy:
        quota, bound, bounds = found.quota, found.bound, found.bounds
        told = " and ".join(f"{name} to {self._types[name].print(bounds[name])}" for name in sorted(bounds))
        text = f"raise the {called(quota, bound)} of quota {quota.name}: {told}"
        evicted = tuple(each.workload for each in found.outcome.evicted)
        notes = [f"then {', '.join(evicted)} would be evicted for it"] if evicted else []
        notes += [] if found.proven else [NOT_PROVEN]
        text += f" ({'; '.join(notes)})" if notes else ""
        waits_for = tuple(each.workload for each in found.outcome.waits_for)
        return Remedy(
            "quota",
            text,
            quota=quota.name,
            bound=bound,
            bounds=bounds,
            evicted=evicted,
            waits_for=waits_for,
            least_proven=found.proven,
        )


class _Found(NamedTuple):
    """A bound with the least amounts under which all run, and what then becomes of them."""

    quota: Quota
    bound: str
    bounds: Resources
    outcome: Outcome
    proven: bool


class _Trying:
    """Judging a batch under other bounds, a limited number of times."""

    def __init__(self, claims: Claims, attempt: Attempt, replicas: int) -> None:
        self._claims = claims
        self._attempt = attempt
        self._replicas = replicas
        members = sum(len(each) for each in claims.standing.members)
        self.left = min(TRIES_MAX, max(TRIES_MIN, COUNTED_MAX // max(1, members)))

    def of(self, quota: Quota, bound: str) -> Callable[[Amounts], bool]:
        """Return the question whether all replicas run where a bound is raised."""
        return lambda amounts: self.outcome(quota, bound, amounts).placed >= self._replicas

    def outcome(self, quota: Quota, bound: str, amounts: Amounts) -> Outcome:
        """Return what becomes of the batch where a bound is raised to these amounts."""
        changed = raised(self._claims.book, quota, bound, Resources(amounts))
        return self._attempt(self._claims.under(*changed))
