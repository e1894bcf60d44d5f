"""What `check --lose drive/UUID` says: lost volumes, who used them, who starts again where, on which disk."""

from collections.abc import Iterator, Sequence
from typing import Final

from ullage.engine.columns import Columns
from ullage.engine.redundancy.drive_losses import DriveLoss, Homeless, drive_loss
from ullage.engine.redundancy.losses import is_unowned
from ullage.engine.redundancy.side_by_side import TRIED
from ullage.engine.steps import tell
from ullage.engine.storage.hollow_promises import promised_words, promises_on, to_release
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.quantity import readable_bytes
from ullage.model.verdict import Finding
from ullage.service.check_findings import OWNED
from ullage.service.progress import listener
from ullage.service.words import plural, several

EMPTY_VOLUMES: Final = "the data: who starts again does so with empty volumes"
"""What is not simulated of lost drives."""


class LostVolumeStatus(Record, frozen=True):
    """A volume that is lost with a drive, the drive or group that it was on, and who used it."""

    name: str
    node: str
    place: str
    size_bytes: int
    claim: str
    workloads: tuple[str, ...]


class NewDisk(Record, frozen=True):
    """The disk of a new volume."""

    volume: str
    place: str


class RehomedStatus(Record, frozen=True):
    """A workload, or a volume that nobody uses, and where it could start again."""

    subject: str
    from_node: str
    to_node: str
    disks: tuple[NewDisk, ...]


class HomelessStatus(Record, frozen=True):
    """A workload, or a volume that nobody uses, that has no place to start again."""

    subject: str
    node: str
    reason: str
    remedy: str


class DriveLossStatus(Record, frozen=True):
    """What the loss of some drives together means.

    `unknown_bytes` were in use on them by volumes that the source does not name. `not_restarted` are pods
    that nobody starts again.
    """

    drives: tuple[str, ...]
    volumes: tuple[LostVolumeStatus, ...]
    rehomed: tuple[RehomedStatus, ...]
    homeless: tuple[HomelessStatus, ...]
    unknown_bytes: int
    not_restarted: tuple[str, ...]


def drive_loss_of(
    columns: Columns, drives: Sequence[tuple[str, str]], placement: str
) -> tuple[DriveLossStatus, list[Finding], str]:
    """Return what the loss of drives means, what is worth saying about it, and what was tried in words."""
    snapshot = columns.snapshot
    tell(listener(), TRIED, 0, 1)
    loss = drive_loss(snapshot, drives, placement)
    tell(listener(), TRIED, 1, 1)
    users = sorted({key for volume in loss.volumes for key in volume.workloads})
    bare = [key for key in users if is_unowned(snapshot.workloads[key])]
    findings = [
        *_homeless(loss),
        *_lost_data(loss),
        *_lost_promises(loss, promises_on(columns, drives)),
        *_system(snapshot, drives),
    ]
    if bare:
        message = f"{plural(len(bare), 'pod')} ({several(bare)}) without an owner: nobody starts them again"
        findings.append(Finding("loss-not-restarted", "warning", "cluster", message, OWNED))
    asked = len(loss.rehomed) + len(loss.homeless)
    tried = f"{plural(len(loss.volumes), 'volume')} lost; {len(loss.rehomed)} of {asked} start again"
    return _status(loss, bare), findings, tried


def _what(drives: Sequence[str]) -> str:
    return f"{'drive' if len(drives) == 1 else 'drives'} {several(drives)}"


def _homeless(loss: DriveLoss) -> Iterator[Finding]:
    """Yield who has no place to start again; those that the same keeps off are told together."""
    users = {key for volume in loss.volumes for key in volume.workloads}
    alike: dict[tuple[bool, str, str], list[Homeless]] = {}
    for each in loss.homeless:
        alike.setdefault((each.subject in users, each.reason, each.remedy), []).append(each)
    for (is_workload, reason, remedy), those in alike.items():
        noun = "workload" if is_workload else "volume"
        named = several([f"{each.subject} (on {each.node})" for each in those])
        who = f"{noun} {named} has" if len(those) == 1 else f"{len(those)} {noun}s, {named}, have"
        subject = f"{noun}/{those[0].subject}" if len(those) == 1 else "cluster"
        message = f"{who} no place to start again without {_what(loss.drives)}: {reason}"
        yield Finding("loss-unplaced", "error", subject, message, remedy)


def _lost_data(loss: DriveLoss) -> Iterator[Finding]:
    what = _what(loss.drives)
    if loss.volumes:
        named = several([each.name for each in loss.volumes])
        total_bytes = sum(each.size_bytes for each in loss.volumes)
        count = plural(len(loss.volumes), "volume")
        message = f"{count} ({named}; {readable_bytes(total_bytes)} in all) lost with {what}"
        yield Finding("loss-data", "warning", "cluster", message, "keep a copy of the data elsewhere")
    if loss.unknown_bytes:
        message = f"{readable_bytes(loss.unknown_bytes)} lost with {what} are in volumes that nobody names"
        yield Finding("loss-data-unknown", "warning", "cluster", message, "let the source list volumes too")


def _lost_promises(loss: DriveLoss, promised: Sequence[LedgerEntry]) -> Iterator[Finding]:
    """Yield what is reserved on lost drives for volumes that do not exist yet."""
    if promised:
        message = f"{_what(loss.drives)}: {promised_words(promised)}, and lost with it"
        remedy = f"then release {to_release(promised)}"
        yield Finding("loss-promise", "error", "cluster", message, remedy)


def _system(snapshot: Snapshot, drives: Sequence[tuple[str, str]]) -> Iterator[Finding]:
    for node, uuid in drives:
        if any(drive.uuid == uuid and drive.system for drive in snapshot.nodes[node].drives):
            message = f"drive {uuid} is the system drive of node {node}: the node is lost with it"
            remedy = f"ask ullage check --lose node/{node}"
            yield Finding("loss-system-drive", "warning", f"node/{node}", message, remedy)


def _status(loss: DriveLoss, bare: Sequence[str]) -> DriveLossStatus:
    return DriveLossStatus(
        loss.drives,
        tuple(LostVolumeStatus(*each) for each in loss.volumes),
        tuple(
            RehomedStatus(
                each.subject, each.from_node, each.to_node, tuple(NewDisk(*disk) for disk in each.disks)
            )
            for each in loss.rehomed
        ),
        tuple(HomelessStatus(*each) for each in loss.homeless),
        loss.unknown_bytes,
        tuple(bare),
    )
