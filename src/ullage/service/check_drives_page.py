"""The part of `check`'s page about lost drives: the volumes that are gone, and who starts again where."""

from typing import TYPE_CHECKING

from ullage.model.quantity import readable_bytes
from ullage.render import view
from ullage.service.words import nothing_cell, plural, several

if TYPE_CHECKING:
    from ullage.service.check_drives import DriveLossStatus


def drive_verdict(loss: "DriveLossStatus") -> str:
    """Return in one part of a line what the loss of drives means."""
    what = f"losing {plural(len(loss.drives), 'drive')}"
    if not loss.volumes:
        return f"{what} loses no volume that is known"
    lost = f"{what} loses {plural(len(loss.volumes), 'volume')}"
    asked = len(loss.rehomed) + len(loss.homeless)
    if loss.homeless:
        return f"{lost} and leaves {len(loss.homeless)} of {asked} who used them without a place"
    again = "it starts again" if asked == 1 else f"all {asked} who used them start again"
    return f"{lost}; {again} on other disks"


def drive_blocks(loss: "DriveLossStatus", rows_max: int | None) -> list[view.Block]:
    """Return the tables of lost volumes and of who starts again; nothing where nothing is lost."""
    if not loss.volumes:
        return []
    return [_volume_table(loss, rows_max), _home_table(loss, rows_max)]


def _volume_table(loss: "DriveLossStatus", rows_max: int | None) -> view.Table:
    columns = (
        view.Column("volume", priority=9),
        view.Column("size", "right", priority=7, key="sizeBytes"),
        view.Column("was on", priority=8, key="place"),
        view.Column("claim", priority=5),
        view.Column("used by", priority=8, key="workloads"),
    )
    rows = tuple(
        (
            view.Cell(each.name),
            view.Cell(readable_bytes(each.size_bytes), value=str(each.size_bytes)),
            view.Cell(f"{each.node}/{each.place}"),
            view.Cell(each.claim) if each.claim else nothing_cell(),
            view.Cell(several(each.workloads) or "nobody", value=" ".join(each.workloads)),
        )
        for each in loss.volumes[:rows_max]
    )
    return view.Table("Lost volumes", columns, rows, _shortened(len(rows), len(loss.volumes)))


def _home_table(loss: "DriveLossStatus", rows_max: int | None) -> view.Table:
    columns = (
        view.Column("who", priority=9, key="subject"),
        view.Column("was on", priority=7, key="from"),
        view.Column("starts on", priority=8, key="to"),
        view.Column("with volumes on", priority=8, key="disks"),
    )
    rows = [
        *(
            (
                view.Cell(each.subject),
                view.Cell(each.node),
                view.Cell("no place", tone="bad", value=""),
                nothing_cell(),
            )
            for each in loss.homeless
        ),
        *(
            (
                view.Cell(each.subject),
                view.Cell(each.from_node),
                view.Cell(each.to_node),
                view.Cell(", ".join(f"{disk.place} ({disk.volume})" for disk in each.disks)),
            )
            for each in loss.rehomed
        ),
    ]
    kept = tuple(rows[:rows_max])
    notes = filter(None, ("with empty volumes", _shortened(len(kept), len(rows))))
    return view.Table("Start again", columns, kept, "; ".join(notes))


def _shortened(shown: int, count: int) -> str:
    return f"the first {shown} of {count}, -o wide shows all" if shown < count else ""
