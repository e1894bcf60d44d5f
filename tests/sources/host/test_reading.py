"""Numbers and lines, and the promise that rests on them: parsers answer nonsense with an InputError only."""

import contextlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.model.errors import InputError
from ullage.sources.host import cgroup, cpu, disks, ganeti, gpus, lvm, memory, mounts, pressure
from ullage.sources.host.collect import collect
from ullage.sources.host.facts import decode_host_facts, encode_host_facts
from ullage.sources.host.reading import decimal_parts, lines_of, shown, whole_number
from ullage.sources.host.recorded import parse_bundle


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-1",
        "+1",
        " 1",
        "1.0",
        "\N{ARABIC-INDIC DIGIT ONE}",
        "1_0",
        "0x1",
        "9" * 20,
        "9223372036854775808",
    ],
)
def test_what_is_no_whole_number_of_63_bits_is_refused(text):
    with pytest.raises(InputError, match="here"):
        whole_number(text, where="here")


def test_the_range_holds_after_the_unit_too():
    assert whole_number("9007199254740991", where="x", unit=1024) == 2**63 - 1024
    with pytest.raises(InputError, match="out of range"):
        whole_number("9007199254740992", where="x", unit=1024)


@settings(deadline=None)
@given(st.integers(0, 2**63 - 1))
def test_whole_numbers_read_as_they_are_written(number):
    assert whole_number(str(number), where="x") == number


@pytest.mark.parametrize(("text", "parts"), [("0.52", 52), ("12.5", 1250), ("7", 700), ("0.00", 0)])
def test_decimals_are_exact_integers_of_their_last_digit(text, parts):
    assert decimal_parts(text, where="x", digits=2) == parts


@pytest.mark.parametrize("text", ["1.234", "", ".", "-0.5", "1.2.3", "nan"])
def test_what_is_no_decimal_is_refused(text):
    with pytest.raises(InputError):
        decimal_parts(text, where="x", digits=2)


def test_lines_end_at_newlines_alone_and_are_bounded():
    assert lines_of("a\x0bb\u2028c\nd\n", where="x", lines_max=2) == ["a\x0bb\u2028c", "d"]
    with pytest.raises(InputError, match="3 lines, more than 2"):
        lines_of("a\nb\nc\n", where="x", lines_max=2)


def test_quoted_text_stays_short_and_on_one_line():
    assert shown("a\nb") == r"'a\nb'"
    assert len(shown("x" * 1000)) < 70


LVM_ROW = '{"report":[{"%s":[{"vg_name":"a","vg_free":"1","pv_attr":"a--"}]}]}'
PARSERS = {
    "meminfo": (memory.parse_meminfo, "MemTotal:  1 kB\nHugePages_Total: 3\n"),
    "cpuinfo": (cpu.parse_cpuinfo, "processor : 0\nphysical id : 0\ncore id : 1\nmodel name : x\n"),
    "cpu list": (cpu.parse_cpu_list, "0-3,5\n"),
    "lscpu -p": (cpu.parse_topology, "# CPU\n0,0,0\n1,1,0\n"),
    "lscpu": (cpu.parse_model, "Model name: x\n"),
    "loadavg": (cpu.parse_loadavg, "0.52 0.58 0.59 1/467 12345\n"),
    "pressure": (
        lambda text: pressure.parse_pressure(text, where="x"),
        "some avg10=1.03 avg60=0.71 avg300=0.50 total=5\n",
    ),
    "mountinfo": (
        lambda text: mounts.real_mounts(mounts.parse_mountinfo(text)),
        "28 1 8:1 / /a\\040b rw shared:1 - ext4 /dev/sda1 rw\n",
    ),
    "membership": (cgroup.parse_membership, "12:memory:/docker/3f4e\n0::/\n"),
    "memory limit": (lambda text: cgroup.parse_memory_limit(text, where="x"), "max\n"),
    "cpu quota": (lambda text: cgroup.parse_cpu_quota(text, where="x"), "150000 100000\n"),
    "xl info": (
        lambda text: ganeti.parse_xen_info(text, where="x"),
        "total_memory : 4095\nfree_memory : 1\nnr_cpus : 4\n",
    ),
    "xl list": (lambda text: ganeti.parse_xen_list(text, where="x"), "Domain-0  0  1024  4  r-----  1.5\n"),
    "lsblk": (
        disks.parse_lsblk,
        '{"blockdevices":[{"name":"a","kname":"a","type":"disk","size":"1","rota":"0","children":[]}]}',
    ),
    "vgs": (lvm.parse_vgs, LVM_ROW % "vg"),
    "pvs": (lvm.parse_pvs, LVM_ROW % "pv"),
    "lvs": (lvm.parse_lvs, LVM_ROW % "lv"),
    "nvidia-smi": (gpus.parse_nvidia_smi, "0, GPU-1, Tesla T4, 15360\n"),
    "bundle": (
        lambda text: parse_bundle(text.encode("utf-8", "replace")),
        "ullage-host-bundle 1\n@file /a\n|x\n@size /\n|1 2 3 4\n@command a\n|\n!status 0\n@end\n",
    ),
    "class override": (lambda text: disks.parse_class_overrides([text]), "vda=SSD"),
}


@pytest.mark.parametrize("name", PARSERS)
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_a_parser_refuses_garbage_with_an_input_error(name, data):
    parse, sample = PARSERS[name]
    start = data.draw(st.integers(0, len(sample)))
    end = data.draw(st.integers(start, len(sample)))
    inserted = data.draw(st.text(max_size=12) | st.text('0123456789,:-. {}[]"\n|@!/', max_size=24))
    with contextlib.suppress(InputError):
        parse(sample[:start] + inserted + sample[end:])


MACHINES = [path.read_text() for path in sorted((Path(__file__).parent / "machines").glob("*.txt"))]
PIECES = [
    "|",
    "@",
    "\n",
    "-1",
    "9" * 19,
    "9" * 40,
    " ",
    ":",
    "0x",
    "[",
    '"',
    ",",
    "max",
    "kB",
    "null",
    "é",
    "\0",
]


@settings(deadline=None, max_examples=80)
@given(data=st.data())
def test_a_damaged_machine_still_gives_a_valid_document(data):
    lines = data.draw(st.sampled_from(MACHINES)).split("\n")
    places = [place for place, line in enumerate(lines) if line.startswith("|")]
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.sampled_from(places))
        at = data.draw(st.integers(1, len(lines[place])))
        until = data.draw(st.integers(at, len(lines[place])))
        piece = data.draw(st.sampled_from(PIECES)).replace("\n", "\n|")
        lines[place] = lines[place][:at] + piece + lines[place][until:]
    try:
        machine = parse_bundle("\n".join(lines).encode())
    except InputError:
        return  # a size that is no number spoils the recording as a whole
    facts = collect(datetime(2025, 3, 1, tzinfo=UTC), machine=machine)
    assert decode_host_facts(encode_host_facts(facts)) == facts


@pytest.mark.parametrize("name", ["lsblk", "vgs", "pvs", "lvs"])
def test_deeply_nested_reports_are_bad_input(name):
    with pytest.raises(InputError):
        PARSERS[name][0]("[" * 200_000)


@pytest.mark.parametrize("name", [name for name in PARSERS if name not in ("cpuinfo", "memory limit")])
def test_output_that_is_far_too_long_is_refused(name):
    parse, _ = PARSERS[name]
    with pytest.raises(InputError):
        parse("x\n" * 5_000_000 if name != "bundle" else "x" * (64 * 1024 * 1024 + 1))
