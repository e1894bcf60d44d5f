"""A node with real disks beside the ledger: groups and volumes are made and removed, and must find room.

It keeps its own books of which bytes are whose, by names of drives alone, and shares no code with the ledger.
"""

from typing import NamedTuple

from builders import batch, claim, cluster, node, pod, waiting
from engine.ledger.ledgers import Ledger
from ullage.engine.columns import Columns
from ullage.engine.ledger.of_plan import committed
from ullage.engine.ledger.promises import with_promises
from ullage.engine.placement.fit import fit
from ullage.model.cluster import Snapshot, Volume, Workload
from ullage.model.drives import Drive, PlacedVolume, VolumeGroup
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE, Bind, Command, Release
from ullage.model.ledger_entry import LedgerEntry

EXTENT = 4 << 20
HOUR = 3600
PODS = ("a", "b", "c")


class Made(NamedTuple):
    """A volume that exists, in a group or on a whole drive."""

    place: str
    extents: int


class Plan(NamedTuple):
    """An answer, and what it would be committed as."""

    command: Command | None
    fits: bool


class DiskWorld:
    """Drives of so many extents; a group of one has an extent less, which is where LVM keeps its books."""

    def __init__(self, *drives: int) -> None:
        self.drives = {f"d{number}": extents for number, extents in enumerate(drives)}
        self.groups: dict[str, tuple[str, ...]] = {}
        self.ever: dict[str, tuple[str, ...]] = {}
        self.made: dict[str, Made] = {}
        self.running: set[str] = set()
        self.asked: dict[str, tuple[str, int]] = {}
        self.ledger = Ledger()

    def size(self, place: str) -> int:
        return sum(self.drives[each] - 1 for each in self.groups.get(place, (place,)))

    def free(self, place: str) -> int:
        return self.size(place) - sum(each.extents for each in self.made.values() if each.place == place)

    def snapshot(self, **asked: tuple[str, int]) -> Snapshot:
        wanted = {**self.asked, **asked}
        server = node("n", cpu="100").with_(
            drives=tuple(Drive(name, "HDD", extents * EXTENT) for name, extents in self.drives.items()),
            volume_groups=tuple(
                VolumeGroup(name, "HDD", self.size(name) * EXTENT, self.free(name) * EXTENT, drives=drives)
                for name, drives in self.groups.items()
            ),
            placed_volumes=tuple(
                PlacedVolume(f"pv-{name}", each.place, each.extents * EXTENT, claim=f"shop/data-{name}")
                for name, each in self.made.items()
            ),
        )
        claims = [
            claim(f"shop/data-{name}", str(extents * EXTENT), storage_class=kind, bound=name in self.made)
            for name, (kind, extents) in wanted.items()
        ]
        workloads = [pod(f"shop/{name}", cpu="1", volumes=_volumes(name)) for name in sorted(self.running)]
        return cluster(server.holding(*workloads), *claims)

    # What happens

    def ask(self, name: str, kind: str, extents: int) -> None:
        """Ask for a pod with a volume, without and with a commit: both must say the same."""
        plan = self.plan(name, kind, extents)
        decision = self.ledger.do(plan.command) if plan.command is not None else None
        assert decision is None or decision.accepted, decision.reason
        if plan.fits:
            self.asked[name] = (kind, extents)

    def plan(self, name: str, kind: str, extents: int) -> "Plan":
        """Return what would be committed, on the disks and the ledger of now."""
        there = self.snapshot(**{name: (kind, extents)})
        entries = self.ledger.state.entries
        batches = [batch(1, _pod(name))]
        found = fit(Columns(with_promises(there, entries)), batches)
        command = committed(there, entries, batches, found, self.ledger.at_seconds + HOUR).command
        return Plan(command, found.fits)

    def make(self, name: str) -> None:
        """Make or enlarge the volume of a pod as it was promised: there must be room."""
        entry = self.entry(name)
        if entry is None:
            return
        places = self.places(entry)
        whole = bool(entry.resources.of(WHOLE_DRIVE))
        extents = entry.resources.of(VOLUME_SPACE) // EXTENT
        if name in self.made:
            has = self.made[name]
            if has.place in places and not whole:
                assert self.free(has.place) >= extents - has.extents
                self.made[name] = Made(has.place, max(extents, has.extents))
            return
        place = places[0]
        if whole:
            assert place in self.drives
        elif place in self.drives:
            place = self.group(place)
        assert self.free(place) >= extents
        self.made[name] = Made(place, extents)

    def group(self, *drives: str) -> str:
        """Make a group of plain drives, under a name that none ever had."""
        name = f"vg{len(self.ever)}"
        self.groups[name] = self.ever[name] = drives
        return name

    def ungroup(self, name: str) -> None:
        """Remove a group without volumes: its drives are plain again."""
        if name in self.groups and not any(each.place == name for each in self.made.values()):
            del self.groups[name]

    def delete(self, name: str, *, tells: bool) -> None:
        """Delete a pod with its volume; the ledger may be told, or not yet."""
        self.running.discard(name)
        self.made.pop(name, None)
        self.asked.pop(name, None)
        if tells:
            self.release(name)

    def release(self, name: str, *requests: str) -> None:
        held = {entry.request for entry in self.ledger.state.entries_of(_reservation(name))}
        if held and held.issuperset(requests):
            self.ledger.do(Release(_reservation(name), requests))

    def bind(self, name: str) -> None:
        if self.ledger.state.entries_of(_reservation(name)):
            self.ledger.do(Bind(_reservation(name)))

    # What must be so

    def entry(self, name: str) -> LedgerEntry | None:
        """Return the promise of a pod's volume."""
        held = self.ledger.state.entries_of(_reservation(name))
        return next((entry for entry in held if entry.request == f"data-{name}"), None)

    def places(self, entry: LedgerEntry) -> list[str]:
        """Return where the bytes of an entry are now: in a group, or on plain drives."""
        name = entry.capacity.split("/")[2]
        drives = self.ever.get(name, (name,))
        groups = [each for each, has in self.groups.items() if set(has) & set(drives)]
        return [name] if name in self.groups else groups or list(drives)

    def promised(self, place: str) -> int:
        """Return what is promised on a plain drive or in a group, beyond the volumes that exist."""
        found = 0
        for name in PODS:
            entry = self.entry(name)
            if entry is not None and place in self.places(entry):
                if self.made.get(name, Made("", 0)).place != place:
                    found += entry.resources.of(VOLUME_SPACE) // EXTENT
                elif not entry.resources.of(WHOLE_DRIVE):
                    extents = entry.resources.of(VOLUME_SPACE) // EXTENT
                    found += max(0, extents - self.made[name].extents)
        return found

    def check(self) -> None:
        """No byte is promised twice, and none that a volume has."""
        taken_up = {drive for drives in self.groups.values() for drive in drives}
        for place in [*self.groups, *(drive for drive in self.drives if drive not in taken_up)]:
            assert self.promised(place) <= max(0, self.free(place)), place


def _reservation(name: str) -> str:
    return f"Pod/shop/{name}/1"


def _volumes(name: str) -> tuple[Volume, ...]:
    return (Volume("data", f"data-{name}"),)


def _pod(name: str) -> Workload:
    return waiting(f"shop/{name}", cpu="1", volumes=_volumes(name))
