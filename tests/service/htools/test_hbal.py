"""hbal: which group, when nothing is to be done, commands and saved states."""

from pathlib import Path

import pytest

from ullage.service.htools.tools import run_tool
from ullage.sources.ganeti.text import read_text
from ullage.sources.ganeti.text_writer import write_text

TWO_GROUPS = ("one|uuid-1|preferred||", "two|uuid-2|preferred||")
TWO_NODES = ("a|4096|256|3840|102400|102400|8|N|uuid-1|1", "b|4096|256|3840|102400|102400|8|N|uuid-2|1")
ONE_INSTANCE = ("web|0|20480|1|running|Y|a||plain||1",)


def test_an_empty_cluster_is_left_alone(data) -> None:
    printed = run_tool("hbal", ["-t", data(instances=())])
    assert (printed.stdout, printed.code) == ("Cluster is empty, exiting.\n", 0)


def test_several_groups_need_a_choice(data) -> None:
    path = data(groups=TWO_GROUPS, nodes=TWO_NODES, instances=ONE_INSTANCE)
    printed = run_tool("hbal", ["-t", path])
    assert printed.code == 1
    assert printed.stdout == "Loaded 2 nodes, 1 instances\n"
    assert printed.stderr == "Found multiple node groups:\n  one\n  two\nError: Aborting.\n"


@pytest.mark.parametrize(("asked", "name"), [("one", "one"), ("uuid-2", "two")])
def test_a_group_is_meant_by_name_or_uuid(data, asked: str, name: str) -> None:
    path = data(groups=TWO_GROUPS, nodes=TWO_NODES, instances=ONE_INSTANCE)
    assert f"Selected node group: {name}\n" in run_tool("hbal", ["-t", path, "-G", asked]).stdout


def test_a_group_that_is_not_there_is_answered_with_those_that_are(data) -> None:
    printed = run_tool("hbal", ["-t", data(), "-G", "no"])
    assert printed.stderr == ("Node group no not found. Node group list is:\n  default\nError: Aborting.\n")


def test_a_score_that_is_low_enough_ends_the_search(data) -> None:
    lines = run_tool("hbal", ["-t", data(), "-e", "1000"]).stdout.splitlines()
    assert lines[-1] == "Nothing to do, exiting"
    assert lines[-2] == "minimum score 1000.000000)."


def test_a_node_of_unknown_size_with_instances_violates_the_policy(data) -> None:
    nodes = ("a|?|0|0|0|0|0|N|uuid-1|1", "b|9000|0|9000|100000|100000|8|M|uuid-1|1")
    instances = ("i|512|1000|1|running|Y|a||ext||1",)
    printed = run_tool("hbal", ["-t", data(nodes=nodes, instances=instances), "-vvvv"])
    assert 'Node policy status: [("a",Bad FailCPU),("b",Ok ())]\n' in printed.stdout
    assert "The cluster contains 1 policy-violating nodes.\nContinuing, but the set of " in printed.stdout
    empty = data(nodes=nodes, instances=(instances[0].replace("|a|", "|b|"),))
    assert "violating" not in run_tool("hbal", ["-t", empty]).stdout


def test_a_node_without_spindles_counts_nothing_in_the_terms_of_disks(data) -> None:
    """Ganeti's own divides by nothing: its score is no number, and it finds no move."""
    nodes = tuple(
        f"{name}|8192|0|{free}|102400|80000|8|N|uuid-1|0||Y|0" for name, free in (("a", 4096), ("b", 8192))
    )
    instances = tuple(f"i{at}|2048|0|1|running|Y|a||ext||1" for at in range(2))
    lines = run_tool("hbal", ["-t", data(nodes=nodes, instances=instances)]).stdout.splitlines()
    assert lines[-1] == "Solution length=1"
    assert "NaN" not in "".join(lines)


def test_commands_go_to_a_file_as_a_script_that_can_be_stopped(data, tmp_path: Path) -> None:
    script = tmp_path / "moves.sh"
    printed = run_tool("hbal", ["-t", data(), f"-C{script}"])
    assert f"The commands have been written to file '{script}'\n" in printed.stdout
    text = script.read_text(encoding="utf-8")
    assert text.startswith("#!/bin/sh\n")
    assert "echo jobset 1, " in text
    assert "\n  check\n  gnt-instance " in text


def test_the_saved_states_are_clusters_before_and_after(data, tmp_path: Path) -> None:
    prefix = tmp_path / "state"
    printed = run_tool("hbal", ["-t", data(), "-S", str(prefix), "-l", "1"])
    assert "1. web  node1:node2 => node3:node2 " in printed.stdout
    texts = [Path(f"{prefix}.{when}").read_text("utf-8") for when in ("original", "balanced")]
    before, after = map(read_text, texts)
    assert before == read_text(write_text(read_text(Path(data()).read_text("utf-8"))))
    assert after.instances[0].primary == "node3.example.com"
    moved = before.instances[0].disk_total_bytes
    assert after.nodes[0].disk_free_bytes == before.nodes[0].disk_free_bytes + moved
    assert after.nodes[0].memory_free_bytes == before.nodes[0].memory_free_bytes


def test_with_a_ratio_the_saved_end_has_the_promised_score(data, tmp_path: Path) -> None:
    prefix = tmp_path / "state"
    path = data(policies=("default|128,1,1024,1,1,1|128,1,1024,1,1,1;9999,9,99999,9,9,9|drbd|4|32|1.5",))
    first = run_tool("hbal", ["-t", path, "-S", str(prefix)])
    promised = first.stdout.split(" to ")[-1].split("\n")[0]
    assert f"Initial score: {promised}\n" in run_tool("hbal", ["-t", f"{prefix}.balanced"]).stdout


def test_a_file_that_cannot_be_written_ends_the_tool(data) -> None:
    printed = run_tool("hbal", ["-t", data(), "-C/nowhere/script"])
    assert printed.code == 1
    assert printed.stderr == "Error: /nowhere/script: No such file or directory\n"


def test_words_that_are_no_options_are_refused(data) -> None:
    printed = run_tool("hbal", ["-t", data(), "more"])
    assert (printed.stderr, printed.code) == ("Error: This program doesn't take any arguments.\n", 1)


def test_a_node_over_its_policy_is_counted(data) -> None:
    lines = run_tool("hbal", ["-t", data(), "--max-cpu=0.1", "-l", "0"]).stdout.splitlines()
    assert "The cluster contains 3 policy-violating nodes." in lines


BARE = ("a|4096|0|2048|1000|1000|8|M|uuid-1|1", "b|4096|0|4096|1000|1000|0|N|uuid-1|1")


@pytest.mark.parametrize("tool", ["hbal", "hspace"])
def test_a_node_without_processors_gets_no_instance(data, tool) -> None:
    instances = tuple(f"i{at:02}|64|0|1|running|Y|a||ext||1" for at in range(32))
    words = ["--disk-template", "ext", "--no-capacity-checks"] if tool == "hspace" else []
    printed = run_tool(tool, ["-t", data(nodes=BARE, instances=instances), "-p", *words])
    assert printed.code == 0
    tables = [line.split() for line in printed.stderr.splitlines() if line.split()[:1] in (["a"], ["b"])]
    assert {row[0]: row[12] for row in tables}["b"] == "0"


def test_an_option_raises_the_memory_ratio_of_every_group(data) -> None:
    nodes = (
        "a|4096|0|512|102400|81920|8|N|uuid-1|1",
        "b|4096|0|512|102400|81920|8|N|uuid-1|1",
    )
    instances = ("one|3584|20480|1|running|Y|a|b|drbd||1", "two|3584|20480|1|running|Y|b|a|drbd||1")
    path = data(nodes=nodes, instances=instances)
    assert "2 bad nodes" in run_tool("hbal", ["-t", path]).stdout
    assert " 0 bad nodes" in run_tool("hbal", ["-t", path, "--memory-ratio=2"]).stdout
