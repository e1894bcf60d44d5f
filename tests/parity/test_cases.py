"""Cases are repeatable, within their bounds, and about every kind of constraint."""

import pytest

from parity.cases import ALONG, KINDS, OFTEN, PENDING_MAX, PENDING_MIN, RUNNING_MAX, case
from parity.compare import snapshot_of
from parity.nodes import NODES_MAX, NODES_MIN
from parity.tally import Tally

SEEDS = range(1, 301)


def of_kind(objects, kind):
    return [each for each in objects if each["kind"] == kind]


def test_a_seed_is_a_case():
    assert case(7) == case(7)
    assert case(7) != case(8)


def test_some_hundred_cases_have_every_kind_of_constraint_often():
    tally = Tally()
    for seed in SEEDS:
        tally.add(case(seed).kinds, (), pods=0, placed=0)
    assert {kind: tally.kinds[kind] for kind in KINDS if tally.kinds[kind] < len(SEEDS) // 20} == {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_can_be_asked_for_alone(kind):
    along = (kind, *ALONG.get(kind, ()))
    assert any(kind in case(seed, along).kinds for seed in range(20))


def test_tables_name_kinds_that_exist():
    assert {*OFTEN, *ALONG, *(other for others in ALONG.values() for other in others)} <= set(KINDS)


def test_a_case_is_small():
    for seed in SEEDS:
        drawn = case(seed)
        assert NODES_MIN <= len(of_kind(drawn.objects, "Node")) <= NODES_MAX
        assert len(of_kind(drawn.objects, "Pod")) <= RUNNING_MAX
        assert PENDING_MIN <= len(drawn.pods) <= PENDING_MAX


def test_our_reader_reads_every_object_of_a_case():
    for seed in range(1, 40):
        drawn = case(seed)
        snapshot = snapshot_of([*drawn.objects, *drawn.pods])
        assert len(snapshot.nodes) == len(of_kind(drawn.objects, "Node"))
        assert len(snapshot.workloads) == len(of_kind(drawn.objects, "Pod")) + len(drawn.pods)
        assert len(snapshot.volumes) == len(of_kind(drawn.objects, "PersistentVolume"))
        assert not [line for line in snapshot.unknowns if "not read" in line]
