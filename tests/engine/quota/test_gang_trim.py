"""Who need not go stays."""

import numpy as np
import pytest

from ullage.engine.quota.book import Book, Member
from ullage.engine.quota.gang_columns import Columns
from ullage.engine.quota.gang_judge import Judge
from ullage.engine.quota.gang_packing import gang_of
from ullage.engine.quota.gang_trim import trimmed
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.victims import Nodes
from ullage.model.cluster import Quota
from ullage.model.resources import Resources

GPU = "example.com/gpu"


def trim(free, running, gang, victims, nodes):
    """Trim victims (by number) for a gang of sizes on nodes (by number); running is (node, GPUs)."""
    book = Book(
        [
            Quota(name, min=Resources({GPU: least}), namespaces=(name,))
            for name, least in (("a", 99), ("b", 0))
        ]
    )
    members = [
        Member(f"r{place}", 1, (size,), Resources({GPU: size}), f"n{node}")
        for place, (node, size) in enumerate(running)
    ]
    asking = [Member(f"g{place}", 0, (size,), Resources({GPU: size})) for place, size in enumerate(gang)]
    standing = Standing(book, members)
    rules = Rules(standing, standing.entitlements(asking, {GPU: 12}))
    room = Nodes({f"n{place}": {GPU: left} for place, left in enumerate(free)}, {GPU: 12})
    columns = Columns(standing, members, room)
    judge = Judge(rules, rules.claim(asking), columns, ())
    rows, places = trimmed(
        judge, gang_of(asking, columns, None), np.array(victims, np.int64), np.array(nodes, np.int64)
    )
    return rows.tolist(), places.tolist()


@pytest.mark.parametrize(
    ("what", "arguments", "expected"),
    [
        ("all are needed", ([0, 0], [(0, 2), (1, 2)], [2, 2], [0, 1], [0, 1]), ([0, 1], [0, 1])),
        ("nobody is placed there", ([0, 0], [(0, 2), (1, 2)], [2], [0, 1], [0]), ([0], [0])),
        ("room is enough with it", ([2, 0], [(0, 2), (1, 2)], [2, 2], [0, 1], [0, 1]), ([1], [0, 1])),
        ("the larger of two stays", ([0], [(0, 3), (0, 2)], [2], [0, 1], [0]), ([1], [0])),
        ("a member moves to other room", ([0, 2], [(0, 2), (1, 1)], [2], [0], [0]), ([], [1])),
        ("two members move", ([0, 2], [(0, 2), (1, 1)], [1, 1], [0], [0, 0]), ([], [1, 1])),
        ("too little room to move to", ([0, 1], [(0, 2), (1, 1)], [1, 1], [0], [0, 0]), ([0], [0, 0])),
    ],
)
def test_who_need_not_go_stays(what, arguments, expected):
    assert trim(*arguments) == expected, what
