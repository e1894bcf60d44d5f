"""hsqueeze: what it prints and how it ends, apart from the recorded runs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ullage.service.htools.options import Printed
from ullage.service.htools.tools import run_tool

Run = Callable[..., Printed]
CLUSTER = """\
default|uuid-1|preferred|

a.example.org|1024|0|512|0|0|16|M|uuid-1|1|
b.example.org|1024|0|896|0|0|16|N|uuid-1|1|
c.example.org|1024|0|1024|0|0|16|Y|uuid-1|1|htools:standby:auto

one.example.org|512|0|1|running|Y|a.example.org||ext||1
two.example.org|128|0|1|running|Y|b.example.org||ext||1


|128,1,1024,1,1,1|128,1,1024,1,1,1;4096,8,1048576,16,8,12|ext|4.0|32.0
default|128,1,1024,1,1,1|128,1,1024,1,1,1;4096,8,1048576,16,8,12|ext|4.0|32.0
"""
OFF = """
echo jobset 1, 1 jobs
  echo job 1/1
  check
  gnt-instance migrate -f -n a two.example.org

echo Tagging Commands
  gnt-node add-tags b htools:standby:auto

echo Power Commands
  gnt-node power -f off b
"""
ON = """echo Power Commands
  gnt-node power -f on c
"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run hsqueeze with these words."""

    def run(*words: str) -> Printed:
        data = tmp_path / "cluster.data"
        data.write_text(CLUSTER, encoding="utf-8")
        return run_tool("hsqueeze", ["-t", str(data), *words])

    return run


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        pytest.param([], ["'Nodes to offline'", "b.example.org"], id="a node that is not needed"),
        pytest.param(["--no-headers"], ["b.example.org"], id="without a header"),
        pytest.param(["--target-resources=3"], ["'No action'"], id="too little room would be left"),
        pytest.param(
            ["--minimal-resources=4"],
            ["'Nodes to online'", "c.example.org"],
            id="too little room is left",
        ),
        pytest.param(
            ["--minimal-resources=9", "-v"],
            [
                "Offline candidates: b.example.org",
                "Online candidates: c.example.org",
                "'Nodes to online'",
                "c.example.org",
                "Onlining all nodes will not yield enough capacity",
            ],
            id="all where even these are too few",
        ),
        pytest.param(
            ["--target-resources=3", "-C"],
            ["'No action'", "", "Commands to run:", "  echo Nothing to do"],
            id="commands that do nothing",
        ),
    ],
)
def test_lines(run: Run, words: list[str], lines: list[str]) -> None:
    printed = run(*words)
    assert (printed.stdout.splitlines(), printed.stderr, printed.code) == (lines, "", 0)


@pytest.mark.parametrize(("words", "script"), [([], OFF), (["--minimal-resources=4"], ON)], ids=["off", "on"])
def test_commands_are_printed_or_written_to_a_script(
    run: Run, tmp_path: Path, words: list[str], script: str
) -> None:
    shown = run("-C", "--no-headers", *words).stdout
    commands = [f"  {line}" for line in script.splitlines() if line != "  check"]
    assert shown.splitlines()[1:] == ["", "Commands to run:", *commands]
    target = tmp_path / "script"
    printed = run(f"-C{target}", "--no-headers", *words)
    assert printed.stdout.splitlines()[1:] == [f"The commands have been written to file '{target}'"]
    assert target.read_text(encoding="utf-8").endswith(f"}}\n\n{script}")


@pytest.mark.parametrize(
    ("words", "what", "flags"),
    [
        ([], "run", "MYY"),
        (["--minimal-resources=4"], "expansion", "MNN"),
        (["--target-resources=3"], "doing nothing", "MNY"),
    ],
)
def test_the_cluster_is_saved_before_and_after(
    run: Run, tmp_path: Path, words: list[str], what: str, flags: str
) -> None:
    target = tmp_path / "saved"
    assert run("-S", str(target), *words).stderr.splitlines() == [
        f"The cluster state before hsqueeze run has been written to file '{target}.original'",
        f"The cluster state after hsqueeze {what} has been written to file '{target}.squeezed'",
    ]
    found = {}
    for when in ("original", "squeezed"):
        nodes = Path(f"{target}.{when}").read_text(encoding="utf-8").split("\n\n")[1]
        found[when] = "".join(line.split("|")[7] for line in nodes.splitlines())
    assert found == {"original": "MNY", "squeezed": flags}


def test_arguments_are_refused(run: Run) -> None:
    assert run("x")[:3] == ("", "Error: This program doesn't take any arguments.\n", 1)
