"""How reservations of plans are called: by kind, owner and number, so that each replica has its own name.

The owner is the workload's key. Its kind stands in the name of the reservation alone: pods name the set that
made them by kind and name, and that is how a promise to a set finds the pods that came of it. A volume has
the name of its claim, unless what is held of the node has that name.
"""

from typing import Final, NamedTuple

from ullage.model.ledger import COMPUTE

OF_NODE: Final = "node "
"""How the owner of what a node holds for itself begins; no namespace or workload is called so."""
STATEFUL_SET: Final = "StatefulSet"
"""The sets whose replicas are numbered, from 0 on, and have claims of their own by that number."""

_CLAIM: Final = "claim/"
"""How the request of a volume begins whose name is taken; no claim is called so."""


class Ordinal(NamedTuple):
    """What the name of a reservation says: the kind of its owner, and which of its replicas it is for."""

    kind: str
    number: int


def reservation_name(kind: str, owner: str, number: int) -> str:
    """Return the name of the reservation for one replica of a workload."""
    return f"{kind}/{owner}/{number}"


def ordinal_of(reservation: str, owner: str) -> Ordinal:
    """Return what a name says; nothing and 0 where it was not given by a plan."""
    head, _, number = reservation.rpartition("/")
    kind = head.removesuffix(f"/{owner}")
    if kind == head or not kind or not (number.isascii() and number.isdecimal()):
        return Ordinal("", 0)
    return Ordinal(kind, int(number))


def place_of_owner(owner: str) -> tuple[str, str]:
    """Return the namespace and the name of an owner."""
    namespace, _, name = owner.rpartition("/")
    return namespace, name


def claim_named_by(owner: str, request: str) -> str:
    """Return the claim that a request of an owner names, if it names one."""
    namespace, _ = place_of_owner(owner)
    return f"{namespace}/{volume_of(request)}" if namespace else volume_of(request)


def request_of(volume: str) -> str:
    """Return under which request the ledger holds a volume of this name."""
    return f"{_CLAIM}{volume}" if volume == COMPUTE else volume


def volume_of(request: str) -> str:
    """Return the name of the volume that is held under a request; before, all had the same name there."""
    return request.removeprefix(_CLAIM)
