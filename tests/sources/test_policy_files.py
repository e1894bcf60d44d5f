import stat

import pytest

from builders import cluster, node, policy
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.sources.policies import load_policy, read_policy_file
from ullage.sources.policy_files import parse_target, policy_findings, save_policy_file, set_values

TYPES = ResourceTypes()


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "ours.yaml")


def test_a_new_file_inherits_the_profile_in_use(path):
    set_values(path, "cluster", {"memory-ratio": "1.5"}, TYPES, inherits="zos")
    content = read_policy_file(path).content
    assert (content.name, content.inherits, content.cluster) == ("ours", "zos", {"memory-ratio": "1.5"})
    assert [layer.origin for layer in load_policy(path, TYPES).layers] == ["profile zos", path]


def test_values_are_set_for_the_cluster_a_group_and_a_node(path):
    set_values(path, "cluster", {"spare-nodes": "1", "fill": "below"}, TYPES)
    set_values(path, "group/gpu", {"memory-ratio": "2"}, TYPES)
    set_values(path, "node/n1", {"swap": "8Gi"}, TYPES)
    changed = set_values(path, "cluster", {"spare-nodes": "2", "fill": None}, TYPES)
    assert changed == read_policy_file(path).content
    assert changed.cluster == {"spare-nodes": "2"}
    assert changed.groups == {"gpu": {"memory-ratio": "2"}}
    assert changed.nodes == {"n1": {"swap": "8Gi"}}


def test_a_group_without_settings_is_removed(path):
    set_values(path, "group/gpu", {"memory-ratio": "2"}, TYPES)
    assert set_values(path, "group/gpu", {"memory-ratio": None}, TYPES).groups == {}


def test_what_the_file_says_beside_settings_is_kept(path, tmp_path):
    (tmp_path / "ours.yaml").write_text(
        "apiVersion: ullage.dev/v1\nkind: Policy\nname: site\ndescription: For the lab.\ninherits: ganeti\n",
        encoding="utf-8",
    )
    changed = set_values(path, "cluster", {"spare-nodes": "1"}, TYPES, inherits="zos")
    assert (changed.name, changed.description, changed.inherits) == ("site", "For the lab.", "ganeti")


def test_a_json_file_stays_json(tmp_path):
    path = tmp_path / "ours.json"
    path.write_text('{"apiVersion": "ullage.dev/v1", "kind": "Policy"}', encoding="utf-8")
    set_values(str(path), "cluster", {"spare-nodes": "1"}, TYPES)
    assert path.read_text(encoding="utf-8").startswith('{\n  "apiVersion"')


def test_the_file_is_its_owners(path, tmp_path):
    set_values(path, "cluster", {"spare-nodes": "1"}, TYPES)
    assert stat.S_IMODE((tmp_path / "ours.yaml").stat().st_mode) == 0o600


BAD = {
    "an unknown setting": ("cluster", {"memory-rato": "2"}, "setting 'memory-rato' is unknown"),
    "a bad value": ("cluster", {"memory-ratio": "-1"}, "'-1' is no number"),
    "one bad value among good ones": ("cluster", {"spare-nodes": "1", "fill": "full"}, "'full' is none of"),
    "an unknown target": (
        "rack/r1",
        {"spare-nodes": "1"},
        "policy target 'rack/r1' is unknown; write cluster,",
    ),
    "a group without a name": ("group/", {"spare-nodes": "1"}, "policy target 'group/' is unknown"),
    "a cluster with a name": ("cluster/x", {"spare-nodes": "1"}, "policy target 'cluster/x' is unknown"),
    "removing what is not set": ("node/n1", {"swap": None}, "swap is not set for node/n1"),
    "removing what the cluster does not set": ("cluster", {"swap": None}, "swap is not set for the cluster"),
}


@pytest.mark.parametrize(("target", "changes", "said"), BAD.values(), ids=BAD)
def test_a_bad_change_writes_nothing(path, tmp_path, target, changes, said):
    with pytest.raises(InputError) as raised:
        set_values(path, target, changes, TYPES)
    assert said in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_profile_cannot_be_changed():
    with pytest.raises(
        InputError, match="profile zos is built in; name a file, for example --policy zos-ours"
    ):
        set_values("zos", "cluster", {"spare-nodes": "1"}, TYPES)


def test_a_target_is_a_scope_and_a_name():
    assert parse_target("cluster") == ("cluster", "")
    assert parse_target("group/g/1") == ("group", "g/1")
    assert parse_target("node/n1") == ("node", "n1")


def test_a_policy_is_saved_as_it_is_read(path, tmp_path):
    set_values(path, "cluster", {"spare-nodes": "1"}, TYPES)
    content = read_policy_file(path).content
    save_policy_file(str(tmp_path / "copy.yaml"), content)
    assert read_policy_file(str(tmp_path / "copy.yaml")).content == content


def test_a_good_policy_has_no_findings():
    snapshot = cluster(node("n1").in_group("gpu"))
    good = policy(groups={"gpu": {"cpu-ratio": "2"}}, nodes={"n1": {"swap": "1Gi"}}, memory_ratio="1.5")
    assert policy_findings(good, TYPES, snapshot) == []


def test_findings_name_settings_that_mean_nothing_and_names_that_are_not_there():
    snapshot = cluster(node("n1").in_group("gpu"))
    bad = policy(
        groups={"gpus": {"cpu-ratio": "2"}}, nodes={"n2": {"swap": "lots"}}, name="ours.yaml", memory_rato="2"
    )
    found = policy_findings(bad, TYPES, snapshot)
    assert [(each.code, each.severity, each.subject) for each in found] == [
        ("policy-setting", "error", "cluster"),
        ("policy-setting", "error", "node/n2"),
        ("policy-group", "warning", "group/gpus"),
        ("policy-node", "warning", "node/n2"),
    ]
    assert found[0].message == "ours.yaml: cluster: memory-rato: setting 'memory-rato' is unknown"
    assert found[2].message == "ours.yaml: group/gpus: the cluster has no such group"
    assert all(each.remedy for each in found)


def test_without_a_cluster_only_settings_are_judged():
    assert policy_findings(policy(nodes={"n2": {"swap": "1Gi"}}), TYPES) == []


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"groups": {"gpu": {"quota-mode": "nos"}}}, [("group/gpu", "set it for the cluster")]),
        ({"nodes": {"n1": {"admission-order": "a b"}}}, [("node/n1", "set it for the cluster")]),
        ({"nodes": {"n1": {"spare-nodes": "1"}}}, [("node/n1", "set it for a group or the cluster")]),
        ({"groups": {"gpu": {"spare-nodes": "1"}}}, []),
        ({"groups": {"gpu": {"gpu-memory": "80"}}}, []),
        ({"gpu_memory": "16", "spare_nodes": "1"}, []),
    ],
)
def test_a_setting_at_a_level_where_it_has_no_effect_is_a_finding(settings, found):
    snapshot = cluster(node("n1").in_group("gpu"))
    findings = policy_findings(policy(**settings), TYPES, snapshot)
    assert [(each.subject, each.remedy) for each in findings] == found
    assert {each.code for each in findings} <= {"policy-level"}
