import gzip
import io
import json
import os
import threading
from datetime import UTC, datetime

import pytest

from builders import cluster, node, pod, policy, resources
from ullage.model.errors import InputError
from ullage.model.policy import Policy
from ullage.model.resources import ResourceType, ResourceTypes
from ullage.sources.host.facts import CpuFacts, HostFacts, encode_host_facts
from ullage.sources.opening import HEAD_BYTES, Live, Options, default_cluster, open_source
from ullage.sources.own_text import resource_types_text, snapshot_text
from ullage.sources.snapshot_file import snapshot_bytes

SMALL = cluster(node("n1", cpu=4, memory="8Gi").holding(pod("web/a", cpu=1)), name="small")
HOST = encode_host_facts(
    HostFacts(collected_at=datetime(2026, 1, 1, tzinfo=UTC), hostname="h1", cpu=CpuFacts(logical_cores=2))
)
DUMP = json.dumps(
    {
        "apiVersion": "v1",
        "items": [
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": "k1"},
                "status": {"capacity": {"cpu": "2"}, "allocatable": {"cpu": "2"}},
            }
        ],
        "kind": "List",
    }
).encode()
TABLE = b"name,cpu\nc1,2\n"

CONTENTS = {
    "a compact snapshot": (snapshot_bytes(SMALL), "n1", "kubernetes"),
    "a YAML snapshot": (snapshot_text(SMALL), "n1", "kubernetes"),
    "a JSON snapshot": (snapshot_text(SMALL, "json"), "n1", "kubernetes"),
    "a document of a host": (HOST, "h1", "zos"),
    "a Kubernetes dump": (DUMP, "k1", "kubernetes"),
    "a table": (TABLE, "c1", "kubernetes"),
    "Ganeti's text": (b"g|u|preferred|\n\nn1|64|1|60|9|9|4|M|u\n\n\n\n", "n1", "ganeti"),
    "the resource model's own form": (b"resourceCapacitySpec: [total: [cpu: 2]]\n", "node", "kubernetes"),
}
EVERY_CONTENT = pytest.mark.parametrize(("data", "name", "profile"), CONTENTS.values(), ids=CONTENTS)


def check(source, name, profile):
    assert source.profile == profile
    assert source.name
    assert list(source.read().nodes.keys()) == [name]


@EVERY_CONTENT
def test_a_file_is_known_by_its_content(tmp_path, data, name, profile):
    path = tmp_path / "file.txt"
    path.write_bytes(data)
    check(open_source(str(path)), name, profile)


@EVERY_CONTENT
def test_a_compressed_file_is_known_by_its_content(tmp_path, data, name, profile):
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(data))
    check(open_source(str(path)), name, profile)


@EVERY_CONTENT
def test_standard_input_is_known_by_its_content(data, name, profile):
    check(open_source("-", stdin=io.BytesIO(data)), name, profile)


def test_standard_input_longer_than_what_is_looked_at_is_read_whole():
    long = cluster(*(node(f"n{number:05d}", cpu=4) for number in range(3000)))
    data = snapshot_text(long, "json")
    assert len(data) > HEAD_BYTES
    assert open_source("-", stdin=io.BytesIO(data)).read() == long
    padded = DUMP + b" " * (2 * HEAD_BYTES)
    assert list(open_source("-", stdin=io.BytesIO(padded)).read().nodes.keys()) == ["k1"]


@EVERY_CONTENT
def test_a_pipe_is_read_once(tmp_path, data, name, profile):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    check(open_source(str(path)), name, profile)
    writer.join()


def test_a_dump_that_only_mentions_our_format_is_a_dump(tmp_path):
    dump = json.loads(DUMP)
    dump["items"][0]["metadata"]["annotations"] = {
        "last": '{"apiVersion": "ullage.dev/v1"}',
        "apiVersion": "ullage.dev/v1",
    }
    path = tmp_path / "dump.json"
    path.write_text(json.dumps(dump), encoding="utf-8")
    check(open_source(str(path)), "k1", "kubernetes")


def test_a_folder_is_known_by_what_is_in_it(tmp_path):
    folders = {}
    for number, (data, name, profile) in enumerate(
        [(snapshot_text(SMALL), "n1", "kubernetes"), (HOST, "h1", "zos"), (DUMP, "k1", "kubernetes")]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "a.json").write_bytes(data)
        folders[folder] = (name, profile)
    for folder, (name, profile) in folders.items():
        check(open_source(str(folder)), name, profile)


def test_a_folder_of_tables_is_a_cluster(tmp_path):
    (tmp_path / "nodes.csv").write_bytes(TABLE)
    (tmp_path / "workloads.csv").write_bytes(b"name,node,cpu\na,c1,1\n")
    snapshot = open_source(str(tmp_path)).read()
    assert snapshot.workloads["a"].node == "c1"
    assert open_source(f"csv:{tmp_path}/nodes.csv,{tmp_path}/workloads.csv").read().nodes == snapshot.nodes


def test_types_beside_a_snapshot_count_for_it(tmp_path):
    lanes = ResourceTypes((ResourceType("example.com/lanes", "lane", 3),))
    (tmp_path / "a-types.yaml").write_bytes(resource_types_text(lanes))
    (tmp_path / "b.yaml").write_text(
        "apiVersion: ullage.dev/v1\nkind: Snapshot\nnodes: [{name: n1, capacity: {example.com/lanes: 1.5}}]",
        encoding="utf-8",
    )
    expected = resources({"example.com/lanes": "1.5"}, lanes)
    assert open_source(str(tmp_path)).read().nodes["n1"].capacity == expected
    alone = open_source(str(tmp_path / "b.yaml"), options=Options(types=lanes))
    assert alone.read().nodes["n1"].capacity == expected


def test_words_stand_for_built_in_clusters():
    assert open_source("demo").name == "demo"
    source = open_source("synthetic:nodes=10,seed=3")
    assert len(source.read().nodes) == 10
    assert source.read() is source.read()
    assert source.name == "synthetic:nodes=10,seed=3,fill=0.7"
    assert len(open_source("synthetic").read().nodes) == 100


def test_a_snapshot_names_its_profile(tmp_path):
    for given, expected in ((Policy("zos"), "zos"), (policy(name="ours"), "kubernetes")):
        path = tmp_path / "s.yaml"
        path.write_bytes(snapshot_text(cluster(node("n1"), policy=given)))
        source = open_source(str(path))
        assert (source.profile, source.name) == (expected, "s.yaml")


@pytest.mark.parametrize("spec", ["http://127.0.0.1:1", "https://127.0.0.1:1/v1/clusters/a"])
def test_an_address_is_that_of_a_server_which_is_asked_when_it_is_read(spec):
    source = open_source(spec)
    with pytest.raises(InputError, match=r"^https?://127.0.0.1:1: nobody listens there"):
        source.read()


def test_a_cluster_of_ganeti_is_a_file_a_folder_or_a_server(tmp_path):
    (tmp_path / "data.txt").write_text("g|u|preferred|\n\nn1|64|1|60|9|9|4|M|u\n\n\n\n", encoding="utf-8")
    source = open_source(f"ganeti:{tmp_path}/data.txt")
    assert (source.name, source.profile) == ("data.txt", "ganeti")
    assert list(source.read().nodes.keys()) == ["n1"]
    piped = open_source("ganeti:-", stdin=io.BytesIO((tmp_path / "data.txt").read_bytes()))
    assert (piped.name, len(piped.read().nodes)) == ("standard input", 1)
    assert open_source("ganeti:https://me:secret@rapi").name == "https://rapi:5080"
    with pytest.raises(InputError, match=r"groups.json: No such file or directory"):
        open_source(f"ganeti:{tmp_path}").read()


CONFIG = """
apiVersion: v1
current-context: a
clusters: [{name: prod, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: a, context: {cluster: prod}}, {name: b, context: {cluster: gone}}]
"""


def test_a_live_cluster_is_that_of_a_context(tmp_path, monkeypatch):
    (tmp_path / "config").write_text(CONFIG, encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    source = open_source("kube")
    assert (source.name, source.profile) == ("prod", "kubernetes")
    with pytest.raises(InputError, match=r"prod: https://127\.0\.0\.1:1 cannot be reached: "):
        source.read()
    with pytest.raises(InputError, match="context b: no cluster 'gone'"):
        open_source("kube", options=Options(live=Live(context="b")))
    with pytest.raises(InputError, match=r"nowhere\.yaml: there is no such kubeconfig"):
        open_source("kube", options=Options(live=Live(kubeconfig="nowhere.yaml")))


def test_where_no_cluster_is_named_a_kubeconfig_is_one(tmp_path, monkeypatch):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    assert default_cluster() == ""
    (tmp_path / "config").write_text(CONFIG, encoding="utf-8")
    assert default_cluster() == "kube"


def test_a_file_called_kubernetes_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kubernetes.json").write_bytes(DUMP)
    check(open_source("kubernetes.json"), "k1", "kubernetes")


@pytest.fixture
def folder(tmp_path):
    def filled(**files):
        for name, data in files.items():
            (tmp_path / name.replace("_", ".")).write_bytes(data)
        return str(tmp_path)

    return filled


def refusal(spec):
    with pytest.raises(InputError) as raised:
        open_source(spec).read()
    return str(raised.value)


def test_bad_inputs_are_refused_with_a_remedy(folder, tmp_path):
    assert "cannot be read: no such file" in refusal(str(tmp_path / "gone.json"))
    assert "no cluster is named" in refusal("")
    assert "no .json, .yaml or .yml file" in refusal(folder())
    assert "'' is no file; write csv:nodes.csv,workloads.csv" in refusal("csv:")
    assert "cannot be read: no such file" in refusal("csv:gone.csv")
    assert "'nodes=0' is not a whole number" in refusal("synthetic:nodes=0")


def test_a_document_that_is_no_cluster_is_refused(folder):
    for text, said in (
        (b"apiVersion: ullage.dev/v1\nkind: Policy\n", "kind Policy is no cluster"),
        (b"apiVersion: ullage.dev/v2\nkind: Snapshot\n", "is not known to this version"),
        (b"apiVersion: ullage.dev/v1\n", "kind is None"),
        (b"apiVersion: ullage.dev/v1\nkind: ResourceTypes\n", "0 clusters where one is expected"),
        (b"resourceRequirementSpec: [request: [cpu: 2]]\n", "no cluster; give a document of kind Snapshot"),
    ):
        assert said in refusal(f"{folder(a_yaml=text)}/a.yaml")


def test_a_policy_of_kubernetes_may_stand_beside_a_dump(folder):
    text = b"apiVersion: ullage.dev/v1\nkind: CapacityPolicy\nmetadata: {name: p}\n"
    text += b"spec: {cluster: {spare-nodes: 1}}\n"
    found = open_source(folder(a_yaml=text, b_json=DUMP)).read()
    assert [layer.origin for layer in found.policy.layers] == ["profile kubernetes", "CapacityPolicy p"]


def test_a_folder_of_two_clusters_is_refused(folder):
    assert "2 clusters where one is expected" in refusal(
        folder(a_yaml=snapshot_text(SMALL), b_yaml=snapshot_text(SMALL))
    )


def test_tables_and_documents_in_one_folder_are_refused(folder):
    assert "tables and documents in one folder (n.csv, " in refusal(folder(a_json=DUMP, n_csv=TABLE))


def test_damaged_compressed_data_is_refused(folder):
    path = f"{folder(a_gz=gzip.compress(DUMP)[:-9])}/a.gz"
    assert "gzip" in refusal(path)
    assert "gzip" in refusal(f"{folder(b_gz=bytes([0x1F, 0x8B, 0, 0, 0]))}/b.gz")


def test_types_beside_a_dump_count_for_it(folder):
    bare = b"resourceTypes: [{name: example.com/x, units: byte}]\n"
    types = b"apiVersion: ullage.dev/v1\nkind: ResourceTypes\n" + bare
    for text in (types, bare):
        for name in ("a_yaml", "z_yaml"):
            found = open_source(str(folder(**{name: text, "nodes_json": DUMP}))).read()
            assert [each.name for each in found.resource_types.added()] == ["example.com/x"]
            assert found.unknowns == ()


def test_a_table_of_unknown_columns_is_told_about_columns(tmp_path):
    path = tmp_path / "cols.csv"
    path.write_text("host,cpus\na,1\n")
    with pytest.raises(InputError, match="no column 'name'"):
        open_source(str(path)).read()
