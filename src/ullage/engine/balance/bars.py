"""Moves that are not to be made though the hosts would take them: what another rule or a wish forbids.

Rules that never change are masks, one for each kind of machine; a move that turned out to be forbidden in the
state it was tried in is barred by itself, and not tried again.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ullage.engine.balance.moves import Move, MoveKind

Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]


class Bars:
    """What is barred: hosts closed to kinds of machines, and single moves."""

    def __init__(self, kind_of: Sequence[int] = (), open_hosts: Flags | None = None) -> None:
        self._kind_of: Integers = np.array(kind_of, np.int64)
        self._open_hosts = open_hosts
        self._single: dict[int, set[Move]] = {}
        self.failovers: set[int] = set()
        """Machines, by number, that may not change to their standby."""

    def bar(self, machine: int, move: Move) -> None:
        """Make no such move of a machine, given by number."""
        self._single.setdefault(machine, set()).add(move)
        if move.kind == "f":
            self.failovers.add(machine)

    def allows(self, machine: int, move: Move) -> bool:
        """Whether a move may be made."""
        if move in self._single.get(machine, ()):
            return False
        if self._open_hosts is None or move.kind == "f":
            return True
        return bool(self._open_hosts[self._kind_of[machine], move.target])

    def closed(self, machines: Sequence[int], hosts: Integers, kind: MoveKind) -> Flags:
        """Return which moves of one kind are barred, [machine, host], all of them given by number."""
        if self._open_hosts is None:
            found: Flags = np.zeros((len(machines), len(hosts)), np.bool_)
        else:
            found = ~self._open_hosts[self._kind_of[list(machines)]][:, hosts]
        for at, machine in enumerate(machines):
            targets = [move.target for move in self._single.get(machine, ()) if move.kind == kind]
            if targets:
                found[at] |= np.isin(hosts, targets)
        return found
