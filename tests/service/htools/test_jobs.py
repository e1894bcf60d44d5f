"""Jobs: each move is one operation, its fields in Ganeti's order."""

import json

import pytest

from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Move
from ullage.service.htools.jobs import job_of

COPY = (
    '{"OP_ID": "OP_INSTANCE_REPLACE_DISKS", "instance_name": "i", "early_release": false, '
    '"ignore_ipolicy": false, "mode": "replace_new_secondary", "disks": [], "remote_node": "b"}'
)
MIGRATION = (
    '"allow_runtime_changes": false, "ignore_ipolicy": false, "cleanup": false, "allow_failover": true, '
    '"ignore_hvversions": true}'
)
FAILOVER = (
    '{"OP_ID": "OP_INSTANCE_FAILOVER", "instance_name": "i", "shutdown_timeout": 120, '
    '"ignore_consistency": false, "ignore_ipolicy": false, "cleanup": false}'
)


@pytest.mark.parametrize(
    ("move", "forthcoming", "expected"),
    [
        pytest.param(Move("r", 1), False, COPY, id="a new standby is a copy of the disks"),
        pytest.param(
            Move("f"),
            False,
            f'{{"OP_ID": "OP_INSTANCE_MIGRATE", "instance_name": "i", {MIGRATION}',
            id="a failover is a live migration where it can be",
        ),
        pytest.param(
            Move("fa", 1),
            False,
            f'{{"OP_ID": "OP_INSTANCE_MIGRATE", "instance_name": "i", "target_node": "b", {MIGRATION}',
            id="a move to any host names it",
        ),
        pytest.param(Move("f"), True, FAILOVER, id="what is still to come cannot migrate"),
    ],
)
def test_a_move_is_an_operation(move, forthcoming, expected):
    nodes = [ganeti_node("a"), ganeti_node("b")]
    fleet = Fleet(ganeti_cluster(nodes, instance("i", "a", "b", forthcoming=forthcoming)))
    assert [json.dumps(each) for each in job_of(fleet, 0, [move])] == [expected]
