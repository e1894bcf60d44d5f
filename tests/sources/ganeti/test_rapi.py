"""Documents of the remote interface: which memory counts, and what nodes that cannot be asked look like."""

import json
import shutil
import subprocess

import pytest

from sources.ganeti.rapi_documents import documents, instance, node, save
from sources.kubernetes.small_server import serving
from ullage.model.errors import InputError
from ullage.model.ganeti import MIB, Disk, GanetiNode
from ullage.sources.ganeti import rapi
from ullage.sources.ganeti.rapi import HTOOLS_RULES, OWN_RULES, cluster_of_documents, read_rapi
from ullage.sources.ganeti.text_writer import write_text


def read(found, rules=HTOOLS_RULES):
    return cluster_of_documents(lambda name: json.dumps(found[name]).encode(), rules)


def refusal(found):
    with pytest.raises(InputError) as raised:
        read(found)
    return str(raised.value)


def test_a_folder_holds_a_cluster(tmp_path):
    save(tmp_path, documents())
    cluster = read_rapi(str(tmp_path))
    assert cluster == read_rapi(f"file://{tmp_path}") == read(documents())
    assert [group.name for group in cluster.groups] == ["default"]
    assert cluster.tags == ("htools:iextags:web",)
    assert cluster.nodes[1] == GanetiNode(
        name="node2",
        group="uuid-1",
        memory_bytes=32768 * MIB,
        memory_node_bytes=900 * MIB,
        memory_free_bytes=30000 * MIB,
        disk_bytes=1000000 * MIB,
        disk_free_bytes=900000 * MIB,
        cpu_milli=8000,
        cpu_node_milli=2000,
        master=True,
        spindles=3,
        tags=("rack:2",),
        hypervisor="kvm",
    )


def test_nodes_that_are_offline_or_hold_no_instances_have_nothing_and_drained_ones_are_offline():
    nodes = {each.name: each for each in read(documents()).nodes}
    assert [name for name, each in nodes.items() if each.offline] == ["node3", "node4", "node5"]
    assert [name for name, each in nodes.items() if not each.memory_bytes] == ["node3", "node4"]


def test_spindles_are_counted_where_storage_is_exclusive():
    last = read(documents()).nodes[-1]
    assert (last.spindles, last.spindles_free, last.exclusive_storage) == (9, 7, True)


def test_an_instance_takes_what_its_disks_use_and_may_have_several():
    web1, web2, web3 = read(documents()).instances
    assert (web1.disk_total_bytes, web1.disks) == (1152 * MIB, (Disk(1024 * MIB),))
    assert web3.disks == (Disk(10 * MIB, 1), Disk(20 * MIB, 2))
    assert (web2.secondary, web2.uses_memory) == ("", False)


@pytest.mark.parametrize(("rules", "running"), [(HTOOLS_RULES, 512), (OWN_RULES, 1024)])
def test_memory_of_instances_is_what_they_have_for_the_tools_and_the_most_they_may_have_for_us(
    rules, running
):
    memory = [each.memory_bytes // MIB for each in read(documents(), rules).instances]
    assert memory == [running, 1024, 1024]


@pytest.mark.parametrize(
    ("hypervisor", "rules", "own"),
    [
        ("xen-pvm", OWN_RULES, 900),
        ("xen-hvm", OWN_RULES, 900),
        ("kvm", OWN_RULES, 1024),
        ("lxc", OWN_RULES, 1024),
        ("kvm", HTOOLS_RULES, 900),
    ],
)
def test_memory_of_a_node_itself_is_reported_by_xen_and_stated_elsewhere(hypervisor, rules, own):
    assert read(documents(hypervisor), rules).nodes[0].memory_node_bytes == own * MIB


def test_memory_of_a_node_itself_may_be_in_its_hypervisor_state():
    found = documents()
    found["nodes"][0]["hv_state"] = {"kvm": {"mem_node": 2048}, "lxc": {"mem_node": 1}}
    assert read(found, OWN_RULES).nodes[0].memory_node_bytes == 2048 * MIB
    assert read(found, HTOOLS_RULES).nodes[0].memory_node_bytes == 900 * MIB


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("groups", {}, "groups: this is another document; give a list of objects (ask with ?bulk=1)"),
        ("groups", [{"name": "g"}], "groups: g: key 'alloc_policy' not found"),
        ("nodes", [1], "nodes: number 1 is no object; ask with ?bulk=1"),
        ("nodes", [node("a", mtotal="x")], "nodes: a: key 'mtotal': Unable to read Double"),
        ("nodes", [node("a", offline=0)], "nodes: a: key 'offline': Unable to read Bool"),
        ("nodes", [node("a", **{"group.uuid": "u"})], "nodes: a: there is no group 'u'"),
        ("nodes", [node("a"), node("a")], "nodes: a name is there twice"),
        ("nodes", [node("a")], "info: the master 'node2' is no node"),
        ("instances", [instance("i", pnode="x")], "instances: i: there is no node 'x'"),
        ("instances", [instance("i", snodes=["x"])], "instances: i: there is no node 'x'"),
        ("instances", [instance("i", status="up")], "instances: i: key 'status': Invalid string value"),
        ("instances", [instance("i", beparams={})], "instances: i: key 'beparams': key 'maxmem' not found"),
        ("info", [], "info: this is another document; give an object"),
    ],
)
def test_a_bad_document_is_named_with_the_object(name, value, said):
    if "maxmem" in said:
        value = [value[0] | {"oper_ram": None}]
    assert refusal(documents() | {name: value}).startswith(said)


def test_what_is_no_json_or_is_absent_is_named(tmp_path):
    save(tmp_path, documents())
    (tmp_path / "info.json").write_bytes(b"\xff{")
    with pytest.raises(InputError, match="info: this is no JSON"):
        read_rapi(str(tmp_path))
    (tmp_path / "nodes.json").unlink()
    with pytest.raises(InputError, match=r"nodes.json: No such file or directory; save /2/nodes\?bulk=1"):
        read_rapi(str(tmp_path))


def test_the_size_of_a_document_is_bounded(tmp_path, monkeypatch):
    save(tmp_path, documents())
    monkeypatch.setattr(rapi, "RESPONSE_BYTES_MAX", 10)
    with pytest.raises(InputError, match=r"groups.json: the file is too large; the most is 10 bytes"):
        read_rapi(str(tmp_path))


def test_a_server_gives_the_same_cluster_as_a_folder(tmp_path):
    found = documents()
    save(tmp_path, found)
    paths = {f"/2/{name}": [(200, json.dumps(each).encode())] for name, each in found.items()}
    with serving((404, b""), paths=paths) as there:
        assert read_rapi(there.url) == read_rapi(str(tmp_path))
    assert [path for path, _ in there.seen] == [
        "/2/groups?bulk=1",
        "/2/nodes?bulk=1",
        "/2/instances?bulk=1",
        "/2/info",
    ]


def test_the_installed_tool_reads_the_same_cluster(tmp_path):
    if shutil.which("hbal") is None:
        pytest.skip("ganeti-htools is not installed")
    save(tmp_path, documents("xen-pvm"))
    asked = ["hbal", "-m", f"file://{tmp_path}", "-l", "1", "-S", tmp_path / "saved"]
    subprocess.run(asked, capture_output=True, check=False)
    saved = (tmp_path / "saved.original").read_text(encoding="utf-8")
    assert write_text(read_rapi(str(tmp_path))) == saved
