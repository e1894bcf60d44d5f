"""Which rules apply, changing them, and checking them."""

import pytest

from builders import BUILT_IN_TYPES, cluster, node, policy
from ullage.model.errors import InputError
from ullage.model.policy import PROFILE_NAMES
from ullage.model.settings import default_settings
from ullage.service.asked import Asked
from ullage.service.policy import (
    check_policy,
    check_policy_of,
    list_profiles,
    parse_changes,
    set_policy,
    show_policy,
    show_policy_of,
)

OURS = policy(
    {"gpu": {"memory-ratio": "1.2"}}, {"a": {"memory-ratio": "1.1"}}, name="ours", memory_ratio="1.5"
)


@pytest.fixture(scope="module")
def two():
    return cluster(node("a").in_group("gpu"), node("b").in_group("gpu"), policy=OURS, name="two")


@pytest.mark.parametrize(
    ("target", "value", "origin"),
    [
        ("cluster", "1.5", "ours"),
        ("group/gpu", "1.2", "ours, group gpu"),
        ("node/a", "1.1", "ours, node a"),
        ("node/b", "1.2", "ours, group gpu"),
    ],
)
def test_the_nearest_level_wins(two, asked, target, value, origin):
    report = show_policy_of(OURS, BUILT_IN_TYPES, two, target, asked).data()
    found = {each["key"]: each for each in report["settings"]}["memory-ratio"]
    assert (found["value"], found["origin"]) == (value, origin)
    assert found["meaning"] == "how far memory may be promised beyond what is allocatable"


def test_every_setting_is_shown_those_of_users_first(asked):
    report = show_policy(Asked(policy="zos"), "cluster").data()
    keys = [each["key"] for each in report["settings"]]
    assert set(default_settings()) <= set(keys)
    origins = [each["origin"] for each in report["settings"]]
    assert origins == sorted(origins, key=lambda origin: origin == "default")
    mine = show_policy_of(OURS, BUILT_IN_TYPES, None, "cluster", asked).data()
    assert mine["settings"][0]["key"] == "memory-ratio"


def test_a_node_that_the_cluster_does_not_have_is_refused(two, asked):
    with pytest.raises(InputError, match="no node 'c'"):
        show_policy_of(OURS, BUILT_IN_TYPES, two, "node/c", asked)
    assert show_policy_of(OURS, BUILT_IN_TYPES, None, "node/c", asked).data()["target"] == "node/c"


def test_every_profile_is_listed_with_what_it_is():
    profiles = list_profiles().data()["profiles"]
    assert [each["name"] for each in profiles] == list(PROFILE_NAMES)
    assert all(len(each["description"]) > 20 for each in profiles)


def test_changes_are_words_with_an_equals_sign():
    assert parse_changes(["memory-ratio=1.5", "swap="]) == {"memory-ratio": "1.5", "swap": None}
    assert parse_changes(["memory-reserve=10%, at least 2Gi"]) == {"memory-reserve": "10%, at least 2Gi"}


def test_a_new_file_inherits_the_policy_of_the_cluster(tmp_path):
    document = tmp_path / "cluster.yaml"
    document.write_text(
        "apiVersion: ullage.dev/v1\nkind: Snapshot\npolicy: {name: zos}\nnodes: [{name: a}]\n"
    )
    path = tmp_path / "ours.yaml"
    answer = set_policy("node/a", ["memory-reserve=1Gi"], Asked(str(document), str(path)))
    assert "inherits: zos" in path.read_text()
    assert answer.data()["layers"][0] == "profile zos"
    with pytest.raises(InputError, match="no node 'b'"):
        set_policy("node/b", ["memory-reserve=1Gi"], Asked(str(document), str(path)))


def test_a_policy_is_checked_whole(two, asked):
    assert check_policy_of(OURS, BUILT_IN_TYPES, two, asked).yes
    wrong = policy(groups={"x": {"swap": "1Gi"}}, memory_ratio="2000000", colour="blue")
    answer = check_policy_of(wrong, BUILT_IN_TYPES, two, asked)
    assert not answer.yes
    assert len(answer.data()["findings"]) == 3


def test_a_check_needs_something_to_check():
    with pytest.raises(InputError, match="no policy is named"):
        check_policy(Asked())


def test_the_policy_of_a_snapshot_can_be_checked(tmp_path):
    document = tmp_path / "cluster.yaml"
    document.write_text("apiVersion: ullage.dev/v1\nkind: Snapshot\nnodes: [{name: a}]\n")
    assert check_policy(Asked(str(document))).yes


def test_without_a_cluster_the_group_of_a_node_is_not_known(read):
    alone = show_policy(Asked(policy="zos"), "node/n1")
    (left_aside,) = alone.data()["notSimulated"]
    assert left_aside.startswith("the settings of node n1's group")
    assert "Not simulated: the settings of node n1's group" in read(alone)
    assert not show_policy(Asked(policy="zos"), "group/gpu").data()["notSimulated"]
    assert not show_policy(Asked("demo", "zos"), "node/n1").data()["notSimulated"]
