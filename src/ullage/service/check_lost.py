"""What --lose means: nodes by name or domain, or drives; all that is named is lost together."""

from collections.abc import Sequence
from typing import Final

from ullage.model.cluster import Snapshot
from ullage.model.errors import InputError
from ullage.service.asked import unknown
from ullage.service.words import several

WHERE: Final = "--lose"
DRIVE: Final = "drive"


def lost_nodes(snapshot: Snapshot, lose: Sequence[str]) -> tuple[str, ...]:
    """Return the nodes that node/NAME and domain/NAME mean, by name."""
    names: set[str] = set()
    for text in lose:
        kind, slash, name = text.partition("/")
        if not slash or not name or kind not in {"node", "domain"}:
            raise InputError(
                f"{text!r} is nothing that can be lost",
                where=WHERE,
                remedy="use node/NAME, domain/NAME or drive/UUID",
            )
        if kind == "node":
            if name not in snapshot.nodes:
                raise unknown("node", name, [each.name for each in snapshot.nodes])
            names.add(name)
            continue
        inside = {each.name for each in snapshot.nodes if each.domain == name}
        if not inside:
            raise unknown("domain", name, {each.domain for each in snapshot.nodes if each.domain})
        names |= inside
    return tuple(sorted(names))


def lost_drives(snapshot: Snapshot, lose: Sequence[str]) -> list[tuple[str, str]]:
    """Return the drives that drive/UUID and drive/NODE/UUID mean, each as its node and its identifier."""
    named = [text.partition("/")[2] for text in lose if text.partition("/")[0] == DRIVE]
    if not named:
        return []
    if len(named) < len(lose):
        raise InputError(
            "drives cannot be lost together with nodes or domains",
            where=WHERE,
            remedy="ask about them in two questions",
        )
    owners: dict[str, list[str]] = {}
    for node in snapshot.nodes:
        for drive in node.drives:
            owners.setdefault(drive.uuid, []).append(node.name)
    return sorted({_drive(text, owners) for text in named})


def _drive(text: str, owners: dict[str, list[str]]) -> tuple[str, str]:
    node, slash, uuid = text.partition("/")
    if slash and node in owners.get(uuid, ()):
        return node, uuid
    found = owners.get(text, [])
    if not found:
        raise unknown("drive", text, owners)
    if len(found) > 1:
        raise InputError(
            f"drive {text} is on several nodes ({several(found)})",
            where=WHERE,
            remedy=f"write drive/{found[0]}/{text}",
        )
    return found[0], text
