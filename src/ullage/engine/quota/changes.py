"""The smallest single change that lets a refused workload run under its quota: a bound raised, a request cut.

Each change is tried before it is named: the workload is decided anew under it, evictions included.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from ullage.engine.placement.shapes import Shape
from ullage.engine.quota.book import NO_QUOTA
from ullage.engine.quota.claims import Claims
from ullage.engine.quota.decision import Decision
from ullage.model.cluster import Quota, Workload
from ullage.model.plan import Remedy
from ullage.model.resources import Resources, ResourceTypes

MEMBERS_MAX: Final = 20_000
"""Running members up to which changes of quotas are tried: each try counts all of them anew."""


class Changes:
    """What could be changed so that one more replica of a workload runs."""

    def __init__(self, claims: Claims, types: ResourceTypes) -> None:
        self._claims = claims
        self._types = types

    def that_help(self, workload: Workload, shape: Shape, decision: Decision) -> list[Remedy]:
        """Return the changes under which a workload that was refused runs, the smallest first."""
        if decision.claim.quota == NO_QUOTA or self._claims.members > MEMBERS_MAX:
            return []
        found = []
        for remedy, quota in self._bounds(decision):
            after = self._claims.tried(workload, shape, quota)
            if after.verdict != "refuse":
                found.append(_told(remedy, after))
        return found

    def _bounds(self, decision: Decision) -> Iterator[tuple[Remedy, Quota]]:
        """Yield a quota with its max, its min or both of the claim's needs raised as far as they lack."""
        book = self._claims.book
        if not decision.refusals or any(each.barrier != "max" for each in decision.refusals):
            yield from self._min_raised(decision)
        limited = {each.quota for each in decision.refusals if each.barrier == "max"}
        if len(limited) == 1 and all(each.barrier == "max" for each in decision.refusals):
            quota = book.quotas[limited.pop()]
            short = {book.resources[each.resource]: each.short for each in decision.refusals}
            yield self._raised(quota, "max", short)

    def _min_raised(self, decision: Decision) -> Iterator[tuple[Remedy, Quota]]:
        book = self._claims.book
        place = decision.claim.quota
        used = self._claims.standing.own_used[place]
        lacking = {
            name: amount + more - least
            for name, amount, more, least in zip(
                book.resources, used, decision.claim.amounts, book.own_mins[place], strict=True
            )
            if least is not None and amount + more > least
        }
        if lacking and not book.quotas[place].parent:
            yield self._raised(book.quotas[place], "min", lacking)

    def _raised(self, quota: Quota, bound: str, short: Mapping[str, int]) -> tuple[Remedy, Quota]:
        before: Resources = getattr(quota, bound)
        after = before + Resources(short)
        changed = msgspec.structs.replace(quota, **{bound: after})
        told = " and ".join(f"{name} to {self._types[name].print(after[name])}" for name in sorted(short))
        text = f"raise the {bound} of quota {quota.name}: {told}"
        bounds = after.only(short)
        return Remedy("quota", text, quota=quota.name, bound=bound, bounds=bounds), changed


def _told(remedy: Remedy, after: Decision) -> Remedy:
    if after.verdict == "admit":
        return remedy
    victims = ", ".join(victim.key for victim in after.victims)
    return msgspec.structs.replace(
        remedy,
        text=f"{remedy.text} (then {victims} would be evicted for it)",
        evicted=tuple(victim.key for victim in after.victims),
    )
