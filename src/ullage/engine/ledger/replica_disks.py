"""Which disks of a plan are for which reservation of a set.

Of replicas that stay the plan says by which reservation they had their disks, unless they had none. The hard
thing are StatefulSets: the claim of replica 3 is called CLAIM-3, and that is the name under which its volume
will be found. So reservation 4 is for replica 3, and what it holds is named by that replica's claims.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from ullage.engine.ledger.matching import Promise
from ullage.engine.ledger.naming import STATEFUL_SET
from ullage.engine.placement.outcome import Outcome, Replanned, Served
from ullage.model.cluster import Workload

_Disks = tuple[Served, ...]


class Numbers:
    """Numbers that no live reservation of an owner has, the least first."""

    def __init__(self, used: Iterable[int]) -> None:
        self._used = set(used)

    def next(self) -> int:
        """Return the least that is free, which it is then no longer."""
        return self.take(next(each for each in range(1, len(self._used) + 2) if each not in self._used))

    def take(self, number: int) -> int:
        """Return this one if it is free, else the least that is."""
        if number < 1 or number in self._used:
            return self.next()
        self._used.add(number)
        return number

    def again(self, number: int) -> int:
        """Return this one, also where a reservation that is given back had it."""
        self._used.add(number)
        return number


class ReplicaDisks:
    """The disks of one outcome."""

    def __init__(self, outcome: Outcome, workload: Workload) -> None:
        self._is_numbered = outcome.kind == STATEFUL_SET
        self._replanned = [each for each in outcome.replanned if not each.number]
        self._by_claims = [each for each in outcome.replanned if each.number]
        self._standing: set[int] = set()
        self._new = {name: _by_replica(outcome.new_disks, name) for name, _ in outcome.nodes}
        _, _, owner = workload.owner.partition("/")
        self._templates = {each.claim for each in workload.volumes if each.claim == f"{each.name}-{owner}"}

    def of_promises(
        self, promises: Sequence[Promise], has_disks: Callable[[str], bool]
    ) -> Iterator[tuple[Promise, _Disks | None]]:
        """Yield the disks of every promise that stands; None where they stay as they are."""
        self._standing.update(promise.number for promise in promises)
        found: dict[str, _Disks] = {}
        names = {promise.reservation for promise in promises}
        for each in [each for each in self._replanned if each.reservation in names]:
            found[each.reservation] = each.disks
            self._replanned.remove(each)
        for promise in promises:
            others = None
            if promise.reservation not in found and not has_disks(promise.reservation):
                others = self._without_reservation(promise.node, promise.number)
            if others is not None:
                found[promise.reservation] = others.disks
        for promise in promises:
            yield promise, found.get(promise.reservation)

    def of_others(
        self, nodes: Iterable[str], alone: Iterable[Workload], numbers: Numbers
    ) -> Iterator[tuple[str, int, _Disks]]:
        """Yield node, number and disks of replicas without a promise: those that run, then the new ones.

        Of the new ones those come first that have their numbers by the claims that are there for them.
        """
        left = list(nodes)
        for replica in alone:
            if replica.node in left:
                left.remove(replica.node)
                ordinal = replica.name.rpartition("-")[2]
                known = self._is_numbered and ordinal.isascii() and ordinal.isdecimal()
                number = numbers.take(int(ordinal) + 1) if known else numbers.next()
                others = self._without_reservation(replica.node, number)
                yield replica.node, number, others.disks if others is not None else ()
        for each in self._by_claims:
            if each.node in left and each.number not in self._standing:
                left.remove(each.node)
                yield each.node, numbers.again(each.number), each.disks
        for name in left:
            number = numbers.next()
            served = self._new[name].pop(0) if self._new[name] else ()
            yield name, number, tuple(self._named(each, number) for each in served)

    def _without_reservation(self, node: str, number: int) -> Replanned | None:
        """Return the disks of a replica on a node that had none reserved; of a numbered one its own."""
        for each in self._replanned:
            its_own = not self._is_numbered or any(
                served.volume.endswith(f"-{number - 1}") for served in each.disks
            )
            if each.node == node and not each.reservation and its_own:
                self._replanned.remove(each)
                return each
        return None

    def _named(self, served: Served, number: int) -> Served:
        if self._is_numbered and served.volume in self._templates:
            return served._replace(volume=f"{served.volume}-{number - 1}")
        return served


def _by_replica(served: Iterable[Served], node: str) -> list[_Disks]:
    """Return the disks of each replica on a node: the first name that comes again is of the next one."""
    found: list[list[Served]] = []
    for each in served:
        if each.node == node:
            if not found or any(other.volume == each.volume for other in found[-1]):
                found.append([])
            found[-1].append(each)
    return [tuple(each) for each in found]
