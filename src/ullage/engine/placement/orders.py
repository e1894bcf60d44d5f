"""Other orders in which batches are tried where the stated one leaves some without a place.

Whoever comes first takes the best node, which may be the only one that somebody later could have. The orders
here are few and none is sure to help: what they find is a placement, what they do not find proves nothing.
"""

from collections.abc import Collection, Iterator, Sequence

from ullage.engine.placement.selectors import Namespaces, selector_of
from ullage.engine.placement.shapes import size_of
from ullage.engine.trial import Trial
from ullage.model.cluster import Batch, Workload


def other_orders(trial: Trial, batches: Sequence[Batch], refused: Collection[str]) -> Iterator[list[Batch]]:
    """Yield batches in other orders.

    Those that were refused first; those that others must be near, and then these, before the rest; the
    largest first.
    """
    yield sorted(batches, key=lambda batch: batch.key not in refused)
    namespaces = Namespaces(trial.columns.snapshot.namespaces)
    near = {batch.key for batch in batches if is_near_others(namespaces, batch.workload, batches)}
    if near:
        followed = {
            batch.key
            for batch in batches
            for each in batches
            if each.key in near and is_near_others(namespaces, each.workload, [batch])
        }
        yield sorted(batches, key=lambda batch: (batch.key not in followed, batch.key not in near))
    wholes = trial.wholes()
    yield sorted(batches, key=lambda batch: -size_of(trial.shape_of(batch.workload), wholes))


def is_near_others(namespaces: Namespaces, workload: Workload, batches: Sequence[Batch]) -> bool:
    """Whether it must be near others that are asked for: impossible alone, it may be possible beside them."""
    affinity = workload.constraints.affinity
    terms = affinity.pod_affinity.required if affinity and affinity.pod_affinity else ()
    selectors = [selector_of(term, workload.namespace, workload.labels) for term in terms]
    return any(
        namespaces.means(selector, other.workload.namespace, other.workload.labels, of_newcomer=True)
        for selector in selectors
        for other in batches
        if other.key != workload.key
    )
