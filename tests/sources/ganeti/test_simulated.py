import shutil
import subprocess

import pytest

from ullage.model.errors import InputError
from ullage.model.ganeti import MIB, GanetiGroup, GanetiNode
from ullage.sources.ganeti import simulated as simulated_source
from ullage.sources.ganeti.simulated import parse_size, simulated
from ullage.sources.ganeti.text import read_text


@pytest.mark.parametrize(
    ("text", "mib"),
    [
        ("100", 100),
        ("100m", 100),
        ("4g", 4096),
        ("8t", 8388608),
        ("8T", 7629394),
        ("1M", 0),
        ("2G", 1907),
        ("3 GiB", 3072),
        ("3gib", 3072),
        ("3gB", 2861),
        ("0", 0),
    ],
)
def test_lower_case_units_are_binary_and_upper_case_ones_decimal(text, mib):
    assert parse_size(text) == mib * MIB


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'' is no number"),
        ("g", "'' is no number"),
        ("1.5g", "'.5g' is no unit"),
        ("-1", "'-1' is no unit"),
        ("5k", "'k' is no unit"),
        ("9999999999999t", "is too large"),
        ("4398046511104t", "is too large"),
    ],
)
def test_a_size_that_is_none_is_refused(text, said):
    with pytest.raises(InputError) as raised:
        parse_size(text)
    assert said in str(raised.value)


def test_each_specification_is_a_group_of_equal_nodes():
    cluster = simulated(["p,2,8T,64g,16", "last_resort,1,1t,32g,8,3,True"])
    assert cluster.groups == (
        GanetiGroup("group-01", "fake-uuid-01"),
        GanetiGroup("group-02", "fake-uuid-02", "last_resort"),
    )
    assert [node.name for node in cluster.nodes] == ["node-01-001", "node-01-002", "node-02-001"]
    assert [node.master for node in cluster.nodes] == [True, False, False]
    assert cluster.nodes[2] == GanetiNode(
        name="node-02-001",
        group="fake-uuid-02",
        memory_bytes=32768 * MIB,
        memory_free_bytes=32768 * MIB,
        disk_bytes=1048576 * MIB,
        disk_free_bytes=1048576 * MIB,
        cpu_milli=8000,
        spindles=3,
        exclusive_storage=True,
    )
    assert cluster.instances == ()


@pytest.mark.parametrize(
    ("specification", "said"),
    [
        ("p,2", "group 'p,2': there are 2 parts; write policy,count,disk,memory,cpus"),
        ("x,2,1t,1g,1", "field policy: 'x' is no allocation policy"),
        ("p,-2,1t,1g,1", "field count: '-2' is below zero"),
        ("p,2,1x,1g,1", "field disk: 'x' is no unit"),
        ("p,2,1t,1x,1", "field memory: 'x' is no unit"),
        ("p,2,1t,1g,1.5", "field cpus: '1.5' is no number"),
        ("p,2,1t,1g,1,x", "field spindles: 'x' is no number"),
        ("p,2,1t,1g,1,1,yes", "field exclusive storage: 'yes' is neither True nor False"),
        ("p,100001,1t,1g,1", "100001 nodes are too many"),
    ],
)
def test_a_bad_specification_is_refused_with_its_part(specification, said):
    with pytest.raises(InputError) as raised:
        simulated([specification])
    assert said in str(raised.value)


def test_the_number_of_groups_is_bounded(monkeypatch):
    monkeypatch.setattr(simulated_source, "GROUPS_MAX", 1)
    with pytest.raises(InputError, match="2 groups are too many"):
        simulated(["p,1,1,1,1", "p,1,1,1,1"])


def test_the_installed_tool_simulates_the_same_nodes(tmp_path):
    if shutil.which("hspace") is None:
        pytest.skip("ganeti-htools is not installed")
    asked = ["p,2,8T,64g,16", "a,2,1t,32G,8,3,True", "u,1,100g,4096,2,2"]
    saved = tmp_path / "saved"
    flags = [part for each in asked for part in ("--simulate", each)]
    subprocess.run(["hspace", *flags, "-l", "1", "-S", saved], capture_output=True, check=False)
    theirs = read_text(saved.with_name("saved.standard").read_text(encoding="utf-8"))
    ours = simulated(asked[::-1])  # its first group is the last that is asked for
    assert [(group.name, group.uuid, group.allocation) for group in theirs.groups] == [
        (group.name, group.uuid, group.allocation) for group in ours.groups
    ]
    holders = {each.primary for each in theirs.instances}
    assert [node for node in theirs.nodes if node.name not in holders] == [
        node for node in ours.nodes if node.name not in holders
    ]
