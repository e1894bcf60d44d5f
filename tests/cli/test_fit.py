"""`ullage fit`: yes, no, resize, one shape; golden files in every format."""

import csv
import io
import json
import sys

import pytest

from ullage.cli.options import FORMATS

ENDINGS = {"table": "txt", "wide": "wide.txt"}


@pytest.mark.parametrize("output", FORMATS)
def test_a_mixed_answer_in_every_format(ask, files, matches_golden, output):
    result = ask("fit", "-c", "demo", "-f", files / "training.yaml", "-f", files / "shop.yaml", "-o", output)
    assert (result.code, result.err) == (2, "")
    matches_golden(f"fit.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize(
    "case",
    [
        ("yes", ("-f", "shop.yaml"), 0),
        ("resize", ("-f", "resize.yaml"), 0),
        ("atomic", ("-f", "training.yaml", "--atomic"), 2),
        ("replicas", ("-f", "shop.yaml", "--replicas", "100"), 2),
        ("shape", ("--shape", "cpu=2,memory=8Gi", "--replicas", "6"), 0),
        ("devices", ("--shape", "cpu=8,memory=64Gi,nvidia.com/gpu=4"), 2),
        ("unlimited", ("--shape", "cpu=2,memory=8Gi", "--policy", "zos"), 0),
    ],
    ids=lambda case: case[0],
)
@pytest.mark.parametrize("width", [80, 120])
def test_answers_as_people_read_them(ask, files, matches_golden, case, width):
    name, words, code = case
    line = [files / word if word.endswith(".yaml") else word for word in words]
    result = ask("fit", "-c", "demo", *line, "--width", width)
    assert (result.code, result.err) == (code, "")
    assert max(len(each) for each in result.out.splitlines()) <= width
    matches_golden(f"fit-{name}-{width}.txt", result.out)


def test_no_becomes_zero_where_that_is_wanted(ask, files):
    assert ask("fit", "-c", "demo", "-f", files / "training.yaml", "--exit-zero").code == 0


def test_json_says_what_the_table_says(ask, files):
    report = json.loads(ask("fit", "-c", "demo", "-f", files / "training.yaml", "-o", "json").out)
    assert (report["kind"], report["fits"]) == ("FitReport", False)
    by_name = {each["workload"]: each for each in report["outcomes"]}
    assert by_name["ml/training"]["placed"] == 0
    assert by_name["web/notes"]["placed"] == 2
    text = ask("fit", "-c", "demo", "-f", files / "training.yaml").out
    assert by_name["ml/training"]["refusal"]["remedy"] in " ".join(text.split())
    for step in report["plan"]["steps"]:
        assert step["toNode"] in text


def test_a_resize_counts_only_what_it_grows_by(ask, files):
    report = json.loads(ask("fit", "-c", "demo", "-f", files / "resize.yaml", "-o", "json").out)
    (outcome,) = report["outcomes"]
    assert outcome["action"] == "resize"
    assert outcome["held"] == {"cpu": "2", "memory": "6Gi", "pods": "1"}


def test_workloads_from_standard_input(ask, files, monkeypatch):
    given = io.TextIOWrapper(io.BytesIO((files / "shop.yaml").read_bytes()))
    monkeypatch.setattr(sys, "stdin", given)
    assert ask("fit", "-c", "demo", "-f", "-").code == 0


def test_a_folder_of_manifests(ask, files, tmp_path):
    for name in ("shop.yaml", "training.yaml"):
        (tmp_path / name).write_bytes((files / name).read_bytes())
    report = json.loads(ask("fit", "-c", "demo", "-f", tmp_path, "-o", "json").out)
    assert len(report["outcomes"]) == 4


def test_a_kind_of_ones_own_needs_the_path_of_its_template(ask, files, tmp_path):
    text = (
        (files / "shop.yaml").read_text().replace("apps/v1", "example.com/v1").replace("Deployment", "Shop")
    )
    (tmp_path / "shop.yaml").write_text(text)
    refused = ask("fit", "-c", "demo", "-f", tmp_path / "shop.yaml")
    assert refused.code == 1
    assert "--pod-template spec.template" in refused.err
    taken = ask("fit", "-c", "demo", "-f", tmp_path / "shop.yaml", "--pod-template", "spec.template")
    assert taken.code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--replicas", "2"), "--replicas is given without workloads"),
        (("-n", "nowhere"), "no namespace 'nowhere'"),
        (("-f", "shop.yaml", "--shape", "cpu=1"), "-f and --shape are both given"),
        (("-f", "missing.yaml"), "missing.yaml: cannot be read"),
        (("--shape", "cpu"), "--shape: 'cpu' is no resource with its amount"),
        (("--shape", "cpu=1,cpu=2"), "--shape: resource cpu is named twice"),
        (("--shape", "cpu=-1"), "--shape: cpu is -1"),
        (("--shape", "memory=8Gb"), "--shape: memory: quantity '8Gb'"),
        (("--shape", "gpu=1"), "--shape: resource name 'gpu'"),
        (("--replicas", "-1", "--shape", "cpu=1"), "invalid value for '--replicas'"),
    ],
)
def test_what_cannot_be_asked_is_one_line(ask, files, words, message):
    line = [files / word if word.endswith(".yaml") else word for word in words]
    result = ask("fit", "-c", "demo", *line)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("ullage: error: ")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_without_workloads_those_that_wait_are_judged(ask, matches_golden):
    result = ask("fit", "-c", "demo")
    assert (result.code, result.err) == (2, "")
    matches_golden("fit-waiting.txt", result.out)
    report = json.loads(ask("fit", "-c", "demo", "-n", "ml", "-o", "json").out)
    assert [each["workload"] for each in report["outcomes"]] == ["ml/finetune-0"]


def test_where_nothing_waits_it_is_said_how_to_ask(ask):
    result = ask("fit", "-c", "demo", "-n", "platform")
    assert (result.code, result.err) == (0, "")
    said = "nothing waits in namespace platform of demo; ask about workloads with -f FILE or --shape"
    assert said in " ".join(result.out.split())
    report = json.loads(ask("fit", "-c", "demo", "-n", "platform", "-o", "json").out)
    assert (report["fits"], list(report["outcomes"])) == (True, [])


def test_csv_of_nothing_that_waits_is_its_head_alone(ask):
    whole = ask("fit", "-c", "demo", "-o", "csv").out
    nothing = ask("fit", "-c", "demo", "-n", "platform", "-o", "csv")
    assert (nothing.code, nothing.err) == (0, "")
    assert nothing.out == whole.splitlines(keepends=True)[0]


def test_csv_holds_exact_amounts_that_can_be_asked_for_again(ask):
    shape = "cpu=1333m,memory=3000001Ki,pods=1"
    rows = list(csv.DictReader(io.StringIO(ask("fit", "-c", "demo", "--shape", shape, "-o", "csv").out)))
    assert rows[0]["requests"] == shape


def test_a_refusal_has_its_terms_in_json(ask):
    report = json.loads(ask("fit", "-c", "demo", "--shape", "memory=900Gi", "-o", "json").out)
    (outcome,) = report["outcomes"]
    assert not outcome["verdict"]["admitted"]
    terms = {each["resource"]: each for each in outcome["verdict"]["terms"]}
    assert terms["memory"]["promised"] == terms["memory"]["committed"]
