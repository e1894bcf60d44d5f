"""What a tool works on: sources, names that leave out a domain, and warnings about what is missing."""

from fractions import Fraction
from pathlib import Path

import pytest

from ullage.engine.balance.facts import Load
from ullage.model.ganeti import MIB
from ullage.service.htools.loading import load, match, with_node_memory
from ullage.service.htools.options import Options
from ullage.service.htools.printed import ToolError
from ullage.service.htools.tools import run_tool

HBAL = Options("hbal")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("node1", "node1.example.com"),
        ("node1.example", "node1.example.com"),
        ("node1.example.com", "node1.example.com"),
        ("node", None),
        ("node9", None),
        ("twice", None),
        ("both", "both"),
    ],
)
def test_a_name_may_leave_out_what_follows_a_dot_where_only_one_is_meant(
    asked: str, found: str | None
) -> None:
    names = ["node1.example.com", "twice.a", "twice.b", "both.a", "both", "both.b"]
    assert match(names, asked) == found


def test_the_options_say_how_to_look_at_a_cluster(data, tmp_path: Path) -> None:
    loads = tmp_path / "loads"
    loads.write_text("web.example.com 1.5 2 3 4\nunknown 1 1 1 1\n", encoding="utf-8")
    options = HBAL._replace(
        data_file=data(),
        offline=("node2",),
        exclusion_tags=("svc",),
        select_instances=("web", "data"),
        exclude_instances=("data.example",),
        load_file=str(loads),
        max_cpu=2.5,
        min_disk=0.25,
        memory_ratio=Fraction(3, 2),
    )
    view = load(options).view
    assert view.offline == {"node2.example.com"}
    assert view.exclusion_tags == ("svc:",)
    assert view.selected == {"web.example.com", "data.example.com"}
    assert view.excluded == {"data.example.com"}
    assert view.loads["web.example.com"] == Load(1.5, 2.0, 3.0, 4.0)
    assert (view.cpu_ratio, view.disk_min, view.memory_ratio) == (2.5, 0.25, Fraction(3, 2))
    assert not view.exact


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "failed to load data, aborting: No backend selected! Exiting."),
        ({"data_file": "/nowhere/x"}, "failed to load data, aborting: /nowhere/x: No such file or directory"),
        ({"rapi": "host", "data_file": "x"}, "Only one of the rapi, luxi, and data files options"),
        ({"select_instances": ("web", "no", "nor")}, 'Unknown instance(s): ["no","nor"]'),
        ({"load_file": "/nowhere/loads"}, "can't parse utilisation data: /nowhere/loads: No such file"),
    ],
)
def test_what_cannot_be_loaded_ends_the_tool_and_says_why(data, changes: dict, message: str) -> None:
    options = HBAL._replace(data_file=data()) if changes and "rapi" not in changes else HBAL
    with pytest.raises(ToolError) as raised:
        load(options._replace(**changes))
    assert message in str(raised.value)


WRONG = "Error: wrong node name(s) set as offline: nor,no\n\n"
MASTERLESS = "No master node found (maybe not supported by backend)."


@pytest.mark.parametrize(
    ("tool", "words", "stdout", "before"),
    [
        ("hbal", [], "", ""),
        ("hbal", ["-vv"], "Loaded cluster tags: \nLoaded cluster ipolicy: ", ""),
        ("hinfo", [], "Loaded cluster tags: \n", ""),
        ("hcheck", [], "", ""),
        ("hspace", [], "", ""),
        ("hroller", ["-f"], "", f"Warning: {MASTERLESS}\n"),
    ],
)
def test_a_wrong_name_of_a_node_ends_a_tool_after_what_it_says_before(data, tool, words, stdout, before):
    nodes = ("a|4096|256|3000|102400|102400|8|N|uuid-1|1",)
    file = data(nodes=nodes, instances=())
    printed = run_tool(tool, ["-t", file, *words, "-O", "no", "-O", "a", "-O", "nor"])
    assert printed.code == 1
    assert printed.stdout.startswith(stdout)
    assert printed.stdout.count("\n") == stdout.count("Loaded")
    warning = "Warning: cluster has inconsistent data:\n  - node a is missing 840 MB ram and 0 GB disk\n\n"
    assert printed.stderr == f"{warning}{before}{WRONG}"


def test_a_missing_master_is_told_before_a_wrong_name_of_a_node(data):
    nodes = ("a|4096|256|3840|102400|102400|8|N|uuid-1|1",)
    printed = run_tool("hroller", ["-t", data(nodes=nodes, instances=()), "-O", "no"])
    assert printed.stderr == f"Error: {MASTERLESS}\n"


def test_missing_memory_and_disk_are_told_of_the_last_node_first(data) -> None:
    nodes = (
        "a|4096|256|3327|102400|102400|8|N|uuid-1|1",  # 513 MiB are missing
        "b|4096|256|3328|102400|102400|8|N|uuid-1|1",
        "c|4096|256|3840|102400|101375|8|N|uuid-1|1",  # 1025 MiB of disk
        "d|4096|256|3840|102400|101376|8|N|uuid-1|1",
    )
    options = HBAL._replace(data_file=data(nodes=nodes, instances=()))
    assert load(options).warnings == (
        "Warning: cluster has inconsistent data:\n"
        "  - node c is missing 0 MB ram and 1 GB disk\n"
        "  - node a is missing 513 MB ram and 0 GB disk\n"
        "\n"
    )
    assert not load(options._replace(verbose=0)).warnings


def test_the_last_simulated_group_is_the_first() -> None:
    cluster = load(Options("hspace", simulate=("p,1,1g,1g,1", "a,2,2g,2g,2"))).cluster
    assert [node.memory_bytes // MIB for node in cluster.nodes] == [2048, 2048, 1024]


def test_the_memory_of_a_node_itself_is_stated_for_kvm_alone(data) -> None:
    from msgspec.structs import replace

    cluster = load(HBAL._replace(data_file=data())).cluster
    first, *others = cluster.nodes
    mixed = replace(cluster, nodes=(replace(first, hypervisor="kvm"), *others))
    assert [node.memory_node_bytes // MIB for node in with_node_memory(mixed, 4096 * MIB).nodes] == [
        4096, 256, 256,
    ]  # fmt: skip
    assert with_node_memory(mixed, 0) is mixed
