"""What quotas have against one more workload, as workloads come and go: only use counts, nobody is evicted.

The same ledger as accounts, and the same words; who waits, and what quotas are entitled to by that, has no
part in it. The hard thing is GPU memory: it depends on the node what a workload counts for.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import Accounts, holds_quota
from ullage.engine.quota.book import NO_QUOTA, Member
from ullage.engine.quota.decision import Decision
from ullage.engine.quota.gpu_parts import counted_as, depends_on_node
from ullage.engine.quota.gpu_sizes import GpuSizes, has_gpus
from ullage.engine.quota.rights import PRIORITY_LEAST, Claim
from ullage.engine.quota.told import Words
from ullage.model.cluster import Node, Workload


class QuotaRefusals(NamedTuple):
    """What quotas have against a workload: on all nodes, or by the size of their GPUs in gigabytes."""

    everywhere: str
    sizes: GpuSizes | None = None
    by_size: Mapping[int, str] = {}

    def on(self, node: Node) -> str:
        """Return what they have against it on one node."""
        return self.by_size.get(self.sizes.of(node), "") if self.sizes is not None else self.everywhere


NOTHING_AGAINST: Final = QuotaRefusals("")


class AdmittedUse:
    """Everybody who counts under quotas."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns.copy()
        self._accounts = Accounts(self._columns)
        self._words = Words(self._accounts.rules, columns.snapshot.resource_types)
        self._counted: dict[str, Member] = {**self._accounts.running, **self._accounts.leaving}
        sizes = self._accounts.sizes
        there = {sizes.of(node) for node in self._columns.nodes if has_gpus(node)}
        self._sizes = sorted(there) or [sizes.waiting]

    def replace(self, key: str, row: Workload | None) -> None:
        """Let a workload enter, change or leave."""
        standing = self._accounts.standing
        before = self._counted.pop(key, None)
        if before is not None:
            standing.remove(before)
        if row is not None and holds_quota(row):
            member = self._counted[key] = self._accounts.member_of(row)
            standing.add(member)

    def refusals(self, workload: Workload) -> QuotaRefusals:
        """Return what quotas have against one more workload."""
        accounts = self._accounts
        place = accounts.book.place_of(workload.namespace, workload.labels)
        if workload.admitted or place == NO_QUOTA:
            return NOTHING_AGAINST
        if not depends_on_node(accounts, workload):
            return QuotaRefusals(self._against(workload))
        found = {size: self._against(counted_as(workload, size)) for size in self._sizes}
        if len(found) == 1:
            return QuotaRefusals(next(iter(found.values())))
        return QuotaRefusals("", accounts.sizes, found)

    def _against(self, workload: Workload) -> str:
        accounts = self._accounts
        one = accounts.member_of(workload)
        found = accounts.rules.refusals(one.quota, one.amounts)
        if not found:
            return ""
        claim = Claim((one,), one.quota, one.amounts, one.priority, None, 0, PRIORITY_LEAST, None)
        return self._words.refusals(Decision("refuse", claim, refusals=tuple(found)))
