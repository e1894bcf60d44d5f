"""Figures are the sums that `status` shows, as plain numbers."""

import subprocess
import sys

import msgspec
import pytest

from builders import cluster, node, quota, workload
from ullage.engine.columns import Columns
from ullage.service.asked import Asked, read_cluster
from ullage.service.disks_list import disks_list_report
from ullage.service.figures import TERMS, ClusterFigures, ResourceFigures, figures, figures_of, in_units
from ullage.service.status import status_report


@pytest.fixture(scope="module")
def demo():
    return read_cluster(Asked("demo"))


@pytest.fixture(scope="module")
def found(demo):
    return figures_of(Columns(demo))


def test_every_term_is_that_of_the_status(demo, found):
    shown = status_report(demo)
    for mine, theirs in zip((found.total, *found.groups), (shown.total, *shown.groups), strict=True):
        assert (mine.nodes, mine.ready) == (theirs.nodes, theirs.ready)
        for row in mine.resources:
            for term in TERMS:
                amounts = getattr(theirs, term)
                value = getattr(row, term)
                if row.resource not in amounts:
                    assert value is None
                    continue
                assert value == in_units(row.resource, amounts.of(row.resource), demo.resource_types)
    assert found.workloads == dict(shown.workloads)
    assert sum(found.findings.values()) == len(shown.findings)
    assert [(each.model, each.free) for each in found.devices] == [
        (each.model, each.free) for each in shown.devices
    ]
    assert {each.quota for each in found.quotas} == {each.name for each in shown.quotas}


def test_drives_are_those_of_the_list_of_disks(demo, found):
    for mine, theirs in zip(found.drives, disks_list_report(demo).totals, strict=True):
        for field in mine.__struct_fields__:
            assert getattr(mine, field) == getattr(theirs, field)


def test_amounts_are_in_the_unit_that_people_count_in(demo):
    small = figures_of(
        Columns(cluster(node("n", cpu="2500m", memory="1Gi").holding(workload("a/b", cpu="1"))))
    )
    (cpu, memory) = small.total.resources
    assert (cpu.resource, cpu.capacity, cpu.free) == ("cpu", 2.5, 1.5)
    assert (memory.resource, memory.capacity) == ("memory", 1 << 30)
    assert small.nodes == {"ready": 1}
    assert in_units("cpu", 1, demo.resource_types) == 0.001


def test_a_group_has_no_figures_of_what_it_does_not_have(found):
    general = next(each for each in found.groups if each.group == "general")
    assert "nvidia.com/gpu" not in {each.resource for each in general.resources}


def test_a_quota_without_a_bound_of_something_has_none():
    found = figures_of(
        Columns(
            cluster(
                node("n", cpu="8", memory="8Gi").holding(workload("a/b", cpu="3", memory="1Gi")),
                quota("a", {"cpu": "2"}, {}),
            )
        )
    )
    (cpu,) = [each for each in found.quotas if each.resource == "cpu"]
    assert (cpu.min, cpu.max, cpu.used, cpu.borrowed) == (2, None, 3, 1)


def test_figures_travel_as_json_and_back(found):
    assert msgspec.json.decode(msgspec.json.encode(found), type=ClusterFigures) == found
    assert figures(Asked("demo")) == found
    assert tuple(ResourceFigures.__struct_fields__) == ("resource", *TERMS)


def test_who_only_knows_the_records_loads_no_numpy():
    script = "import sys, ullage.service.figures; print('numpy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
