"""A trace played under quotas: who starts when, who is evicted for whom, and what everybody waited.

Driven by events: all that happens at one moment is applied first, so the order in which it was written does
not matter; then those who wait take turns until nobody more can start. The quota with the least of its
entitlement in use goes first, and a kind of workload that was refused is passed over until the next pass.

Who is evicted waits again and starts anew; who would start and go in one moment did not start. Neither
borrows before demand or capacity changes: with this the evictions of one moment come to an end
(docs/explanation/fair-shares.md). The cluster is one pool: no node is chosen, and none can be too small.
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Final

from ullage.engine.quota.book import NO_QUOTA, Member
from ullage.engine.quota.events import POOL, CapacityChange, Job, Setting
from ullage.engine.quota.ordered_standing import OrderedStanding
from ullage.engine.quota.ordering import part_in_use
from ullage.engine.quota.outcome import End, Outcome, Record, UseOverTime
from ullage.engine.quota.pool_victims import may_go, preempting, stay_in_the_way
from ullage.engine.quota.rights import Claim, Refusal, Rules
from ullage.engine.quota.victims import Nodes
from ullage.engine.quota.waiting import Head, Waiting
from ullage.engine.steps import Steps, tell

PASSES_MAX: Final = 100
"""Passes over those who wait in one moment."""
STARTS_PER_JOB_MAX: Final = 100
"""Starts in all, for each workload of the trace: a replay that needs more is cut short."""
FIRST: Final = -1
"""The turn of those without a quota."""
PART_BITS: Final = 128
"""Two parts of amounts of 64 bits that differ do so by more than 2 to the minus 126."""

_END, _LEAVE, _CAPACITY, _ARRIVE, _MATURE = range(5)


class Replay:
    """A trace under a setting; `run` plays it, `outcome` says what came of it."""

    def __init__(
        self,
        setting: Setting,
        jobs: Sequence[Job],
        *,
        changes: Iterable[CapacityChange] = (),
        run_min_seconds: int = 0,
    ) -> None:
        self._book = setting.book
        self._capacity: Mapping[str, int] = setting.capacity
        self._free = dict(setting.capacity)
        self._run_min_seconds = run_min_seconds
        self._standing = OrderedStanding(setting.book, (), setting.order)
        self._rules = Rules(self._standing, self._standing.entitlements((), setting.capacity))
        self._waiting = Waiting(setting.book)
        self._uses = UseOverTime(self._standing)
        self._jobs = {job.member.key: job for job in jobs}
        self._records = {key: Record() for key in self._jobs}
        self._members: dict[str, Member] = {}
        self._without_quota: dict[str, Member] = {}
        self._changes = tuple(changes)
        self._priority_least = min((job.member.priority for job in jobs), default=0)
        self._demand_moved = True
        self._fair = all(mode == "fair" for mode in setting.book.modes)
        self._roots = [chain[-1] for chain in setting.book.chains]
        self._versions = [0] * len(setting.book.quotas)
        self._held: dict[int, int] = {}
        self._parts: dict[int, tuple[int, int]] = {}
        self._starts_left = STARTS_PER_JOB_MAX * len(jobs)
        self.now_seconds = 0
        self.decisions = self.unproven = self.unsettled = 0
        self._events: list[tuple[int, int, str, int]] = [
            (job.at_seconds, _ARRIVE, job.member.key, 0) for job in jobs
        ]
        self._events += [
            (job.leaves_seconds, _LEAVE, job.member.key, 0) for job in jobs if job.leaves_seconds is not None
        ]
        self._events += [(each.at_seconds, _CAPACITY, "", place) for place, each in enumerate(self._changes)]
        heapify(self._events)

    def run(self, steps: Steps | None = None) -> None:
        """Play the trace until nothing more happens."""
        events, arrived = self._events, 0
        while events and self._starts_left > 0:
            now = events[0][0]
            happened = False
            while events and events[0][0] == now:
                _, event, key, number = heappop(events)
                arrived += event == _ARRIVE
                happened |= self._happens(now, event, key, number)
            if happened:
                self.now_seconds = now
                self._settle()
                tell(steps, "workloads have come", arrived, len(self._jobs))

    def outcome(self, end_seconds: int | None = None) -> Outcome:
        """Return what came of it, as it stays until the end: by default the moment of the last event."""
        end = self.now_seconds if end_seconds is None else end_seconds
        jobs = tuple(
            self._records[key].outcome(key, job.member.quota, job.at_seconds, self._state(key), end)
            for key, job in self._jobs.items()
        )
        return Outcome(
            end,
            jobs,
            self._uses.all_until(end),
            self.decisions,
            self.unproven,
            self.unsettled,
            cut_short=self._starts_left <= 0,
        )

    def _state(self, key: str) -> End:
        if key in self._members:
            return "runs"
        record = self._records[key]
        if record.ended_seconds is None:
            return "waits"
        return "withdrawn" if record.withdrawn else "finished"

    # Events

    def _happens(self, now: int, event: int, key: str, number: int) -> bool:
        """Apply an event; whether it was one, for an end that an eviction has undone is none."""
        if event == _CAPACITY:
            self._set_capacity(self._changes[number].capacity)
            return True
        record = self._records[key]
        if event in {_END, _MATURE} and (key not in self._members or record.run != number):
            return False
        if event == _MATURE:
            self._moves(self._jobs[key].member.quota)
            return len(self._waiting) > 0
        self.now_seconds = now
        if event == _ARRIVE:
            self._arrives(self._jobs[key], record)
        elif event == _END:
            self._stop(key)
            record.ended_seconds = now
        else:
            return self._leaves(key, record)
        self._demand_moved = True
        return True

    def _arrives(self, job: Job, record: Record) -> None:
        if job.runs:
            self._start(job, job.member)
        else:
            record.since_seconds = self.now_seconds
            self._waiting.add(job, self.now_seconds)

    def _leaves(self, key: str, record: Record) -> bool:
        if key in self._members:
            self._stop(key)
        elif key in self._waiting:
            self._waiting.remove(key)
            record.waited_seconds += self.now_seconds - record.since_seconds
        else:
            return False
        record.ended_seconds, record.withdrawn = self.now_seconds, True
        self._demand_moved = True
        return True

    def _set_capacity(self, capacity: Mapping[str, int]) -> None:
        names = {*self._capacity, *capacity}
        for name in names:
            more = capacity.get(name, 0) - self._capacity.get(name, 0)
            self._free[name] = self._free.get(name, 0) + more
        self._capacity = capacity
        self._demand_moved = True

    def _start(self, job: Job, member: Member) -> None:
        key, now, record = member.key, self.now_seconds, self._records[member.key]
        self._uses.count(member.quota, now)
        self._standing.add(member)
        self._moves(member.quota)
        self._members[key] = member
        if member.quota == NO_QUOTA:
            self._without_quota[key] = member
        for name, amount in job.takes:
            self._free[name] = self._free.get(name, 0) - amount
        self._starts_left -= 1
        record.starts += 1
        record.run += 1
        record.started_seconds = now
        if job.duration_seconds is not None:
            heappush(self._events, (now + job.duration_seconds, _END, key, record.run))
        if self._run_min_seconds:
            heappush(self._events, (now + self._run_min_seconds, _MATURE, key, record.run))

    def _stop(self, key: str) -> int:
        """Take away one that runs; return how long it ran."""
        member, record = self._members.pop(key), self._records[key]
        self._uses.count(member.quota, self.now_seconds)
        self._standing.remove(member)
        self._moves(member.quota)
        self._without_quota.pop(key, None)
        for name, amount in self._jobs[key].takes:
            self._free[name] += amount
        ran = self.now_seconds - record.started_seconds
        record.held_seconds += ran
        return ran

    def _evict(self, victim: Member) -> bool:
        """Let one that runs wait again; whether it ran at all, for who would start and go at once did not."""
        job, record, since = self._jobs[victim.key], self._records[victim.key], self.now_seconds
        ran = record.started_seconds < since or (job.runs and record.run == 1)
        record.lost_seconds += self._stop(victim.key)
        if ran:
            record.evictions += 1
        else:
            since = victim.created_seconds
            record.starts -= 1
            record.waited_seconds -= self.now_seconds - since
        record.since_seconds = since
        self._waiting.add(job, since, barred=True)
        return ran

    # Turns

    def _settle(self) -> None:
        """Let those who wait take turns until a pass starts nobody."""
        if self._demand_moved:
            self._waiting.unbar()
        if not len(self._waiting):
            return
        if self._demand_moved and "fair" in self._book.modes:
            shares = self._standing.entitlements(self._waiting.demand(), self._capacity)
            for quota, before in enumerate(self._rules.entitlements):
                if before != shares[quota]:
                    self._moves(quota)
            self._rules = Rules(self._standing, shares)
        self._demand_moved = False
        for _ in range(PASSES_MAX):
            if not self._pass() or self._starts_left <= 0:
                return
        self.unsettled += 1

    def _pass(self) -> bool:
        """Let the first of every kind try, by turns; whether anybody started."""
        lines = self._waiting.heads()
        turns = [(self._part(quota), quota, 0) for quota in lines]
        heapify(turns)
        stamps = dict.fromkeys(lines, 0)
        started = False
        while turns and self._starts_left > 0:
            _, quota, stamp = heappop(turns)
            if stamp != stamps[quota]:
                continue
            for moved in self._turn(quota, lines[quota]):
                started = True
                if lines.get(moved):
                    stamps[moved] += 1
                    heappush(turns, (self._part(moved), moved, stamps[moved]))
        return started

    def _part(self, quota: int) -> int:
        """Return the part of its entitlement that a quota uses, as a whole number in the same order."""
        if quota == NO_QUOTA:
            return FIRST
        version = self._versions[self._roots[quota]]
        known = self._parts.get(quota)
        if known is None or known[0] != version or not self._fair:
            part = part_in_use(self._standing.used[quota], self._rules.bound_of(quota, "guaranteed"))
            known = self._parts[quota] = (version, (part.numerator << PART_BITS) // part.denominator)
        return known[1]

    def _turn(self, quota: int, line: list[Head]) -> set[int]:
        """Let the first of a quota that can start do so; return the quotas whose turn moves by it."""
        while line:
            _, since_seconds, key, kind = heappop(line)
            if quota != NO_QUOTA and self._held.get(kind) == self._versions[self._roots[quota]]:
                continue
            victims = self._decided(key, since_seconds, kind)
            if victims is None:
                continue
            following = self._waiting.after(quota, kind)
            if following is not None:
                heappush(line, following)
            return self._moved([quota, *victims])
        return set()

    def _moved(self, quotas: Iterable[int]) -> set[int]:
        """Return the quotas whose part in use is another when these have changed."""
        found: set[int] = set()
        for quota in quotas:
            if quota == NO_QUOTA:
                found.add(quota)
            elif self._book.modes[quota] == "nos":
                found.update(self._book.nos_places, self._book.chains[quota])
            else:
                found.update(self._book.chains[quota])
        return found

    def _moves(self, quota: int) -> None:
        """Note that something in the tree of a quota has changed by which its workloads are judged."""
        if quota != NO_QUOTA:
            self._versions[self._roots[quota]] += 1

    def _decided(self, key: str, since_seconds: int, kind: int) -> list[int] | None:
        """Start one who waits if it may; return the quotas of those who went for it, None if it waits on."""
        self.decisions += 1
        job = self._waiting.job(key)
        member = job.member
        if since_seconds != member.created_seconds:
            member = member._replace(created_seconds=since_seconds)
        claim = self._rules.claim([member]) if kind < 0 else None
        if claim is not None and self._borrows(claim):
            return None
        victims: Sequence[Member] = ()
        refusals = self._rules.refusals(member.quota, member.amounts)
        if refusals or not self._has_room(job):
            if member.quota == NO_QUOTA and member.priority <= self._priority_least:
                return None
            found = self._victims(claim or self._rules.claim([member]), refusals, kind)
            if found is None:
                return None
            victims = found
        record = self._records[key]
        record.took += sum(self._evict(victim) for victim in victims)
        self._waiting.remove(key)
        record.waited_seconds += self.now_seconds - since_seconds
        self._start(job, member)
        return [victim.quota for victim in victims]

    def _victims(self, claim: Claim, refusals: Sequence[Refusal], kind: int) -> Sequence[Member] | None:
        """Return who goes for a claim, None if it waits on.

        A bound in the tree of its quota that all candidates together would not lift stays in the way until
        something in that tree moves; room elsewhere does not help.
        """
        least, now = self._run_min_seconds, self.now_seconds
        candidates: list[Member] = []
        if claim.right is not None or claim.priority > self._priority_least:
            candidates = [
                each
                for each in may_go(self._rules, claim, self._without_quota.values())
                if not least or now - self._records[each.key].started_seconds >= least
            ]
        if refusals and stay_in_the_way(self._rules, refusals, candidates):
            if self._fair:
                self._held[kind] = self._versions[self._roots[claim.quota]]
            return None
        if not candidates:
            return None
        nodes = Nodes({POOL: self._free}, self._capacity)
        decision = preempting(self._rules, claim, nodes, refusals, candidates)
        if decision is None:
            return None
        self.unproven += not decision.proven
        return decision.victims

    def _borrows(self, claim: Claim) -> bool:
        """Whether a claim would bring one of its quotas above what it is entitled to."""
        if claim.quota == NO_QUOTA:
            return False
        return claim.reach < len(self._book.chains[claim.quota])

    def _has_room(self, job: Job) -> bool:
        free = self._free
        return all(amount <= free.get(name, 0) for name, amount in job.takes)
