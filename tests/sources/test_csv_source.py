import pytest

from builders import GPU, resources
from ullage.model.errors import InputError
from ullage.sources.csv_source import CsvSource, csv_snapshot, is_table
from ullage.sources.input_files import InputFile

NODES = "name,cpu,memory,gpu,model,group,domain,state,example.com/licences\n"
WORKLOADS = "name,namespace,cpu,memory,gpu,node,replicas,priority,owner,state,memory-limit\n"


def table(text, name="t.csv"):
    return InputFile(name, text.encode())


def refusal(*files):
    with pytest.raises(InputError) as raised:
        csv_snapshot(files)
    return str(raised.value)


def test_nodes_and_workloads_make_a_cluster():
    snapshot = csv_snapshot(
        [
            table(NODES + "n1,4,16Gi,2,L4,gpu,r1,cordoned,3\nn2,500m,1Gi,,,,,,\n", "a.csv"),
            table(WORKLOADS + "a,web,1,2Gi,1,n1,,10,shop,,4Gi\nb,,,,,,3,-5,,,1Gi\n", "b.csv"),
        ],
        "lab",
    )
    first, second = snapshot.nodes
    assert first.capacity == resources({"example.com/licences": "3"}, cpu=4, memory="16Gi", gpu=2)
    assert (first.group, first.domain, first.state) == ("gpu", "r1", "cordoned")
    assert [device.model for device in first.devices] == ["L4", "L4"]
    assert first.labels == {"nvidia.com/gpu.product": "L4"}
    assert second.capacity == resources(cpu="500m", memory="1Gi")
    assert (second.group, second.state, second.devices) == ("default", "ready", ())

    placed = snapshot.workloads["web/a"]
    assert placed.requests == resources(cpu=1, memory="2Gi", gpu=1)
    assert placed.limits == resources(memory="4Gi")
    assert (placed.node, placed.state, placed.priority, placed.owner) == ("n1", "ok", 10, "shop")
    replicas = [snapshot.workloads[f"b-{number}"] for number in range(3)]
    assert {each.state for each in replicas} == {"init"}
    assert {each.priority for each in replicas} == {-5}
    assert {each.owner for each in replicas} == {"b"}
    assert replicas[0].requests == resources(memory="1Gi")
    assert len(snapshot.workloads) == 4
    assert snapshot.name == "lab"


def test_a_file_called_nodes_or_workloads_is_what_it_is_called():
    snapshot = csv_snapshot(
        [table("name,cpu\na,1\n", "x/workloads.csv"), table("name,cpu\nn1,4\n", "x/Nodes.csv")]
    )
    assert list(snapshot.workloads.keys()) == ["a"]
    assert list(snapshot.nodes.keys()) == ["n1"]


BAD = {
    "a bad amount": (NODES + "n1,4x,1Gi,,,,,,\n", "t.csv:2: cpu: quantity '4x': unknown suffix"),
    "a negative amount": (NODES + "n1,4,-1Gi,,,,,,\n", "t.csv:2: memory: -1Gi is negative; use 0 or more"),
    "a bad resource name": ("name,EXAMPLE.com/x\nn1,1\n", "t.csv:2: EXAMPLE.com/x: resource name"),
    "no name": (NODES + ",4,1Gi,,,,,,\n", "t.csv:2: name: is empty"),
    "no column for names": ("cpu,node\n1,n1\n", "t.csv:1: no column 'name'"),
    "an unknown column": ("name,cpus\nn1,4\n", "t.csv:1: column 'cpus' is unknown; known are cpu, domain,"),
    "a limit of a node": ("name,memory-limit,model\nn1,4,L4\n", "column 'model' is unknown"),
    "an unknown state": (NODES + "n1,4,1Gi,,,,,down,\n", "t.csv:2: state: 'down' is no state; use ready,"),
    "an unknown state of a workload": (
        WORKLOADS + "a,,,,,,,,,gone,\n",
        "state: 'gone' is no state; use init,",
    ),
    "GPUs without end": (NODES + "n1,4,1Gi,1000000000,,,,,\n", "t.csv:2: gpu: 1000000000 GPUs in one node"),
    "replicas without end": (WORKLOADS + "a,,,,,,99999999,,,,\n", "t.csv:2: replicas: 99999999 replicas"),
    "replicas on one node": (WORKLOADS + "a,,,,,n1,2,,,,\n", "t.csv:2: replicas: 2 replicas on one node"),
    "a bad priority": (WORKLOADS + "a,,,,,,,high,,,\n", "t.csv:2: priority: 'high' is no whole number"),
    "two nodes of one name": (NODES + "n1,4,,,,,,,\nn1,4,,,,,,,\n", "node n1: is there twice"),
    "an unknown node": (WORKLOADS + "a,,,,,n9,,,,,\n", "workload a: node 'n9' is none of the 0 nodes"),
}


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=BAD)
def test_a_bad_table_is_refused_with_line_and_column(text, said):
    assert said in refusal(table(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name,cpu\n", True),
        ("sn,cpu_milli,memory_mib,gpu,model\n", True),
        ("name\n", False),
        ("name: a, b\n", False),
        ("{}", False),
        ("", False),
        ('"', False),
    ],
)
def test_a_table_is_known_by_its_columns(text, expected):
    assert is_table(table(text)) is expected


def test_a_source_of_tables_says_what_it_is():
    source = CsvSource("lab", [table("name,gpu\nn1,1\n")])
    assert (source.name, source.profile) == ("lab", "kubernetes")
    assert source.read().nodes["n1"].capacity == resources(gpu=1)
    assert source.read().nodes["n1"].devices[0].resource == GPU
