"""The numbers of `explain pod/P`."""

import msgspec
import pytest
from hypothesis import given, settings

from builders import cluster, node, pod, policy, waiting
from strategies import snapshots
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.model.admission import ResourceQuota
from ullage.model.cluster import Batch
from ullage.model.constraints import Affinity, Constraints, LabelSelector, PodAffinity, PodAffinityTerm
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.render import render
from ullage.service.asked import Asked
from ullage.service.explain_pod import FINAL_STATES, explain_pod, find_workload, pod_report
from ullage.service.wanted import wanted_waiting
from ullage.sources.ganeti.snapshot import snapshot_of
from ullage.sources.ganeti.text import read_text
from ullage.sources.policies import load_policy

HOST = "kubernetes.io/hostname"


def machine(name, **fields):
    return node(name, cpu="4", memory="8Gi", pods=10).labelled({HOST: name}).with_(**fields)


@pytest.fixture(scope="module")
def mixed():
    """One node of each kind of refusal for a pod of 6Gi, and one that takes it."""
    return cluster(
        machine("busy").holding(pod("web/old", cpu="1", memory="4Gi", pods=1)),
        machine("closed").cordoned(),
        machine("tainted").tainted("gpu"),
        machine("free"),
        node("small", cpu="1", memory="1Gi", pods=10),
        waiting("web/new", cpu="2", memory="6Gi", pods=1),
        waiting("ml/new", cpu="2", memory="1Gi", pods=1),
        waiting("web/huge", cpu="2", memory="80Gi", pods=1),
        policy=policy(),
        unknowns=("tea",),
    )


def report_of(snapshot, key):
    return pod_report(snapshot, snapshot.workloads[key])


def test_every_node_is_judged_with_its_first_reason_and_what_it_lacks(mixed, asked):
    data = explain_pod(mixed, "web/new", asked).data()
    assert [
        (each["node"], each["takes"], each.get("reason"), each.get("missing", {})) for each in data["nodes"]
    ] == [
        ("free", True, None, {}),
        ("busy", False, "memory short", {"memory": "2Gi"}),
        ("small", False, "size of the node (cpu)", {"cpu": "1", "memory": "5Gi"}),
        ("closed", False, "cordoned", {}),
        ("tainted", False, "taint gpu", {}),
    ]
    assert (data["kind"], data["workloadKind"]) == ("PodExplanation", "Pod")
    assert data["tally"] == {"cordoned": 1, "memory short": 1, "size of the node (cpu)": 1, "taint gpu": 1}


def test_what_fits_names_its_place_and_its_terms(mixed):
    report = report_of(mixed, "web/new")
    assert (report.taking, report.first_choice, report.verdict.node) == (1, "free", "free")
    assert report.verdict.admitted
    assert (report.remedies, report.remedy, report.held_back) == ((), "", "")


def test_what_does_not_fit_has_its_shortfall_and_every_remedy(mixed):
    report = report_of(mixed, "web/huge")
    assert (report.taking, report.first_choice) == (0, "")
    assert [(each.node, each.resource) for each in report.shortfalls] == [("free", "memory")]
    assert [each.kind for each in report.remedies] == ["request", "node"]


def test_a_gate_is_named_and_the_nodes_are_judged_all_the_same(mixed):
    gated = waiting(
        "web/gated", cpu="2", memory="6Gi", pods=1, constraints=Constraints(scheduling_gates=("b", "a"))
    )
    report = pod_report(mixed, gated)
    assert report.held_back == "held back by scheduling gates (a, b)"
    assert report.remedy == "remove its scheduling gates"
    assert (report.taking, report.first_choice) == (1, "free")


@pytest.mark.parametrize(("memory", "taking", "tried"), [("6Gi", 1, []), ("900Gi", 0, ["request", "node"])])
def test_claimed_devices_are_named_and_the_nodes_are_judged_all_the_same(mixed, memory, taking, tried):
    claiming = waiting(
        "web/claims", cpu="2", memory=memory, pods=1, constraints=Constraints(resource_claims=("nic", "gpu"))
    )
    report = pod_report(mixed, claiming)
    assert report.held_back == "asks for devices by resource claims (gpu, nic), which are not modelled"
    assert report.remedy == "let kube-scheduler place it"
    assert report.taking == taking
    assert [each.kind for each in report.remedies] == tried


def test_a_set_that_a_quota_keeps_out_says_so():
    bound = ResourceQuota("most", "web", hard={"pods": "1"})
    full = cluster(
        machine("n").holding(pod("web/old", cpu="1", pods=1)),
        waiting("web/set", cpu="1", pods=1, kind="Deployment"),
        bound,
        policy=policy(),
    )
    report = report_of(full, "web/set")
    assert report.taking == 1
    assert "most" in report.held_back
    assert report.remedy


def test_a_running_pod_is_judged_as_if_it_had_left():
    shy = Affinity(pod_anti_affinity=PodAffinity((PodAffinityTerm(HOST, LabelSelector({"app": "web"})),)))
    labels = {"app": "web"}
    whole = cluster(
        machine("a").holding(
            pod("web/one", cpu="4", pods=1, labels=labels, constraints=Constraints(affinity=shy))
        ),
        machine("b").holding(pod("web/two", cpu="1", pods=1, labels=labels)),
        machine("c"),
        policy=policy(),
    )
    report = report_of(whole, "web/one")
    assert {each.node: each.reason for each in report.nodes} == {
        "a": "",
        "b": f"pod anti-affinity by {HOST}",
        "c": "",
    }
    assert report.remedies == ()
    (others,) = report_of(whole, "web/two").rules
    assert (others.kind, others.workloads, others.nodes) == ("anti-affinity of others", ("web/one",), 1)


def test_a_standby_takes_over_in_the_place_that_it_holds_for_it():
    """Two machines of 16 GiB, each the standby of the other's instance, of 8 and 6 GiB."""
    nodes = "".join(f"{name}|16384|0|8192|1000000|900000|8|N|u|1\n" for name in "ab")
    instances = "x|8192|1024|1|running|Y|a|b|drbd||1\ny|6144|1024|1|running|Y|b|a|drbd||1\n"
    text = f"default|u|preferred||\n\n{nodes}\n{instances}\n\n"
    snapshot = snapshot_of(read_text(text, "two.data"), "two.data")
    report = report_of(msgspec.structs.replace(snapshot, policy=load_policy("ganeti", ResourceTypes())), "x")
    assert [(each.node, each.takes) for each in report.nodes if each.node == "b"] == [("b", True)]
    assert report.not_simulated[0] == "disks: they are on b too; elsewhere they are copied first"


def test_what_is_left_aside_is_named(mixed):
    assert report_of(mixed, "web/new").not_simulated == (
        "others that wait (2): none of them is placed first",
        "eviction of others, where priority would allow it",
        "tea",
    )


@pytest.mark.parametrize("state", sorted(FINAL_STATES))
def test_what_is_over_is_not_judged(mixed, state):
    over = msgspec.structs.replace(mixed.workloads["web/new"], state=state)
    report = pod_report(mixed, over)
    assert (report.nodes, report.remedies, report.verdict) == ((), (), None)


@pytest.mark.parametrize(
    ("name", "namespace", "found"),
    [("web/new", "", "web/new"), ("new", "ml", "ml/new"), ("ml/new", "ml", "ml/new"), ("old", "", "web/old")],
)
def test_names(mixed, name, namespace, found):
    assert find_workload(mixed, name, namespace).key == found


def test_without_a_namespace_a_pod_without_one_is_meant_first():
    snapshot = cluster(node("n1", cpu="1"), waiting("a"), waiting("web/a"))
    assert find_workload(snapshot, "a").key == "a"


@pytest.mark.parametrize(
    ("name", "namespace", "message"),
    [
        ("new", "", "2 namespaces have a pod 'new'; write pod/ml/new or pod/web/new"),
        ("web/new", "ml", "pod/web/new is not in namespace 'ml'; leave out -n, or the prefix"),
        ("web/old1", "", "no pod 'web/old1'; did you mean web/old"),
        ("olt", "", "no pod 'olt'"),
        ("old", "ml", "no pod 'ml/old'; did you mean"),
    ],
)
def test_a_name_that_means_nothing_or_too_much_is_one_line(mixed, name, namespace, message):
    with pytest.raises(InputError) as raised:
        find_workload(mixed, name, namespace)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@settings(max_examples=15)
@given(snapshots())
def test_any_pod_is_explained_and_waits_as_fit_judges_it_alone(snapshot):
    for workload in snapshot.workloads:
        answer = explain_pod(snapshot, workload.key, Asked("any"))
        for output in ("table", "json", "csv"):
            assert render(answer.page(), answer.data(), output, width=80)
    for batch in wanted_waiting(snapshot).batches:
        report = pod_report(snapshot, batch.workload)
        (outcome,) = fit(Columns(snapshot), (Batch(batch.workload),)).outcomes
        assert (bool(report.taking) and not report.held_back) == (outcome.refusal is None)
