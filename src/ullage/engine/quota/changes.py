"""The smallest single change of a quota that lets all of a refused batch run: a bound of it, or of one above.

Each change is tried before it is named: the batch is judged anew under it, evictions included, so what is
said to happen happens. The least amount is looked for between the bound as it is and one that is surely
enough. The hard thing is the number of tries: where a bound is the only obstacle, the answer is what is short
of it, so likely amounts are tried first, and halving is for the rest.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from ullage.engine.placement.outcome import Outcome
from ullage.engine.quota.book import NO_QUOTA
from ullage.engine.quota.claims import Claims
from ullage.engine.quota.validation import BOUNDS
from ullage.model.cluster import Quota, Workload
from ullage.model.plan import Refusal, Remedy
from ullage.model.resources import NOTHING, Resources, ResourceTypes

MEMBERS_MAX: Final = 20_000
"""Running members up to which changes of quotas are tried: each try counts all of them anew."""
TRIES_MAX: Final = 200
TRIES_MIN: Final = 24
COUNTED_MAX: Final = 200_000
"""How often a batch is judged anew for one refusal: less often where many are counted each time."""
REFUSALS_MAX: Final = 20
"""Refusals of one question for which changes are looked for."""
NO_CHANGE: Final = "no single change of a quota lets it run: ask for less, or wait until others are done"
RAISED: Final = ("max", "borrowing_limit", "min")

Attempt = Callable[[Claims], Outcome]
"""What becomes of a batch under changed quotas; nothing stays changed."""


class Changes:
    """What could be changed so that all replicas of a batch run."""

    def __init__(self, claims: Claims, types: ResourceTypes) -> None:
        self._claims = claims
        self._types = types
        self._refusals_left = REFUSALS_MAX

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
        tries = _Tries(self._claims, attempt, replicas)
        for above in book.chains[quota]:
            for bound in RAISED:
                change = self._enough(above, bound, more)
                if change is not None and tries.helps(change.quota, bound, change.enough):
                    yield self._told(tries.least(change, bound))

    def _members(self) -> int:
        return sum(len(each) for each in self._claims.standing.members)

    def _enough(self, place: int, bound: str, more: Mapping[str, int]) -> "_Change | None":
        """Return how far a bound can be raised, which is enough for it; None where that changes nothing."""
        claims = self._claims
        quota = claims.book.quotas[place]
        before: Resources = getattr(quota, bound) or NOTHING
        used = claims.book.readable(claims.standing.used[place])
        enough = {}
        for name in sorted(before.keys() & more.keys()):
            least = quota.min.of(name) if bound == "borrowing_limit" else 0
            most = used.of(name) + more[name] - least
            if bound == "min":
                most = min(most, quota.max.get(name, most), self._left_above(quota, name, most))
            if most > before[name]:
                enough[name] = most
        return _Change(quota, before, Resources(enough), more) if enough else None

    def _left_above(self, quota: Quota, name: str, most: int) -> int:
        """Return how high a min can be beside those of its brothers, within that of its parent."""
        book = self._claims.book
        if not quota.parent:
            return most
        parent = book.quotas[book.index[quota.parent]]
        brothers = (each for each in book.quotas if each.parent == quota.parent and each.name != quota.name)
        return parent.min.get(name, most) - sum(each.min.of(name) for each in brothers)

    def _told(self, found: "_Found") -> Remedy:
        quota, bound, bounds = found.quota, found.bound, found.bounds
        told = " and ".join(f"{name} to {self._types[name].print(bounds[name])}" for name in sorted(bounds))
        text = f"raise the {BOUNDS[bound]} of quota {quota.name}: {told}"
        evicted = tuple(each.workload for each in found.outcome.evicted)
        if evicted:
            text += f" (then {', '.join(evicted)} would be evicted for it)"
        waits_for = tuple(each.workload for each in found.outcome.waits_for)
        return Remedy(
            "quota", text, quota=quota.name, bound=bound, bounds=bounds, evicted=evicted, waits_for=waits_for
        )


class _Change(NamedTuple):
    """A bound that could be raised, from what it is to what is enough, and what is asked for."""

    quota: Quota
    before: Resources
    enough: Resources
    more: Mapping[str, int]


class _Found(NamedTuple):
    """A bound with the least amounts under which all run, and what then becomes of them."""

    quota: Quota
    bound: str
    bounds: Resources
    outcome: Outcome


class _Tries:
    """Judging a batch under other bounds, a limited number of times."""

    def __init__(self, claims: Claims, attempt: Attempt, replicas: int) -> None:
        self._claims = claims
        self._attempt = attempt
        self._replicas = replicas
        members = sum(len(each) for each in claims.standing.members)
        self._left = min(TRIES_MAX, max(TRIES_MIN, COUNTED_MAX // max(1, members)))
        self._last: Outcome | None = None

    def helps(self, quota: Quota, bound: str, bounds: Resources) -> bool:
        """Whether all replicas run where a bound is raised to these amounts."""
        before: Resources = getattr(quota, bound) or NOTHING
        changed = msgspec.structs.replace(quota, **{bound: Resources({**before, **bounds})})
        if self._left <= 0:
            return False
        self._left -= 1
        outcome = self._attempt(self._claims.under(changed))
        if outcome.placed < self._replicas:
            return False
        self._last = outcome
        return True

    def least(self, change: _Change, bound: str) -> _Found:
        """Return the least amounts of a bound that is raised far enough, one resource after the other."""
        bounds = dict(change.enough)
        found = self._last
        for name in sorted(bounds):
            refused, enough = change.before[name] - 1, bounds[name]
            for tried in self._likely(change, bound, name):
                if refused < tried < enough:
                    if self.helps(change.quota, bound, Resources({**bounds, name: tried})):
                        enough, found = tried, self._last
                    else:
                        refused = tried
            while enough - refused > 1 and self._left > 0:
                middle = (refused + enough) // 2
                if self.helps(change.quota, bound, Resources({**bounds, name: middle})):
                    enough, found = middle, self._last
                else:
                    refused = middle
            bounds[name] = enough
        assert found is not None  # noqa: S101 - the bound was enough when it was tried first
        raised = {name: amount for name, amount in bounds.items() if amount > change.before[name]}
        return _Found(change.quota, bound, Resources(raised), found)

    def _likely(self, change: _Change, bound: str, name: str) -> list[int]:
        """Return amounts near which the least often lies: what is enough, and what the sum of mins lacks."""
        book, standing = self._claims.book, self._claims.standing
        place = book.resources.index(name)
        lacking = standing.sum_of_use()[place] + change.more[name] - book.sum_of_mins[place]
        from_sum = change.before[name] + max(0, lacking)
        likely = [change.enough[name] - 1, change.before[name]]
        return [*likely, from_sum, from_sum - 1] if bound == "min" else likely
