"""`ullage status`: golden files in every format, and the same numbers in each of them."""

import csv
import io
import json

import pytest
import yaml

from ullage.cli.options import FORMATS
from ullage.cli.status import PARTS
from ullage.model.resources import ResourceTypes

ENDINGS = {"table": "txt", "wide": "wide.txt"}


@pytest.mark.parametrize("output", FORMATS)
def test_the_demo_clusters_status_in_every_format(ask, matches_golden, output):
    result = ask("status", "-c", "demo", "-o", output)
    assert (result.code, result.err) == (0, "")
    matches_golden(f"status.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_line_is_wider_than_asked_for(ask, matches_golden, width):
    result = ask("status", "-c", "demo", "--width", width)
    assert max(len(line) for line in result.out.splitlines()) <= width
    matches_golden(f"status-{width}.txt", result.out)


@pytest.mark.parametrize("part", PARTS)
def test_one_part_alone(ask, matches_golden, part):
    result = ask("status", "-c", "demo", "-n", "ml", "--by", part)
    assert result.code == 0
    matches_golden(f"status-by-{part}.txt", result.out)


def test_the_first_line_is_the_verdict_and_the_last_a_command_that_runs(ask):
    lines = ask("status", "-c", "demo").out.splitlines()
    assert lines[0].startswith("11 of 12 nodes ready")
    assert lines[-1].startswith("Next: ullage ")
    assert ask(*lines[-1].removeprefix("Next: ullage ").split()).code == 0


def test_yaml_holds_what_json_holds(ask):
    as_json = json.loads(ask("status", "-c", "demo", "-o", "json").out)
    assert yaml.safe_load(ask("status", "-c", "demo", "-o", "yaml").out) == as_json
    assert (as_json["apiVersion"], as_json["kind"]) == ("ullage.dev/v1", "StatusReport")


def test_csv_holds_the_numbers_of_json(ask):
    report = json.loads(ask("status", "-c", "demo", "-o", "json").out)
    rows = list(csv.DictReader(io.StringIO(ask("status", "-c", "demo", "-o", "csv").out)))
    assert [row["node"] for row in rows] == [node["name"] for node in report["nodes"]]
    for row, node in zip(rows, report["nodes"], strict=True):
        for term in ("committed", "free", "limit"):
            for resource in ("cpu", "memory", "nvidia.com/gpu", "pods"):
                if resource in node["capacity"]:
                    assert row[f"{resource} {term}"] == node[term][resource]


def test_the_table_holds_the_numbers_of_json(ask):
    report = json.loads(ask("status", "-c", "demo", "-o", "json").out)
    lines = {
        line.split()[0]: line for line in ask("status", "-c", "demo", "--by", "node").out.splitlines() if line
    }
    types = ResourceTypes()
    for node in report["nodes"]:
        for resource in ("cpu", "memory"):
            kind = types[resource]
            assert f" {kind.readable(kind.parse(node['committed'][resource]))} " in lines[node["name"]]


def test_groups_add_up_to_the_total(ask):
    report = json.loads(ask("status", "-c", "demo", "-o", "json").out)
    types = ResourceTypes()
    for term in ("capacity", "committed", "ullage", "blocked"):
        for resource in ("cpu", "memory"):
            parse = types[resource].parse
            parts = sum(parse(group[term][resource]) for group in report["groups"])
            assert parts == parse(report["total"][term][resource])


def test_a_selector_keeps_only_its_nodes(ask):
    report = json.loads(ask("status", "-c", "demo", "-l", "ullage.dev/group=gpu", "-o", "json").out)
    assert [node["name"] for node in report["nodes"]] == ["g1", "g2", "g3"]


def test_a_selector_that_keeps_nothing_is_an_error(ask):
    result = ask("status", "-c", "demo", "-l", "zone=moon")
    assert result.code == 1
    assert result.err.startswith("ullage: error: -l: none of 12 nodes matches 'zone=moon'")


def test_a_namespace_lists_its_workloads(ask):
    report = json.loads(ask("status", "-c", "demo", "-n", "ml", "-o", "json").out)
    assert report["listed"]
    assert {each["namespace"] for each in report["listed"]} == {"ml"}
    everyone = json.loads(ask("status", "-c", "demo", "-n", "ml", "-A", "-o", "json").out)
    assert not everyone["listed"]


def test_the_policy_named_counts(ask):
    plain = json.loads(ask("status", "-c", "demo", "--policy", "kubernetes", "-o", "json").out)
    zos = json.loads(ask("status", "-c", "demo", "--policy", "zos", "-o", "json").out)
    assert (plain["policy"], zos["policy"]) == ("kubernetes", "zos")
    assert plain["total"]["committed"]["memory"] != zos["total"]["committed"]["memory"]


def test_a_large_cluster_is_shortened_on_a_terminal_but_never_in_csv(ask):
    cluster = "synthetic:nodes=100,seed=1"
    text = ask("status", "-c", cluster).out
    assert "the 40 fullest of 100 nodes, --by node shows all" in text
    assert len(ask("status", "-c", cluster, "-o", "csv").out.splitlines()) == 101
    assert "fullest of" not in ask("status", "-c", cluster, "--by", "node").out


def test_every_workload_is_listed_where_workloads_are_asked_for(ask):
    words = ("status", "-c", "demo", "--by", "workload", "-o")
    report = json.loads(ask(*words, "json").out)
    assert len(report["listed"]) == sum(report["workloads"].values()) == 70
    rows = list(csv.DictReader(io.StringIO(ask(*words, "csv").out)))
    assert [row["workload"] for row in rows] == [
        f"{each['namespace']}/{each['name']}" for each in report["listed"]
    ]
    assert "the first 40 of 70, -o wide shows all" in ask(*words, "table").out
