"""Traces as documents and tables: times, gangs, replicas, and errors that say what and where."""

import pytest

from builders import resources
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.sources.traces import BY_QOS, record_files, trace_of

HEAD = "apiVersion: ullage.dev/v1\nkind: Trace\nworkloads:\n"
TABLE = "name,namespace,start,duration,cpu,gpu,priority,replicas,gang\n"
OPENB = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
    "scheduled_time\n"
)


@pytest.fixture
def read(tmp_path):
    def trace(text, name="trace.yaml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return trace_of(str(path), ResourceTypes())

    return trace


def shown(trace):
    return [
        (each.key, each.at_seconds, each.duration_seconds, each.replicas, each.leaves_seconds)
        for each in trace.arrivals
    ]


def test_a_document_of_workloads_with_times(read):
    found = read(
        HEAD
        + "- {name: x, namespace: a, requests: {cpu: 2}, startSeconds: 5, durationSeconds: 60, priority: 3}\n"
        + "- {name: y, namespace: a, requests: {cpu: 1}, replicas: 2}\n"
        + "- {name: z, requests: {nvidia.com/gpu: 1}, replicas: 4, atomic: true, leavesSeconds: 9}\n"
    )
    assert shown(found) == [
        ("a/x", 5, 60, 1, None),
        ("a/y-0", 0, None, 1, None),
        ("a/y-1", 0, None, 1, None),
        ("z", 0, None, 4, 9),
    ]
    first = found.arrivals[0].workload
    assert (first.priority, first.requests.of("cpu"), first.state) == (3, 2000, "init")


def test_a_document_may_register_types(read):
    types = "resourceTypes: {example.com/seats: {internalScaleExponent: 1}}\n"
    found = read(
        HEAD.replace("workloads", types + "workloads") + "- {name: x, requests: {example.com/seats: 2.5}}\n"
    )
    assert found.arrivals[0].workload.requests.of("example.com/seats") == 25


def test_a_table(read):
    found = read(TABLE + "x,a,5,60,500m,2,-1,,\ny,a,7,,,1,,3,yes\nz,,8,1,1,,,2,no\n", "trace.csv")
    assert shown(found) == [
        ("a/x", 5, 60, 1, None),
        ("a/y", 7, None, 3, None),
        ("z-0", 8, 1, 1, None),
        ("z-1", 8, 1, 1, None),
    ]
    workload = found.arrivals[0].workload
    assert workload.requests.only({"cpu", "nvidia.com/gpu"}) == resources(cpu="500m", gpu=2)
    assert workload.priority == -1


def test_the_column_gang_may_name_one(read):
    found = read(TABLE + "x,a,5,60,1,,,2,train\ny,a,5,60,1,,,,train\nz,a,5,60,1,,,,no\n", "trace.csv")
    assert [(each.key, each.workload.gang, each.replicas) for each in found.arrivals] == [
        ("a/x-0", "train", 1),
        ("a/x-1", "train", 1),
        ("a/y", "train", 1),
        ("a/z", "", 1),
    ]


def test_the_openb_trace_by_its_class_of_service(read):
    found = read(
        OPENB + "p,1000,1024,1,460,,LS,Running,10,100,30\nq,1000,1,0,0,,BE,Pending,10,100,\n", "openb.csv"
    )
    assert shown(found) == [("ls/p", 10, 70, 1, None), ("be/q", 10, 90, 1, None)]
    assert found.arrivals[0].workload.requests.of("ullage.dev/gpu-milli") == 460
    assert found.notes == (BY_QOS,)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("snapshot.yaml", "apiVersion: ullage.dev/v1\nkind: Snapshot\nname: Trace\n"),
        ("nodes.csv", "name,cpu\nn1,4\n"),
        ("workloads.csv", "name,namespace,cpu\nw,a,1\n"),
        ("list.json", '{"apiVersion": "v1", "kind": "List", "items": []}'),
    ],
)
def test_something_else_is_no_trace(read, name, text):
    assert read(text, name) is None


def test_a_folder_and_what_is_not_there_are_no_trace(tmp_path):
    assert trace_of(str(tmp_path), ResourceTypes()) is None
    assert trace_of(str(tmp_path / "missing"), ResourceTypes()) is None


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (HEAD + "- {name: x}\n- {name: x}\n", "t.yaml", "workload x comes twice; give each its own name"),
        (HEAD + "- {name: x, startSeconds: -1}\n", "t.yaml", "a time is negative or too large"),
        (HEAD + "- {name: x, startSeconds: 5, leavesSeconds: 4}\n", "t.yaml", "it leaves before it comes"),
        (HEAD + "- {name: x, durationSeconds: long}\n", "t.yaml", "durationSeconds"),
        (HEAD + "- {name: x, replicas: 200000}\n", "t.yaml", "200000 replicas; use at most 100000"),
        (HEAD + "- {name: x, replicas: 0}\n", "t.yaml", "no workload comes"),
        (HEAD.replace("/v1", "/v9") + "- {name: x}\n", "t.yaml", "ullage.dev/v9"),
        (HEAD + "- {name: x}\n---\n" + HEAD + "- {name: y}\n", "t.yaml", "2 traces; keep one in a file"),
        (TABLE.replace("gang", "gangs") + "x,,0,,,,,,\n", "t.csv", "column 'gangs' is unknown"),
        (TABLE + "x,,soon,,,,,,\n", "t.csv", "t.csv:2: start: 'soon' is no whole number"),
        (TABLE + "x,,9999999999999,,,,,,\n", "t.csv", "t.csv:2: start: 9999999999999 seconds"),
        (TABLE + "x,,0,,-1,,,,\n", "t.csv", "t.csv:2: cpu: -1 is negative"),
        (TABLE + "x,,0,,much,,,,\n", "t.csv", "t.csv:2: cpu: "),
    ],
)
def test_what_is_wrong_is_named_with_its_place(read, text, name, message):
    with pytest.raises(InputError) as caught:
        read(text, name)
    assert message in str(caught.value)
    assert name in str(caught.value)


def test_a_record_is_the_files_of_a_folder_by_name_or_as_given(tmp_path):
    for name in ("b.yaml", "a.json"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    found = record_files([str(tmp_path), "last.yaml"])
    assert [path.rpartition("/")[2] for path in found] == ["a.json", "b.yaml", "last.yaml"]


def test_a_record_has_a_bound():
    with pytest.raises(InputError, match="1001 snapshots; use at most 1000"):
        record_files(["x.yaml"] * 1001)
