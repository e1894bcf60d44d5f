"""Writing the text format: as Ganeti's tools write it, and so that reading gives back the same cluster."""

import shutil
import subprocess
from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from ullage.model.errors import InputError
from ullage.model.ganeti import (
    MIB,
    AllocationPolicy,
    Disk,
    DiskTemplate,
    GanetiCluster,
    GanetiGroup,
    GanetiNode,
    Instance,
    InstancePolicy,
    Size,
    Status,
)
from ullage.sources.ganeti.text import read_text
from ullage.sources.ganeti.text_writer import plain_decimal, shown_decimal, write_text

WORDS = st.text("abcxyz-.:_é", min_size=1, max_size=8)
TAGS = st.lists(WORDS, max_size=3).map(tuple)
MEBIBYTES = st.integers(0, 1 << 30).map(lambda count: count * MIB)
FREE = st.integers(-(1 << 20), 1 << 30).map(lambda count: count * MIB)
COUNTS = st.integers(0, 1000)
MILLI = st.integers(0, 1000).map(lambda count: count * 1000)
TOTALS = MEBIBYTES | st.integers(0, 1 << 60)
MILLI_TOTALS = st.integers(0, 1000 << 20)
RATIOS = st.decimals("0.001", "1000", places=3).map(Fraction)
DECIMALS = st.from_regex(r"[0-9]{1,5}(\.[0-9]{1,25})?(e-?[0-9]{1,2})?", fullmatch=True)
SIZES = st.builds(Size, MEBIBYTES, COUNTS, MEBIBYTES, COUNTS, COUNTS, COUNTS)
POLICIES = st.builds(
    InstancePolicy,
    SIZES,
    st.lists(st.tuples(SIZES, SIZES), max_size=2).map(tuple),
    st.lists(st.sampled_from(get_args(DiskTemplate)), max_size=3, unique=True).map(tuple),
    RATIOS | RATIOS.map(lambda ratio: -ratio),
    RATIOS,
    st.none() | RATIOS,
)


@st.composite
def clusters(draw):
    names = draw(st.lists(WORDS, min_size=1, max_size=3, unique=True))
    groups = [
        GanetiGroup(
            name,
            f"uuid-{name}",
            draw(st.sampled_from(get_args(AllocationPolicy))),
            draw(TAGS),
            draw(TAGS),
            draw(st.none() | POLICIES),
        )
        for name in names
    ]
    nodes = [
        GanetiNode(
            name,
            draw(st.sampled_from(groups)).uuid,
            draw(TOTALS),
            draw(MEBIBYTES),
            draw(FREE),
            draw(TOTALS),
            draw(FREE),
            draw(MILLI_TOTALS),
            draw(MILLI),
            draw(RATIOS),
            **draw(st.sampled_from([{}, {"offline": True}, {"master": True}])),
            spindles=draw(COUNTS),
            spindles_free=draw(st.integers(-5, 5)),
            exclusive_storage=draw(st.booleans()),
            tags=draw(TAGS),
        )
        for name in draw(st.lists(WORDS, min_size=2, max_size=4, unique=True))
    ]
    instances = [
        Instance(
            name,
            draw(MEBIBYTES),
            (Disk(draw(MEBIBYTES), draw(st.none() | COUNTS)),),
            draw(MILLI),
            nodes[0].name,
            draw(st.sampled_from(["", nodes[1].name])),
            draw(st.sampled_from(get_args(Status))),
            draw(st.booleans()),
            draw(st.sampled_from(get_args(DiskTemplate))),
            draw(TAGS),
            draw(COUNTS),
            draw(st.booleans()),
        )
        for name in draw(st.lists(WORDS, max_size=3))
    ]
    return GanetiCluster(tuple(groups), tuple(nodes), tuple(instances), draw(TAGS), draw(POLICIES))


@given(clusters())
def test_what_is_written_is_read_as_the_same_cluster(cluster):
    assert read_text(write_text(cluster, complete=False)) == cluster


@given(clusters())
def test_what_is_read_is_written_as_the_same_text(cluster):
    text = write_text(cluster)
    assert write_text(read_text(text)) == text


@given(st.lists(DECIMALS, min_size=7, max_size=7), st.sampled_from(["", "-"]))
def test_every_number_that_is_read_is_saved_and_read_as_the_same(numbers, sign):
    memory, disk, cpu, speed, cpu_ratio, spindle_ratio, memory_ratio = numbers
    size = "1,1,1,1,1,1"
    text = (
        f"g|u|preferred||\n\nn|{memory}|0|0|{disk}|0|{cpu}|N|u|1||N|0|1|{speed}\n\n\n\n"
        f"|{size}|{size};{size}|drbd|{sign}{cpu_ratio}|{spindle_ratio}|{memory_ratio}\n"
    )
    try:
        cluster = read_text(text)
    except InputError:
        reject()
    assert read_text(write_text(cluster, complete=False)) == cluster
    assert read_text(write_text(cluster)).nodes == cluster.nodes


@pytest.mark.parametrize(
    "decimals", ["16384.5|1024|0|512000.25|0|8.5", "0.00000095367431640625|0|0|1|0|0.001"]
)
def test_what_a_node_has_in_all_keeps_its_decimals(decimals):
    text = f"g|u|preferred||\n\nn|{decimals}|N|u|1||N|0|1|1.0\n\n\n\n"
    assert f"\nn|{decimals}|N|" in write_text(read_text(text))


def test_a_group_without_a_policy_is_written_with_the_built_in_one():
    cluster = GanetiCluster(groups=(GanetiGroup("g", "u"),))
    size = "128,1,1024,1,1,1"
    bounds = f"{size};32768,8,1048576,16,8,12"
    templates = "diskless,file,sharedfile,plain,blockdev,drbd,rbd,ext,gluster"
    assert write_text(cluster).endswith(f"\ng|{size}|{bounds}|{templates}|4.0|32.0\n")
    assert "\ng|128" not in write_text(cluster, complete=False)


@pytest.mark.parametrize(
    ("value", "plain", "shown"),
    [
        ("1", "1.0", "1.0"),
        ("0.1", "0.1", "0.1"),
        ("0.01", "0.01", "1.0e-2"),
        ("0.0125", "0.0125", "1.25e-2"),
        ("-4.5", "-4.5", "-4.5"),
        ("9999999.5", "9999999.5", "9999999.5"),
        ("10000000", "10000000.0", "1.0e7"),
        ("123456789", "123456789.0", "1.23456789e8"),
        ("0", "0.0", "0.0"),
    ],
)
def test_decimals_are_short_and_ratios_have_exponents(value, plain, shown):
    assert plain_decimal(Fraction(value)) == plain
    assert shown_decimal(Fraction(value)) == shown


def test_sizes_of_less_than_a_mebibyte_are_dropped_towards_zero():
    node = GanetiNode("n", "u", memory_free_bytes=-MIB // 2, disk_free_bytes=MIB + 1)
    text = write_text(GanetiCluster(groups=(GanetiGroup("g", "u"),), nodes=(node,)))
    assert "\nn|0|0|0|0|1|0|N|u|1||N|0|1|1.0\n" in text


def data_files(shared):
    return sorted(
        path
        for suite in ("htools", "htools-memory-ratio")
        for path in (shared / "oracles" / suite / "data").glob("*.data")
        if path.stem != "invalid-node"
    )


def test_real_files_are_read_and_written_without_loss(shared):
    files = data_files(shared)
    assert len(files) > 50
    for path in files:
        cluster = read_text(path.read_text(encoding="utf-8"), path.name)
        assert read_text(write_text(cluster, complete=False)) == cluster, path.name


def test_saved_states_of_the_real_tool_are_written_alike(shared):
    saved = (shared / "oracles" / "htools" / "hbal-x-save.out").read_text(encoding="utf-8")
    for text in saved.split("======\n"):
        assert write_text(read_text(text)) == text


@pytest.mark.slow
def test_the_installed_tool_saves_what_we_write(shared, tmp_path):
    if shutil.which("hbal") is None:
        pytest.skip("ganeti-htools is not installed")
    compared = 0
    for path in data_files(shared):
        if "over-commitment" in path.stem or path.stem.startswith("mr-"):
            continue  # it drops the memory ratio
        saved = tmp_path / path.stem
        subprocess.run(["hbal", "-t", path, "-l", "1", "-S", saved], capture_output=True, check=False)
        original = saved.with_name(f"{saved.name}.original")
        if original.exists():
            text = original.read_text(encoding="utf-8")
            assert write_text(read_text(path.read_text(encoding="utf-8"))) == text, path.name
            compared += 1
    assert compared > 20
