"""Command lines: every option of every tool, bundled, shortened, with values that may be left out."""

from fractions import Fraction

import pytest

from ullage.service.htools.command_line import parse
from ullage.service.htools.option_table import OPTIONS, TOOLS
from ullage.service.htools.options import Options, Printed
from ullage.service.htools.values import Asked

MIB = 1 << 20


def options(tool: str, *words: str) -> Options:
    found = parse(tool, words)
    assert isinstance(found, Options), found
    return found


def printed(tool: str, *words: str) -> Printed:
    found = parse(tool, words)
    assert isinstance(found, Printed), found
    return found


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        (["-t", "file"], "data_file", "file"),
        (["-tfile"], "data_file", "file"),
        (["--text-data=file"], "data_file", "file"),
        (["--text-data", "file"], "data_file", "file"),
        (["--text", "file"], "data_file", "file"),
        (["-C"], "print_commands", "-"),
        (["-Cfile"], "print_commands", "file"),
        (["-C", "-t", "x"], "print_commands", "-"),
        (["--print-commands=file"], "print_commands", "file"),
        (["-p"], "print_nodes", ()),
        (["-pname,fqdn"], "print_nodes", ("name", "fqdn")),
        (["-p+fqdn"], "print_nodes", ("+", "fqdn")),
        (["-vvv"], "verbose", 4),
        (["-v", "-q", "-q"], "verbose", 0),
        (["-vEt", "file"], "data_file", "file"),
        (["-vE", "-tfile"], "evac_mode", True),
        (["-O", "a", "-Ob"], "offline", ("a", "b")),
        (["-e", "3"], "min_score", 3.0),
        (["-g1e-3"], "min_gain", 0.001),
        (["--max-length=-1"], "max_length", -1),
        (["--memory-ratio", "1.5"], "memory_ratio", Fraction(3, 2)),
        (["--static-kvm-node-memory=512"], "static_node_memory_bytes", 512 * MIB),
        (["--exclusion-tags=a,b"], "exclusion_tags", ("a", "b")),
        (["--mond=no"], "data_file", None),
    ],
)
def test_a_value_is_given_in_every_way_that_ganeti_knows(words: list[str], field: str, value: object) -> None:
    assert getattr(options("hbal", *words), field) == value


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("100,8g,4", Asked(8 << 30, 100 * MIB, 4, 1)),
        ("1t,1GiB,1,3", Asked(1 << 30, 1 << 40, 1, 3)),
        ("8T,1M,1", Asked(0, 7629394 * MIB, 1, 1)),
    ],
)
def test_small_units_are_binary_and_capital_ones_decimal(text: str, asked: Asked) -> None:
    assert options("hspace", "--standard-alloc", text).standard_allocation == asked


@pytest.mark.parametrize("text", ["Infinity", "1e400", "1000000"])
def test_endless_numbers_are_as_large_as_any_that_is_measured(text: str) -> None:
    assert options("hbal", f"--max-cpu={text}").max_cpu == 1_000_000
    assert options("hbal", f"--min-gain=-{text}").min_gain == -1_000_000


def test_what_is_no_option_is_an_argument_and_so_is_everything_after_two_dashes() -> None:
    assert options("hail", "a", "-v", "-", "--", "-v").arguments == ("a", "-", "-v")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nothing"], "unrecognized option `--nothing'"),
        (["-Z"], "unrecognized option `-Z'"),
        (["-t"], "option `-t' requires an argument FILE"),
        (["--evac-mode=yes"], "option `--evac-mode' doesn't allow an argument"),
        (["--no-"], "option `--no-' is ambiguous; could be one of:"),
    ],
)
def test_a_wrong_command_line_ends_with_code_2_and_the_usage(words: list[str], message: str) -> None:
    found = printed("hbal", *words)
    assert found.code == 2
    assert found.stderr.startswith(f"Command line error: {message}")
    assert "Usage: hbal [OPTION...]" in found.stderr


@pytest.mark.parametrize(
    ("tool", "words", "message"),
    [
        ("hbal", ["-g", "x"], "min gain: cannot parse string 'x'"),
        ("hbal", ["-l", "1.5"], "max solution length: cannot parse string '1.5'"),
        ("hbal", ["--max-cpu=-Infinity"], "Invalid value of the max-cpu ratio, expected >0"),
        ("hbal", ["--max-cpu=inf"], "parsing max-cpu: cannot parse string 'inf'"),
        ("hbal", ["--max-cpu=0"], "Invalid value of the max-cpu ratio, expected >0"),
        ("hbal", ["--memory-ratio=-1"], "memory-ratio: cannot parse string '-1', expected a number above 0"),
        ("hbal", ["--priority=urgent"], "Unknown priority 'urgent'"),
        ("hspace", ["--spindle-use=-1"], "Invalid value of the spindle-use (expected >= 0)"),
        ("hspace", ["--machine-readable=maybe"], "Invalid choice 'maybe', pass one of 'yes' or 'no'"),
        ("hspace", ["--tiered-alloc=1,2"], "Invalid tiered specification: '1,2', expected disk,ram,cpu"),
        ("hspace", ["--disk-template=paper"], "Invalid value for disk template: 'paper'"),
    ],
)
def test_a_wrong_value_ends_with_code_1_and_says_which(tool: str, words: list[str], message: str) -> None:
    found = printed(tool, *words)
    assert found.code == 1
    assert found.stderr.startswith(f"Error while parsing command line arguments:\n{message}")


@pytest.mark.parametrize("tool", [tool for tool, names in TOOLS.items() if "luxi" in names])
def test_the_alternatives_that_are_named_are_options_of_the_tool(tool: str) -> None:
    message = printed(tool, "-L").stderr
    for word, long in (("-t", "text-data"), ("-m", "master"), ("-C", "print-commands")):
        assert (f"{word} " in message) == (long in TOOLS[tool])


@pytest.mark.parametrize(
    ("word", "alternative"),
    [("-L", "-C prints"), ("-L/socket", "-C prints"), ("-X", "-C prints the commands"),
     ("--mond", "-U FILE"), ("--mond=yes", "-U FILE")],
)  # fmt: skip
def test_what_is_not_served_is_refused_in_one_line_that_names_the_alternative(
    word: str, alternative: str
) -> None:
    found = printed("hbal", word)
    assert found.code == 1
    assert found.stderr.startswith("Error: -")
    assert found.stderr.count("\n") == 1
    assert alternative in found.stderr


@pytest.mark.parametrize("tool", TOOLS)
def test_help_lists_every_option_of_a_tool(tool: str) -> None:
    help_text, completion = printed(tool, "--help"), printed(tool, "--help-completion")
    assert help_text.code == 0
    for name in TOOLS[tool]:
        assert f"--{name}" in help_text.stdout
        assert f"--{name} " in completion.stdout
    assert printed(tool, "-V").stdout.startswith(f"{tool} (ullage) version ")


def test_every_option_sets_a_field_and_belongs_to_a_tool() -> None:
    known = {name for listed in TOOLS.values() for name in listed}
    for option in OPTIONS:
        assert option.long in known
        asks = option.long in {"version", "help", "help-completion"}
        assert asks or option.refused or option.field in Options._fields, option.long
