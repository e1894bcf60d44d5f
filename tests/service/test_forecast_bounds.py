"""What can run out, and where: the numbers of status, quotas and disks."""

import pytest

from ullage.service.asked import Asked, read_cluster
from ullage.service.disks_list import disks_list_report
from ullage.service.forecast_bounds import DEFAULT_KINDS, KINDS, bounds_of
from ullage.service.held import columns_of
from ullage.service.status import status_report


@pytest.fixture(scope="module")
def demo():
    return read_cluster(Asked("demo"))


@pytest.fixture(scope="module")
def bounds(demo):
    return {each[:4]: each for each in bounds_of(columns_of(demo), KINDS)}


def test_promises_run_out_where_nothing_more_can_be_promised(demo, bounds):
    total = status_report(demo).total
    for name in ("cpu", "memory", "nvidia.com/gpu"):
        bound = bounds["cluster", name, "committed", "limit"]
        assert bound.amount == total.committed[name] + total.ullage[name]
        assert bounds["cluster", name, "usage", "capacity"].amount == total.capacity[name]
        assert bound.hard


def test_groups_have_bounds_of_their_own(bounds):
    assert ("group/gpu", "nvidia.com/gpu", "committed", "limit") in bounds
    assert ("group/general", "memory", "usage", "capacity") in bounds


def test_only_the_max_of_promises_is_hard_in_a_quota(bounds):
    of_ml = {key[2:]: each.hard for key, each in bounds.items() if key[:2] == ("quota/ml", "nvidia.com/gpu")}
    assert of_ml == {
        ("committed", "max"): True,
        ("committed", "min"): False,
        ("usage", "max"): False,
        ("usage", "min"): False,
    }


def test_equal_bounds_are_told_once_by_the_first_name(bounds):
    assert ("quota/ml", "nvidia.com/gpu", "committed", "entitlement") not in bounds
    assert ("quota/web", "memory", "committed", "entitlement") in bounds


def test_drives_hold_what_is_used_promised_and_free(demo, bounds):
    for total in disks_list_report(demo).totals:
        space = total.used_bytes + total.promised_bytes + total.free_bytes
        key = (f"drives/{total.drive_class}", "storage-space", "committed", "space")
        assert space == (bounds[key].amount if key in bounds else 0)


def test_workloads_are_bounded_by_what_their_replicas_asked_for(demo, bounds):
    pods = [each for each in demo.workloads if each.name.startswith("api-") and each.namespace == "web"]
    key = next(key for key in bounds if key[0].endswith("/api") and key[1:] == ("cpu", "usage", "requests"))
    assert bounds[key].amount == sum(each.requests["cpu"] for each in pods if each.holds_capacity)
    assert not bounds[key].hard


def test_workloads_are_not_told_unless_they_are_asked_for(demo):
    kinds = {each.subject.partition("/")[0] for each in bounds_of(columns_of(demo), DEFAULT_KINDS)}
    assert kinds == {"cluster", "group", "quota", "drives"}


def test_what_there_is_none_of_does_not_run_out(bounds):
    """All drives of class SSD in the demo are those of the system."""
    assert {key[0] for key in bounds if key[0].startswith("drives/")} == {"drives/HDD", "drives/NVME"}
