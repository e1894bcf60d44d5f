"""`ullage quota list|risk|replay|audit`: on the demo cluster and on examples, in every format."""

import json
import shutil

import pytest

from ullage.cli.options import FORMATS

ENDINGS = {"table": "txt", "wide": "wide.txt"}


@pytest.fixture
def beside_the_example(files, monkeypatch, tmp_path):
    shutil.copy(files / "quotas.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.parametrize("word", ["list", "risk", "audit"])
@pytest.mark.usefixtures("beside_the_example")
def test_every_format(ask, matches_golden, word, output):
    result = ask("quota", word, "-c", "quotas.yaml", "-o", output)
    assert (result.code, result.err) == (0, "")
    matches_golden(f"quota-{word}.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("word", ["list", "risk", "audit"])
def test_the_demo_as_people_read_it(ask, matches_golden, word, width):
    result = ask("quota", word, "-c", "demo", "--width", width)
    assert (result.code, result.err) == (0, "")
    assert max(len(each) for each in result.out.splitlines()) <= width
    matches_golden(f"quota-{word}-demo-{width}.txt", result.out)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.usefixtures("beside_the_example")
def test_in_mode_fair_as_people_read_it(ask, matches_golden, width):
    assert ask("policy", "set", "cluster", "quota-mode=fair", "--policy", "fair.yaml").code == 0
    result = ask("quota", "risk", "-c", "quotas.yaml", "--policy", "fair.yaml", "--width", width)
    assert (result.code, result.err) == (0, "")
    matches_golden(f"quota-risk-fair-{width}.txt", result.out)


def test_the_numbers_of_the_example(ask, files):
    report = json.loads(ask("quota", "list", "-c", files / "quotas.yaml", "-o", "json").out)
    assert (report["apiVersion"], report["kind"]) == ("ullage.dev/v1", "QuotaListReport")
    memory = "nos.nebuly.com/gpu-memory"
    assert {each["name"]: each["entitlement"][memory] for each in report["quotas"]} == {
        "team-a/quota": "55",
        "team-b/quota": "13",
        "team-c/quota": "41",
    }


def test_one_workload(ask, files):
    result = ask("quota", "risk", "pod/team-b/b3", "-c", files / "quotas.yaml")
    assert result.code == 0
    assert result.out.startswith(
        "team-b/b3 is number 2 of 3 to go: it goes when team-a/quota, team-c/quota claim more than"
    )
    assert ask("quota", "risk", "pod/b3", "-n", "team-b", "-c", files / "quotas.yaml").out == result.out


def test_a_difference_is_exit_code_two(ask, files, tmp_path):
    text = (files / "quotas.yaml").read_text(encoding="utf-8")
    changed = tmp_path / "changed.yaml"
    stated = 'status: {used: {nos.nebuly.com/gpu-memory: "40"}}'
    changed.write_text(text.replace(stated, stated.replace("40", "50"), 1), encoding="utf-8")
    result = ask("quota", "audit", "-c", changed)
    assert result.code == 2
    assert result.out.startswith("✗ 1 difference: use of 3 quotas and 8 labels compared")
    assert "its workloads add up to 40: 10 too much" in " ".join(result.out.split())
    assert ask("quota", "audit", "-c", changed, "--exit-zero").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("list", "-n", "nowhere"), "no namespace 'nowhere'"),
        (("risk", "node/n1"), "'node/n1' is no workload; write pod/NAMESPACE/NAME, or leave it out"),
        (("risk", "pod/nobody"), "no workload 'nobody'"),
        (("listt",), "no command 'listt'; did you mean 'list'?"),
    ],
)
def test_what_cannot_be_asked_is_one_line(ask, words, message):
    result = ask("quota", *words, "-c", "demo")
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert result.err.count("\n") == 1


@pytest.fixture
def beside_the_trace(files, monkeypatch, tmp_path):
    for name in ("trace.csv", "trace-cluster.yaml", "trace-quotas.yaml"):
        shutil.copy(files / name, tmp_path)
    monkeypatch.chdir(tmp_path)


REPLAY = ("quota", "replay", "trace.csv", "-c", "trace-cluster.yaml")


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.usefixtures("beside_the_trace")
def test_a_replay_in_every_format(ask, matches_golden, output):
    result = ask(*REPLAY, "--quotas", "trace-quotas.yaml", "-o", output)
    assert (result.code, result.err) == (0, "")
    matches_golden(f"quota-replay.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.usefixtures("beside_the_trace")
def test_a_replay_as_people_read_it(ask, matches_golden, width):
    result = ask(*REPLAY, "--quota-mode", "fair", "--run-min", 3600, "--width", width)
    assert (result.code, result.err) == (0, "")
    assert max(len(each) for each in result.out.splitlines()) <= width
    matches_golden(f"quota-replay-fair-{width}.txt", result.out)


@pytest.mark.usefixtures("beside_the_trace")
def test_a_replay_of_one_snapshot_is_a_record(ask):
    result = ask("quota", "replay", "trace-cluster.yaml", "--every", 60)
    assert (result.code, result.err) == (0, "")
    assert "taken as 60 s apart" in " ".join(result.out.split())


@pytest.mark.usefixtures("beside_the_trace")
def test_a_replay_of_nothing_is_one_line(ask):
    result = ask("quota", "replay", "-c", "trace-cluster.yaml")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("ullage: error: nothing to play; name a trace, or snapshots in order")
