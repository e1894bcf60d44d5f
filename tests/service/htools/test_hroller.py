"""hroller: what it prints and how it ends, apart from the recorded runs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ullage.service.htools.options import Printed
from ullage.service.htools.tools import run_tool

Run = Callable[..., Printed]
CLUSTER = """\
default|uuid-1|preferred|
other|uuid-2|preferred|

a.example.org|4096|0|3584|4096|2048|16|{flag}|uuid-1|1|old
b.example.org|4096|0|3584|4096|2048|16|N|uuid-1|1|
c.example.org|4096|0|4096|4096|4096|16|N|uuid-1|1|old
d.example.org|4096|0|4096|4096|4096|16|{other}|uuid-2|1|

one.example.org|512|1024|1|running|Y|a.example.org|b.example.org|drbd||1
two.example.org|512|1024|1|running|Y|b.example.org||ext||1

"""
MASTERLESS = "No master node found (maybe not supported by backend)."


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run hroller with these words on a cluster whose nodes a and d have these flags."""

    def run(*words: str, flag: str = "M", other: str = "N") -> Printed:
        data = tmp_path / "cluster.data"
        data.write_text(CLUSTER.format(flag=flag, other=other), encoding="utf-8")
        return run_tool("hroller", ["-t", str(data), *words])

    return run


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        pytest.param([], ["'Node Reboot Groups'", "b", "c,d,a"], id="all groups"),
        pytest.param(["--no-headers"], ["b", "c,d,a"], id="without a header"),
        pytest.param(
            ["--one-step-only", "--ignore-non-redundant", "-O", "b"],
            ["'First Reboot Group'", "c", "d", "a"],
            id="the first one",
        ),
        pytest.param(["-G", "uuid-2"], ["'Node Reboot Groups'", "d"], id="of a node group"),
        pytest.param(["-O", "d"], ["'Node Reboot Groups'", "b", "c,a"], id="a node set offline is left out"),
        pytest.param(["--node-tags", "old"], ["'Node Reboot Groups'", "c", "a"], id="nodes with a tag"),
        pytest.param(["--skip-non-redundant"], ["'Node Reboot Groups'", "c", "d,a"], id="redundant nodes"),
        pytest.param(["--print-moves"], ["'Node Reboot Groups'", "b", "  two a", "c,d,a"], id="with moves"),
        pytest.param(
            ["--print-moves", "--full-evacuation"],
            ["'Node Reboot Groups'", "c", "b", "  one a c", "  two a", "d,a", "  one b c"],
            id="emptied of secondaries too",
        ),
        pytest.param(
            ["-v"],
            ["Dcolor: 2 (3,1) TIE Dsatur: 2 (3,1) TIE LF: 2 (3,1)", "'Node Reboot Groups'", "b", "c,d,a"],
            id="how the colourings compare",
        ),
        pytest.param(
            ["-v", "-v", "--offline-maintenance", "--no-headers", "--ignore-non-redundant"],
            [
                "Node Graph: array (0,3) [(0,[1]),(1,[0]),(2,[]),(3,[])]",
                "Dcolor: 2 (3,1) TIE Dsatur: 2 (3,1) TIE LF: 2 (3,1)",
                "b,c,d",
                "a",
            ],
            id="the graph",
        ),
    ],
)
def test_lines(run: Run, words: list[str], lines: list[str]) -> None:
    printed = run(*words)
    short = printed.stdout.replace(".example.org", "")
    assert (short.splitlines(), printed.stderr, printed.code) == (lines, "", 0)


@pytest.mark.parametrize(
    ("words", "flags", "complaint"),
    [
        (["x"], "MN", "This program doesn't take any arguments."),
        ([], "NN", MASTERLESS),
        ([], "MM", 'Found more than one master node: ["a.example.org","d.example.org"]'),
        (["-f"], "MM", 'Found more than one master node: ["a.example.org","d.example.org"]'),
        (["-G", "x"], "MN", "Cannot find target group."),
        (["--node-tags", "x"], "MN", "Cannot create node graph"),
        (["-O", "a", "-O", "c"], "MN", "Not enough capacity to move non-redundant instances"),
    ],
)
def test_what_cannot_be_done_is_one_line(run: Run, words: list[str], flags: str, complaint: str) -> None:
    assert run(*words, flag=flags[0], other=flags[1])[:3] == ("", f"Error: {complaint}\n", 1)


def test_force_goes_on_without_a_master(run: Run) -> None:
    printed = run("-f", flag="N")
    assert (printed.stdout.count("\n"), printed.stderr, printed.code) == (3, f"Warning: {MASTERLESS}\n", 0)


def test_the_cluster_is_saved_as_it_was_read(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "saved"
    printed = run("-S", str(target), "-O", "d")
    assert (
        printed.stderr
        == f"The cluster state before hroller run has been written to file '{target}.original'\n"
    )
    assert "\nd.example.org|4096|0|4096|4096|4096|16|N|" in Path(f"{target}.original").read_text(
        encoding="utf-8"
    )


def test_a_colouring_that_needs_more_colours_has_lost(tmp_path: Path) -> None:
    names = "abcdef"
    nodes = [f"{name}|4096|0|4096|4096|4096|16|{'M' if name == 'a' else 'N'}|u" for name in names]
    pairs = ((4, 3), (0, 3), (2, 0), (5, 4), (2, 1))
    instances = [f"i{one}{two}|1|1|1|running|Y|{names[one]}|{names[two]}|drbd|" for one, two in pairs]
    data = tmp_path / "cluster.data"
    data.write_text("\n".join(["g|u|preferred|", "", *nodes, "", *instances, "", ""]), encoding="utf-8")
    printed = run_tool("hroller", ["-t", str(data), "--offline-maintenance", "-v"])
    assert printed.stdout.splitlines() == [
        "Dcolor: 2 (3,3) TIE Dsatur: 2 (3,3) LOOSE LF: 3 (2,3,1)",
        "'Node Reboot Groups'",
        "c,d,f",
        "b,e,a",
    ]
