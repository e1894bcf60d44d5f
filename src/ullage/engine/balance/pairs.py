"""Machines of one exclusion tag that share a failure domain: counted over all hosts that are online.

A count beyond the first of a pair of domain and tag is one too many; how many those are is a term of the
score that does not split into hosts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.state import HostState

Pair = tuple[str, str]


class Pairs:
    """How many machines there are of each pair, renewed where a step changed a host."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.online = {number for number in fleet.scope if not fleet.hosts[number].offline}
        self._held: dict[int, Mapping[Pair, int]] = {}
        self._counts: Counter[Pair] = Counter()
        self.renew(self.online)

    def renew(self, numbers: Iterable[int]) -> None:
        """Take over from the fleet what some hosts hold."""
        for number in self.online.intersection(numbers):
            held = self.fleet.states[number].location_tags
            self._counts.subtract(self._held.get(number, {}))
            self._counts.update(held)
            self._held[number] = held

    @property
    def may_be(self) -> bool:
        """Whether machines may come to be of a pair: there are exclusion tags, and failure domains."""
        return any(machine.exclusion_tags for machine in self.fleet.machines) and any(
            self.fleet.hosts[number].locations for number in self.online
        )

    def total(self, changed: Mapping[int, HostState]) -> float:
        """Return how many machines are too many, some hosts changed."""
        change: Counter[Pair] = Counter()
        for number, state in changed.items():
            if number in self.online:
                change.update(state.location_tags)
                change.subtract(self._held[number])
        return float(sum(max(count - 1, 0) for count in self._counts.values()) + self._more(change))

    def more(self, tags: Sequence[str], left: Iterable[str], joined: Iterable[str] = ()) -> int:
        """Return how many more are too many when a machine leaves some failure domains and joins others."""
        change: Counter[Pair] = Counter((place, tag) for place in joined for tag in tags)
        change.subtract(Counter((place, tag) for place in left for tag in tags))
        return self._more(change)

    def _more(self, change: Mapping[Pair, int]) -> int:
        return sum(
            max(self._counts[pair] + by - 1, 0) - max(self._counts[pair] - 1, 0)
            for pair, by in change.items()
        )
