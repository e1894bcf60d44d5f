"""The cluster that is meant, and the policy that applies to it."""

import json
from fractions import Fraction

import pytest

from builders import cluster, entry, node, pod, policy, waiting
from ullage.model.errors import InputError
from ullage.model.ledger import Capacity, Hold, Reserve, Supply, Together
from ullage.model.policy import Layer, Policy
from ullage.model.resources import Resources, ResourceType, ResourceTypes
from ullage.model.settings import rules_for
from ullage.service.asked import (
    Asked,
    policy_for,
    read_as_it_is,
    read_cluster,
    read_types,
    read_whole,
    selected,
    standing,
    unknown,
    with_types,
)
from ullage.service.ledger_file import submitted


@pytest.fixture
def no_kubeconfig(monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


@pytest.mark.usefixtures("no_kubeconfig")
def test_without_a_cluster_the_demo_is_offered():
    with pytest.raises(InputError, match="ullage status -c demo"):
        read_cluster(Asked())


def test_without_a_cluster_the_current_kube_context_is_meant(tmp_path, monkeypatch):
    path = tmp_path / "config"
    path.write_text("current-context: here\n", encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", str(path))
    with pytest.raises(InputError, match=f"{path}: the current context 'here' is not there"):
        read_cluster(Asked())
    with pytest.raises(InputError, match=f"{path}: no context 'there'"):
        read_cluster(Asked(context="there"))


def test_the_user_beats_the_snapshot_which_beats_the_source():
    own = cluster(node("a"), policy=policy(name="own"))
    bare = cluster(node("a"), policy=Policy())
    assert policy_for("zos", own, "kubernetes").name == "zos"
    assert policy_for("", own, "kubernetes").name == "own"
    assert policy_for("", bare, "ganeti").name == "ganeti"


def test_a_snapshot_without_a_name_is_called_as_its_file(tmp_path):
    path = tmp_path / "ours.yaml"
    path.write_text("apiVersion: ullage.dev/v1\nkind: Snapshot\nnodes: [{name: a}]\n")
    assert read_whole(Asked(str(path))).name == "ours.yaml"


def test_a_selector_keeps_nodes_what_runs_there_and_what_waits():
    whole = cluster(
        node("a", cpu="1").labelled({"zone": "x"}).holding(pod("in")),
        node("b", cpu="1").labelled({"zone": "y"}).holding(pod("out")),
        waiting("later"),
    )
    part = selected(whole, "zone=x")
    assert list(part.nodes.keys()) == ["a"]
    assert list(part.workloads.keys()) == ["in", "later"]
    assert selected(whole, "") is whole


def test_the_next_command_asks_the_same_cluster_again():
    assert Asked("demo").command("status") == "ullage status -c demo"
    assert Asked("my dump.json", "zos").command("status") == "ullage status -c 'my dump.json' --policy zos"
    assert Asked().command("inspect") == "ullage inspect"
    live = Asked("kube", context="a b", kubeconfig="config", as_user="me")
    assert live.command("status") == "ullage status -c kube --context 'a b' --kubeconfig config --as me"


def test_the_cluster_under_its_own_policy_is_the_same_cluster():
    asked = Asked("kube", "zos", "team", "a=b", ("types.yaml",), "prod", "config", "me")
    own = Asked("kube", types=("types.yaml",), context="prod", kubeconfig="config", as_user="me")
    assert asked.under_own_policy() == own


def test_an_unknown_name_offers_the_nearest():
    assert str(unknown("node", "g2", ["g1", "a1"])) == "no node 'g2'; did you mean g1?"
    assert str(unknown("node", "zzz", ["g1", "a1"])) == "no node 'zzz'; did you mean a1 or g1?"
    assert str(unknown("node", "x", [])) == "no node 'x'; the cluster has none"


def test_types_that_come_too_late_are_refused():
    held = cluster(node("a", {"example.com/licences": "20"}), name="old")
    finer = ResourceTypes([ResourceType("example.com/licences", internal_scale_exponent=3)])
    with pytest.raises(InputError, match=r"--types: old counts .* in other steps already"):
        with_types(held, finer)
    coarser = ResourceTypes([ResourceType("example.com/licences", quantization=5)])
    assert with_types(held, coarser).resource_types == coarser
    assert with_types(held, ResourceTypes()) is held


def test_types_may_be_given_in_the_bare_form(tmp_path):
    bare = tmp_path / "bare.yaml"
    bare.write_text("resourceTypes:\n  - {name: example.com/licences, units: seat, quantization: 5}\n")
    (added,) = read_types([str(bare)]).added()
    assert (added.name, added.units, added.quantization) == ("example.com/licences", "seat", 5)


def test_what_a_source_states_holds_under_a_policy_that_the_user_names(tmp_path):
    written = tmp_path / "policy.yaml"
    written.write_text(
        "apiVersion: ullage.dev/v1\nkind: Policy\nname: mine\ninherits: ganeti\ncluster: {swap: 8Gi}\n"
    )
    stated = Layer("cluster", cluster={"memory-ratio": "1.5"}, stated=True)
    mine = Layer("of the snapshot", cluster={"memory-ratio": "3"})
    snapshot = cluster(node("n1", memory="1Gi"), policy=Policy("ganeti", (stated, mine)))
    rules = rules_for(policy_for(str(written), snapshot, ""), snapshot.resource_types)
    assert (rules.ratio("memory"), rules.swap_bytes) == (Fraction(3, 2), 8 << 30)
    assert rules_for(policy_for("zos", snapshot, ""), snapshot.resource_types).ratio("memory") == Fraction(
        3, 2
    )


def test_questions_see_promises_and_others_the_cluster_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("ULLAGE_NOW", "1")
    room = {"nodes": [{"name": "n1", "capacity": {"cpu": "4"}}]}
    path, ledger = tmp_path / "room.json", tmp_path / "ledger.db"
    path.write_text(json.dumps({"apiVersion": "ullage.dev/v1", "kind": "Snapshot", **room}))
    held = Resources({"cpu": 1000})
    commands = (
        Supply((Capacity("node/n1", held),)),
        Reserve("r", "shop/a", 9, holds=(Hold("compute", "node/n1", held),)),
    )
    submitted(ledger, Together(commands), at_seconds=1, create=True)
    asked = Asked(str(path), ledger=str(ledger))
    assert [each.key for each in read_cluster(asked).workloads] == ["shop/a"]
    assert not len(read_as_it_is(asked).workloads)
    assert asked.command("status").endswith(f"--ledger {ledger}")


@pytest.mark.parametrize(
    ("taken_seconds", "now", "left"),
    [
        (None, "50", ["ends-60", "open"]),
        (None, "60", ["open"]),
        (70, "50", ["open"]),
        (59, "99", ["ends-60", "open"]),
    ],
)
def test_reservations_of_a_snapshot_end_at_their_time(monkeypatch, taken_seconds, now, left):
    monkeypatch.setenv("ULLAGE_NOW", now)
    made = cluster(
        node("a"),
        entry("open", "node/a"),
        entry("ends-60", "node/a", expires_seconds=60),
        taken_seconds=taken_seconds,
    )
    assert sorted(each.reservation for each in standing(made).reservations) == left
