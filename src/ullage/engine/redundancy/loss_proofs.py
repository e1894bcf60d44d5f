"""A second look at losses that leave someone without a place: is there another placement, or is there none.

All that ran on the lost nodes is placed together, those that found a place and those that did not. The hard
thing is what a proof means here: that not all of them have a place while everything else stays where it is.
"""

from collections.abc import Sequence

from ullage.engine.placement.exact import prove
from ullage.engine.placement.exact_model import Wanted
from ullage.engine.placement.local_disks import disks_are_decided
from ullage.engine.redundancy.losses import Losses, LossReport, Move
from ullage.engine.trial import Trial


def look_exactly(losses: Losses, report: LossReport, seconds_max: int) -> LossReport:
    """Return a loss with everything placed where an exact search finds a way, else with what it proves.

    A loss without losers needs no second look.
    """
    if not report.losers:
        return report
    trial = losses.trial
    rows = tuple(sorted(trial.row_of[name] for name in report.nodes))
    waiting = losses.waiting(rows)
    alike: dict[int, list[str]] = {}
    for run in waiting:
        alike.setdefault(run.shape, []).append(run.key)
    wanted = [(losses.shapes[number], len(keys)) for number, keys in alike.items()]
    if _every_node_was_filled(trial, wanted):
        note = f"the nodes take at most {len(report.moves)} of {len(waiting)}, each node for itself"
        return report._replace(certificate="impossible", certificate_note=note)
    with losses.without(rows):
        found = prove(trial, wanted, seconds_max, [_name_of(keys) for keys in alike.values()])
    if found.verdict != "placed":
        return report._replace(certificate=found.verdict, certificate_note=found.note)
    goes_to: dict[str, str] = {}
    for keys, counts in zip(alike.values(), found.counts, strict=True):
        names = [trial.nodes[row].name for row, count in counts for _ in range(count)]
        goes_to.update(zip(keys, names, strict=True))
    workloads = trial.columns.snapshot.workloads
    moves = tuple(Move(run.key, workloads[run.key].node, goes_to[run.key]) for run in waiting)
    return report._replace(moves=moves, losers=(), certificate="exact", certificate_note=found.note)


def _every_node_was_filled(trial: Trial, wanted: Sequence[Wanted]) -> bool:
    """Whether placing one after the other left nothing to search: one workload, or equal ones by room."""
    if len(wanted) > 1:
        return False
    shape, replicas = wanted[0]
    if replicas == 1:
        return disks_are_decided(shape)
    return not shape.wide_rules and trial.devices.are_all_it_takes(shape)


def _name_of(keys: Sequence[str]) -> str:
    return keys[0] if len(keys) == 1 else f"{keys[0]} and those like it"
