"""`ullage advise ratio`: on the demo cluster, in every format, and what it refuses."""

import json

import pytest

from ullage.cli.options import FORMATS


@pytest.mark.parametrize("output", FORMATS)
def test_every_format_has_the_advice(ask, output):
    result = ask(
        "advise", "ratio", "-c", "demo", "--usage", "examples/usage.csv", "--group", "gpu", "-o", output
    )
    assert (result.code, result.err) == (0, "")
    assert "1.2" in result.out


def test_a_ratio_of_now_above_the_stated_risk_is_a_no(ask):
    result = ask("advise", "ratio", "-c", "demo", "--usage", "examples/usage.csv", "-o", "json")
    report = json.loads(result.out)
    assert (result.code, report["kind"], report["risk"]) == (2, "RatioReport", 0.001)
    assert {each["group"]: each["ratio"] for each in report["groups"]} == {"general": "1", "gpu": "1.2"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--risk", "2"), "2.0 is not in the range"),
        (("--group", "nobody"), "no group 'nobody'"),
        ((), "nothing was observed"),
    ],
)
def test_what_makes_no_sense_is_refused(ask, words, expected):
    usage = () if not words else ("--usage", "examples/usage.csv")
    result = ask("advise", "ratio", "-c", "demo", *usage, *words)
    assert result.code == 1
    assert expected in result.err


def test_balance_by_load_shows_its_term(ask, tmp_path):
    policy = tmp_path / "ours.yaml"
    ask("policy", "set", "group/gpu", "memory-ratio=1.4", "--policy", policy)
    words = ("balance", "-c", "demo", "--policy", policy, "--group", "gpu", "-o", "json")
    plain, loaded = ask(*words), ask(*words, "--by-load", "--usage", "examples/usage.csv")
    (group,) = json.loads(loaded.out)["groups"]
    term = next(each for each in group["terms"] if each["name"] == "memory-in-use")
    assert term["weight"] == pytest.approx(2.0)
    assert term["after"] < term["before"]
    assert "memory-in-use" not in plain.out


def test_memory_in_use_can_be_weighed_by_load_alone(ask):
    result = ask("balance", "-c", "demo", "--weight", "memory-in-use=3")
    assert (result.code, "use it with --by-load" in result.err) == (1, True)
