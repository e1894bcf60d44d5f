"""What a quota uses: the requests of the running workloads in its namespaces, over the resources it names.

GPU memory is derived from the GPUs that a workload asks for: no node offers it, quotas count in it.
"""

from typing import NamedTuple

from ullage.engine.requests import with_gpu_memory
from ullage.model.cluster import Quota, Snapshot
from ullage.model.resources import NOTHING, Resources
from ullage.model.settings import rules_for


class QuotaUse(NamedTuple):
    """A quota beside its use; `borrowed` is what it uses beyond its guaranteed `min`."""

    quota: Quota
    workloads: int
    used: Resources
    borrowed: Resources


def quota_use(snapshot: Snapshot) -> list[QuotaUse]:
    """Return the use of every quota, by name; a workload without a node uses nothing."""
    used: dict[str, Resources] = {}
    counts: dict[str, int] = {}
    shapes: dict[tuple[str, Resources], int] = {}
    for workload in snapshot.workloads:
        if workload.holds_capacity:
            shape = (workload.namespace, workload.requests)
            shapes[shape] = shapes.get(shape, 0) + 1
    gigabytes = rules_for(snapshot.policy, snapshot.resource_types).gpu_memory_gigabytes
    for (namespace, requests), count in shapes.items():
        taken = with_gpu_memory(requests, gigabytes)
        used[namespace] = used.get(namespace, NOTHING) + taken * count
        counts[namespace] = counts.get(namespace, 0) + count
    found: list[QuotaUse] = []
    for quota in snapshot.quotas:
        named = {*quota.min, *quota.max}
        namespaces = dict.fromkeys(quota.namespaces)
        here = sum((used.get(each, NOTHING) for each in namespaces), NOTHING).only(named)
        here = Resources({**dict.fromkeys(named, 0), **here})
        borrowed = (here.only(quota.min) - quota.min).at_least_zero()
        found.append(QuotaUse(quota, sum(counts.get(each, 0) for each in namespaces), here, borrowed))
    return found
