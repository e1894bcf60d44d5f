"""The numbers of `status`."""

import msgspec
import pytest
from hypothesis import given, settings

from builders import pod, resources
from strategies import snapshots
from ullage.model.errors import InputError
from ullage.model.resources import Resources
from ullage.render import render
from ullage.service.asked import Asked
from ullage.service.status import Known, status_of, status_report


def test_every_term_of_a_node(small):
    first = status_report(small).nodes[0]
    assert (first.name, first.group, first.domain, first.state, first.workloads) == (
        "a1", "default", "rack-1", "ready", 2,
    )  # fmt: skip
    assert first.capacity == resources(cpu="8", memory="32Gi", pods=10)
    assert first.reserve == resources(cpu="0", memory="2Gi", pods=0)
    assert first.limit == resources(cpu="8", memory="30Gi", pods=10)
    assert first.committed == resources(cpu="3", memory="24Gi", pods=2)
    assert first.free == resources(cpu="5", memory="6Gi", pods=8)
    assert first.actual is None


def test_the_nearest_ratio_counts(small):
    by_name = {each.name: each for each in status_report(small).nodes}
    assert by_name["a2"].limit.of("memory") == 48 << 30
    assert by_name["a1"].limit.of("memory") == 30 << 30


def test_what_is_closed_is_blocked_and_not_ullage(small):
    total = status_report(small).total
    assert (total.nodes, total.ready) == (3, 2)
    assert total.blocked.of("cpu") == 8000
    assert total.ullage.of("cpu") == 5000 + 12000


def test_workloads_are_counted_by_state_and_namespace(small):
    assert status_report(small).workloads == {"init": 1, "ok": 3}
    assert status_report(small, "web").workloads == {"init": 1, "ok": 1}
    assert status_report(small).listed == ()
    assert [each.name for each in status_report(small, "web", lists=True).listed] == ["front", "later"]
    assert len(status_report(small, lists=True).listed) == 4


def test_quotas_of_a_namespace(small):
    (only,) = status_report(small, "ml").quotas
    assert (only.name, only.workloads) == ("ml", 2)
    assert only.used == Resources({"cpu": 5000, "memory": 20 << 30, "nvidia.com/gpu": 3})
    assert only.borrowed == Resources({"cpu": 1000, "memory": 20 << 30, "nvidia.com/gpu": 1})
    assert len(status_report(small).quotas) == 2


def test_a_namespace_that_nobody_uses_is_refused(small, asked):
    with pytest.raises(InputError, match="no namespace 'mll'; did you mean ml"):
        status_of(small, msgspec.structs.replace(asked, namespace="mll"))


def test_devices_say_how_many_of_each_size_start(small):
    (only,) = status_report(small).devices
    assert (only.model, only.devices, only.free) == ("L4", 4, 1)
    assert only.starts == {"8": 0, "4": 0, "2": 0, "1": 1}


def test_a_drive_offers_when_it_is_healthy_and_not_the_systems(small):
    disks = {each.drive_class: each for each in status_report(small).drives}
    assert (disks["SSD"].drives, disks["SSD"].system, disks["SSD"].offering) == (1, 1, 0)
    assert (disks["HDD"].drives, disks["HDD"].failing, disks["HDD"].offering) == (2, 1, 1)
    assert disks["HDD"].offering_bytes == 4 << 40


def test_what_the_source_did_not_tell_is_repeated(small):
    assert status_report(small).not_simulated == ("the price of tea",)


CHANGES = {
    "one more": ([pod("web/new", cpu="1", memory="1Gi", node="a1")], (), {"a1"}),
    "one less": ([], ("ml/job",), {"a1"}),
    "one elsewhere": ([pod("web/front", cpu="2", memory="20Gi", node="g1")], (), {"a1", "g1"}),
    "one of another size": ([pod("ml/train", cpu="9", node="g1")], (), {"g1"}),
    "one that relies on another node": (
        [pod("ml/job", memory="4Gi", node="a1", standby="g1")],
        (),
        {"a1", "g1"},
    ),
    "one that ends": ([pod("ml/train", cpu="4", node="g1", state="deleted")], (), {"g1"}),
    "nothing": ([], (), set()),
}


@pytest.mark.parametrize(("put", "dropped", "changed"), CHANGES.values(), ids=CHANGES)
def test_only_nodes_on_which_something_changed_are_counted_anew(small, put, dropped, changed):
    known = Known(small, status_report(small))
    after = msgspec.structs.replace(small, workloads=small.workloads.changed(put, dropped))
    found = status_report(after, like=known)
    assert found == status_report(after)
    assert {
        new.name for new, old in zip(found.nodes, known.report.nodes, strict=True) if new is not old
    } == changed
    back = status_report(small, like=Known(after, found))
    assert back == known.report


def test_nodes_under_other_rules_are_counted_anew(small):
    known = Known(small, status_report(small))
    other = msgspec.structs.replace(small, policy=msgspec.structs.replace(small.policy, layers=()))
    assert status_report(other, like=known) == status_report(other)


@settings(max_examples=15)
@given(snapshots())
def test_any_cluster_has_a_status_in_any_format(snapshot):
    try:
        answer = status_of(snapshot, Asked("any"))
    except InputError:
        return
    for output in ("table", "wide", "json", "csv", "md"):
        assert render(answer.page(), answer.data(), output, width=80)
    assert answer.shortened is not None
    assert render(answer.shortened(), None, "table")
