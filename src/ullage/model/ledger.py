"""What is asked of the ledger and what it answers: commands, decisions and the rows of its journal.

A capacity is anything of which parts can be promised: a node, a drive, a volume group, a quota, a cache. A
command says what is wanted, a decision what became of it. The journal keeps both, so that every state can be
built again from decisions, and every decision can be made again from commands.
"""

from typing import Final, Literal

from ullage.model.constraints import Record
from ullage.model.disk_plan import DiskCapacity, DiskRequest
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import NOTHING, Resources
from ullage.model.verdict import Shortfall

StorageMode = Literal["exact", "compat", "zos"]
VOLUME_SPACE: Final = "ullage.dev/volume-space"
"""Bytes of a drive or volume group that logical volumes may take."""
WHOLE_DRIVE: Final = "ullage.dev/whole-drive"
"""One for each drive: who has the whole of it holds this one and all of its volume space."""
COMPUTE: Final = "compute"
"""The request under which `requests` of a reservation are held on a node."""
_OF_NODES: Final = frozenset(("cache", "drive", "group", "node"))
_PARTS: Final = {"node": 1, "cache": 1, "quota": 1, "drive": 2, "group": 2}
"""Kinds of capacities, and of how many parts their names are at least made."""


class MadeVolume(Record, frozen=True):
    """What exists of the volume that an entry promises: that is offered for as long as the entry stands."""

    reservation: str
    request: str
    capacity: str
    resources: Resources


class Capacity(Record, frozen=True):
    """What can be promised of one thing; a resource that is neither offered nor unbounded cannot be had.

    Names say what it is: node/N, drive/N/UUID, group/N/NAME, quota/Q, cache/N. `disk` is what a planner of
    volumes has to know of a drive or group, promises left aside.

    A volume group and its drives are the same bytes under several names: `drives` are those whose bytes these
    are, so that what is promised under any of the names is counted under all. `beside` are names that have
    drives in common with it, but no bytes: other groups that are there at the same time, or thin pools.

    `made` are promised volumes that exist. Their bytes are part of what is offered, because their entries
    hold them; when such an entry ends, the volume has them all the same.
    """

    name: str
    offers: Resources = NOTHING
    unbounded: tuple[str, ...] = ()
    disk: DiskCapacity | None = None
    drives: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    made: tuple[MadeVolume, ...] = ()

    @property
    def key(self) -> str:
        """Capacities are known by name."""
        return self.name


class Hold(Record, frozen=True):
    """What one request takes of one capacity.

    A volume that others may share names its `claim`, and what that takes in all, whoever else holds it. The
    first ledgers did not write claims down: `adopts` is the reservation that has the claim there since then,
    and is known to have it from now on.
    """

    request: str
    capacity: str
    resources: Resources
    claim: str = ""
    adopts: str = ""


class Supply(Record, frozen=True, tag="supply", tag_field="command"):
    """These capacities are now as described, and those have gone. Promises on either stay as they are."""

    capacities: tuple[Capacity, ...] = ()
    gone: tuple[str, ...] = ()


class Reserve(Record, frozen=True, tag="reserve", tag_field="command"):
    """Hold all of this for an owner, or nothing, until it is bound or a time has come.

    `holds` are taken as they are. `requests` and `volumes` are taken on the best of `nodes` that has room for
    all of them, on `copies` of them where several are to be kept until one is chosen. In mode compat, with
    `few_drives`, shares of one class are decided one reservation after the other. One that `waits` stands in
    line where there is no room, and is held as soon as there is; any other is refused. If it `lets_pass`,
    those behind it have their turn meanwhile.
    """

    reservation: str
    owner: str
    expires_seconds: int
    holds: tuple[Hold, ...] = ()
    nodes: tuple[str, ...] = ()
    requests: Resources = NOTHING
    volumes: tuple[DiskRequest, ...] = ()
    mode: StorageMode = "exact"
    few_drives: bool = True
    copies: int = 1
    waits: bool = False
    lets_pass: bool = False


class Bind(Record, frozen=True, tag="bind", tag_field="command"):
    """What was held is in use now; what was held on other nodes than this one is given back."""

    reservation: str
    node: str = ""


class Release(Record, frozen=True, tag="release", tag_field="command"):
    """Give back everything of a reservation, or only what these requests of it have.

    Where `volumes_stay`, what was in use of disks is free no sooner than a supply says so.
    """

    reservation: str
    requests: tuple[str, ...] = ()
    volumes_stay: bool = False


class Extend(Record, frozen=True, tag="extend", tag_field="command"):
    """Hold a reservation until another time."""

    reservation: str
    expires_seconds: int


class Expire(Record, frozen=True, tag="expire", tag_field="command"):
    """Give back whatever its time has come for."""


class Pause(Record, frozen=True, tag="pause", tag_field="command"):
    """Mark what is in use as paused, or as running again; it stays promised."""

    reservation: str
    paused: bool = True


class Resize(Record, frozen=True, tag="resize", tag_field="command"):
    """Change what one request has of one capacity, if the difference can be had; of a claim, for all."""

    reservation: str
    request: str
    capacity: str
    resources: Resources


class Refuse(Record, frozen=True, tag="refuse", tag_field="command"):
    """Note that a request was judged elsewhere and failed: nothing is held, the reason is kept."""

    reservation: str
    owner: str
    request: str
    reason: str


class Together(Record, frozen=True, tag="together", tag_field="command"):
    """All of these in order, or none: what a plan is committed as.

    `question` tells one question from another where it is asked under a key: commands depend on what is held.
    With `line_last` nobody in line has a turn before all is done, so that all supply is known by then; else,
    as ledgers of the first versions have it, whoever waits for a turn has it after each command.
    """

    commands: tuple[Supply | Reserve | Bind | Release | Extend | Expire | Pause | Resize | Refuse, ...]
    question: str = ""
    line_last: bool = False


Command = Supply | Reserve | Bind | Release | Extend | Expire | Pause | Resize | Refuse | Together


class Decision(Record, frozen=True):
    """What became of a command: the entries it changed, as they are now, or why it was refused.

    An entry that has ended is listed with its final state and is then no longer part of the ledger. `waiting`
    are the reservations whose turn has not come, in order, where that list has changed.
    """

    accepted: bool
    changed: tuple[LedgerEntry, ...] = ()
    capacities: tuple[Capacity, ...] = ()
    gone: tuple[str, ...] = ()
    waiting: tuple[Reserve, ...] | None = None
    reason: str = ""
    shortfalls: tuple[Shortfall, ...] = ()


class JournalRow(Record, frozen=True):
    """One step of the ledger's history; `key` is the idempotency key under which it was asked for."""

    revision: int
    at_seconds: int
    command: Command
    decision: Decision
    key: str = ""


class Outcome(Record, frozen=True):
    """What a caller is told once the step is durable.

    `repeated` says that the key was known and this is the answer of the first time; `moved` that the ledger
    had changed since the revision that the caller had planned on.
    """

    revision: int
    decision: Decision
    repeated: bool = False
    moved: bool = False


def node_capacity(node: str) -> str:
    """Return the name of the capacity that is a node itself."""
    return f"node/{node}"


def node_of(capacity: str) -> str:
    """Return the node that a capacity is a part of; none for quotas and the like."""
    kind, _, rest = capacity.partition("/")
    return rest.partition("/")[0] if kind in _OF_NODES else ""


def is_disk(capacity: str) -> bool:
    """Whether a capacity is a drive, a volume group or a thin pool."""
    return capacity.startswith(("drive/", "group/"))


def is_capacity_name(name: str) -> bool:
    """Whether a name is one that capacities have: a kind, and what is needed to find one of it."""
    kind, _, rest = name.partition("/")
    parts = _PARTS.get(kind, 0)
    return bool(parts) and len([each for each in rest.split("/", parts - 1) if each]) == parts
