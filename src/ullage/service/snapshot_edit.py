"""What if: a cluster with other drives, volumes or nodes, saved as a snapshot to which questions can be put.

Edits are made in the order of the fields of `Edits`, so that a drive can be removed and one added in one go.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from ullage.engine.storage import edits
from ullage.model.cluster import Node, Snapshot
from ullage.model.constraints import Record
from ullage.model.delta import Delta, apply
from ullage.model.drives import DRIVE_CLASSES, DriveClass
from ullage.model.errors import InputError
from ullage.model.quantity import parse_amount
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, read_as_it_is
from ullage.service.snapshot import FORMS, RowChange, SaveQuestion, row_changes, save_of

DRIVE_REMEDY: Final = "write NODE=CLASS:SIZE, or NODE=CLASS:SIZExCOUNT as n1=HDD:4Tx2"
_DRIVES: Final = re.compile(
    r"(?P<node>[^=]+)=(?P<class>[A-Za-z]+):(?P<size>[^:x]+)(?:x(?P<count>[0-9]{1,6}))?"
)


class Edits(NamedTuple):
    """What is to be different, as it was written."""

    remove_nodes: Sequence[str] = ()
    remove_volumes: Sequence[str] = ()
    remove_drives: Sequence[str] = ()
    drive_classes: Sequence[str] = ()
    add_drives: Sequence[str] = ()
    convert_drives: Sequence[str] = ()
    cordon: Sequence[str] = ()
    uncordon: Sequence[str] = ()


class EditedReport(Record, frozen=True):
    """The answer to `ullage snapshot edit`: the file that was written, and how it differs."""

    cluster: str
    file: str
    form: str
    changes: tuple[RowChange, ...]


def edit(asked: Asked, path: str, wanted: Edits) -> Answer:
    """Write a cluster with edits to a file, and answer what is different there."""
    form = FORMS.get(Path(path).suffix.lower())
    if form is None:
        raise InputError(f"{path!r} has no known ending", remedy=f"use one of {', '.join(FORMS)}")
    if not any(wanted):
        raise InputError("nothing is to be edited", remedy="name an edit, as --add-drive n1=HDD:4T")
    before = read_as_it_is(asked)
    after = edited(before, wanted)
    save_of(after, SaveQuestion(path), form)
    report = EditedReport(before.name, path, form, tuple(row_changes(before, after)))
    return Answer(lambda: _page(report), lambda: versioned("EditedReport", report, after.resource_types))


def _page(report: EditedReport) -> Any:
    from ullage.service.snapshot_page import edited_page

    return edited_page(report)


def edited(snapshot: Snapshot, wanted: Edits) -> Snapshot:
    """Return a cluster with edits."""
    nodes = {node.name: node for node in snapshot.nodes}
    for name in wanted.remove_nodes:
        del nodes[_node(nodes, name).name]
    _on_owner(nodes, wanted.remove_volumes, _volumes_of, edits.without_volume, "volume")
    _on_owner(nodes, wanted.remove_drives, _drives_of, edits.without_drive, "drive")
    for text in wanted.drive_classes:
        uuid, _, written = text.rpartition("=")
        drive_class = _drive_class(written, text, "write UUID=CLASS")
        _on_owner(nodes, [uuid], _drives_of, partial(edits.with_class, drive_class=drive_class))
    for text in wanted.add_drives:
        added = _with_drives(nodes, text)
        nodes[added.name] = added
    _on_owner(nodes, wanted.convert_drives, _drives_of, edits.with_group, "drive")
    for names, state in ((wanted.cordon, "cordoned"), (wanted.uncordon, "ready")):
        for name in names:
            nodes[name] = msgspec.structs.replace(_node(nodes, name), state=state)
    return _with_nodes(snapshot, nodes, wanted)


def _with_nodes(snapshot: Snapshot, nodes: dict[str, Node], wanted: Edits) -> Snapshot:
    """Return a cluster with these nodes; what ran on a removed one waits for another."""
    gone = set(wanted.remove_nodes)
    waiting = tuple(
        msgspec.structs.replace(each, node="", state="init")
        for each in (snapshot.workloads if gone else ())
        if each.node in gone
    )
    changed = tuple(node for node in nodes.values() if node is not snapshot.nodes.get(node.name))
    return apply(snapshot, Delta(nodes=changed, workloads=waiting, dropped={"nodes": tuple(sorted(gone))}))


def _on_owner(
    nodes: dict[str, Node],
    wanted: Iterable[str],
    names_of: Callable[[Node], Iterable[str]],
    change: Callable[[Node, str], Node],
    what: str = "drive",
) -> None:
    """Change the one node that has each of these."""
    for name in wanted:
        owners = [node for node in nodes.values() if name in names_of(node)]
        if not owners:
            raise InputError(f"no node has {what} {name}", remedy="`ullage disks list` names them")
        if len(owners) > 1:
            listed = ", ".join(node.name for node in owners[:3])
            raise InputError(f"{what} {name} is on several nodes ({listed})", remedy="give them other names")
        nodes[owners[0].name] = change(owners[0], name)


def _drives_of(node: Node) -> list[str]:
    return [each.uuid for each in node.drives]


def _volumes_of(node: Node) -> list[str]:
    return [each.name for each in node.placed_volumes]


def _node(nodes: dict[str, Node], name: str) -> Node:
    found = nodes.get(name)
    if found is None:
        raise InputError(f"no node {name!r}", remedy=f"nodes are: {', '.join(list(nodes)[:5]) or 'none'}")
    return found


def _drive_class(written: str, text: str, remedy: str) -> DriveClass:
    found = next((each for each in DRIVE_CLASSES if each == written.upper()), None)
    if found is None:
        raise InputError(f"{text!r} names no class of drives", remedy=f"{remedy}; {', '.join(DRIVE_CLASSES)}")
    return found


def _with_drives(nodes: dict[str, Node], text: str) -> Node:
    match = _DRIVES.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} describes no drive", remedy=DRIVE_REMEDY)
    drive_class = _drive_class(match["class"], text, DRIVE_REMEDY)
    size_bytes = parse_amount(match["size"], 0)
    return edits.with_drives(_node(nodes, match["node"]), drive_class, size_bytes, int(match["count"] or 1))
