"""Findings: each code with its severity, subject, sentence and remedy, the worst first."""

import pytest

from builders import GPU, cluster, node, pod, policy, quota, waiting
from ullage.engine.capacity.findings import findings_of
from ullage.engine.capacity.summary import summarise_groups
from ullage.engine.columns import Columns
from ullage.engine.quota.use import quota_use
from ullage.model.cluster import Snapshot
from ullage.model.drives import PlacedVolume
from ullage.model.verdict import Finding


def findings(snapshot: Snapshot) -> list[Finding]:
    columns = Columns(snapshot)
    return list(findings_of(columns, summarise_groups(columns), quota_use(columns)))


def coded(snapshot: Snapshot, code: str) -> list[Finding]:
    return [finding for finding in findings(snapshot) if finding.code == code]


def codes(snapshot: Snapshot) -> list[str]:
    return [finding.code for finding in findings(snapshot)]


def bounded(name: str, **requests):
    """A workload that has a memory limit, so that nothing is to be said about it."""
    return pod(name, limits=pod("limits", memory="1Ti", cpu="100").requests, **requests)


def test_a_cluster_without_problems_has_no_findings():
    quiet = cluster(node("n1", memory="16Gi", cpu="4").holding(bounded("a", memory="16Gi", cpu="4")))
    assert findings(quiet) == []


class TestWrongQuotas:
    def test_what_is_wrong_with_quotas_is_found(self):
        found = findings(
            cluster(
                node("n1", cpu="4", memory="8Gi"),
                quota("a", {"cpu": "3"}, namespaces=("web",)),
                quota("b", {"cpu": "2"}, {"cpu": "1"}, namespaces=("web",)),
            )
        )
        assert [(each.severity, each.code, each.subject) for each in found] == [
            ("error", "quota-min-above-max", "quota/b"),
            ("error", "quota-namespace-twice", "quota/b"),
        ]

    def test_more_guaranteed_than_there_is_counts_gpu_memory_too(self):
        memory = {"nos.nebuly.com/gpu-memory": "64"}
        enough = cluster(node("n1", gpu=2, cpu="4"), quota("a", memory))
        assert "quota-above-cluster" not in codes(enough)
        (found,) = coded(cluster(node("n1", gpu=1, cpu="4"), quota("a", memory)), "quota-above-cluster")
        assert found.message == (
            "quotas guarantee 64 nos.nebuly.com/gpu-memory in all, the cluster can promise 32"
        )


class TestOverCommitted:
    def test_promises_over_the_limit(self):
        over = cluster(
            node("n1", memory="16Gi").reserving(memory="1Gi").holding(bounded("a", memory="16Gi")),
            node("n2", memory="16Gi").reserving(memory="1Gi").holding(bounded("b", memory="15Gi")),
        )
        assert findings(over) == [
            Finding(
                "over-committed",
                "error",
                "node/n1",
                "node n1: 16Gi of memory promised, 1Gi over its limit 15Gi",
                "move or shrink workloads of 1Gi, or raise memory-ratio",
            )
        ]

    def test_a_resource_that_the_node_does_not_have(self):
        found = findings(cluster(node("n1", memory="1Gi").holding(bounded("a", gpu=2))))
        assert [each.message for each in found] == [f"node n1: 2 of {GPU} promised, 2 over its limit 0"]

    def test_use_beyond_the_limit_where_use_counts(self):
        busy = node("n1", memory="16Gi").reserving(memory="1Gi").using(memory="20Gi")
        found = findings(cluster(busy.holding(bounded("a", memory="2Gi")), policy=policy(committed="actual")))
        assert found == [
            Finding(
                "over-committed",
                "error",
                "node/n1",
                "node n1: 19Gi of memory in use beyond the reserve, 4Gi over its limit 15Gi",
                "move or shrink workloads of 4Gi, or raise memory-ratio",
            )
        ]

    def test_where_use_counts_but_promises_are_more_it_is_promises(self):
        busy = node("n1", memory="16Gi").using(memory="17Gi").holding(bounded("a", memory="17Gi"))
        found = findings(cluster(busy, policy=policy(committed="actual")))
        assert [each.message for each in found] == [
            "node n1: 17Gi of memory promised, 1Gi over its limit 16Gi"
        ]

    def test_without_a_bound_nothing_is_over(self):
        busy = node("n1", cpu="4").using(cpu="9").holding(bounded("a", cpu="9"))
        assert findings(cluster(busy, policy=policy(cpu_ratio="unlimited"))) == []


class TestHollow:
    def test_a_busy_node_that_counts_as_free_what_is_not_there(self):
        busy = node("n1", memory="100Gi").reserving(memory="1Gi").using(memory="92Gi")
        assert findings(cluster(busy.holding(bounded("a", memory="9Gi")))) == [
            Finding(
                "promise-hollow",
                "warning",
                "node/n1",
                "node n1: 92Gi of 100Gi memory really in use, yet 90Gi of it counts as free",
                "find what uses more memory than it asked for, or count actual use (committed=actual)",
            )
        ]

    @pytest.mark.parametrize(("used", "found"), [("89", []), ("90", ["promise-hollow"])])
    def test_from_nine_tenths_on_a_node_is_busy(self, used, found):
        assert codes(cluster(node("n1", memory="100").using(memory=used))) == found

    @pytest.mark.parametrize(("promised", "found"), [("94", ["promise-hollow"]), ("95", [])])
    def test_free_room_that_is_really_there_is_no_finding(self, promised, found):
        busy = node("n1", memory="100").using(memory="95").holding(bounded("a", memory=promised))
        assert codes(cluster(busy)) == found

    @pytest.mark.parametrize(("promised", "found"), [("189", ["promise-hollow"]), ("190", [])])
    def test_what_is_left_may_be_promised_as_often_as_the_policy_says(self, promised, found):
        busy = node("n1", memory="100").using(memory="95").holding(bounded("a", memory=promised))
        assert codes(cluster(busy, policy=policy(memory_ratio="2"))) == found

    def test_where_use_counts_it_is_no_promise(self):
        busy = node("n1", memory="100").using(memory="95")
        assert codes(cluster(busy, policy=policy(committed="actual"))) == []

    def test_a_node_that_is_over_committed_is_not_reported_twice(self):
        busy = node("n1", memory="16Gi").using(memory="18Gi").holding(bounded("a", memory="17Gi"))
        assert codes(cluster(busy)) == ["over-committed"]

    @pytest.mark.parametrize("used", ["100", "101"])
    def test_where_nothing_counts_as_free_nothing_is_hollow(self, used):
        full = node("n1", memory="100").using(memory=used).holding(bounded("a", memory="100"))
        assert codes(cluster(full)) == []
        assert codes(cluster(node("n1", cpu="1").using(memory=used))) == []

    def test_what_has_no_bound_promises_nothing(self):
        busy = node("n1", cpu="4").using(cpu="9")
        assert codes(cluster(busy, policy=policy(cpu_ratio="unlimited"))) == []


class TestNoSpare:
    settings = policy(spare_nodes="1")

    def test_what_a_lost_node_needs_and_the_others_do_not_have(self):
        full = cluster(
            node("n1", memory="10Gi").holding(bounded("a", memory="8Gi")),
            node("n2", memory="10Gi").holding(bounded("b", memory="5Gi")),
            policy=self.settings,
        )
        assert findings(full) == [
            Finding(
                "no-spare",
                "error",
                "group/default",
                "group default: losing 1 of 2 nodes needs 3Gi more memory than is free",
                "add a node, or lower what is promised",
            )
        ]

    def test_exactly_enough_is_enough(self):
        enough = cluster(
            node("n1", memory="10Gi").holding(bounded("a", memory="5Gi")),
            node("n2", memory="10Gi").holding(bounded("b", memory="5Gi")),
            policy=self.settings,
        )
        assert findings(enough) == []


class TestNodeStates:
    def test_an_offline_node_that_holds_workloads_is_an_error(self):
        lost = cluster(node("n1", memory="9Gi").offline().holding(bounded("a"), bounded("b")))
        assert findings(lost) == [
            Finding(
                "node-offline",
                "error",
                "node/n1",
                "node n1 is offline and holds 2 workloads",
                "bring it back or remove it",
            )
        ]

    def test_an_empty_offline_node_is_a_warning(self):
        assert findings(cluster(node("n1").offline())) == [
            Finding(
                "node-offline",
                "warning",
                "node/n1",
                "node n1 is offline and holds 0 workloads",
                "bring it back or remove it",
            )
        ]

    def test_a_cordoned_node_is_worth_knowing(self):
        gone = bounded("b", state="error")
        assert findings(cluster(node("n1").cordoned().holding(bounded("a"), gone))) == [
            Finding(
                "node-cordoned",
                "info",
                "node/n1",
                "node n1 is cordoned and holds 1 workload",
                "uncordon it when its work is done",
            )
        ]


class TestDrives:
    @pytest.mark.parametrize(
        ("health", "status", "severity"),
        [
            ("BAD", "ONLINE", "error"),
            ("SUSPECT", "ONLINE", "warning"),
            ("GOOD", "OFFLINE", "warning"),
            ("BAD", "OFFLINE", "error"),
        ],
    )
    def test_a_drive_that_offers_nothing(self, health, status, severity):
        machine = node("n1").with_drive("d1", "SSD", "1Ti", health=health, status=status)
        assert findings(cluster(machine)) == [
            Finding(
                "drive-unhealthy",
                severity,
                "drive/d1",
                f"drive d1 on node n1 is {health} and {status}: it offers nothing",
                "replace it",
            )
        ]

    @pytest.mark.parametrize("count", [1, 4])
    def test_volumes_that_may_be_lost_with_a_failing_drive_are_named(self, count):
        placed = tuple(PlacedVolume(f"v{number}", "vg", 1) for number in range(count))
        machine = (
            node("n1")
            .with_drive("d1", "HDD", "1Ti", health="SUSPECT", clean=False)
            .with_volume_group("vg", "HDD", "1Ti", drives=("d1",))
            .with_(placed_volumes=placed)
        )
        (found,) = findings(cluster(machine))
        named = {
            1: "1 volume may be lost with it (v0)",
            4: "4 volumes may be lost with it (v0, v1, v2 and 1 more)",
        }
        assert found.message.endswith(f"it offers nothing, and {named[count]}")
        assert "ullage check --lose drive/d1" in found.remedy

    @pytest.mark.parametrize("health", ["GOOD", "UNKNOWN"])
    def test_a_drive_that_is_not_known_to_be_bad_is_no_finding(self, health):
        assert findings(cluster(node("n1").with_drive("d1", "HDD", "1Ti", health=health))) == []

    def test_every_drive_of_every_node_is_looked_at(self):
        first = node("n1").with_drive("d1", "SSD", "1Ti", health="BAD").with_drive("d2", "SSD", "1Ti")
        second = node("n2").with_drive("d3", "SSD", "1Ti").with_drive("d4", "SSD", "1Ti", health="BAD")
        assert [each.subject for each in findings(cluster(first, second))] == ["drive/d1", "drive/d4"]

    def test_without_an_ssd_the_cache_is_in_memory(self):
        spinning = node("n1").with_drive("d1", "HDD", "1Ti")
        found = findings(cluster(spinning, policy=policy(storage_mode="zos", cache_fallback="64Mi")))
        assert [(each.code, each.severity, each.message) for each in found] == [
            ("cache-limited", "warning", "node n1 has no SSD: its cache is 64 MiB of memory")
        ]

    @pytest.mark.parametrize(
        ("machine", "mode"),
        [
            (node("n1").with_drive("d1", "HDD", "1Ti"), "exact"),
            (node("n1").with_drive("d1", "HDD", "1Ti").with_drive("d2", "NVME", "1Ti"), "zos"),
            (node("n1").with_drive("d1", "SSD", "1Ti"), "zos"),
            (node("n1"), "zos"),
        ],
    )
    def test_a_cache_that_has_its_ssd_or_is_not_kept_is_no_finding(self, machine, mode):
        assert findings(cluster(machine, policy=policy(storage_mode=mode))) == []


class TestQuotas:
    def test_use_over_max_is_an_error_and_over_min_worth_knowing(self):
        used = cluster(
            node("n1", memory="99Gi", cpu="99").holding(bounded("ml/a", memory="9Gi", cpu="3")),
            quota("ml", {"memory": "4Gi", "cpu": "2"}, {"memory": "8Gi", "cpu": "3"}),
        )
        assert findings(used) == [
            Finding(
                "quota-exceeded",
                "error",
                "quota/ml",
                "quota ml uses 9Gi of memory, more than its max 8Gi",
                "stop a workload of the quota, or raise max",
            ),
            Finding(
                "quota-borrowing",
                "info",
                "quota/ml",
                "quota ml borrows 1 cpu, 5Gi memory beyond its min",
                "its owner may be asked to give it back",
            ),
        ]

    def test_use_up_to_min_and_max_is_no_finding(self):
        used = cluster(
            node("n1", memory="99Gi", cpu="9").holding(bounded("ml/a", memory="4Gi", cpu="1")),
            quota("ml", {"memory": "4Gi"}, {"memory": "4Gi", "cpu": "1"}),
        )
        assert findings(used) == []

    def test_only_what_is_borrowed_is_named(self):
        used = cluster(
            node("n1", memory="99Gi", cpu="9").holding(bounded("ml/a", memory="5Gi", cpu="1")),
            quota("ml", {"memory": "4Gi", "cpu": "1"}),
        )
        assert [each.message for each in findings(used)] == ["quota ml borrows 1Gi memory beyond its min"]


class TestWorkloads:
    machine = node("n1", memory="99Gi", cpu="9")

    def test_one_that_waits(self):
        assert findings(cluster(self.machine, waiting("web/a", memory="1Gi"))) == [
            Finding(
                "pending", "warning", "cluster", "1 workload (web/a) waits to be placed", "ask ullage fit why"
            )
        ]

    @pytest.mark.parametrize(
        ("count", "sentence"),
        [
            (2, "2 workloads (w0, w1) wait to be placed"),
            (3, "3 workloads (w0, w1, w2) wait to be placed"),
            (4, "4 workloads (w0, w1, w2 and 1 more) wait to be placed"),
            (6, "6 workloads (w0, w1, w2 and 3 more) wait to be placed"),
        ],
    )
    def test_several_that_wait_are_counted_and_three_named(self, count, sentence):
        found = findings(cluster(*(waiting(f"w{index}") for index in range(count))))
        assert [each.message for each in found] == [sentence]

    def test_those_without_a_memory_limit(self):
        bare = self.machine.holding(pod("a"), pod("b", limits=pod("c", cpu="1").requests), bounded("d"))
        assert findings(cluster(bare)) == [
            Finding(
                "memory-unbounded",
                "info",
                "cluster",
                "2 workloads (a, b) without a memory limit: bounded only by the node",
                "give them memory limits",
            )
        ]
        assert findings(cluster(self.machine.holding(pod("a"))))[0].message == (
            "1 workload (a) without a memory limit: bounded only by the node"
        )

    def test_those_whose_limit_is_below_their_request(self):
        small = pod("limits", memory="1Gi", cpu="1").requests
        held = self.machine.holding(
            pod("a", memory="2Gi", limits=small),
            pod("b", cpu="1", memory="1Gi", limits=small),
            pod("c", cpu="1001m", limits=small),
        )
        assert findings(cluster(held)) == [
            Finding(
                "limit-below-request",
                "warning",
                "cluster",
                "2 workloads (a, c) have limits below their requests",
                "raise the limit to the request",
            )
        ]
        alone = cluster(self.machine.holding(pod("a", memory="2Gi", limits=small)))
        assert findings(alone)[0].message == "1 workload (a) has a limit below its request"

    @pytest.mark.parametrize("state", ["init", "error", "deleted"])
    def test_those_that_hold_nothing_are_not_judged_by_their_limits(self, state):
        gone = self.machine.holding(pod("a", memory="2Gi", state=state))
        assert [code for code in codes(cluster(gone)) if code != "pending"] == []

    def test_a_paused_one_is(self):
        assert codes(cluster(self.machine.holding(pod("a", state="paused")))) == ["memory-unbounded"]

    @pytest.mark.parametrize("state", ["ok", "paused", "error", "deleted"])
    def test_only_those_in_state_init_wait(self, state):
        assert coded(cluster(pod("a", state=state)), "pending") == []


def test_the_worst_come_first_then_by_code_and_subject():
    messy = cluster(
        node("n1", memory="1Gi").cordoned().holding(pod("a", memory="2Gi")),
        node("n2", memory="1Gi").offline(),
        node("n3", memory="1Gi", cpu="1").holding(bounded("c", memory="2Gi", cpu="2")),
        node("n4").with_drive("d", "HDD", "1Ti", health="BAD"),
        waiting("z"),
    )
    assert [(each.severity, each.code, each.subject) for each in findings(messy)] == [
        ("error", "drive-unhealthy", "drive/d"),
        ("error", "over-committed", "node/n1"),
        ("error", "over-committed", "node/n3"),
        ("error", "over-committed", "node/n3"),
        ("warning", "node-offline", "node/n2"),
        ("warning", "pending", "cluster"),
        ("info", "memory-unbounded", "cluster"),
        ("info", "node-cordoned", "node/n1"),
    ]
