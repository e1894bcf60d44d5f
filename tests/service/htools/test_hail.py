"""hail: one line of JSON in, one out; options beside it, and every broken message one line of complaint."""

import json
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ganeti_builders import SMALL, ganeti_cluster, ganeti_group, ganeti_node, instance
from ganeti_clusters import Kind, random_cluster
from ganeti_messages import described, message_of, sendable
from ullage.service.htools.options import Printed
from ullage.service.htools.tools import run_tool
from ullage.sources.ganeti.text import read_text
from ullage.sources.ganeti.text_writer import write_text

CLUSTER = sendable(random_cluster(3, Kind(4, 8, storage="drbd")))
NEW: dict[str, Any] = {
    "type": "allocate",
    "name": "new",
    "required_nodes": 2,
    **described(instance("new", secondary="x", memory=512)),
}


def new(**fields: Any) -> dict[str, Any]:
    return {**NEW, "disks": [{"size": 2048}], "disk_space_total": 2048, **fields}


@pytest.fixture
def hail(tmp_path: Path):
    def run(message: Any, *words: str) -> Printed:
        path = tmp_path / "message.json"
        path.write_text(message if isinstance(message, str) else json.dumps(message), encoding="utf-8")
        return run_tool("hail", [*words, str(path)])

    return run


def test_an_answer_is_one_line_without_spaces_between_its_parts(hail):
    printed = hail(message_of(CLUSTER, new()))
    assert printed.stdout.startswith('{"success":true,"info":"Request successful: Selected group: group-0, ')
    assert printed.stdout.endswith('"]}\n')
    assert (printed.stdout.count("\n"), printed.stderr, printed.code) == (1, "", 0)


def test_a_refusal_is_an_answer_too(hail):
    printed = hail(message_of(CLUSTER, new(memory=1 << 20)))
    assert json.loads(printed.stdout)["success"] is False
    assert printed.code == 0


@pytest.mark.parametrize(
    ("fields", "failure"),
    [
        ({"memory": -5}, "FailMem"),
        ({"vcpus": -1}, "FailCPU"),
        ({"disks": [{"size": -5}]}, "FailDisk"),
        ({"spindle_use": -1}, "FailSpindles"),
    ],
)
def test_what_is_asked_for_below_zero_is_refused_by_the_policy(hail, fields, failure):
    printed = hail(message_of(CLUSTER, new(**fields)))
    answer = json.loads(printed.stdout)
    assert (printed.code, printed.stderr, answer["success"], answer["result"]) == (0, "", False, [])
    assert f"failure reasons: {failure}: " in answer["info"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "This program needs an input file."),
        (["a", "b"], "Only one argument is accepted (the input file)"),
        (["missing.json"], "missing.json: No such file or directory"),
    ],
)
def test_one_file_is_needed(words, expected):
    assert run_tool("hail", words) == Printed(stderr=f"Error: {expected}\n", code=1)


def test_a_text_file_replaces_the_cluster_of_the_message(hail, tmp_path: Path):
    other = ganeti_cluster([ganeti_node("x", memory=9000), ganeti_node("y", memory=9000)])
    path = tmp_path / "other.data"
    path.write_text(write_text(other), encoding="utf-8")
    printed = hail(message_of(CLUSTER, new()), "-t", str(path))
    assert json.loads(printed.stdout)["result"] == ["y", "x"]


def test_a_simulated_cluster_replaces_that_of_the_message(hail):
    printed = hail(message_of(CLUSTER, new()), "--simulate", "p,3,8T,16g,8")
    assert json.loads(printed.stdout)["result"] == ["node-01-003", "node-01-002"]


def test_nodes_are_restricted_by_an_option(hail):
    printed = hail(message_of(CLUSTER, new()), "--restrict-allocation-to=node-0000,node-0001")
    assert sorted(json.loads(printed.stdout)["result"]) == ["node-0000", "node-0001"]


def test_a_cluster_that_could_not_lose_a_node_takes_instances_only_without_capacity_checks(hail):
    nodes = [ganeti_node("a", memory=1000), ganeti_node("b", memory=1000)]
    full = ganeti_cluster(nodes, instance("i", "a", memory=600), instance("j", "b", memory=600))
    message = message_of(full, new(required_nodes=1, memory=100, disk_template="ext"))
    assert "FailN1: 2" in hail(message).stdout
    assert json.loads(hail(message, "--no-capacity-checks").stdout)["success"] is True


def test_soft_rules_are_ignored_where_that_is_asked_for(hail):
    policy = replace(SMALL, cpu_ratio=Fraction(1))
    cluster = ganeti_cluster([ganeti_node("a")], groups=[ganeti_group("g", policy=policy)])
    message = message_of(cluster, new(required_nodes=1, vcpus=80, disk_template="plain"))
    assert "FailCPU: 1" in hail(message, "--no-capacity-checks").stdout
    assert json.loads(hail(message, "--no-capacity-checks", "--ignore-soft-errors").stdout)["success"]


def test_a_memory_ratio_is_read_from_the_message_and_from_an_option(hail):
    message = message_of(ganeti_cluster([ganeti_node("a"), ganeti_node("b")]), new(memory=1500))
    assert "FailMem: 2" in hail(message).stdout
    assert json.loads(hail(message, "--memory-ratio=2").stdout)["success"] is True
    message["ipolicy"] = {"memory-ratio": 2.0}
    assert json.loads(hail(message).stdout)["success"] is True


def test_nodes_on_kvm_need_memory_for_themselves(hail):
    message = message_of(ganeti_cluster([ganeti_node("a"), ganeti_node("b")]), new())
    assert json.loads(hail(message).stdout)["success"] is True
    message["enabled_hypervisors"] = ["kvm"]
    assert json.loads(hail(message).stdout)["success"] is False
    assert json.loads(hail(message, "--static-kvm-node-memory=0").stdout)["success"] is True


def test_the_state_before_and_after_is_saved_and_shown(hail, tmp_path: Path):
    printed = hail(message_of(CLUSTER, new()), "-p", "-S", str(tmp_path / "state"))
    before, after = (
        read_text((tmp_path / f"state.{ending}").read_text(encoding="utf-8"))
        for ending in ("pre-ialloc", "post-ialloc")
    )
    assert [each.name for each in after.instances] == ["new", *(each.name for each in before.instances)]
    titles = [line for line in printed.stderr.splitlines() if line.startswith(("Initial", "Final", "The"))]
    assert titles == [
        "Initial cluster status:",
        f"The cluster state before iallocator run has been written to file '{tmp_path}/state.pre-ialloc'",
        "Final cluster status:",
        f"The cluster state after iallocator run has been written to file '{tmp_path}/state.post-ialloc'",
    ]


def test_dedicated_hosts_are_pointed_out_where_more_is_to_be_said(hail):
    cluster = ganeti_cluster([ganeti_node("a", exclusive_storage=True, spindles=4, spindles_free=4)])
    message = message_of(cluster, new(required_nodes=1))
    said = "Allocation on a dedicated cluster; using lost-allocations metrics.\n"
    assert (hail(message).stderr, hail(message, "-v").stderr) == ("", said)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_message_with_any_part_replaced_is_answered_or_refused_in_one_line(
    hail, data: st.DataObject
) -> None:
    message = deepcopy(message_of(CLUSTER, new()))
    place: Any = message
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.integers(0, 3)) == 0:
            break
        place = place[key]
    place[key] = data.draw(
        st.sampled_from((None, "x", -1, 0, 1e300, 10**30, [], {}, [{}], [1], ["\n"], True, {"a\n": {}}))
    )
    printed = hail(message)
    if printed.code == 0:
        assert printed.stdout.count("\n") == 1
        json.loads(printed.stdout)
    else:
        assert (printed.code, printed.stdout, printed.stderr.count("\n")) == (1, "", 1)
        assert printed.stderr.startswith("Error: ")
