"""How many volumes of each storage driver are attached to each node, and which nodes can take more.

A volume that several workloads share is attached once for each node: so volumes are known by their claims,
and what is counted is a claim's first user on a node and its last one to leave.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ullage.engine.placement.node_columns import Flags
from ullage.engine.placement.rules import Rows
from ullage.engine.placement.shapes import Shape
from ullage.model.cluster import Node

Integers = npt.NDArray[np.int64]
UNLIMITED: Final = 1 << 40

Drivers = Callable[[], Iterable[tuple[str, str]]]
"""Driver and claim of each volume of a workload; no claim means a volume that it shares with nobody."""


class Attachments:
    """Volumes on nodes by driver, for the drivers that some node limits."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.count = len(nodes)
        self.dependents: list[Shape] = []
        self.limits: dict[str, Integers] = {}
        self.used: dict[str, Integers] = {}
        self._users: dict[str, dict[int, int]] = {}
        self._counted: dict[tuple[str, int], str] = {}
        for row, node in enumerate(nodes):
            for driver, most in node.attach_limits.items():
                if driver not in self.limits:
                    self.limits[driver] = np.full(len(nodes), UNLIMITED, np.int64)
                    self.used[driver] = np.zeros(len(nodes), np.int64)
                self.limits[driver][row] = most

    def limits_any(self, driver: str) -> bool:
        """Whether some node limits the volumes of a driver."""
        return driver in self.limits

    def add(self, driver: str, claim: str, row: int, count: int) -> None:
        """Note so many more workloads that use a volume on a node; without a claim each has its own."""
        if not self.limits:
            return
        if not claim:
            if driver in self.used:
                self.used[driver][row] += count
            return
        users = self._users.setdefault(claim, {})
        before = users.get(row, 0)
        after = before + count
        if after:
            users[row] = after
        else:
            del users[row]
        if not users:
            del self._users[claim]
        if before <= 0 < after:
            self._attach(driver, claim, row)
        elif after <= 0 < before:
            self._detach(claim, row)

    def _attach(self, driver: str, claim: str, row: int) -> None:
        if driver in self.used:
            self._counted[claim, row] = driver
            self.used[driver][row] += 1

    def _detach(self, claim: str, row: int) -> None:
        driver = self._counted.pop((claim, row), None)
        if driver is not None:
            self.used[driver][row] -= 1

    def change_driver(self, claim: str, driver: str) -> None:
        """Note that a claim that is attached already has got a volume of another driver."""
        counted = driver if driver in self.used else None
        for row in self.where(claim):
            if self._counted.get((claim, row)) == counted:
                continue
            self._detach(claim, row)
            self._attach(driver, claim, row)
            for shape in self.dependents:
                shape.scores = None

    def where(self, claim: str) -> list[int]:
        """Return the nodes to which the volume of a claim is attached."""
        return [row for row, users in self._users.get(claim, {}).items() if users > 0]


class AttachLimit:
    """A node must be able to attach those volumes of a workload that it does not have yet."""

    local = True
    once = False

    def __init__(self, attachments: Attachments, drivers: Drivers, reason: str) -> None:
        self.reason = reason
        self._attachments = attachments
        self._drivers = drivers

    def _by_driver(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for driver, claim in self._drivers():
            if self._attachments.limits_any(driver):
                found.setdefault(driver, []).append(claim)
        return found

    def allows(self, rows: Rows) -> Flags:
        """Return the nodes that stay within their limits; one that has all the volumes takes no more."""
        attachments = self._attachments
        allowed = np.ones(attachments.count, np.bool_)[rows]
        for driver, claims in self._by_driver().items():
            used = attachments.used[driver][rows]
            new = np.full(len(used), len(claims), np.int64)
            for claim in claims:
                attached = attachments.where(claim) if claim else ()
                if attached:
                    new -= _among(rows, attached, attachments.count)
            allowed &= (new == 0) | (used + new <= attachments.limits[driver][rows])
        return allowed


def _among(rows: Rows, chosen: Sequence[int], count: int) -> Flags:
    if isinstance(rows, slice):
        flags = np.zeros(count, np.bool_)
        flags[chosen] = True
        return flags[rows]
    return np.isin(rows, chosen)
