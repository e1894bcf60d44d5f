"""The victims of a gang: several members that run together or not at all, on several nodes.

The rules are those for one workload; the claim's right is judged on the sum. Small cases are looked at in
full and proven; for large ones a good set comes with a bound on how few victims any set has.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ullage.engine.quota.book import Member
from ullage.engine.quota.gang_bounds import victims_min
from ullage.engine.quota.gang_columns import Columns, Flags, Ints
from ullage.engine.quota.gang_exact import CANDIDATES_MAX, MEMBERS_MAX, STEPS_MAX, ExactSearch
from ullage.engine.quota.gang_exact import Accepts as RowsAccepted
from ullage.engine.quota.gang_judge import Judge
from ullage.engine.quota.gang_packing import Gang, gang_of
from ullage.engine.quota.gang_search import search
from ullage.engine.quota.gang_units import Units
from ullage.engine.quota.rights import Claim, Rules
from ullage.engine.quota.victim_gangs import NO_GANGS, Gangs
from ullage.engine.quota.victim_tally import Cost

Accepts = Callable[[Sequence[Member], Sequence[str]], bool]
"""Whether nothing but room stands against victims and the nodes of a claim's members, in its order."""


class GangFound(NamedTuple):
    """A legal set that is enough, and a node for every member of the claim in its order.

    `proven` if no legal set is better; else no set has fewer victims than `victims_min`.
    """

    victims: tuple[Member, ...]
    nodes: tuple[str, ...]
    cost: Cost
    proven: bool
    victims_min: int

    @property
    def gap(self) -> int:
        """Return how many victims could be too many."""
        return len(self.victims) - self.victims_min


class GangSearch(NamedTuple):
    """What came of a search: the best set if any, and whether turns would have been taken by some.

    Without a set, `proven` says that there is none.
    """

    found: GangFound | None
    turns: bool
    proven: bool


def gang_victims(
    rules: Rules,
    claim: Claim,
    columns: Columns,
    *,
    allowed: Flags | None = None,
    candidates: Flags | None = None,
    budgets: Sequence[int] = (),
    gangs: Gangs = NO_GANGS,
    kinds: Sequence[int] | None = None,
    accepts: Accepts | None = None,
    steps_max: int = STEPS_MAX,
) -> GangSearch:
    """Return the best set of victims that is found for the members of a claim.

    `allowed` says which nodes (`columns.nodes`) may have each member of the claim, all where it is not given.
    `candidates` are the rows that may be evicted, `budgets` how many members each of them still lets go.
    `gangs` that run go whole, or keep as many as are enough.
    Where more than room may stand against a set, members differ by `kinds`, and `accepts` is asked about
    victims and the nodes of the members; a large case comes unasked.
    """
    judge = Judge(rules, claim, columns, budgets, Units(columns, gangs) if gangs else None)
    gang = gang_of(claim.members, columns, allowed, kinds)
    usable = judge.usable(candidates)
    free = columns.free[:, gang.resources]
    least = None if gang.fits_none else victims_min(judge, gang, usable, free)
    if least is None:
        return GangSearch(None, turns=False, proven=True)
    outcome = search(judge, gang, usable)
    chosen = outcome.chosen
    if int(usable.sum()) <= CANDIDATES_MAX and len(gang.members) <= MEMBERS_MAX:
        asked = None if accepts is None else _asked(judge, gang, accepts)
        fits = chosen is not None and (asked is None or asked(chosen.rows, tuple(chosen.nodes.tolist())))
        start = chosen.rows if chosen is not None and fits else None
        exact = ExactSearch(judge, gang, usable, start, steps_max=steps_max, accepts=asked).run()
        turns = outcome.turns or exact.turns
        if exact.rows is not None and exact.nodes:
            found = _found(judge, gang, exact.rows, np.array(exact.nodes), least, proven=exact.proven)
            return GangSearch(found, turns, exact.proven)
        if chosen is None:
            return GangSearch(None, turns, exact.proven)
    if chosen is None:
        return GangSearch(None, outcome.turns, proven=False)
    found = _found(judge, gang, chosen.rows, chosen.nodes, least, proven=False)
    return GangSearch(found, outcome.turns, proven=False)


def _asked(judge: Judge, gang: Gang, accepts: Accepts) -> RowsAccepted:
    """Return a question about rows as one about victims and nodes by name, in the order of the claim."""

    def asked(rows: Ints, nodes: tuple[int, ...]) -> bool:
        victims = [judge.columns.members[row] for row in rows.tolist()]
        return accepts(victims, _by_member(judge, gang, nodes))

    return asked


def _by_member(judge: Judge, gang: Gang, nodes: Sequence[int]) -> tuple[str, ...]:
    names = judge.columns.nodes
    place_of = {member.key: names[row] for member, row in zip(gang.members, nodes, strict=True)}
    return tuple(place_of[member.key] for member in judge.claim.members)


def _found(judge: Judge, gang: Gang, rows: Ints, nodes: Ints, least: int, *, proven: bool) -> GangFound:
    """Return a set with its cost; a set of nobody, or a proven one, has no gap."""
    members = judge.columns.members
    return GangFound(
        tuple(members[row] for row in np.sort(rows).tolist()),
        _by_member(judge, gang, nodes.tolist()),
        judge.cost(rows),
        proven or not len(rows),
        len(rows) if proven else least,
    )
