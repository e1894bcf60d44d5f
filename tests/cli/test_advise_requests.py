"""`ullage advise requests` on the demo cluster: in every format, its patches, and what it refuses."""

import json
from pathlib import Path

import pytest
import yaml

from ullage.cli.options import FORMATS

ENDINGS = {"table": "txt", "wide": "wide.txt"}
ROOT = Path(__file__).resolve().parents[2]
GROWING = {"platform/StatefulSet/metrics", "web/ReplicaSet/api"}
LINE = ("advise", "requests", "-c", "demo", "--usage", "examples/usage.csv")


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("output", FORMATS)
def test_advice_in_every_format(ask, matches_golden, output):
    result = ask(*LINE, "-o", output)
    assert (result.code, result.err) == (0, "")
    matches_golden(f"advise-requests.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize("width", [80, 120])
def test_advice_fits_the_terminal(ask, matches_golden, width):
    result = ask(*LINE, "--width", width)
    assert max(len(each) for each in result.out.splitlines()) <= width
    matches_golden(f"advise-requests-{width}.txt", result.out)


def test_patches_are_yaml_unless_json_is_asked_for(ask):
    patches = list(yaml.safe_load_all(ask(*LINE, "--patch", "-q").out))
    assert [each["kind"] for each in patches] == ["StatefulSet", "ReplicaSet"]
    (patch,) = yaml.safe_load_all(ask(*LINE, "api", "--patch", "-q").out)
    assert (patch, patch["metadata"]) == (patches[1], {"name": "api", "namespace": "web"})
    (container,) = patch["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {"memory": "8720Mi"}
    assert json.loads(ask(*LINE, "api", "--patch", "-q", "-o", "json").out) == patch


def test_several_patches_as_json_are_one_list(ask):
    found = json.loads(ask(*LINE, "--patch", "-q", "-o", "json").out)
    assert (found["apiVersion"], found["kind"]) == ("v1", "List")
    assert found["items"] == list(yaml.safe_load_all(ask(*LINE, "--patch", "-q").out))


def test_what_has_no_patch_is_noted(ask):
    assert "1 without a patch: the template of a Job cannot be changed" in ask(*LINE, "--patch").err


def test_removing_limits_is_noted(ask):
    result = ask(*LINE, "api", "--cpu-limits", "remove", "--patch")
    assert "cpu: null" in result.out
    assert "`kubectl patch` understands and `kubectl apply` does not" in result.err


@pytest.mark.parametrize(
    ("words", "advised"),
    [
        ((), {"batch/Job/etl", *GROWING}),
        (("-n", "web"), {"web/ReplicaSet/api"}),
        (("Job/etl",), {"batch/Job/etl"}),
        (("etl", "web/replicaset/api"), {"batch/Job/etl", "web/ReplicaSet/api"}),
        (("--only-growth",), GROWING),
        (("--min-days", "30"), GROWING),
        (("--min-saving", "60"), GROWING),
    ],
)
def test_what_is_advised_can_be_chosen(ask, words, advised):
    report = json.loads(ask(*LINE, *words, "-o", "json").out)
    assert {each["workload"] for each in report["workloads"] if each["changes"]} == advised


def test_a_name_that_nobody_has_is_refused_with_the_nearest(ask):
    result = ask(*LINE, "replicaset/appi")
    assert result.code == 1
    assert "no workload 'replicaset/appi'" in result.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--cpu-percentile", "101"), "not in the range 1<=x<=100"),
        (("--memory-margin", "-1"), "not in the range 0<=x<=1000"),
        (("--shape", "cpu"), "cpu"),
        (("-n", "nowhere"), "no namespace 'nowhere'"),
    ],
)
def test_bad_options_are_refused(ask, words, said):
    result = ask(*LINE, *words)
    assert result.code == 1
    assert said in result.err


def test_without_usage_it_says_how_to_get_some(ask):
    result = ask("advise", "requests", "-c", "demo")
    assert result.code == 1
    assert "nothing was observed" in result.err
