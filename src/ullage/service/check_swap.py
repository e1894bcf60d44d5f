"""Swap behind memory that is promised more than once: whether there is enough of it on each node.

Memory that is over-committed must be backed by swap of at least (ratio - 1) times what is there for
workloads, and memory and swap together must hold what is used: promises, and what a node keeps for failover.
What the source tells of a node's swap counts; the setting `swap` speaks where it does not tell.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final, NamedTuple

from ullage.engine.columns import Columns
from ullage.model.resources import ResourceType
from ullage.model.settings import print_fraction
from ullage.model.verdict import Finding
from ullage.service.words import plural, several

MEMORY: Final = "memory"
RATIO_DIGITS: Final = 100
"""Ratios that are proposed have two decimals."""


class SwapNeed(NamedTuple):
    """The terms of one node; no ratio means that there is no bound, no swap that it is not known."""

    node: str
    available: int
    ratio: Fraction | None
    swap: int | None
    committed: int
    standby: int

    @property
    def needed(self) -> int:
        """The least swap that the ratio asks for."""
        if self.ratio is None:
            return 0
        below, of = self.ratio.denominator - self.ratio.numerator, self.ratio.denominator
        return max(0, -(below * self.available // of))

    @property
    def is_over_committing(self) -> bool:
        """Whether more memory may be promised than is there."""
        return self.available > 0 and (self.ratio is None or self.ratio.numerator > self.ratio.denominator)

    @property
    def is_overrun(self) -> bool:
        """Whether more is used than memory and swap can hold."""
        return self.swap is not None and self.available + self.swap < self.committed + self.standby

    @property
    def says_what_the_limit_says(self) -> bool:
        """Whether an overrun is no news: without swap, ratio and standby it is what exceeds the limit."""
        return not self.swap and not self.standby and not self.is_over_committing


def swap_needs(columns: Columns, standby: Mapping[str, int]) -> list[SwapNeed]:
    """Return the terms of all nodes that work; `standby` is the memory that they keep for failover."""
    column = columns.resource_index.get(MEMORY)
    if column is None:
        return []
    committed = columns.committed[:, column].tolist()
    available = columns.allocatable[:, column].tolist()
    found = []
    for row, node in enumerate(columns.nodes):
        if node.state != "offline":
            rules = columns.rules_of(node)
            swap = rules.swap_bytes if node.swap_bytes is None else node.swap_bytes
            kept = standby.get(node.name, 0)
            found.append(SwapNeed(node.name, available[row], rules.ratio(MEMORY), swap, committed[row], kept))
    return found


def swap_findings(needs: list[SwapNeed], memory: ResourceType) -> Iterator[Finding]:
    """Yield where there is too little swap; all nodes of which it is not known in one finding."""
    unknown = [each for each in needs if each.swap is None and each.is_over_committing]
    if unknown:
        yield _unknown(unknown, memory)
    for each in needs:
        if each.swap is None:
            continue
        if each.swap < each.needed:
            yield _too_little(each, each.swap, memory)
        if each.is_overrun and not each.says_what_the_limit_says:
            yield _overrun(each, each.swap, memory)


def _unknown(needs: list[SwapNeed], memory: ResourceType) -> Finding:
    first = max(needs, key=lambda each: each.needed)
    names = several([each.node for each in needs])
    message = f"swap of {plural(len(needs), 'node')} ({names}) is not known"
    if not first.needed:
        message += ", and memory may be promised there without bound"
        amount = "AMOUNT"
    else:
        message += (
            f": {memory.readable(first.needed)} are needed on {first.node} "
            f"by memory-ratio {_shown(first.ratio)} of {memory.readable(first.available)}"
        )
        amount = memory.print(first.needed)
    remedy = f"give it: ullage policy set node/{first.node} swap={amount} --policy FILE"
    return Finding("swap-unknown", "warning", "cluster", message, remedy)


def _too_little(need: SwapNeed, swap: int, memory: ResourceType) -> Finding:
    missing = memory.readable(need.needed - swap)
    return Finding(
        "swap-short",
        "warning",
        f"node/{need.node}",
        f"node {need.node}: swap short by {missing} (has {memory.readable(swap)}, memory-ratio "
        f"{_shown(need.ratio)} of {memory.readable(need.available)} needs {memory.readable(need.needed)})",
        f"add {missing} of swap, or lower memory-ratio to {_ratio_for(need.available, swap)}",
    )


def _overrun(need: SwapNeed, swap: int, memory: ResourceType) -> Finding:
    used = need.committed + need.standby
    missing = memory.readable(used - need.available - swap)
    kept = f", {memory.readable(need.standby)} of it kept for failover" if need.standby else ""
    return Finding(
        "swap-overrun",
        "warning",
        f"node/{need.node}",
        f"node {need.node}: memory and swap short by {missing} (used {memory.readable(used)}{kept}; there "
        f"are {memory.readable(need.available)} and {memory.readable(swap)} of swap)",
        f"add {missing} of swap, or move workloads of {missing} away",
    )


def _ratio_for(available: int, swap: int) -> str:
    """Return the largest ratio of two decimals that so much swap is enough for."""
    return print_fraction(Fraction((available + swap) * RATIO_DIGITS // available, RATIO_DIGITS))


def _shown(ratio: Fraction | None) -> str:
    return "unlimited" if ratio is None else print_fraction(ratio)
