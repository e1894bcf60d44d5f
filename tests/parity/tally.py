"""What a run came to: how many cases had each kind of constraint, how often each rule refused a node."""

import re
from collections import Counter
from collections.abc import Iterable

NAMED = re.compile(r'"[^"]*"|\[[^\]]*\]')
"""Names within a reason: of claims, volumes and gates."""


class Tally:
    """Counts over the cases of a run."""

    def __init__(self) -> None:
        self.cases = 0
        self.pods = 0
        self.placed = 0
        self.kinds: Counter[str] = Counter()
        self.refusals: Counter[tuple[str, str]] = Counter()

    def add(
        self, kinds: Iterable[str], refusals: Iterable[tuple[str, str]], *, pods: int, placed: int
    ) -> None:
        self.cases += 1
        self.pods += pods
        self.placed += placed
        self.kinds.update(kinds)
        self.refusals.update((plugin, NAMED.sub("NAME", reason)) for plugin, reason in refusals)

    def lines(self) -> list[str]:
        """Return the counts as a table for people."""
        found = [
            f"{self.cases} cases, {self.pods} pods, {self.placed} of them placed",
            "cases with each kind:",
        ]
        found += [f"  {count:7}  {kind}" for kind, count in sorted(self.kinds.items())]
        if self.refusals:
            found.append("nodes refused, by the plugin of kube-scheduler and its reason:")
            found += [
                f"  {count:7}  {plugin}: {reason}"
                for (plugin, reason), count in sorted(self.refusals.items())
            ]
        return found
