"""Policy: the nearest level wins, then the later layer, and every setting says where it comes from."""

import pytest

from ullage.model.errors import InputError
from ullage.model.policy import PROFILE_NAMES, Effective, Layer, Policy, changed_layer, effective_settings

BASE = Layer(
    "profile zos",
    built_in=True,
    cluster={"fill": "below", "memory-ratio": "1"},
    groups={"g1": {"memory-ratio": "2"}},
    nodes={"n1": {"memory-ratio": "3"}},
)
OWN = Layer("site.yaml", cluster={"memory-ratio": "4"}, nodes={"n2": {"memory-ratio": "5"}})


def memory_ratio(policy, group="", node=""):
    return effective_settings(policy, group, node)["memory-ratio"]


def test_the_profiles_are_these():
    assert PROFILE_NAMES == ("kubernetes", "ganeti", "htools", "zos", "nos", "csi-baremetal")
    assert Policy() == Policy("kubernetes", ())


@pytest.mark.parametrize(
    ("group", "node", "text", "origin"),
    [
        ("", "", "1", "profile zos"),
        ("g1", "", "2", "profile zos, group g1"),
        ("g2", "", "1", "profile zos"),
        ("g1", "n1", "3", "profile zos, node n1"),
        ("", "n1", "3", "profile zos, node n1"),
        ("g1", "n2", "2", "profile zos, group g1"),
        ("g2", "n2", "1", "profile zos"),
        ("n1", "g1", "1", "profile zos"),
    ],
)
def test_a_node_overrides_its_group_and_a_group_the_cluster(group, node, text, origin):
    assert memory_ratio(Policy("p", (BASE,)), group, node) == Effective(text, origin, built_in=True)


@pytest.mark.parametrize(
    ("group", "node", "expected"),
    [
        ("", "", Effective("4", "site.yaml", built_in=False)),
        ("g1", "", Effective("2", "profile zos, group g1", built_in=True)),
        ("g1", "n1", Effective("3", "profile zos, node n1", built_in=True)),
        ("g1", "n2", Effective("5", "site.yaml, node n2", built_in=False)),
    ],
)
def test_a_nearer_level_wins_over_a_later_layer_and_within_a_level_the_later_layer(group, node, expected):
    policy = Policy("p", (BASE, OWN))
    assert memory_ratio(policy, group, node) == expected
    assert effective_settings(policy, group, node)["fill"] == Effective("below", "profile zos", built_in=True)


def test_of_three_layers_the_last_that_speaks_wins_at_each_level():
    layers = tuple(
        Layer(name, cluster={"a": name}, groups={"g": {"b": name}}, nodes={"n": {"c": name}})
        for name in ("first", "second", "third")
    )
    quiet = Layer("quiet")
    assert effective_settings(Policy("p", (*layers, quiet)), "g", "n") == {
        "a": Effective("third", "third", built_in=False),
        "b": Effective("third", "third, group g", built_in=False),
        "c": Effective("third", "third, node n", built_in=False),
    }


def test_a_policy_without_layers_sets_nothing():
    assert effective_settings(Policy(), "g", "n") == {}


def test_a_layer_is_put_over_the_others():
    policy = Policy("p", (BASE,))
    assert policy.with_layer(OWN) == Policy("p", (BASE, OWN))
    assert policy == Policy("p", (BASE,))


def test_settings_of_the_cluster_are_set_and_removed_in_order():
    changed = changed_layer(BASE, "cluster", "", {"swap": "0", "fill": None, "absent": None})
    assert changed.cluster == {"memory-ratio": "1", "swap": "0"}
    assert (changed.origin, changed.built_in) == ("profile zos", True)
    assert (changed.groups, changed.nodes) == (BASE.groups, BASE.nodes)
    added = changed_layer(OWN, "cluster", "ignored", {"a": "1"})
    assert list(added.cluster) == ["a", "memory-ratio"]
    assert (added.built_in, added.nodes) == (False, OWN.nodes)


def test_settings_of_a_group_are_set_beside_those_of_others():
    changed = changed_layer(BASE, "group", "a", {"x": "1"})
    assert changed.groups == {"a": {"x": "1"}, "g1": {"memory-ratio": "2"}}
    assert list(changed.groups) == ["a", "g1"]
    assert (changed.origin, changed.built_in) == ("profile zos", True)
    assert (changed.cluster, changed.nodes) == (BASE.cluster, BASE.nodes)
    assert changed_layer(changed, "group", "g1", {"x": "2"}).groups == {
        "a": {"x": "1"},
        "g1": {"memory-ratio": "2", "x": "2"},
    }
    assert BASE.groups == {"g1": {"memory-ratio": "2"}}


def test_settings_of_a_node_are_set_beside_those_of_others():
    changed = changed_layer(BASE, "node", "a", {"x": "1"})
    assert changed.nodes == {"a": {"x": "1"}, "n1": {"memory-ratio": "3"}}
    assert list(changed.nodes) == ["a", "n1"]
    assert (changed.origin, changed.built_in) == ("profile zos", True)
    assert (changed.cluster, changed.groups) == (BASE.cluster, BASE.groups)
    assert changed_layer(BASE, "node", "n1", {"memory-ratio": "9"}).nodes == {"n1": {"memory-ratio": "9"}}


def test_a_group_or_node_without_settings_left_is_gone():
    assert changed_layer(BASE, "group", "g1", {"memory-ratio": None}).groups == {}
    assert changed_layer(BASE, "node", "n1", {"memory-ratio": None}).nodes == {}
    assert changed_layer(BASE, "node", "n7", {"memory-ratio": None}).nodes == BASE.nodes


@pytest.mark.parametrize(("scope", "name"), [("group", ""), ("node", ""), ("rack", "r1"), ("", "n1")])
def test_a_target_is_the_cluster_a_named_group_or_a_named_node(scope, name):
    with pytest.raises(InputError) as refused:
        changed_layer(BASE, scope, name, {"x": "1"})
    assert str(refused.value) == (
        f"policy target {scope}/{name} is unknown; write cluster, group/NAME or node/NAME"
    )
