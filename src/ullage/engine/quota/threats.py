"""What a preview leaves behind: who of those placed is over quota then, and who could claim them back.

The state is the one after everything that was placed runs: those who went for it wait again, and labels
follow the order of that state. Who waits already keeps the time of its creation, what is new is the youngest.
Who waits already and is refused waits on, and what it asks for counts in shares.
Who could claim is told by the same orders that tell risks.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from ullage.engine.placement.outcome import Outcome, Threat
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import NO_QUOTA, Member
from ullage.engine.quota.gpu_parts import on_nodes
from ullage.engine.quota.heeded_budgets import left_of
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.risk import Going, Risks
from ullage.engine.quota.standing import OVER_QUOTA
from ullage.engine.quota.victim_gangs import by_gang
from ullage.model.cluster import Workload
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import Resources

REPLICAS_MAX: Final = 200
"""Replicas of one batch that are looked at one by one; the others count, and are the last to go."""


class Threats:
    """The cluster after everything that was placed runs, and who could claim it back.

    Until `undo` the standing of the accounts is the one after. It is `complete` if everybody was looked at.
    """

    def __init__(
        self, accounts: Accounts, outcomes: Sequence[Outcome], asked: Mapping[str, Workload]
    ) -> None:
        self._newcomers: dict[str, list[Member]] = {}
        self._rests: dict[str, list[tuple[Member, int]]] = {}
        self._accounts = accounts
        self._book = accounts.book
        self.standing = accounts.standing
        placed = [outcome for outcome in outcomes if outcome.action == "place"]
        self._evicted = [accounts.running[each.workload] for outcome in outcomes for each in outcome.evicted]
        gone = {each.key for each in self._evicted}
        gone |= {each.workload for outcome in outcomes for each in outcome.waits_for}
        gone |= {each.subject for each in placed if each.placed or each.subject not in accounts.waiting}
        self._gone = gone
        leave = [
            member
            for key in sorted(gone)
            if (member := accounts.running.get(key) or accounts.leaving.get(key)) is not None
        ]
        come = [
            member for outcome in placed for member in self._place(accounts, outcome, asked[outcome.subject])
        ]
        quotas = {member.quota for member in come} - {NO_QUOTA}
        self._before = {quota: self.standing.labels(quota) for quota in quotas}
        self._room = dict(accounts.room)
        for member in leave:
            self.standing.remove(member)
            _count(self._room, member, accounts, 1)
        for member in come:
            self.standing.add(member)
            _count(self._room, member, accounts, -1)
        self._moved = leave, come
        self._places: dict[str, tuple[Going, ...]] | None = None
        self.complete = True

    def undo(self) -> None:
        """Leave the standing as it was."""
        leave, come = self._moved
        for member in come:
            self.standing.remove(member)
        for member in leave:
            self.standing.add(member)

    @cached_property
    def _risks(self) -> Risks:
        accounts, gone = self._accounts, self._gone
        waiting = [member for key, member in accounts.waiting.items() if key not in gone] + self._evicted
        newcomers = [member for members in self._newcomers.values() for member in members]
        gangs = accounts.gangs
        if gangs or any(member.gang for member in newcomers):
            runs = (member for key, member in accounts.running.items() if key not in gone)
            gangs = by_gang([*runs, *newcomers])
        return Risks(
            Rules(self.standing, self.standing.entitlements(waiting, accounts.capacity)),
            waiting,
            accounts.capacity,
            room=self._room,
            evictable=[
                *(member for member in accounts.evictable if member.key not in gone),
                *newcomers,
            ],
            budgets=left_of(accounts.budgets, self._evicted),
            gangs=gangs,
        )

    def _place(self, accounts: Accounts, outcome: Outcome, workload: Workload) -> list[Member]:
        """Return the replicas of a batch that have a place, each as a member of its quota.

        Beyond the first of them, which are looked at one by one, those of one kind are one member.
        """
        waits = accounts.waiting.get(workload.key)
        created = waits.created_seconds if waits is not None else INT64_MAX
        members: list[Member] = []
        rests: list[tuple[Member, int]] = []
        for kind, count in on_nodes(accounts, workload, outcome.nodes):
            one = accounts.member_of(kind)._replace(created_seconds=created)
            alone = min(count, REPLICAS_MAX - len(members))
            start = len(members)
            names = (f"{workload.key}#{number:03}" for number in range(start, start + alone))
            members += [one._replace(key=key if outcome.placed > 1 else workload.key) for key in names]
            if count > alone:
                amounts = tuple(amount * (count - alone) for amount in one.amounts)
                rest = one._replace(key=f"{workload.key}#rest-{start}", amounts=amounts)
                rests.append((rest._replace(created_seconds=min(created, INT64_MAX - 1)), count - alone))
        self._newcomers[outcome.subject] = members
        self._rests[outcome.subject] = rests
        return [*members, *(rest for rest, _ in rests)]

    def over_quota(self, subject: str) -> int:
        """Return how many of a batch that was placed are above the min of their quota in the end."""
        members = self._newcomers.get(subject)
        if not members or members[0].quota == NO_QUOTA:
            return 0
        quota = members[0].quota
        labels = self.standing.labels(quota)
        found = sum(labels[each.key] == OVER_QUOTA for each in members)
        sums = self.standing.sums_in_order(quota) if self._rests[subject] else {}
        for rest, count in self._rests[subject]:
            fits = count
            for total, amount, least in zip(
                sums[rest.key], rest.amounts, self._book.own_mins[quota], strict=True
            ):
                if least is not None and total > least:
                    each = amount // count
                    fits = max(0, min(fits, count - -(-(total - least) // each))) if each else 0
            found += count - fits
        return found

    def pushed(self, subject: str) -> tuple[str, ...]:
        """Return who runs within the min of a batch's quota now, and would be above it after all this."""
        members = self._newcomers.get(subject)
        if not members or members[0].quota == NO_QUOTA:
            return ()
        quota = members[0].quota
        before, after = self._before[quota], self.standing.labels(quota)
        return tuple(
            key for key, label in after.items() if label == OVER_QUOTA and before.get(key, label) != label
        )

    def _may_go(self, member: Member) -> bool:
        """Whether anybody might claim it back at all: in mode nos not who is within the min of its quota."""
        if member.quota == NO_QUOTA:
            return False
        within = self.standing.labels(member.quota)[member.key] != OVER_QUOTA
        return not within or bool(member.gang) or self._book.modes[member.quota] != "nos"

    def to(self, subject: str) -> tuple[Threat, ...]:
        """Return the quotas that could evict replicas of a batch: each alone, or several together."""
        if self._places is None:
            names = frozenset(
                each.key for members in self._newcomers.values() for each in members if self._may_go(each)
            )
            self._places = self._risks.later(names) if names else {}
            self.complete = not names or self._risks.later_complete
        if not self._places:
            return ()
        most = {each.quota: each.at_most for each in self._risks.claimants()}
        found: dict[tuple[int, ...], set[int]] = {}
        for member in self._newcomers.get(subject, ()):
            for going in self._places.get(member.key, ()):
                resources = {place for place, first in enumerate(going.claimed_first) if first is not None}
                together = going.way == "together"
                for claimants in [going.claimants] if together else [(each,) for each in going.claimants]:
                    found.setdefault(claimants, set()).update(resources)
        threats = []
        for claimants, resources in sorted(found.items(), key=lambda each: (len(each[0]), each[0])):
            could_claim = {}
            for place in sorted(resources):
                bounds = [bound for each in claimants if (bound := most[each][place]) is not None]
                held = sum(each.amounts[place] for each in self._newcomers[subject])
                could_claim[self._book.resources[place]] = (
                    sum(bounds) if len(bounds) == len(claimants) else held
                )
            told = tuple(self._book.quotas[each].name for each in claimants)
            threats.append(Threat(told, Resources(could_claim)))
        return tuple(threats)


def _count(room: dict[str, int], member: Member, accounts: Accounts, sign: int) -> None:
    """Count what one that comes or goes leaves of the room on nodes."""
    for name, amount in zip(accounts.book.resources, member.amounts, strict=True):
        if name in room and room[name] < INT64_MAX:
            room[name] = max(0, room[name] + sign * amount)
