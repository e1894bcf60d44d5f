import pytest

from ullage.model.errors import InputError
from ullage.model.resources import GPU_MILLI, Resources
from ullage.sources.csv_source import csv_snapshot
from ullage.sources.input_files import InputFile
from ullage.sources.openb import MODEL_LABEL, UNPLACED

NODES = "sn,cpu_milli,memory_mib,gpu,model\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time\n"
)


def read(nodes="", pods=""):
    files = [InputFile("nodes.csv", (NODES + nodes).encode()), InputFile("pods.csv", (PODS + pods).encode())]
    return csv_snapshot(files)


def test_a_node_has_a_device_for_each_gpu():
    (node,) = read("node-a,64000,262144,2,P100\n").nodes
    assert node.capacity == Resources({"cpu": 64_000, "memory": 256 << 30, GPU_MILLI: 2000})
    assert [(device.resource, device.model) for device in node.devices] == [(GPU_MILLI, "P100")] * 2
    assert node.labels == {MODEL_LABEL: "P100"}


def test_a_node_without_gpus_offers_none():
    (node,) = read("node-a,32000,262144,0,\n").nodes
    assert GPU_MILLI not in node.capacity
    assert (node.devices, node.labels) == ((), {})


@pytest.mark.parametrize(
    ("gpus", "share", "expected"), [(1, 460, 460), (1, 1000, 1000), (4, 1000, 4000), (0, 0, None)]
)
def test_a_share_times_the_number_is_what_a_pod_asks_for(gpus, share, expected):
    (pod,) = read(pods=f"pod-a,6000,12288,{gpus},{share},,LS,Running,10,99,20\n").workloads
    assert pod.requests.get(GPU_MILLI) == expected
    assert pod.requests.only(["cpu", "memory"]) == Resources({"cpu": 6000, "memory": 12 << 30})


def test_a_pod_waits_and_keeps_what_the_trace_says_of_it():
    snapshot = read(pods="pod-a,1,1,0,0,,LS,Failed,10,99,\n")
    (pod,) = snapshot.workloads
    assert (pod.state, pod.node, pod.created_seconds) == ("init", "", 10)
    assert pod.qualities == {"qos": "LS", "pod_phase": "Failed", "deletion_time": "99"}
    assert snapshot.unknowns == (UNPLACED,)


def test_models_that_a_pod_names_are_a_constraint():
    (pod,) = read(pods="pod-a,1,1,1,1000,V100M16|V100M32,LS,Running,0,9,0\n").workloads
    (term,) = pod.constraints.affinity.node_affinity.required.node_selector_terms
    (requirement,) = term.match_expressions
    assert (requirement.key, requirement.values) == (MODEL_LABEL, ("V100M16", "V100M32"))


@pytest.mark.parametrize(
    ("nodes", "pods", "said"),
    [
        ("n,1,1,9999,\n", "", "nodes.csv:2: gpu: 9999 GPUs in one node"),
        ("n,many,1,0,\n", "", "nodes.csv:2: cpu_milli: 'many' is no whole number"),
        ("n,1,9999999999999,0,\n", "", "nodes.csv:2: memory_mib: 9999999999999 MiB"),
        ("", "p,1,1,2,500,,,,,,\n", "pods.csv:2: gpu_milli: 500 of each of 2 GPUs"),
        ("", "p,1,1,1,1001,,,,,,\n", "pods.csv:2: gpu_milli: 1001 of each of 1 GPUs"),
        ("", "p,1,1,9999,1000,,,,,,\n", "pods.csv:2: num_gpu: 9999 GPUs for one pod"),
        ("", ",1,1,0,0,,,,,,\n", "pods.csv:2: name: is empty"),
    ],
)
def test_a_bad_line_is_refused_with_its_column(nodes, pods, said):
    with pytest.raises(InputError) as raised:
        read(nodes, pods)
    assert said in str(raised.value)


def test_the_published_trace_is_read_whole(shared):
    folder = shared / "data" / "openb"
    if not folder.is_dir():
        pytest.skip("../shared has no openb trace")
    names = ("openb_node_list_all_node.csv", "openb_pod_list_default.csv")
    snapshot = csv_snapshot([InputFile(name, (folder / name).read_bytes()) for name in names])
    assert (len(snapshot.nodes), len(snapshot.workloads)) == (1523, 8152)
    assert sum(bool(node.devices) for node in snapshot.nodes) == 1213
    assert sum(len(node.devices) for node in snapshot.nodes) == 6212
    shapes = {(pod.requests, str(pod.constraints)) for pod in snapshot.workloads}
    assert len(shapes) <= 151
