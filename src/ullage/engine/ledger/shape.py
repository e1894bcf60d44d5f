"""Whether a command can be judged at all: names, numbers and sizes that no ledger would take.

What is wrong with a command in itself is said here; what the ledger lacks for it is said where it is decided.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, get_args

from ullage.model.disk_plan import DiskCapacity
from ullage.model.drives import LocalClass
from ullage.model.ledger import (
    COMPUTE,
    Bind,
    Command,
    Expire,
    Extend,
    Pause,
    Refuse,
    Release,
    Reserve,
    Resize,
    Supply,
    Together,
    is_disk,
    node_of,
)
from ullage.model.quantity import INT64_MAX

NAME_LENGTH_MAX: Final = 1024
REASON_LENGTH_MAX: Final = 4096
HOLDS_MAX: Final = 1000
VOLUMES_MAX: Final = 256
NODES_MAX: Final = 100_000
CAPACITIES_MAX: Final = 1_000_000
RELATED_MAX: Final = 10_000
COMMANDS_MAX: Final = 10_000
DISK_BYTES_MAX: Final = 1 << 60
"""Of a volume, a drive or an extent: rounded up to extents, it still fits 64 bits."""
SHOWN_MAX: Final = 60
_CLASSES: Final[tuple[str, ...]] = get_args(LocalClass)


def flaw(command: Command) -> str:
    """Return what is wrong with a command and how to right it, nothing if it can be judged."""
    return _RULES[type(command)](command)


def _reserve(command: Reserve) -> str:
    holds, volumes, nodes = command.holds, command.volumes, command.nodes
    if len(holds) > HOLDS_MAX or len(volumes) > VOLUMES_MAX or len(nodes) > NODES_MAX:
        return (
            _too_many("holds", len(holds), HOLDS_MAX)
            or _too_many("volumes", len(volumes), VOLUMES_MAX)
            or _too_many("nodes", len(nodes), NODES_MAX)
        )
    names = [command.reservation, *nodes]
    amounts: list[Mapping[str, int]] = []
    for hold in holds:
        names += (hold.request, hold.capacity)
        amounts.append(hold.resources)
    names += [volume.name for volume in volumes]
    amounts.append(command.requests)
    return (
        _bad_name(names)
        or _bad_owner(command.reservation, command.owner)
        or _bad_time(command.expires_seconds)
        or _bad_amount(amounts)
        or _bad_requests(command)
        or (_bad_nodes(command) if command.requests or command.volumes else "")
    )


def _bad_requests(command: Reserve) -> str:
    """Return what is wrong with what is asked for: nothing at all, no size, or two things of one name."""
    if not (command.holds or command.requests or command.volumes):
        return f"reservation {command.reservation} asks for nothing; name holds, requests or volumes"
    held = {(hold.request, hold.capacity) for hold in command.holds}
    if len(held) < len(command.holds):
        return f"reservation {command.reservation} holds one thing twice for one request; add them up"
    wrong = _bad_claims(command)
    if wrong:
        return wrong
    names = {hold.request for hold in command.holds}
    if command.requests:
        if any(hold.request == COMPUTE and node_of(hold.capacity) for hold in command.holds):
            return f"a hold is called {COMPUTE}, as what is asked of the node is; rename it"
        names.add(COMPUTE)
    for volume in command.volumes:
        if volume.name in names:
            return f"two requests are called {volume.name}; rename one"
        if volume.storage_class not in _CLASSES:
            return f"volume {volume.name} is of an unknown class; use one of {', '.join(_CLASSES)}"
        if not 0 < volume.size_bytes <= DISK_BYTES_MAX:
            return f"volume {volume.name} has {volume.size_bytes} bytes; use 1 to {DISK_BYTES_MAX}"
        names.add(volume.name)
    return ""


def _bad_claims(command: Reserve) -> str:
    """Return what is wrong with volumes that others may share: each is one volume, of a size, on a disk."""
    claims = [hold.claim for hold in command.holds if hold.claim]
    claims += (volume.claim for volume in command.volumes if volume.claim)
    if not claims:
        return ""
    if len(set(claims)) < len(claims):
        return f"reservation {command.reservation} names a claim twice; name each once"
    for hold in command.holds:
        if hold.claim and not (is_disk(hold.capacity) and any(hold.resources.values())):
            return f"claim {hold.claim} has no bytes of a disk; name a drive or group, and how much"
    if command.copies > 1:
        return f"claim {claims[0]} is on one node, and {command.copies} are asked for; ask for one"
    return _bad_name(claims)


def _bad_nodes(command: Reserve) -> str:
    if not command.nodes:
        return f"reservation {command.reservation} names no node to choose from; name one or more"
    if len(set(command.nodes)) < len(command.nodes):
        return f"reservation {command.reservation} names a node twice; name each once"
    if not 1 <= command.copies <= len(command.nodes):
        return (
            f"reservation {command.reservation} asks for {command.copies} of {len(command.nodes)} nodes; "
            f"use 1 to {len(command.nodes)} copies"
        )
    return ""


def _supply(command: Supply) -> str:
    capacities = command.capacities
    names = [*(capacity.name for capacity in capacities), *command.gone]
    wrong = (
        _too_many("capacities", len(names), CAPACITIES_MAX)
        or _bad_name(names)
        or _bad_name(resource for capacity in capacities for resource in capacity.unbounded)
        or _bad_name(name for capacity in capacities for name in (*capacity.drives, *capacity.beside))
        or _bad_amount(capacity.offers for capacity in capacities)
    )
    if wrong:
        return wrong
    if len(set(names)) < len(names):
        return "a capacity is named twice; name each once"
    related = max((len(each.drives) + len(each.beside) for each in capacities), default=0)
    if related > RELATED_MAX:
        return _too_many("drives of one group", related, RELATED_MAX)
    disks = ((capacity.name, capacity.disk) for capacity in capacities if capacity.disk is not None)
    return next(filter(None, (_bad_disk(name, disk) for name, disk in disks)), "")


def _bad_disk(name: str, disk: DiskCapacity) -> str:
    if disk.node != node_of(name):
        return f"{name} is a disk of node {disk.node}; call it drive/NODE/UUID or group/NODE/NAME"
    if disk.storage_class not in _CLASSES:
        return f"{name} is a disk of an unknown class; use one of {', '.join(_CLASSES)}"
    if not 0 <= disk.size_bytes <= DISK_BYTES_MAX:
        return f"{name} has {disk.size_bytes} bytes; use 0 to {DISK_BYTES_MAX}"
    if not 0 < disk.extent_bytes <= DISK_BYTES_MAX:
        return f"{name} has extents of {disk.extent_bytes} bytes; use 1 to {DISK_BYTES_MAX}"
    return ""


def _bind(command: Bind) -> str:
    return _bad_name([command.reservation, command.node] if command.node else [command.reservation])


def _release(command: Release) -> str:
    names = [command.reservation, *command.requests]
    return _too_many("requests", len(command.requests), HOLDS_MAX + VOLUMES_MAX) or _bad_name(names)


def _extend(command: Extend) -> str:
    return _bad_name((command.reservation,)) or _bad_time(command.expires_seconds)


def _expire(_: Expire) -> str:
    return ""


def _pause(command: Pause) -> str:
    return _bad_name((command.reservation,))


def _resize(command: Resize) -> str:
    names = (command.reservation, command.request, command.capacity)
    return _bad_name(names) or _bad_amount((command.resources,))


def _refuse(command: Refuse) -> str:
    wrong = _bad_name((command.reservation, command.request)) or _bad_owner(
        command.reservation, command.owner
    )
    if not wrong and not (len(command.reason) <= REASON_LENGTH_MAX and command.reason.isprintable()):
        return f"the reason of {command.reservation} is no line of at most {REASON_LENGTH_MAX} characters"
    return wrong


def _together(command: Together) -> str:
    count = len(command.commands)
    if not count:
        return "nothing is to be done together; name a command"
    too_many = _too_many("commands", count, COMMANDS_MAX)
    if too_many:
        return too_many
    for place, each in enumerate(command.commands, 1):
        wrong = flaw(each)
        if wrong:
            return f"command {place} of {count}: {wrong}"
    return ""


_RULES: Final[Mapping[type, Callable[[Any], str]]] = {
    Reserve: _reserve,
    Supply: _supply,
    Bind: _bind,
    Release: _release,
    Extend: _extend,
    Expire: _expire,
    Pause: _pause,
    Resize: _resize,
    Refuse: _refuse,
    Together: _together,
}


def _too_many(what: str, count: int, most: int) -> str:
    return f"{count} {what} in one command; use at most {most}" if count > most else ""


def _bad_name(names: Iterable[str]) -> str:
    for name in names:
        if not 0 < len(name) <= NAME_LENGTH_MAX or not name.isprintable():
            shown = name if len(name) <= SHOWN_MAX else name[:SHOWN_MAX] + "…"
            return f"name {shown!r} cannot be used; use 1 to {NAME_LENGTH_MAX} printable characters"
    return ""


def _bad_owner(reservation: str, owner: str) -> str:
    if not owner:
        return f"reservation {reservation} has no owner; say whom it is for"
    return _bad_name((owner,))


def _bad_time(expires_seconds: int) -> str:
    return "" if expires_seconds <= INT64_MAX else "the expiry does not fit 64 bits; use seconds since 1970"


def _bad_amount(maps: Iterable[Mapping[str, int]]) -> str:
    for amounts in maps:
        for resource in amounts:
            if amounts[resource] < 0:
                return f"{amounts[resource]} of {resource} cannot be had; use 0 or more"
    return ""
