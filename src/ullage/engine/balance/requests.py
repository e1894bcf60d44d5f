"""What Ganeti asks of an allocator: places for new instances, and new places for those that are there.

Instances, nodes and groups are named as in the request; whoever answers looks them up.
"""

from typing import Literal, NamedTuple

from ullage.model.ganeti import Instance

EvacuationMode = Literal["primary-only", "secondary-only", "all"]


class Wanted(NamedTuple):
    """An instance that is to be, the number of hosts that it needs, and the group it must go to, if any."""

    instance: Instance
    hosts: int
    group: str | None = None


class Allocate(NamedTuple):
    """A place for an instance, on some hosts only where these are named."""

    wanted: Wanted
    restricted: tuple[str, ...] | None = None


class AllocateMany(NamedTuple):
    """Places for instances, one after the other."""

    wanted: tuple[Wanted, ...]


class AllocateStandby(NamedTuple):
    """A second host for an instance that has one."""

    instance: str


class Relocate(NamedTuple):
    """Another host for an instance in place of those that it leaves."""

    instance: str
    hosts: int
    leaves: tuple[str, ...]


class Evacuate(NamedTuple):
    """Other hosts of the same group for instances: for their primary, their standby or both."""

    instances: tuple[str, ...]
    mode: EvacuationMode


class ChangeGroup(NamedTuple):
    """Hosts of another group for instances: of these, or of any that none of them leaves."""

    instances: tuple[str, ...]
    groups: tuple[str, ...] = ()


Request = Allocate | AllocateMany | AllocateStandby | Relocate | Evacuate | ChangeGroup
