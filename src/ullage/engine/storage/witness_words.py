"""What a node lacks, in words with numbers."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from ullage.engine.storage.components import ANY_CLASS, SYSTEM, Component, group_class
from ullage.engine.storage.extents import MEBIBYTE, METADATA_BYTES, volume_bytes
from ullage.engine.storage.rooms import Rooms
from ullage.engine.storage.shortfall import Shortfall
from ullage.model.disk_plan import DiskRequest, DiskWitness, drive_class_of
from ullage.model.drives import ANY, SYSTEM_GROUP
from ullage.model.quantity import print_bytes, readable_bytes

NAMED_MAX: Final = 4
KIBIBYTE: Final = 1 << 10


class _Asked(NamedTuple):
    """What is said of one request, whatever the node."""

    drive_class: int
    is_share: bool
    size_bytes: int
    size: str
    needs: str

    @classmethod
    def of(cls, request: DiskRequest, asked: Component) -> "_Asked":
        """Return it for a request of a component."""
        name = SYSTEM if request.storage_class == SYSTEM_GROUP else drive_class_of(request.storage_class)
        drive_class = asked.classes.index(name) if name else ANY_CLASS
        size = readable_bytes(request.size_bytes)
        return cls(drive_class, request.is_share, request.size_bytes, size, _what(request))


class WitnessWords:
    """Words about one component; what it says of a request it says of many nodes."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._asked = {
            request.name: _Asked.of(request, rooms.component) for request in rooms.component.requests
        }

    def witness(self, node: str, short: Shortfall) -> DiskWitness:
        """Return why a node cannot serve, and what would help."""
        names = tuple([request.name for request in short.requests])
        reason = self._alone(node, short) if len(names) == 1 else self._together(node, short)
        return DiskWitness(node, names, reason, short.missing_bytes, self._remedy(short))

    def _alone(self, node: str, short: Shortfall) -> str:
        """Return why one volume fits nowhere."""
        request, room = short.requests[0], short.room
        facts = self._asked[request.name]
        asked = f"{request.name} ({facts.size}) needs {facts.needs}"
        if room is None:
            counts = self._unfree(node, request)
            return f"{asked}; none is free: {counts}" if counts else f"{asked}; there is none"
        extent_bytes = self._rooms.kinds[room.kind][1]
        room_bytes = max(0, room.extents * extent_bytes if facts.is_share else room.mebibytes * MEBIBYTE)
        has = readable_bytes(room_bytes)
        if has == facts.size:
            has = f"{room_bytes} bytes for {request.size_bytes}"
        return f"{asked}; the largest free, {room.name}, has {has}"

    def _unfree(self, node: str, request: DiskRequest) -> str:
        """Return how many of the right class are not to be had, and why."""
        counts = dict(self._rooms.barred.get(node, {}))
        asked, kinds = self._asked[request.name], self._rooms.kinds
        drives = [row for row in self._rooms.by_node[node] if not row[5]]
        in_part = sum(asked.drive_class in {kinds[row[2]][0], ANY_CLASS} for row in drives)
        if in_part and not asked.is_share:
            counts["held"] = counts.get("held", 0) + in_part
        return ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))

    def _together(self, node: str, short: Shortfall) -> str:
        """Return why volumes that fit one by one do not fit together."""
        asked = [self._asked[request.name] for request in short.requests]
        useful = []
        for row in self._rooms.by_node[node]:
            drive_class, extent_bytes = self._rooms.kinds[row[2]]
            most = 0
            for each in asked:
                if each.drive_class in (drive_class, ANY_CLASS):
                    room_bytes = row[3] * extent_bytes if each.is_share else row[4] * MEBIBYTE
                    most = room_bytes if room_bytes >= max(each.size_bytes, most) else most
            if most:
                useful.append((row[1], most))
        requests = [
            f"{each.name} ({each.storage_class} {self._asked[each.name].size})" for each in short.requests
        ]
        rooms = _listed(
            [f"{name} ({readable_bytes(most)})" for name, most in useful[:NAMED_MAX]], len(useful)
        )
        return f"{_listed(requests)} fit one by one but not together on {rooms}"

    def _remedy(self, short: Shortfall) -> str:
        fit = "they fit" if len(short.requests) > 1 else "it fits"
        if short.room is None:
            return f"{fit} {_one_more(self._rooms.component, short.requests)}"
        larger = short.more_bytes, f"{short.room.name} is {_exactly(short.more_bytes)} larger"
        if not short.smaller:
            return f"{fit} if {larger[1]}"
        request, less_bytes = short.smaller[0]
        smaller = less_bytes, f"{request.name} is {_exactly(less_bytes)} smaller"
        first, second = sorted((larger, smaller))
        return f"{fit} if {first[1]} or {second[1]}"


def undecided_witness(node: str, asked: Component) -> DiskWitness:
    """Return that nothing was found, and nothing is ruled out."""
    names = tuple(request.name for request in asked.requests)
    reason = (
        f"no way to place {_listed(names)} was found within the limits of the search; "
        "whether there is one is not known"
    )
    return DiskWitness(node, names, reason, None, "ask for fewer volumes at once, or add a drive")


def _what(request: DiskRequest) -> str:
    group = f" of storage group {request.storage_group}" if request.storage_group else ""
    if request.storage_class == ANY:
        return f"a whole drive{group}"
    if request.storage_class == SYSTEM_GROUP:
        return f"that much of the {SYSTEM_GROUP} group{group}"
    drive_class = drive_class_of(request.storage_class)
    if request.is_share:
        return f"that much of one {group_class(drive_class)} group or {drive_class} drive{group}"
    return f"a whole {drive_class} drive{group}"


def _one_more(asked: Component, requests: Sequence[DiskRequest]) -> str:
    """Return the smallest drive that would help: without any one of these requests the others fit."""
    drives = [_drive(request) for request in requests if request.storage_class != SYSTEM_GROUP]
    if not drives:
        return f"only if the system drive has a {SYSTEM_GROUP} group: it goes to no other drive"
    size_bytes, name = min(drives)
    group = f" in storage group {asked.storage_group}" if asked.storage_group else ""
    kind = f"{name} drive" if name else "drive"
    return f"with one more {kind} of at least {_exactly(size_bytes)}{group}"


def _drive(request: DiskRequest) -> tuple[int, str]:
    """Return the smallest fresh drive that would take a volume, and its class, if that matters."""
    if request.is_share:
        return volume_bytes(request.size_bytes) + METADATA_BYTES, drive_class_of(request.storage_class)
    return -(-request.size_bytes // MEBIBYTE) * MEBIBYTE, drive_class_of(request.storage_class)


def _exactly(amount: int) -> str:
    """Return bytes to the last one, and for people too where no unit divides them."""
    text = print_bytes(amount)
    if not text.isdecimal():
        return text
    return f"{amount} bytes" if amount < KIBIBYTE else f"{readable_bytes(amount)} ({amount} bytes)"


def _listed(words: Sequence[str], count: int | None = None) -> str:
    """Return words as a list, cut short where it is long; `count` says that there are more than are given."""
    count = len(words) if count is None else count
    if count > NAMED_MAX:
        words = [*words[: NAMED_MAX - 1], f"{count - NAMED_MAX + 1} more"]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
