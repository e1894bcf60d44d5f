"""Why hosts do not take a machine, in words: what one of them lacks, and what keeps it off all of some."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from ullage.engine.balance.facts import Host
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Move
from ullage.engine.balance.state import Failure
from ullage.model.quantity import readable_bytes

BYTES: Final = frozenset(("memory", "standby", "disk"))
"""What a failure counts in bytes."""
WORDS: Final = {
    "memory": "memory short",
    "standby": "memory held for failover",
    "disk": "disk short",
    "cpu": "cpu short",
    "spindles": "spindles short",
    "tags": "exclusion tags",
    "template": "disk template",
    "": "migration tags",
}
"""What a failure of the primitives is about."""


def lacks(host: Host, failure: Failure) -> str:
    """Return what one host lacks; memory that may not be filled to the last byte is short by one more."""
    word = WORDS[failure.resource]
    if failure.resource not in BYTES:
        return word
    missing = readable_bytes(failure.missing + (not host.exact))
    return f"{word}, short by {missing}" if failure.resource == "standby" else f"{word} by {missing}"


def kept_off(fleet: Fleet, number: int, moves: Sequence[Move], *, force: bool) -> str:
    """Return what keeps a machine from every one of some moves, how often, and what comes nearest."""
    failures = [(move, fleet.try_move(number, move, force=force)) for move in moves]
    found = [(move.target, failure) for move, failure in failures if isinstance(failure, Failure)]
    if not found:
        return "no other node of its group is online"
    counts = Counter(WORDS[failure.resource] for _, failure in found)
    told = ", ".join(f"{word} on {count}" for word, count in sorted(counts.items()))
    nearest = _nearest(found)
    if nearest is None:
        return f"no other node of its group takes it ({told})"
    host = fleet.hosts[nearest[0]]
    return (
        f"no other node of its group takes it ({told}); nearest: node {host.name}, {lacks(host, nearest[1])}"
    )


def _nearest(found: Iterable[tuple[int, Failure]]) -> tuple[int, Failure] | None:
    """Return the host that lacks least memory, the first of equals; None where none lacks that."""
    short = [(failure.missing, number, failure) for number, failure in found if failure.resource == "memory"]
    if not short:
        return None
    _, number, failure = min(short, key=lambda each: each[:2])
    return number, failure
