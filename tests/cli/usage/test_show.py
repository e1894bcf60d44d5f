"""`usage show` on the command line."""

import json

import pytest

ASKED = ("usage", "show", "-c", "demo", "--usage", "usage.csv")


@pytest.fixture(autouse=True)
def in_folder(files, monkeypatch):
    monkeypatch.chdir(files)
    monkeypatch.delenv("ULLAGE_USAGE", raising=False)


@pytest.mark.parametrize("width", [80, 120])
def test_what_people_see(ask, matches_golden, width):
    matches_golden(f"usage-show-{width}.txt", ask(*ASKED, "--width", width).out)


def test_json_and_yaml_are_documents_of_the_resource_model(ask, tmp_path):
    text = ask(*ASKED, "-o", "json").out
    assert json.loads(text)["kind"] == "ResourceStatusList"
    for ending, output in (("json", "json"), ("yaml", "yaml")):
        path = tmp_path / f"again.{ending}"
        path.write_text(ask(*ASKED, "-o", output).out, encoding="utf-8")
        again = ask("usage", "show", "-c", "demo", "--usage", path, "-o", "json")
        assert again.code == 0
        assert {each["subject"] for each in json.loads(again.out)["items"]} == {
            each["subject"] for each in json.loads(text)["items"]
        }


def test_csv_has_exact_amounts(ask):
    lines = ask(*ASKED, "--by", "node", "-o", "csv").out.splitlines()
    assert lines[0].startswith("subject,resource,request,limit,mean,p50,p95,p99,max,share,confidence")
    assert lines[1].startswith("node/g1,cpu,")


def test_the_environment_may_name_the_source(ask, monkeypatch):
    monkeypatch.setenv("ULLAGE_USAGE", "usage.csv")
    assert ask("usage", "-c", "demo").out == ask(*ASKED).out


def test_points_that_were_dropped_are_nothing_observed(ask, tmp_path):
    path = tmp_path / "dropped.csv"
    path.write_text("subject,resource,time,value\nnode/g1,cpu,1767225600,\n", encoding="utf-8")
    found = ask("usage", "show", "-c", "demo", "--usage", path).out
    assert found.startswith("nothing usable was observed: all points were dropped")
    assert "1970" not in found


def test_without_anything_observed_it_says_how_to_get_it_in_one_line(ask):
    asked = ask("usage", "-c", "demo")
    assert asked.code == 1
    assert asked.err.count("\n") == 1
    assert "usage observe" in asked.err
