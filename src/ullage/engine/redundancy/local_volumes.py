"""Volumes that bind a workload to certain nodes: where those are gone, so is the data."""

from collections.abc import Collection

from ullage.engine.trial import Trial
from ullage.model.cluster import Workload


def volume_only_on(trial: Trial, workload: Workload, rows: Collection[int]) -> str:
    """Return which volume of a workload is reached from none but these nodes, in words; mostly none."""
    snapshot = trial.columns.snapshot
    prefix = f"{workload.namespace}/" if workload.namespace else ""
    for volume in workload.volumes:
        claim = snapshot.claims.get(f"{prefix}{volume.claim}") if volume.claim else None
        bound = snapshot.volumes.get(claim.volume) if claim is not None and claim.volume else None
        if bound is None or bound.node_affinity is None:
            continue
        reached = trial.node_columns.any_term(bound.node_affinity.node_selector_terms)
        if set(reached.nonzero()[0].tolist()) <= set(rows):
            return f"volume {bound.name} of claim {volume.claim} is reached from {workload.node} only"
    return ""
