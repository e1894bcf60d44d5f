"""hspace: what is filled, what stops it, what it prints where."""

from pathlib import Path

import pytest

from ullage.service.htools.tools import run_tool

NODES = tuple(f"node{number}|1025|0|1025|10241|10241|8|N|uuid-1|1" for number in (1, 2, 3))
BOUNDS = "256,1,1024,1,1,1|128,1,1024,1,1,1;512,4,1024,16,8,12"
POLICIES = (f"|{BOUNDS}|ext,drbd|4.0|32.0", f"default|{BOUNDS}|ext,drbd|4.0|32.0")


@pytest.fixture
def empty(data):
    return data(nodes=NODES, instances=(), policies=POLICIES)


def hspace(*words):
    return run_tool("hspace", words)


def test_it_says_what_there_is_and_how_many_fit(empty):
    printed = hspace("-t", empty, "--no-capacity-checks")
    assert printed.code == 0
    assert printed.stdout.splitlines()[:9] == [
        "The cluster has 3 nodes and the following resources:",
        "  MEM 3075, DSK 30723, CPU 24, VCPU 96.",
        "There are no initial instances on the cluster.",
        "Tiered (initial size) instance spec is:",
        "  MEM 512, DSK 1024, CPU 4, using disk template 'ext'.",
        "Tiered allocation results:",
        "  -   6 instances of spec MEM 512, DSK 1024, CPU 4",
        "  - most likely failure reason: FailMem",
        "  - initial cluster score: 0.00000000",
    ]
    assert "  -  12 instances allocated" in printed.stdout


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ((), 8),
        (("--no-capacity-checks",), 12),
        (("--disk-template", "drbd"), 8),
        (("--standard-alloc", "1g,512,1"), 4),
        (("-l", "2"), 2),
        (("-O", "node1"), 4),
        (("-O", "node1", "--accept-existing-errors"), 4),
    ],
)
def test_options_change_how_many_fit(empty, words, count):
    assert f"\nHTS_ALLOC_INSTANCES={count}\n" in hspace("-t", empty, "--machine-readable", *words).stdout


def test_a_size_that_shrinks_counts_towards_one_limit(empty):
    printed = hspace("-t", empty, "--no-capacity-checks", "-l", "7", "--tiered-alloc", "1g,384,1")
    assert [line for line in printed.stdout.splitlines() if "of spec" in line] == [
        "  -   6 instances of spec MEM 384, DSK 1024, CPU 1",
        "  -   1 instances of spec MEM 256, DSK 1024, CPU 1",
    ]


def test_where_a_host_could_not_take_over_nothing_is_added(data):
    held = ("a|600|1024|1|running|Y|node1|node2|drbd||1", "b|600|1024|1|running|Y|node2|node1|drbd||1")
    nodes = tuple(f"node{number}|1025|0|425|10241|8193|8|N|uuid-1|1" for number in (1, 2))
    file = data(nodes=nodes, instances=held, policies=POLICIES)
    printed = hspace("-t", file, "--machine-readable")
    assert printed.stdout.splitlines()[-3:] == [
        "HTS_ALLOC_FAIL_REASON=FAILN1",
        "HTS_ALLOC_FAILN1_CNT=1",
        "HTS_OK=1",
    ]
    assert "HTS_TSPEC=\n" in printed.stdout
    accepted = hspace("-t", file, "--machine-readable", "--accept-existing-errors", "--no-capacity-checks")
    assert "HTS_ALLOC_INSTANCES=2" in accepted.stdout


@pytest.mark.parametrize(
    ("template", "nodes", "message"),
    [("drbd", 1, "Not enough online nodes"), ("ext", 0, "No online nodes")],
)
def test_without_hosts_it_ends_with_an_error_after_what_it_has_said(data, template, nodes, message):
    file = data(nodes=NODES[:nodes], instances=(), policies=POLICIES)
    printed = hspace("-t", file, "--disk-template", template)
    assert printed.code == 1
    assert printed.stdout.startswith(f"The cluster has {nodes} nodes")
    assert printed.stderr == f"Error: failure during allocation: {message}\n"


def test_a_group_that_is_not_redundant_is_left_out_if_groups_are_independent(data):
    others = tuple(f"other{number}|1025|0|125|10241|10241|8|N|uuid-2|1" for number in (1, 2))
    file = data(
        nodes=(*NODES[:2], *others),
        instances=tuple(f"i{number}|900|0|1|running|Y|other{number}||ext||1" for number in (1, 2)),
        groups=("default|uuid-1|preferred||", "other|uuid-2|preferred||"),
        policies=(*POLICIES, f"other|{BOUNDS}|ext|4.0|32.0"),
    )
    assert "HTS_ALLOC_INSTANCES=0" in hspace("-t", file, "--machine-readable").stdout
    alone = hspace("-t", file, "--machine-readable", "--independent-groups", "-v", "-v", "-v")
    assert "HTS_ALLOC_INSTANCES=4" in alone.stdout
    assert 'Bad groups: ["other"]\nAllocatable nodes: Left [0,1]\n' in alone.stderr


def test_tables_and_maps_are_beside_the_result(empty):
    printed = hspace("-t", empty, "-p", "-v", "-v", "-l", "1", "--disk-template", "drbd")
    assert "\nInitial cluster status:\n F Name " in printed.stderr
    assert "Tiered allocation map\n new-0 node3 node2 512 1024 4 \n" in printed.stderr
    assert "Standard allocation status:" in printed.stderr
    assert "status" not in printed.stdout


def test_states_are_saved_and_can_be_read_again(empty, tmp_path: Path):
    prefix = str(tmp_path / "saved")
    printed = hspace("-t", empty, "-S", prefix, "-l", "2")
    assert f"after tiered allocation has been written to file '{prefix}.tiered'" in printed.stderr
    again = hspace("-t", f"{prefix}.standard")
    assert "There are 2 initial instances on the cluster." in again.stdout
    assert "new-1|256|1024|1|running|Y|" in Path(f"{prefix}.standard").read_text("utf-8")


def test_a_cluster_can_be_made_up():
    words = ("--disk-template", "drbd", "--standard-alloc", "200g,8g,4")
    assert "  -  20 instances allocated" in hspace("--simulate", "p,4,8T,64g,16", *words).stdout


def test_words_that_are_no_options_are_refused(empty):
    printed = hspace("-t", empty, "word")
    assert (printed.code, printed.stderr) == (1, "Error: This program doesn't take any arguments.\n")
