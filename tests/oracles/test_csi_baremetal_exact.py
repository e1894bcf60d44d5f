"""csi-baremetal's cases in mode exact: which nodes can serve, and how many drives are opened at least."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from ullage.engine.storage.exact import plan_nodes
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskRequest

TAINT = "drive.csi-baremetal.dell.com/taint"
GROUP = "drive.csi-baremetal.dell.com/storage-group"
JUDGED = 687


class Case(NamedTuple):
    name: str
    capacities: list[DiskCapacity]
    holds: list[DiskHold]
    requests: list[DiskRequest]
    nodes: list[str]


@pytest.fixture
def annotations(oracle: Callable[[str], Any]) -> Any:
    return oracle("csi-baremetal-annotations")


@pytest.fixture
def cases(oracle: Callable[[str], Any]) -> list[Case]:
    given = oracle("csi-baremetal")
    planned = [case_of(row["input"]) for row in (*given["oracle_named"], *given["oracle_random"])]
    return [*planned, *table_cases(given)]


def case_of(given: Mapping[str, Any]) -> Case:
    capacities = [
        capacity(each["Name"], each["Node"], each["SC"], each["Size"], each["Labels"])
        for each in given["ACs"]
    ]
    reserved = [each for each in given["ACRs"] if each["Status"] == "RESERVED"]
    holds = [
        DiskHold(reservation["Name"], each["Name"], disk.node, disk.name, each["SC"], each["Size"])
        for reservation in reserved
        for each in reservation["Requests"]
        for disk in capacities
        if disk.name in each["Reservations"]
    ]
    requests = [
        DiskRequest(each["Name"], each["SC"], each["Size"], each["Group"]) for each in given["Requests"]
    ]
    return Case(given["ID"], capacities, holds, requests, given["Nodes"])


def table_cases(given: Mapping[str, Any]) -> Iterator[Case]:
    """Yield the rows that csi-baremetal's own tests have, under `section/name`."""
    for section in ("select_for_volume", "plan"):
        for row in given[section]:
            capacities = [
                capacity(each["name"], each["node"], each["storage_class"], each["size"], each["labels"])
                for each in row.get("acs", ())
            ]
            holds = [
                DiskHold("r", "h", disk.node, disk.name, each["storage_class"], each["size"])
                for reservation in row.get("acrs", ())
                if reservation["status"] == "RESERVED"
                for each in reservation["requests"]
                for disk in capacities
                if disk.name in each["reservations"]
            ]
            volumes = row.get("vols") or [row[key] for key in ("vol",) if key in row]
            requests = [DiskRequest(each["name"], each["storage_class"], each["size"]) for each in volumes]
            yield Case(f"{section}/{row['name']}", capacities, holds, requests, row.get("nodes", ["n1"]))


def capacity(
    name: str, node: str, storage_class: Any, size_bytes: int, labels: Mapping[str, str]
) -> DiskCapacity:
    tainted = labels.get(TAINT) == "NoSchedule"
    return DiskCapacity(name, node, storage_class, size_bytes, labels.get(GROUP, ""), tainted=tainted)


def test_every_case_that_can_be_served_is_served_with_the_fewest_drives_opened(cases, annotations):
    judged = 0
    for case in cases:
        expected = annotations[case.name].get("exact_expected")
        if expected is None:
            continue
        plan = plan_nodes(case.capacities, case.holds, case.requests, case.nodes)
        served = {disks.node: len(disks.opened) for disks in plan.nodes}
        assert sorted(served) == sorted(expected["feasible_nodes"]), case.name
        assert served == expected["fresh_drives_opened_min"], case.name
        assert len(served) + len(plan.witnesses) == len(set(case.nodes)), case.name
        assert all(disks.proven for disks in plan.nodes), case.name
        judged += 1
    assert judged == JUDGED
