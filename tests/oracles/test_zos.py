"""ZOS' own answers: memory admission, the cache, disks, root disks, types of workloads, prices, deployments.

Rows marked `code_differs_from_correct` are ones where ZOS subtracts below zero and wraps around: there the
corrected value counts. The rules that ZOS writes in prose are stated once more, without the oracle, in
tests/engine. What ZOS never checks (CPU, resize) is checked here: ../shared/spec/node-capacity.md.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from builders import batch, cluster, node, pod, resources, waiting
from ullage.engine.capacity.admission import admit, admit_resize
from ullage.engine.capacity.billing import billing_units, print_units
from ullage.engine.capacity.bounds import bounds_of
from ullage.engine.capacity.cache import cache_without_ssd, resize_cache, wanted_quota
from ullage.engine.capacity.units import UNIT_RESOURCES, consumption, refused_by_kind, root_bytes
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit, in_admission_order
from ullage.engine.storage.zos import in_order, plan_nodes
from ullage.model.cluster import HOLDING_STATES, Node, Snapshot, Workload
from ullage.model.disk_plan import DiskCapacity, DiskPlan, DiskRequest
from ullage.model.policy import Layer
from ullage.model.resources import ADDRESSES, HDD_SPACE, NOTHING, SSD_SPACE, Resources, ResourceTypes
from ullage.model.settings import Rules, rules_for
from ullage.sources.policies import load_policy

GIB = 1 << 30
PLENTY = 1 << 60
ZOS = load_policy("zos", ResourceTypes())
RULES = rules_for(ZOS, ResourceTypes())


@pytest.fixture
def zos(oracle: Callable[[str], Any]) -> Any:
    return oracle("zos")


def machine(total: int, available: int, *held: Workload) -> Snapshot:
    """A node as its kernel reports it, with what is promised on it."""
    reported = node("n1", memory=total, cpu="8").using(memory=total - available)
    return cluster(reported.holding(*held), policy=ZOS)


def asking(memory: int, name: str = "asked") -> Workload:
    return Workload(name, kind="zmachine", requests=Resources({"memory": memory}))


def cache_rules(unit: int) -> Rules:
    return rules_for(ZOS.with_layer(Layer("unit", cluster={"cache-unit": str(unit)})), ResourceTypes())


def test_memory_admission(zos):
    rows = zos["memory_admission_oracle"]
    assert len(rows) == 13
    for row in rows:
        promised = [asking(row["workloads"], "held")] if row["workloads"] else []
        place = Columns(machine(row["total"], row["available"], *promised)).place_of(0)
        usable, admitted = row["correct_usable"], row["correct_admit"]
        assert place.figures["memory"].free == usable, row
        assert admit(place, asking(row["request"])).admitted is admitted, row
        assert (row["usable"], row["admit"]) == (usable, admitted) or row["code_differs_from_correct"], row


def test_memory_admission_by_columns_and_by_fit(zos):
    for row in zos["memory_admission_oracle"]:
        promised = [asking(row["workloads"], "held")] if row["workloads"] else []
        columns = Columns(machine(row["total"], row["available"], *promised))
        assert columns.free[0, columns.resource_index["memory"]] == row["correct_usable"], row
        pods = [batch(1, Workload("asked", requests=Resources({"memory": row["request"]})))]
        assert fit(columns, pods).fits is row["correct_admit"], row


def test_cache_resize(zos):
    rows = [(row, row["new"]) for row in zos["cache_resize_upstream"]]
    rows += [(row, (row["limit_calls"] or [None])[-1]) for row in zos["cache_resize_oracle"]]
    assert len(rows) == 23
    for row, new in rows:
        decided = resize_cache(row["size"], row["excl"], PLENTY, cache_rules(row["unit"]))
        assert decided == (new, ""), row


def test_root_disks_of_machines(zos):
    rows = zos["vm_root_size"]
    assert len(rows) == 7
    for row in rows:
        assert root_bytes(row["cpu"], row["mem"], RULES) == row["root"], row
        taken = consumption("zmachine", Resources({"cpu": row["cpu"] * 1000, "memory": row["mem"]}), RULES)
        assert taken.of(SSD_SPACE) == row["root"], row


def test_what_each_type_of_workload_takes(zos):
    """Each cell of the table is a number, or names what was asked for."""
    asked = {
        "zmachine": resources({SSD_SPACE: "9Gi"}, cpu="3", memory="2Gi"),
        "zmount|volume": resources({SSD_SPACE: "9Gi"}),
        "zdb": resources({HDD_SPACE: "9Gi"}),
        "qsfs": resources({SSD_SPACE: "9Gi"}),
        "ip (v4)": resources({ADDRESSES: "1"}),
        "ip (v6 only)": NOTHING,
        "network|zlogs|gateway": NOTHING,
    }
    meanings = {
        "cpu": 3,
        "memory": 2 * GIB,
        "max(size, min_root)": 9 * GIB,
        "size": 9 * GIB,
        "cache": 9 * GIB,
    }
    columns = {"cru": "CU", "mru": "MU", "sru": "SU", "hru": "HU", "ipv4u": "addresses"}
    rows = {row["type"]: row for row in zos["workload_capacity"]}
    assert set(rows) == set(asked)
    for types, row in rows.items():
        expected = {}
        for cell, unit in columns.items():
            amount = meanings.get(row.get(cell, 0), row.get(cell, 0))
            expected[UNIT_RESOURCES[unit]] = amount * 1000 if unit == "CU" else amount
        for kind in types.partition(" ")[0].split("|"):
            taken = consumption(kind, asked[types], RULES)
            assert {name: taken.of(name) for name in expected} == expected, row
            assert set(taken) <= set(expected), row


def test_prices(zos):
    cases = zos["cloud_units"]["cases"]
    assert len(cases) == 8
    for row in cases:
        used = resources(
            {SSD_SPACE: f"{row['sru_gib']}Gi", HDD_SPACE: f"{row['hru_gib']}Gi"},
            cpu=row["cru"],
            memory=f"{row['mru_gib']}Gi",
        )
        units = billing_units(used, traffic_bytes=3 * GIB)
        assert units == (Fraction(row["cu"]), Fraction(row["su"]), 3), row
        assert print_units(units.billing_cu) == f"{row['cu']:.6f}", row


def test_volumes_are_installed_largest_first(zos):
    for row in zos["mount_sort"]:
        for kind in row["types"]:
            batches = [
                batch(1, waiting(f"v{size}", {SSD_SPACE: size}, kind=kind)) for size in map(str, row["in"])
            ]
            ordered = in_admission_order(batches, RULES)
            assert [each.workload.requests.of(SSD_SPACE) for each in ordered] == row["out"], row


class TestDisks:
    """Which pool a volume goes to: one pool is one drive here."""

    def plan(self, row: dict[str, Any], *sizes: int, virtual_disk: bool = False) -> DiskPlan:
        pools = [{key.lower(): value for key, value in pool.items()} for pool in row["pools"]]
        capacities = [
            DiskCapacity(
                pool.get("name", pool.get("n")),
                "n1",
                pool.get("type", "ssd").upper(),
                pool["size"],
                cold=not pool.get("mounted", True),
                virtual_disks=pool.get("hasvdisks", pool.get("vdisks", False)),
                used_bytes=pool["used"],
            )
            for pool in pools
        ]
        asked = [
            DiskRequest(f"v{number}", "SSD", size, virtual_disk=virtual_disk)
            for number, size in enumerate(sizes)
        ]
        return plan_nodes(capacities, [], asked, ["n1"])

    def test_the_pools_of_the_tests_of_zos(self, zos):
        rows = {row["name"]: row for row in zos["disk_pick_upstream"]}
        assert len(rows) == 6
        for name, row in rows.items():
            if "request" in row:
                virtual_disk = any("vdisks" in pool for pool in row["pools"])
                found = self.plan(row, row["request"], virtual_disk=virtual_disk)
                expected = [row["expect"]] if "expect" in row else []
                assert [each.chosen["v0"] for each in found.nodes] == expected, name

    def test_virtual_disks_are_never_promised_more_than_there_is(self, zos):
        row = zos["disk_pick_upstream"][-1]
        assert row["name"] == "no over-provisioning"
        sizes = [each["size"] for each in row["requests"]]
        assert [each["ok"] for each in row["requests"]] == [True, False]
        assert self.plan(row, sizes[0], virtual_disk=True).nodes
        assert not self.plan(row, *sizes, virtual_disk=True).nodes

    def test_the_pools_that_are_taken_and_those_that_are_mounted_for_it(self, zos):
        rows = zos["disk_pick_oracle"]
        assert len(rows) == 8
        for row in rows:
            given = {key.lower(): value for key, value in row["input"].items()}
            found = self.plan(given, given["size"], virtual_disk=given["vdisk"])
            steps = [step.split() for step in row["actions"]]
            added = [step[1] for step in steps if step[0] == "add"]
            existing = [pool["Name"] for pool in given["pools"] if pool["HasVdisks"]]
            expected = [] if row["error"] else added or existing
            assert [each.chosen["v0"] for each in found.nodes] == expected, given["id"]
            mounted = tuple(step[1] for step in steps if step[0] == "mount")
            assert all(each.spun_up == mounted for each in found.nodes), given["id"]

    def test_volumes_have_their_turns_largest_first(self, zos):
        for row in zos["mount_sort"]:
            asked = [DiskRequest(f"v{size}", "SSD", size) for size in row["in"]]
            assert [each.size_bytes for each in in_order(asked)] == row["out"]

    def test_every_rule_for_turning_drives_has_its_test(self, zos):
        """They are stated in prose; the tests are those of tests/engine/storage/test_zos.py."""
        assert [rule[:21] for rule in zos["hdd_zdb_pick"]] == [
            "first: existing zdb d",
            "else: first HDD (moun",
            "HDDs mounted while se",
        ]


class TestConstants:
    def test_the_reserve_is_a_tenth_and_at_least_2_gibibytes(self, zos):
        assert zos["constants"]["reserved_memory"] == "max(total_bytes*10//100, 2 GiB)"
        for total in (0, GIB, 20 * GIB - 1, 20 * GIB, 20 * GIB + 10, 64 * GIB + 9):
            bound = bounds_of(Node("n1", Resources({"memory": total, "cpu": 8000})), RULES)
            assert bound["memory"].reserve == max(total * 10 // 100, 2 * GIB)
            assert bound["cpu"].reserve == 0

    def test_the_cache_has_the_units_and_thresholds_of_zos(self, zos):
        constants = zos["constants"]
        assert RULES.cache_unit_bytes == constants["cache_unit_bytes"]
        assert RULES.cache_grow_percent == constants["cache_grow_percent"]
        assert RULES.cache_shrink_percent == constants["cache_shrink_percent"]
        assert RULES.cache_period_seconds == constants["cache_check_period_s"]
        assert wanted_quota(0, 0, RULES) == constants["cache_unit_bytes"]

    def test_without_an_ssd_the_cache_is_500_mebibytes_of_memory(self, zos):
        assert zos["constants"]["cache_fallback"].startswith("tmpfs 500M ")
        assert cache_without_ssd("n1", RULES)[0] == 500 << 20

    def test_the_least_sizes_of_a_machine(self, zos):
        constants = zos["constants"]
        least = constants["vm_min_memory"]
        assert refused_by_kind("zmachine", Resources({"memory": least}), RULES) == ""
        assert refused_by_kind("zmachine", Resources({"memory": least - 1}), RULES)
        assert RULES.machine_root_small_bytes == constants["vm_min_root_small"]
        assert RULES.machine_root_large_bytes == constants["vm_min_root_large"]

    def test_what_runs_or_is_paused_holds_capacity(self, zos):
        assert set(zos["constants"]["states_that_consume_capacity"]) == HOLDING_STATES
        for state in set(zos["constants"]["states"]) - {"unchanged"}:
            assert pod("a", node="n1", state=state).holds_capacity is (state in HOLDING_STATES)

    def test_types_are_installed_in_the_order_of_zos(self, zos):
        assert list(RULES.admission_order) == zos["constants"]["install_order"]


class TestDeployments:
    """The rules of `deployment_semantics`, in their order, and its worked case."""

    idle = machine(32 * GIB, 30 * GIB)

    def test_every_rule_has_its_test(self, zos):
        assert [row.get("rule", "case")[:30] for row in zos["deployment_semantics"]] == [
            "workloads installed type by ty",
            "an error or deleted workload i",
            "only ok/paused workloads count",
            "only memory is checked on Prov",
            "after reboot every active depl",
            "case",
        ]

    def test_a_failing_workload_is_an_error_and_the_next_is_tried(self):
        found = fit(
            Columns(self.idle),
            [
                batch(1, waiting("m1", memory="1Gi", cpu="1", kind="Pod")),
                batch(1, waiting("v1", {SSD_SPACE: "1Gi"}, kind="zmount")),
                batch(1, waiting("net", kind="network")),
            ],
        )
        assert [(each.subject, each.state) for each in found.outcomes] == [
            ("v1", "error"),
            ("net", "ok"),
            ("m1", "ok"),
        ]
        assert [step.subject for step in found.plan.steps] == ["net", "m1"]
        assert found.outcomes[0].refusal.reason

    @pytest.mark.parametrize("state", ["error", "deleted"])
    def test_an_error_or_deleted_workload_is_never_retried(self, state):
        found = fit(Columns(self.idle), [batch(1, pod("a", memory="1Gi", state=state))])
        assert (found.outcomes[0].state, found.outcomes[0].placed) == (state, 0)

    @pytest.mark.parametrize(
        ("state", "free"), [("ok", 8), ("paused", 8), ("init", 18), ("error", 18), ("deleted", 18)]
    )
    def test_only_what_runs_or_is_paused_counts_as_used(self, state, free):
        held = pod("a", memory="10Gi", state=state)
        columns = Columns(machine(20 * GIB, 20 * GIB, held))
        assert columns.figures(0)["memory"].free == free * GIB

    def test_the_workload_that_is_asked_about_is_not_counted_as_used(self):
        columns = Columns(machine(20 * GIB, 20 * GIB, pod("a", memory="10Gi")))
        again = fit(columns, [batch(1, pod("a", memory="18Gi"))])
        assert again.fits
        assert not fit(columns, [batch(1, pod("a", memory="18433Mi"))]).fits

    def test_cpu_is_unlimited_and_yet_no_machine_has_more_than_the_node(self):
        place = Columns(machine(20 * GIB, 20 * GIB, pod("a", cpu="800"))).place_of(0)
        assert admit(place, pod("b", cpu="8")).admitted
        assert not admit(place, pod("b", cpu="9")).admitted

    def test_resizing_is_checked(self):
        old = pod("a", memory="10Gi")
        place = Columns(machine(20 * GIB, 20 * GIB, old)).place_of(0)
        assert admit_resize(place, old, pod("a", memory="18Gi")).admitted
        assert not admit_resize(place, old, pod("a", memory="18433Mi")).admitted
        assert admit_resize(place, old, pod("a", memory="1Gi")).admitted

    def test_after_a_restart_every_workload_passes_the_same_admission_and_is_counted_once(self):
        held = [pod(f"m{index}", memory="9Gi") for index in range(2)]
        columns = Columns(machine(20 * GIB, 20 * GIB, *held))
        found = fit(columns, [batch(1, each) for each in held])
        assert [each.state for each in found.outcomes] == ["ok", "ok"]
        assert not fit(columns, [batch(1, pod("new", memory="1"))]).fits

    def test_two_machines_of_10_and_25_gibibytes_on_an_idle_node_of_32(self, zos):
        row = zos["deployment_semantics"][-1]
        assert row["case"].startswith("2 VMs 10+25 GiB on 32 GiB node idle(available 30): reserved 3.2")
        disks = node("n1", {SSD_SPACE: "100Gi"}, memory="32Gi", cpu="8").using(memory="2Gi")
        found = fit(
            Columns(cluster(disks, policy=ZOS)),
            [
                batch(1, waiting(f"m{size}", cpu="1", memory=f"{size}Gi", kind="zmachine"))
                for size in (10, 25)
            ],
        )
        assert [each.state for each in found.outcomes] == row["expect"]
