"""Nobody is evicted beyond need: those stay whose room is not used, or can be done without.

A victim can be done without if the room on its node is enough with it, or becomes so when members of the gang
move from there into room that is left on other nodes.
"""

import numpy as np

from ullage.engine.quota.gang_columns import Flags, Ints
from ullage.engine.quota.gang_judge import Judge
from ullage.engine.quota.gang_packing import Gang, slots


def trimmed(judge: Judge, gang: Gang, rows: Ints, nodes: Ints) -> tuple[Ints, Ints]:
    """Return a set without those who need not go, and the nodes of the gang's members then."""
    trim = _Trim(judge, gang, rows, nodes)
    columns = judge.columns
    order = np.lexsort(
        (
            columns.created[rows],
            -columns.priority[rows],
            -trim.bulk(rows),
            ~judge.guarded[rows],
            ~judge.own[rows],
        )
    )
    alone = rows[order]
    if judge.units is not None:
        gone = judge.units.gone(rows)
        for gang_rows in (judge.units.rows[each] for each in gone):
            trim.try_without_all(gang_rows)
        alone = alone[~np.isin(judge.units.of_row[alone], gone)]
    doubtful = alone[trim.is_doubtful(alone)].tolist()
    for moving in (False, True):
        for row in doubtful:
            if trim.goes[row]:
                trim.try_without(row, moving=moving)
    return np.flatnonzero(trim.goes), trim.nodes


class _Trim:
    """The room that is left over once the victims are gone and the gang is placed."""

    def __init__(self, judge: Judge, gang: Gang, rows: Ints, nodes: Ints) -> None:
        self._judge = judge
        self._gang = gang
        self._class = np.array(gang.class_of, np.int64)
        self.nodes = nodes.copy()
        columns = judge.columns
        self.goes = np.zeros(len(columns.members), np.bool_)
        self.goes[rows] = True
        self._takes: Ints = columns.takes[:, gang.resources]
        self._left: Ints = columns.free[:, gang.resources].copy()
        somewhere = rows[columns.node[rows] >= 0]
        np.add.at(self._left, columns.node[somewhere], self._takes[somewhere])
        np.subtract.at(self._left, nodes, gang.sizes[self._class])
        self._hosts: Ints = np.zeros(self._left.shape, np.int64)
        np.add.at(self._hosts, nodes, (gang.sizes[self._class] > 0).astype(np.int64))

    def bulk(self, rows: Ints) -> Ints:
        """Return how much each of these takes of the gang's resources, beside the largest of all."""
        whole = np.maximum(1, self._takes.max(axis=0, initial=1))
        found: Ints = (self._takes[rows] * 1024 // whole).max(axis=1, initial=0)
        return found

    def is_doubtful(self, rows: Ints) -> Flags:
        """Return who could perhaps stay, as things are or after a move."""
        if not len(rows):
            return np.zeros(0, np.bool_)
        lacks = self._lacks(rows)
        stays: Flags = np.logical_and.reduce(lacks <= 0, axis=1)
        for kind in range(len(self._gang.sizes)):
            room = self._room(kind)
            if room.any():
                size = self._gang.sizes[kind]
                most = int(room.sum())
                here = np.bincount(self.nodes[self._class == kind], minlength=len(room))
                movable = np.minimum(here[self._judge.columns.node[rows]], most)
                stays |= np.logical_and.reduce(lacks <= movable[:, None] * size, axis=1)
        return stays

    def _lacks(self, rows: Ints) -> Ints:
        """Return what would be lacking on their nodes if each of these stayed; nowhere is nothing lacking."""
        node = self._judge.columns.node[rows]
        lacks = np.where(self._hosts[node] > 0, self._takes[rows] - self._left[node], 0)
        lacks[node < 0] = 0
        return lacks

    def _room(self, kind: int) -> Ints:
        """Return how many more members of a class each node has room for."""
        count = len(self._gang.members_of[kind])
        return np.where(self._gang.allowed[kind], slots(self._left, self._gang.sizes[kind], count), 0)

    def try_without(self, row: int, *, moving: bool) -> None:
        """Let a victim stay if the rest is enough without it, as the gang is placed or after moves."""
        lacks = self._lacks(np.array([row]))[0]
        moves: list[tuple[int, int]] | None = []
        node = int(self._judge.columns.node[row])
        if (lacks > 0).any():
            moves = self._moves(node, lacks) if moving else None
        if moves is None:
            return
        self.goes[row] = False
        if not self._judge.is_allowed(np.flatnonzero(self.goes)):
            self.goes[row] = True
            return
        if node >= 0:
            self._left[node] -= self._takes[row]
        for member, to in moves:
            size = self._gang.sizes[self._class[member]]
            self._left[node] += size
            self._hosts[node] -= size > 0
            self._left[to] -= size
            self._hosts[to] += size > 0
            self.nodes[member] = to

    def try_without_all(self, rows: Ints) -> None:
        """Let a gang stay if the rest is enough without it, as the newcomers are placed."""
        node = self._judge.columns.node[rows]
        needed: Ints = np.zeros(self._left.shape, np.int64)
        np.add.at(needed, node[node >= 0], self._takes[rows[node >= 0]])
        if ((needed > self._left) & (needed > 0) & (self._hosts > 0)).any():
            return
        self.goes[rows] = False
        if not self._judge.is_allowed(np.flatnonzero(self.goes)):
            self.goes[rows] = True
            return
        self._left -= needed

    def _moves(self, node: int, lacks: Ints) -> list[tuple[int, int]] | None:
        """Return members of one class to move from a node, and where to, so that nothing lacks there."""
        for kind in range(len(self._gang.sizes)):
            size = self._gang.sizes[kind]
            if (lacks > 0)[size == 0].any():
                continue
            count = int((-(-lacks // np.maximum(1, size))).max())
            members = np.flatnonzero((self.nodes == node) & (self._class == kind))
            room = self._room(kind)
            room[node] = 0
            if len(members) >= count and int(room.sum()) >= count:
                order = np.argsort(room, kind="stable")
                to = np.repeat(order, room[order])[:count]
                return list(zip(members[:count].tolist(), to.tolist(), strict=True))
        return None
