"""Those who wait in a replay, by quota and by kind: equal ones wait behind the first of them.

Inside a quota the highest priority goes first, then who has waited longest, then the name. Who was evicted is
kept apart as *barred* until demand or capacity changes. The hard thing is withdrawals: an entry of a heap is
left where it is and passed over when it is met.
"""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from ullage.engine.quota.book import Book, Member
from ullage.engine.quota.events import Job
from ullage.model.resources import NOTHING

Head = tuple[int, int, str, int]
"""The first of its kind: priority (the highest is least), since when it waits, its key, and the line."""


class Waiting:
    """The lines of those who wait; a line is a kind, the barred ones of a kind are a line of their own."""

    def __init__(self, book: Book) -> None:
        self._lines: dict[int, dict[int, list[tuple[int, str]]]] = {}
        self._line_of: dict[str, tuple[int, int, int]] = {}
        self._jobs: dict[str, Job] = {}
        self._barred: set[str] = set()
        self._none = (0,) * len(book.resources)
        self._asked: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self._jobs)

    def __contains__(self, key: str) -> bool:
        return key in self._jobs

    def add(self, job: Job, since_seconds: int, *, barred: bool = False) -> None:
        """Let a job wait."""
        key, quota = job.member.key, job.member.quota
        self._jobs[key] = job
        self._enter(job, since_seconds, -job.kind if barred else job.kind)
        if barred:
            self._barred.add(key)
        asked = self._asked.setdefault(quota, list(self._none))
        for place, amount in enumerate(job.member.amounts):
            asked[place] += amount

    def _enter(self, job: Job, since_seconds: int, line: int) -> None:
        key, quota = job.member.key, job.member.quota
        heappush(self._lines.setdefault(quota, {}).setdefault(line, []), (since_seconds, key))
        self._line_of[key] = (quota, line, since_seconds)

    def remove(self, key: str) -> Job:
        """Take a job out of its line."""
        job = self._jobs.pop(key)
        quota, line, _ = self._line_of.pop(key)
        self._barred.discard(key)
        for place, amount in enumerate(job.member.amounts):
            self._asked[quota][place] -= amount
        self.head(quota, line)
        return job

    def unbar(self) -> None:
        """Let those who were evicted wait as all others do."""
        for key in sorted(self._barred):
            quota, line, since_seconds = self._line_of[key]
            self._enter(self._jobs[key], since_seconds, -line)
            self.head(quota, line)
        self._barred.clear()

    def head(self, quota: int, line: int) -> Head | None:
        """Return the first of a line; an empty line is forgotten."""
        lines = self._lines[quota]
        entries = lines.get(line)
        while entries:
            since_seconds, key = entries[0]
            if self._line_of.get(key) == (quota, line, since_seconds):
                return (-self._jobs[key].member.priority, since_seconds, key, line)
            heappop(entries)
        if entries is not None:
            del lines[line]
            if not lines:
                del self._lines[quota]
        return None

    def heads(self) -> dict[int, list[Head]]:
        """Return by quota the first of every line, as heaps."""
        found = {
            quota: [head for line in list(lines) if (head := self.head(quota, line)) is not None]
            for quota, lines in list(self._lines.items())
        }
        for each in found.values():
            heapify(each)
        return found

    def after(self, quota: int, line: int) -> Head | None:
        """Return who is now first of a line from which somebody went."""
        if line not in self._lines.get(quota, ()):
            return None
        return self.head(quota, line)

    def job(self, key: str) -> Job:
        """Return one that waits."""
        return self._jobs[key]

    def demand(self) -> Iterator[Member]:
        """Yield what those who wait under each quota ask for in all, as one member."""
        for quota, amounts in self._asked.items():
            if any(amounts):
                yield Member("", quota, tuple(amounts), NOTHING)
