"""Who could later evict what was placed: the quotas whose claims reach it, by the walk that tells risks.

The state is the one after everything that was placed runs: those who went for it are gone.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from ullage.engine.placement.outcome import Outcome, Threat
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import NO_QUOTA, Member
from ullage.engine.quota.gpu_parts import on_nodes
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.risk import Claimant, Risks, claim_that_takes, node_room
from ullage.engine.quota.standing import Standing
from ullage.model.cluster import Workload
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import Resources

REPLICAS_MAX: Final = 200
"""Replicas of one batch that are looked at one by one; the others count, and are the last to go."""


class Threats:
    """The cluster after everything that was placed runs, and who could claim it back."""

    def __init__(
        self, accounts: Accounts, outcomes: Sequence[Outcome], asked: Mapping[str, Workload]
    ) -> None:
        self._newcomers: dict[str, list[Member]] = {}
        self._book = accounts.book
        placed = [outcome for outcome in outcomes if outcome.action == "place"]
        gone = {each.workload for outcome in outcomes for each in outcome.evicted}
        gone |= {each.workload for outcome in outcomes for each in outcome.waits_for}
        gone |= {outcome.subject for outcome in placed}
        everyone = {**accounts.running, **accounts.leaving}
        staying = [member for key, member in everyone.items() if key not in gone]
        room = node_room(accounts.columns)
        for key in sorted(gone & everyone.keys()):
            _count(room, everyone[key], accounts, 1)
        for outcome in placed:
            members = _placed(accounts, outcome, asked[outcome.subject])
            self._newcomers[outcome.subject] = members[:REPLICAS_MAX]
            staying += members
            for member in members:
                _count(room, member, accounts, -1)
        standing = Standing(accounts.book, staying, accounts.standing.order)
        waiting = [member for key, member in accounts.waiting.items() if key not in gone]
        rules = Rules(standing, standing.entitlements(waiting, accounts.capacity))
        evictable = [member for member in accounts.evictable if member.key not in gone]
        evictable += [member for members in self._newcomers.values() for member in members]
        left = _left_of_budgets(accounts, outcomes)
        self._risks = Risks(rules, waiting, accounts.capacity, room=room, evictable=evictable, budgets=left)
        self._claimants = self._risks.claimants()

    def to(self, subject: str) -> tuple[Threat, ...]:
        """Return the quotas that could evict replicas of a batch."""
        members = self._newcomers.get(subject)
        if not members or members[0].quota == NO_QUOTA:
            return ()
        found = []
        for claimant in self._claimants:
            could_claim = {
                self._book.resources[resource]: amount
                for resource in range(len(self._book.resources))
                if (amount := self._claimed(claimant, resource, members))
            }
            if could_claim:
                found.append(Threat(self._book.quotas[claimant.quota].name, Resources(could_claim)))
        return tuple(found)

    def _claimed(self, claimant: Claimant, resource: int, members: Sequence[Member]) -> int:
        """Return how much of a resource a quota could claim where that takes one of these; nothing if not."""
        free, most = claimant.free[resource], claimant.at_most[resource]
        amount = sum(each.amounts[resource] for each in members)
        if not amount or claimant.quota == members[0].quota or free is None:
            return 0
        if most is not None and most <= free:
            return 0
        back = self._risks.back
        names = frozenset(each.key for each in members)
        order = back.order([claimant.quota], resource, names)
        reached = any(each.member.key in names for each in order.gone)
        if reached or claim_that_takes(back, claimant, resource, members) is not None:
            return amount if most is None else most
        return 0


def _placed(accounts: Accounts, outcome: Outcome, workload: Workload) -> list[Member]:
    """Return the replicas of a batch that have a place, each as a member of its quota."""
    members: list[Member] = []
    for kind, count in on_nodes(accounts, workload, outcome.nodes):
        one = accounts.member_of(kind)._replace(created_seconds=INT64_MAX)
        alone = min(count, REPLICAS_MAX - len(members))
        start = len(members)
        members += [one._replace(key=f"{workload.key}#{number:03}") for number in range(start, start + alone)]
        if count > alone:
            amounts = tuple(amount * (count - alone) for amount in one.amounts)
            rest = one._replace(key=f"{workload.key}#rest-{start}", amounts=amounts)
            members.append(rest._replace(created_seconds=INT64_MAX - 1))
    return members


def _count(room: dict[str, int], member: Member, accounts: Accounts, sign: int) -> None:
    """Count what one that comes or goes leaves of the room on nodes."""
    for name, amount in zip(accounts.book.resources, member.amounts, strict=True):
        if name in room and room[name] < INT64_MAX:
            room[name] = max(0, room[name] + sign * amount)


def _left_of_budgets(accounts: Accounts, outcomes: Sequence[Outcome]) -> list[int]:
    left = [each.allowed for each in accounts.budgets.all]
    for outcome in outcomes:
        for each in outcome.evicted:
            for budget in accounts.running[each.workload].budgets:
                left[budget] = max(0, left[budget] - 1)
    return left
