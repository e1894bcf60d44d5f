"""The numbers of `headroom`."""

import json

import pytest

from builders import BUILT_IN_TYPES, batch, pod
from ullage.engine.columns import Columns
from ullage.engine.quota.cluster_capacity import shared_capacity
from ullage.model.constraints import Constraints
from ullage.model.errors import InputError
from ullage.service.asked import Asked, read_meant
from ullage.service.fit import FitQuestion, fit
from ullage.service.headroom import HeadroomQuestion, headroom, headroom_of
from ullage.service.status import status
from ullage.service.wanted import Wanted

DEMO = Asked("demo")


def wants(*batches):
    return Wanted(batches, atomic=False, types=BUILT_IN_TYPES, notes=("a note",))


def test_each_workload_is_counted_alone(small, asked):
    wanted = wants(batch(1, pod("api/one", cpu="1", memory="4Gi")), batch(1, pod("api/two", cpu="9")))
    report = headroom_of(small, wanted, asked, HeadroomQuestion()).data()
    one, two = report["workloads"]
    assert (report["kind"], report["placement"], report["sets"]) == ("HeadroomReport", "spread", None)
    assert (one["more"], one["nodes"]) == (
        13,
        ({"node": "a1", "replicas": 1}, {"node": "g1", "replicas": 12}),
    )
    assert (two["more"], two["requests"], two["bounded"]) == (1, {"cpu": "9"}, True)
    assert "cordoned" in one["reasons"]
    assert {"a note", "the price of tea"} <= set(report["notSimulated"])


def test_nothing_of_one_of_them_is_a_no(small, asked):
    wanted = wants(batch(1, pod("one", cpu="1")), batch(1, pod("huge", cpu="99")))
    assert not headroom_of(small, wanted, asked, HeadroomQuestion()).yes
    assert headroom_of(small, wants(batch(1, pod("one", cpu="1"))), asked, HeadroomQuestion()).yes


def test_sets_are_counted_with_the_replicas_as_the_mix(small, asked):
    wanted = wants(batch(2, pod("api/one", cpu="2")), batch(1, pod("api/two", cpu="3")))
    answer = headroom_of(small, wanted, asked, HeadroomQuestion(together=True))
    sets = answer.data()["sets"]
    assert sets["replicas"] == {"api/one": 2, "api/two": 1}
    assert (sets["more"], sets["bounded"], answer.yes) == (2, True, True)
    assert sets["missing"] in {"api/one", "api/two"}
    assert "cpu short on" in sets["reason"]


def test_a_set_that_does_not_fit_once_is_a_no(small, asked):
    wanted = wants(batch(1, pod("one", cpu="1")), batch(1, pod("huge", cpu="99")))
    answer = headroom_of(small, wanted, asked, HeadroomQuestion(together=True))
    assert (answer.yes, answer.data()["sets"]["more"]) == (False, 0)


def test_shapes_are_called_by_what_they_ask_for():
    question = HeadroomQuestion(shapes=("memory=8Gi,cpu=4000m", "cpu=1"))
    found = headroom(DEMO, question).data()["workloads"]
    assert [(each["workload"], each["more"]) for each in found] == [("cpu=4,memory=8Gi", 7), ("cpu=1", 32)]
    assert found[0]["requests"] == {"cpu": "4", "memory": "8Gi", "pods": "1"}


def test_a_shape_named_twice_is_two_of_it_in_a_set_and_an_error_alone():
    shapes = ("cpu=4", "cpu=4000m", "cpu=1")
    sets = headroom(DEMO, HeadroomQuestion(shapes=shapes, together=True)).data()["sets"]
    assert sets["replicas"] == {"cpu=4": 2, "cpu=1": 1}
    with pytest.raises(InputError, match=r"--shape: cpu=4 is named twice"):
        headroom(DEMO, HeadroomQuestion(shapes=shapes))


def test_a_shape_of_a_namespace_is_one_of_its_workloads():
    found = headroom(Asked("demo", namespace="web"), HeadroomQuestion(shapes=("cpu=1",))).data()
    assert found["workloads"][0]["workload"] == "web/cpu=1"


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (HeadroomQuestion(), "nothing to count is named"),
        (HeadroomQuestion(("cpu=1",), ("a.yaml",)), "both -f and --shape are given"),
        (HeadroomQuestion(("cpu=1",) * 101), "more than 100 shapes"),
        (HeadroomQuestion(("cpu",)), "'cpu' is no resource with its amount"),
    ],
)
def test_what_cannot_be_asked(question, message):
    with pytest.raises(InputError, match=message):
        headroom(DEMO, question)


def test_standard_input_is_one_thing_only():
    with pytest.raises(InputError, match="standard input"):
        headroom(Asked("-"), HeadroomQuestion(paths=("-",)))


def test_an_empty_file_and_gates(small, asked):
    with pytest.raises(InputError, match="there is no workload in it"):
        headroom_of(small, wants(), asked, HeadroomQuestion())
    gated = pod("one", cpu="1", constraints=Constraints(scheduling_gates=("wait",)))
    report = headroom_of(small, wants(batch(1, gated)), asked, HeadroomQuestion()).data()
    assert any("gates" in each for each in report["notSimulated"])
    assert not any("resource claims" in each for each in report["notSimulated"])
    claiming = pod("one", cpu="1", constraints=Constraints(resource_claims=("gpu",)))
    report = headroom_of(small, wants(batch(1, claiming)), asked, HeadroomQuestion()).data()
    assert any("resource claims" in each for each in report["notSimulated"])


def test_the_policy_says_how_nodes_are_chosen_unless_the_question_does(small, asked):
    wanted = wants(batch(1, pod("one", cpu="1")))
    report = headroom_of(small, wanted, asked, HeadroomQuestion(placement="pack")).data()
    assert report["placement"] == "pack"


ZONES = [{"name": name, "labels": {"zone": name}, "capacity": {"cpu": "4"}} for name in ("a", "b", "c")]
SHOP = {"name": "shop", "namespaces": ["shop"], "min": {"cpu": "4"}, "max": {"cpu": "4"}}
ELSEWHERE = {"name": "w", "namespace": "shop", "node": "a", "state": "ok", "requests": {"cpu": "3"}}


def zones(place, *quotas):
    fields = {"nodes": ZONES, "quotas": list(quotas), "workloads": [ELSEWHERE]}
    path = place / "room.json"
    path.write_text(json.dumps({"apiVersion": "ullage.dev/v1", "kind": "Snapshot", **fields}))
    return str(path)


@pytest.mark.parametrize(("quotas", "more"), [((SHOP,), 1), ((), 4)])
def test_a_quota_counts_what_runs_on_nodes_that_are_not_meant(tmp_path, quotas, more):
    meant = Asked(zones(tmp_path, *quotas), namespace="shop" if quotas else "", selector="zone=b")
    (found,) = headroom(meant, HeadroomQuestion(("cpu=1",))).data()["workloads"]
    assert (found["more"], sum(each["replicas"] for each in found["nodes"])) == (more, more)
    assert {each["node"] for each in found["nodes"]} == {"b"}
    assert "cordoned" not in found["reasons"]
    tiers = headroom(meant, HeadroomQuestion(("cpu=1",), tiered=True)).data()
    assert (tiers["tiers"][0]["more"], "cordoned" in tiers["reasons"]) == (more, False)


def test_nodes_that_are_not_meant_are_no_reason_and_take_not_even_who_tolerates_everything(tmp_path):
    """Those that are meant and cordoned are one; what others are does not matter."""
    nodes = [
        {**each, "state": "cordoned" if each["name"] == "a" else "ready", "labels": {"zone": zone}}
        for each, zone in zip(ZONES, ("x", "x", "y"), strict=True)
    ]
    room, wanted = tmp_path / "room.json", tmp_path / "wanted.json"
    roomy = {**SHOP, "max": {"cpu": "99"}}
    fields = {"nodes": [*nodes, {**nodes[0], "name": "d", "labels": {"zone": "y"}}], "quotas": [roomy]}
    room.write_text(json.dumps({"apiVersion": "ullage.dev/v1", "kind": "Snapshot", **fields}))
    meant = Asked(str(room), namespace="shop", selector="zone=x")
    (found,) = headroom(meant, HeadroomQuestion(("cpu=3",))).data()["workloads"]
    assert found["reasons"] == {"cordoned": 1, "cpu short": 1}
    sets = headroom(meant, HeadroomQuestion(("cpu=3",), together=True)).data()["sets"]
    assert sets["reason"] == "cordoned on 1, cpu short on 1"
    daring = {
        "name": "w", "namespace": "shop", "requests": {"cpu": "1"},
        "constraints": {"tolerations": [{"operator": "Exists"}]},
    }  # fmt: skip
    document = {"apiVersion": "ullage.dev/v1", "kind": "WorkloadSet", "workloads": [daring]}
    wanted.write_text(json.dumps(document))
    (found,) = headroom(meant, HeadroomQuestion(paths=(str(wanted),))).data()["workloads"]
    assert {each["node"] for each in found["nodes"]} == {"a", "b"}


def test_quotas_divide_nodes_that_are_not_meant_as_if_they_were(tmp_path):
    path = zones(tmp_path, SHOP)
    meant, whole = (read_meant(Asked(path, selector=selector)) for selector in ("zone=b", ""))
    assert shared_capacity(Columns(meant)) == shared_capacity(Columns(whole))


SPARE = {"name": "kubernetes", "layers": [{"origin": "a test", "cluster": {"spare-nodes": "1"}}]}
TWO_AND_TWO = [
    {"name": name, "labels": {"zone": name[0]}, "capacity": {"cpu": "4"}} for name in ("a1", "a2", "b1", "b2")
]
ROOMY = {"name": "shop", "namespaces": ["shop"], "min": {"cpu": "1"}, "max": {"cpu": "99"}}


@pytest.mark.parametrize("quotas", [(), (ROOMY,)], ids=["without quotas", "with a quota that has room"])
@pytest.mark.parametrize(("selector", "more"), [("", 12), ("zone=b", 4)])
def test_nodes_that_are_not_meant_are_no_room_for_failover(tmp_path, quotas, selector, more):
    """Of two nodes that are meant one may fail: what two others have free is none of their room."""
    path = tmp_path / "room.json"
    fields = {"nodes": TWO_AND_TWO, "quotas": list(quotas), "policy": SPARE}
    path.write_text(json.dumps({"apiVersion": "ullage.dev/v1", "kind": "Snapshot", **fields}))
    meant = Asked(str(path), namespace="shop" if quotas else "", selector=selector)
    (found,) = headroom(meant, HeadroomQuestion(("cpu=1",))).data()["workloads"]
    assert found["more"] == more
    assert status(meant).data()["total"]["ullage"]["cpu"] == str(more)


def test_what_asks_for_nodes_itself_counts_on_its_whole_group_as_the_scheduler_does(tmp_path):
    """`fit -l` judges workloads that ask for these nodes: by the policy their group keeps room as a whole."""
    path = tmp_path / "room.json"
    fields = {"nodes": TWO_AND_TWO, "policy": SPARE}
    path.write_text(json.dumps({"apiVersion": "ullage.dev/v1", "kind": "Snapshot", **fields}))
    meant = Asked(str(path), selector="zone=b")
    assert [fit(meant, FitQuestion(shape="cpu=1", replicas=count)).yes for count in (8, 9)] == [True, False]


def test_another_group_is_no_room_for_failover(tmp_path):
    nodes = [{**each, "group": "batch" if each["name"] == "a1" else "other"} for each in TWO_AND_TWO]
    layer = {"origin": "a test", "groups": {"batch": {"spare-nodes": "1"}}}
    path = tmp_path / "room.json"
    fields = {"nodes": nodes, "policy": {"name": "kubernetes", "layers": [layer]}}
    path.write_text(json.dumps({"apiVersion": "ullage.dev/v1", "kind": "Snapshot", **fields}))
    (found,) = headroom(Asked(str(path)), HeadroomQuestion(("cpu=1",))).data()["workloads"]
    assert {each["node"] for each in found["nodes"]} == {"a2", "b1", "b2"}
    (alone,) = headroom(Asked(str(path), selector="zone=a"), HeadroomQuestion(("cpu=1",))).data()["workloads"]
    assert {each["node"]: each["replicas"] for each in alone["nodes"]} == {"a2": 4}
