"""Evacuation step by step: who leaves how, in which order, and who takes them."""

import pytest

from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance.evacuation_trial import leaving, trial_of, try_evacuation
from ullage.engine.balance.fleet import Fleet

NODES = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3")]
OFFLINE = ganeti_node("n2", offline=True)


def test_machines_leave_by_kind_and_the_largest_are_made_anew_first():
    held = [
        instance("a", "n1", "n2"),
        instance("b", "n1", memory=50, template="plain"),
        instance("c", "n1", memory=70, template="blockdev"),
        instance("d", "n1", template="diskless"),
        instance("e", "n1"),
    ]
    leaves = leaving(Fleet(ganeti_cluster([*NODES, ganeti_node("m", "h"), OFFLINE], *held)), 0)
    assert leaves == ([0], [4, 3], [2, 1], [1, 2])


@pytest.mark.parametrize(
    ("nodes", "held", "expected"),
    [
        pytest.param(NODES, [], True, id="an empty host"),
        pytest.param(NODES, [instance("a", "n1", "n2")], True, id="a standby with room"),
        pytest.param(
            NODES, [instance("a", "n1", "n2"), instance("b", "n2", memory=950)], False, id="a full standby"
        ),
        pytest.param([NODES[0], OFFLINE], [instance("a", "n1", "n2")], False, id="a standby that is offline"),
        pytest.param([NODES[0], OFFLINE], [instance("a", "n1")], False, id="no other host that is online"),
        pytest.param(NODES[:2], [instance("a", "n1", template="plain")], True, id="made anew"),
        pytest.param(
            NODES[:2], [instance("a", "n1", template="plain", disk_bytes=1 << 50)], False, id="no disk anew"
        ),
        pytest.param([NODES[0], ganeti_node("n2", "h")], [instance("a", "n1")], False, id="another group"),
        pytest.param(
            NODES,
            [instance("a", "n1", memory=999, tags=("svc:x",)), instance("b", "n2", memory=950)],
            True,
            id="soft rules are ignored",
        ),
        pytest.param(NODES[:2], [instance("a", "n1", memory=1000)], False, id="not filled to the last byte"),
    ],
)
def test_a_host_can_be_evacuated_if_every_machine_finds_a_place(nodes, held, expected):
    assert try_evacuation(Fleet(ganeti_cluster(nodes, *held)), 0) == expected


def test_being_greedy_it_may_fail_where_a_packing_exists():
    held = [
        *(instance(f"a{number}", "n1", memory=290) for number in range(2)),
        instance("large", "n1", memory=590),
        instance("x", "n2", memory=400),
        instance("y", "n3", memory=395),
    ]
    fleet = Fleet(ganeti_cluster([ganeti_node("n1", memory=2000), *NODES[1:]], *held))
    assert fleet.states[0].primaries[0] == 2
    assert try_evacuation(fleet, 0)
    turned = Fleet(
        ganeti_cluster([ganeti_node("n1", memory=2000), *NODES[1:]], held[2], *held[:2], *held[3:])
    )
    assert not try_evacuation(turned, 0)


def test_a_trial_tells_where_machines_went_until_one_found_no_place():
    held = [instance("a", "n1", memory=300), instance("b", "n1", memory=800), instance("c", "n1", memory=500)]
    trial = trial_of(Fleet(ganeti_cluster(NODES, *held)), 0)
    assert trial.is_evacuated is True
    assert sorted(trial.hosts) == [1, 2, 2] or sorted(trial.hosts) == [1, 1, 2]
    stuck = trial_of(Fleet(ganeti_cluster(NODES, *held, instance("d", "n2", memory=700))), 0)
    assert stuck.is_evacuated is False
    assert len(stuck.hosts) < len(held)
