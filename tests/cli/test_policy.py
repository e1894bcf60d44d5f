"""`ullage policy show|set|check`."""

import json

import pytest

ENDINGS = {"table": "txt", "wide": "wide.txt"}


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml", "csv", "md"])
def test_the_rules_of_a_node_in_every_format(ask, matches_golden, output):
    result = ask("policy", "show", "node/n3", "-c", "demo", "-o", output)
    assert (result.code, result.err) == (0, "")
    matches_golden(f"policy-show.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("list", ("show", "--list")),
        ("profile", ("show", "--policy", "zos")),
        ("check", ("check", "--policy", "zos")),
    ],
)
def test_as_people_read_it(ask, matches_golden, name, words):
    result = ask("policy", *words)
    assert (result.code, result.err) == (0, "")
    matches_golden(f"policy-{name}.txt", result.out)


def test_the_nearest_level_wins_and_is_named(ask, files):
    report = json.loads(ask("policy", "show", "group/gpu", "--policy", files / "ours.yaml", "-o", "json").out)
    settings = {each["key"]: each for each in report["settings"]}
    assert settings["memory-ratio"]["value"] == "1"
    assert settings["memory-ratio"]["origin"].endswith("ours.yaml, group gpu")
    assert settings["cpu-ratio"]["origin"] == "profile kubernetes"
    assert report["settings"][0]["key"] == "memory-ratio"


def test_setting_writes_the_file_and_removing_takes_it_out_again(ask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = ask("policy", "set", "group/gpu", "memory-ratio=1.5", "--policy", "ours.yaml")
    assert written.code == 0
    assert written.out.startswith("✓ wrote memory-ratio=1.5 for group/gpu to ours.yaml\n")
    assert "1.5" in (tmp_path / "ours.yaml").read_text()
    assert ask("policy", "set", "group/gpu", "memory-ratio=", "--policy", "ours.yaml").code == 0
    assert "1.5" not in (tmp_path / "ours.yaml").read_text()


def test_a_refused_setting_leaves_the_file_alone(ask, tmp_path):
    path = tmp_path / "ours.yaml"
    ask("policy", "set", "cluster", "memory-ratio=1.5", "--policy", path)
    before = path.read_bytes()
    result = ask("policy", "set", "cluster", "memory-ratio=2000000", "--policy", path)
    assert result.code == 1
    assert "ratio 2000000 is above" in result.err
    assert path.read_bytes() == before


def test_a_check_lists_every_problem(ask, files):
    result = ask("policy", "check", "--policy", files / "broken.yaml")
    assert result.code == 2
    assert "✗ policy broken has 2 problems" in result.out
    assert "memory-ratio" in result.out
    assert "colour" in result.out


OBJECT = """\
apiVersion: ullage.dev/v1
kind: CapacityPolicy
metadata: {{name: ours}}
spec: {spec}
"""


def checked(ask, tmp_path, spec: str, *words: str):
    path = tmp_path / "policy.yaml"
    path.write_text(OBJECT.format(spec=spec), encoding="utf-8")
    return ask("policy", "check", "--policy", path, "-o", "json", *words)


def test_an_object_of_a_cluster_is_checked_before_it_is_applied(ask, tmp_path):
    spec = '{inherits: kubernetes, cluster: {memory-ratio: "0.9"}, groups: {batch: {spare-nodes: 1}}}'
    result = checked(ask, tmp_path, spec)
    assert (result.code, json.loads(result.out)["settings"]) == (0, 2)
    shown = ask("policy", "check", "--policy", tmp_path / "policy.yaml").out
    assert "✓ policy ours can be used: 2 settings, all understood" in shown
    assert "Next: kubectl apply -f " in shown
    (found,) = json.loads(checked(ask, tmp_path, spec, "-c", "demo").out)["findings"]
    assert found["message"] == "CapacityPolicy ours: group/batch: the cluster has no such group"


WRONG_OBJECTS = {
    "a value of a group": ("{groups: {b: {spare-nodes: -1}}}", "spec.groups.b.spare-nodes: "),
    "a file": ("{inherits: /etc/passwd}", "spec.inherits: '/etc/passwd' is no profile"),
    "a field": ("{clusters: {memory-ratio: 1}}", "spec.clusters: a policy has no field 'clusters'"),
    "a form": ("{cluster: 5}", "spec.cluster: expected a mapping"),
}


@pytest.mark.parametrize(("spec", "why"), WRONG_OBJECTS.values(), ids=WRONG_OBJECTS)
def test_what_is_wrong_with_an_object_is_told_with_where_it_stands(ask, tmp_path, spec, why):
    result = checked(ask, tmp_path, spec)
    (found,) = json.loads(result.out)["findings"]
    assert (result.code, found["severity"]) == (2, "error")
    assert found["message"].startswith(f"CapacityPolicy ours: {why}")


def test_objects_of_one_name_and_of_none_are_refused(ask, tmp_path):
    path = tmp_path / "policy.yaml"
    one = OBJECT.format(spec="{}")
    path.write_text(f"{one}---\n{one}", encoding="utf-8")
    assert "CapacityPolicy ours is there twice" in ask("policy", "check", "--policy", path).err
    path.write_text(one.replace("{name: ours}", "{}"), encoding="utf-8")
    assert "metadata" in ask("policy", "check", "--policy", path).err


def test_a_check_with_a_cluster_finds_names_that_it_does_not_have(ask, files):
    assert ask("policy", "check", "--policy", files / "ours.yaml").code == 0
    result = ask("policy", "check", "--policy", files / "ours.yaml", "-c", "demo")
    assert result.code == 2
    assert "node/n99" in result.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show",), "no policy is named"),
        (("check",), "no policy is named"),
        (("show", "--policy", "missing.yaml"), "policy 'missing.yaml' is neither a profile nor a file"),
        (("show", "rack/1", "--policy", "zos"), "'rack/1' is no target"),
        (("show", "node/n99", "-c", "demo"), "no node 'n99'"),
        (("show", "group/gpus", "-c", "demo"), "no group 'gpus'; did you mean gpu"),
        (("set", "cluster", "memory-ratio=2"), "no policy file is named"),
        (("set", "cluster", "memory-ratio=2", "--policy", "zos"), "profile zos is built in"),
        (("set", "cluster", "memory-ratio", "--policy", "x.yaml"), "'memory-ratio' is no setting"),
        (("set", "cluster", "a=1", "a=2", "--policy", "x.yaml"), "a is given twice"),
        (("set", "cluster", "--policy", "x.yaml"), "missing argument"),
        (("shwo",), "did you mean 'show'?"),
    ],
)
def test_what_cannot_be_done_is_one_line(ask, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    result = ask("policy", *words)
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert result.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_alone_it_shows_its_help(ask):
    result = ask("policy")
    assert result.code == 0
    assert "Usage: ullage policy" in result.out
