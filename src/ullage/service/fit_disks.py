"""The part of `fit`'s page about local disks: which drive or volume group serves which volume."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from ullage.engine.columns import Columns
from ullage.model.disk_plan import is_share
from ullage.model.quantity import readable_bytes
from ullage.render import view

if TYPE_CHECKING:
    from ullage.service.fit import OutcomeReport, ServedVolume

SHOWN: Final = 40


def disk_blocks(
    outcomes: "Sequence[OutcomeReport]", columns: Columns, rows_max: int | None = SHOWN
) -> list[view.Block]:
    """Return a table of the volumes that local disks serve; nothing where there are none."""
    served = [(outcome.workload, each) for outcome in outcomes for each in outcome.disks]
    if not served:
        return []
    nodes = columns.snapshot.nodes
    sharing = {
        name
        for name in {each.node for _, each in served}
        if columns.rules_of(nodes[name]).storage_mode == "zos"
    }
    shown = (
        view.Column("workload", priority=6),
        view.Column("volume", priority=9),
        view.Column("class", priority=5, key="storageClass"),
        view.Column("size", "right", priority=8, key="sizeBytes"),
        view.Column("node", priority=8),
        view.Column("disk", priority=9, key="place"),
        view.Column("which is", priority=4, key="fresh"),
    )
    rows = tuple(
        (
            view.Cell(workload),
            view.Cell(each.volume),
            view.Cell(each.storage_class),
            view.Cell(readable_bytes(each.size_bytes), value=str(each.size_bytes)),
            view.Cell(each.node),
            view.Cell(each.place),
            view.Cell(_how(each, sharing), value="yes" if each.fresh else "no"),
        )
        for workload, each in served[:rows_max]
    )
    opened = len({(each.node, each.place) for _, each in served if each.fresh})
    caption = f"fresh drives opened: {opened}"
    if len(rows) < len(served):
        caption = f"the first {len(rows)} of {len(served)}, -o wide shows all; {caption}"
    return [view.Table("Volumes on local disks", shown, rows, caption)]


def _how(served: "ServedVolume", sharing: Collection[str]) -> str:
    """Return in words what a volume has: a share of a drive that is opened for it, or of one in use.

    On the nodes that are `sharing` no volume has a drive of its own.
    """
    if served.fresh:
        return "opened for it"
    return "shared" if is_share(served.storage_class) or served.node in sharing else "its own"
