"""csi-baremetal's planner: its cases, with what our rules give for each in mode compat.

Where the real planner counts wrongly, the annotation has the right answer and names the defect. A request of
size 0 is bad input to us; csi-baremetal serves it with a drive that has nothing left, or refuses it.
"""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from builders import entry, node
from ullage.engine.storage.capacities import capacities_of, holds_of
from ullage.engine.storage.compat import in_order
from ullage.engine.storage.extents import group_bytes, volume_bytes, whole_drive_bytes
from ullage.engine.storage.planning import plan
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskPlan, DiskRequest
from ullage.model.drives import Drive
from ullage.model.errors import InputError
from ullage.model.ledger import VOLUME_SPACE

TAINT = "drive.csi-baremetal.dell.com/taint"
STORAGE_GROUP = "drive.csi-baremetal.dell.com/storage-group"


@pytest.fixture
def csi(oracle: Callable[[str], Any]) -> Any:
    return oracle("csi-baremetal")


@pytest.fixture
def annotations(oracle: Callable[[str], Any]) -> Any:
    return oracle("csi-baremetal-annotations")


class Case:
    """One input of the real planner; tables of its tests spell their keys in another way."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.nodes = given.get("Nodes", given.get("nodes", ["n1"]))
        self.sequential = given.get("Sequential", given.get("sequential", False))
        self.capacities = [_capacity(each) for each in given.get("ACs", given.get("acs", []))]
        volumes = given.get("Requests", given.get("vols", [given["vol"]] if "vol" in given else []))
        self.requests = [
            DiskRequest(row["name"], row["class"], row["size"], row.get("group", ""))
            for row in map(_lowered, volumes)
        ]
        self.holds = list(self._holds(given.get("ACRs", given.get("acrs", []))))

    def _holds(self, reservations: Iterable[dict[str, Any]]) -> Iterable[DiskHold]:
        nodes = {capacity.name: capacity.node for capacity in self.capacities}
        for number, each in enumerate(map(_lowered, reservations)):
            if each["status"] != "RESERVED":
                continue
            for place, row in enumerate(map(_lowered, each["requests"])):
                for name in row["reservations"]:
                    yield DiskHold(
                        each.get("name", f"r{number}"),
                        row.get("name", f"p{place}"),
                        nodes.get(name, ""),
                        name,
                        row["class"],
                        row["size"],
                    )

    def plan(self, *, few_drives: bool) -> DiskPlan:
        return plan("compat", self.capacities, self.holds, self.requests, self.nodes, few_drives=few_drives)


def _lowered(row: dict[str, Any]) -> dict[str, Any]:
    names = {"sc": "class", "storage_class": "class"}
    return {names.get(key.lower(), key.lower()): value for key, value in row.items()}


def _capacity(given: dict[str, Any]) -> DiskCapacity:
    row = _lowered(given)
    return DiskCapacity(
        row["name"],
        row["node"],
        row["class"],
        row["size"],
        storage_group=row["labels"].get(STORAGE_GROUP, ""),
        tainted=row["labels"].get(TAINT) == "NoSchedule",
    )


def chosen(found: DiskPlan) -> dict[str, dict[str, str]]:
    return {each.node: dict(each.chosen) for each in found.nodes}


class TestCases:
    @pytest.fixture
    def cases(self, csi: Any) -> list[dict[str, Any]]:
        rows = [row["input"] for section in ("oracle_named", "oracle_random") for row in csi[section]]
        assert len(rows) == 667
        return rows

    def test_every_case_gets_the_plan_of_our_rules(self, cases, annotations):
        waiting = 0
        for given in cases:
            case, expected = Case(given), annotations[given["ID"]]
            if any(request.size_bytes == 0 for request in case.requests):
                assert expected["expected"] == {}, given["ID"]
                with pytest.raises(InputError, match="a size of 0 bytes"):
                    case.plan(few_drives=case.sequential)
                continue
            found = case.plan(few_drives=case.sequential)
            assert list(found.waits_for) == expected.get("waits_for", []), given["ID"]
            if found.waits_for:
                waiting += 1
                assert expected["expected"] is None, given["ID"]
                assert (found.nodes, found.witnesses) == ((), ()), given["ID"]
                found = case.plan(few_drives=False)
                assert chosen(found) == expected["expected_if_not_waiting"], given["ID"]
            else:
                assert chosen(found) == expected["expected"], given["ID"]
            opened = {each.node: len(each.opened) for each in found.nodes}
            assert opened == expected["compat_fresh_drives_opened"], given["ID"]
            served = {each.node for each in found.nodes}
            assert {each.node for each in found.witnesses} == set(case.nodes) - served, given["ID"]
        assert waiting == 17

    def test_the_node_is_one_of_those_with_most_capacities_and_of_these_the_first_by_name(
        self, cases, annotations
    ):
        compared = 0
        for given in cases:
            best = annotations[given["ID"]].get("selected_any_of")
            if best:
                compared += 1
                assert Case(given).plan(few_drives=False).nodes[0].node == min(best), given["ID"]
        assert compared > 250

    def test_the_order_of_what_is_given_changes_nothing(self, cases):
        for given in cases[::5]:
            case = Case(given)
            if any(request.size_bytes == 0 for request in case.requests):
                continue
            before = case.plan(few_drives=case.sequential)
            for each in (case.capacities, case.holds, case.requests, case.nodes):
                each.reverse()
            assert case.plan(few_drives=case.sequential) == before, given["ID"]


class TestTables:
    def test_selecting_for_one_volume(self, csi, annotations):
        assert len(csi["select_for_volume"]) == 9
        for row in csi["select_for_volume"]:
            expected = annotations[f"select_for_volume/{row['name']}"]["expected"]
            found = chosen(Case(row).plan(few_drives=False))
            assert found.get("n1", {}).get("v") == expected, row["name"]

    def test_planning(self, csi, annotations):
        rows = [row for row in csi["plan"] if row["expect" if "expect" in row else "name"] != "error"]
        assert len(rows) == 12
        for row in rows:
            expected = annotations[f"plan/{row['name']}"]
            case = Case(row)
            found = case.plan(few_drives=case.sequential)
            assert list(found.waits_for) == expected.get("waits_for", []), row["name"]
            assert (None if found.waits_for else chosen(found)) == expected["expected"], row["name"]
            if found.waits_for:
                assert chosen(case.plan(few_drives=False)) == expected["expected_if_not_waiting"], row["name"]

    def test_the_order_of_candidates(self, csi):
        """A capacity's place in the order is seen by asking for as many volumes as there are candidates."""
        compared = 0
        for row in csi["node_capacity"]:
            for storage_class, names in row.get("expect_order", {}).items():
                case = Case(row)
                sizes = {capacity.name: capacity.size_bytes for capacity in case.capacities}
                for place, name in enumerate(names):
                    blocked = [DiskHold("r", "p", "n1", each, "HDD", sizes[each]) for each in names[:place]]
                    asked = [DiskRequest("v", storage_class, 1)]
                    found = plan("compat", case.capacities, blocked, asked, ["n1"], few_drives=False)
                    assert chosen(found) == {"n1": {"v": name}}, row["name"]
                blocked = [DiskHold("r", "p", "n1", each, "HDD", sizes[each]) for each in names]
                assert not plan("compat", case.capacities, blocked, asked, ["n1"], few_drives=False).nodes
                compared += 1
        assert compared == 9

    def test_the_order_of_the_seeds_example(self, csi):
        case = Case(csi["oracle_named"][0]["input"])
        assert [request.name for request in in_order(case.requests)] == ["pvc3", "pvc2", "pvc1", "pvc4"]

    def test_sizes(self, csi):
        for row in csi["align_up_to_extent"]:
            assert volume_bytes(row["in"]) == row["out"], row
        for row in csi["align_down_to_mib"]:
            assert whole_drive_bytes(row["in"]) == row["out"], row
        for row in csi["drive_bytes_to_vg_bytes"]:
            assert group_bytes(row["in"]) == row["out"], row
        for row in csi["drive_bytes_to_vg_bytes_real_lvm"]:
            assert group_bytes(row["device_bytes"]) == row["lvm_vg_bytes"], row

    def test_what_a_drive_offers(self, csi):
        rows = [row for row in csi["capacity_from_drive"] if "health" in row]
        assert len(rows) == 7
        for row in rows:
            drive = Drive("d", "HDD", 1 << 30, health=row["health"], clean=row["clean"])
            offered = capacities_of(node("n1").with_(drives=(drive,)).record)
            expected = [1 << 30] if row["expect_ac_size"] == "drive size" else []
            assert [each.size_bytes for each in offered] == expected, row

    def test_reservations_of_one_group_add_up_entry_by_entry(self, csi):
        row = next(each for each in csi["node_capacity"] if each["name"] == "LVG reservations add up")
        group = Case(row).capacities[0]
        entries = [entry(name, "group/n1/l", {VOLUME_SPACE: "10Gi"}) for name in ("r1", "r2")]
        holds = holds_of(entries, {"group/n1/l": group})
        assert [sum(each.size_bytes for each in holds), "HDDLVG"] == row["expect_reserved"]["l"]
