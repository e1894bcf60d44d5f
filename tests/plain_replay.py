"""A replay by its definition: at every moment everything is counted anew, and every decision is `decide`.

Nothing is kept from one decision to the next but who runs, who waits, and who was evicted.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ullage.engine.quota.book import NO_QUOTA, Member
from ullage.engine.quota.decision import decide
from ullage.engine.quota.events import POOL, CapacityChange, Job, Setting
from ullage.engine.quota.ordering import part_in_use
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.victims import Nodes


class Start(NamedTuple):
    at: int
    key: str
    victims: tuple[str, ...]


class PlainReplay:
    def __init__(self, setting: Setting, jobs: Sequence[Job], changes=(), run_min_seconds: int = 0) -> None:
        self.setting = setting
        self.capacity = dict(setting.capacity)
        self.jobs = {job.member.key: job for job in jobs}
        self.changes: Sequence[CapacityChange] = changes
        self.run_min = run_min_seconds
        self.running: dict[str, int] = {}
        self.waiting: dict[str, int] = {}
        self.created: dict[str, int] = {}
        self.barred: set[str] = set()
        self.ran_before: set[str] = {job.member.key for job in jobs if job.runs}
        self.done: dict[str, int] = {}
        self.log: list[Start] = []

    def run(self) -> list[Start]:
        now: int | None = -1
        while (now := self._next(now)) is not None:
            if self._apply(now):
                self.barred.clear()
            while self._pass(now):
                pass
            now -= 1 if self._zero_long(now) else 0
        return self.log

    def _zero_long(self, now: int) -> bool:
        """Whether somebody who started now is done now."""
        return any(self._end(key) == now for key in self.running)

    def _end(self, key: str) -> int | None:
        duration = self.jobs[key].duration_seconds
        return None if duration is None else self.running[key] + duration

    def _next(self, now: int) -> int | None:
        times = [change.at_seconds for change in self.changes]
        for job in self.jobs.values():
            times += [job.at_seconds, job.leaves_seconds if job.leaves_seconds is not None else -1]
        for key, started in self.running.items():
            times += [self._end(key) or -1, started + self.run_min]
        return min((time for time in times if time > now), default=None)

    def _apply(self, now: int) -> bool:
        moved = False
        for key in [key for key in self.running if self._end(key) == now]:
            del self.running[key]
            self.done[key] = now
            moved = True
        for key, job in self.jobs.items():
            if job.leaves_seconds == now and (key in self.running or key in self.waiting):
                self.running.pop(key, None)
                self.waiting.pop(key, None)
                self.done[key] = now
                moved = True
        for change in self.changes:
            if change.at_seconds == now:
                self.capacity = dict(change.capacity)
                moved = True
        for key, job in self.jobs.items():
            if job.at_seconds == now and key not in self.created:
                self.created[key] = now
                (self.running if job.runs else self.waiting)[key] = now
                moved = True
        return moved

    def _member(self, key: str) -> Member:
        return self.jobs[key].member._replace(created_seconds=self.created[key])

    def _rules(self) -> Rules:
        standing = Standing(
            self.setting.book, [self._member(key) for key in self.running], self.setting.order
        )
        waiting = [self._member(key) for key in self.waiting]
        return Rules(standing, standing.entitlements(waiting, self.capacity))

    def _line(self, key: str) -> tuple[int, bool]:
        return self.jobs[key].kind, key in self.barred

    def _turn_of(self, rules: Rules, key: str) -> tuple[object, ...]:
        member = self._member(key)
        part = -1
        if member.quota != NO_QUOTA:
            bound = rules.bound_of(member.quota, "guaranteed")
            part = part_in_use(rules.standing.used[member.quota], bound)
        return part, member.quota, -member.priority, self.created[key], key

    def _pass(self, now: int) -> bool:
        lines = {self._line(key) for key in self.waiting}
        started = False
        while True:
            rules = self._rules()
            asking = [key for key in self.waiting if self._line(key) in lines]
            if not asking:
                return started
            key = min(asking, key=lambda each: self._turn_of(rules, each))
            line = self._line(key)
            if self._starts(now, rules, key):
                started = True
                if line not in {self._line(each) for each in asking if each != key}:
                    lines.discard(line)
            else:
                lines.discard(line)

    def _starts(self, now: int, rules: Rules, key: str) -> bool:
        member = self._member(key)
        claim = rules.claim([member])
        if key in self.barred and member.quota != NO_QUOTA:
            whole = len(rules.book.chains[member.quota])
            if claim.right is None or claim.reach < whole:
                return False
        taken = Counter[str]()
        for each in self.running:
            taken.update(self.jobs[each].member.takes)
        names = {*self.capacity, *taken}
        free = {name: self.capacity.get(name, 0) - taken[name] for name in names}
        old = [self._member(each) for each, at in self.running.items() if now - at >= self.run_min]
        decision = decide(rules, member, Nodes({POOL: free}, self.capacity), old)
        if decision.verdict == "refuse":
            return False
        for victim in decision.victims:
            ran = self.running.pop(victim.key) < now or victim.key in self.ran_before
            self.created[victim.key] = now if ran else self.created[victim.key]
            self.waiting[victim.key] = self.created[victim.key]
            self.ran_before.discard(victim.key)
            self.barred.add(victim.key)
        del self.waiting[key]
        self.barred.discard(key)
        self.running[key] = now
        self.log.append(Start(now, key, tuple(each.key for each in decision.victims)))
        return True
