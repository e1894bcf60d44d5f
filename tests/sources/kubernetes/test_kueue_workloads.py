"""Workloads of Kueue beside pods: which queue those count in, and pods that are not there yet."""

from pathlib import Path

import pytest

from sources.kubernetes.kube import amounts, container, dumped, node, pod, refused, thing
from ullage.sources.kubernetes import kueue_workloads
from ullage.sources.kubernetes.dump import read_dump

FIXTURE = Path(__file__).parent / "files" / "kueue.yaml"
QUEUE = "kueue.x-k8s.io/queue-name"
QUEUES = (
    thing("kueue.x-k8s.io/v1beta2", "ClusterQueue", "q", spec={"namespaceSelector": {}}),
    thing("kueue.x-k8s.io/v1beta2", "LocalQueue", "main", namespace="team", spec={"clusterQueue": "q"}),
)
TAKEN_IN = {"admission": {"clusterQueue": "q", "podSetAssignments": [{"name": "main", "count": 2}]}}


@pytest.fixture(scope="module")
def snapshot():
    return read_dump(str(FIXTURE))


def queued(name="w", owner="Job/train", count=2, status=None, queue="main", **spec):
    """A Workload of a job in a queue; `owner` is KIND/NAME."""
    kind, _, owner_name = owner.partition("/")
    pod_set = {"count": count, "template": {"spec": {"containers": [container("c", {"cpu": "1"})]}}, **spec}
    found = thing(
        "kueue.x-k8s.io/v1beta2", "Workload", name, namespace="team",
        spec={"queueName": queue, "podSets": [pod_set]}, status=status or {},
    )  # fmt: skip
    if owner:
        found["metadata"]["ownerReferences"] = [{"kind": kind, "name": owner_name, "controller": True}]
    return found


def owned(name, owner, **fields):
    kind, _, owner_name = owner.partition("/")
    metadata = {"ownerReferences": [{"kind": kind, "name": owner_name, "controller": True}]}
    return pod(name, metadata={**metadata, **fields.pop("metadata", {})}, **fields)


def test_workloads_of_a_whole_cluster(snapshot):
    assert set(snapshot.workloads.keys()) == {
        "research/train-x7k2p",
        "research/single",
        "research/jobset-sweep-4c5d6-driver-0",
        "research/jobset-sweep-4c5d6-worker-0",
        "research/jobset-sweep-4c5d6-worker-1",
        "research/jobset-sweep-4c5d6-worker-2",
        "guests/job-lesson-7e8f9-main-0",
        "guests/job-lesson-7e8f9-main-1",
    }
    assert {
        "not counted: Workloads that are not active: research/job-idle-11111",
        "not counted: Workloads that no queue takes in: guests/job-held-22222",
        ("where pods will run that Kueue has taken in and that are not there yet: guests/job-lesson-7e8f9"),
    } <= set(snapshot.unknowns)


def test_sets_of_pods_wait_together(snapshot):
    driver = snapshot.workloads["research/jobset-sweep-4c5d6-driver-0"]
    worker = snapshot.workloads["research/jobset-sweep-4c5d6-worker-2"]
    for each in (driver, worker):
        assert (each.kind, each.state, each.node, each.owner) == ("Workload", "init", "", "JobSet/sweep")
        assert (each.gang, each.gang_min, each.priority) == ("jobset-sweep-4c5d6", 3, 7)
        assert (each.created_seconds, each.labels[QUEUE]) == (1767323105, "main")
    assert driver.labels == {"role": "driver", QUEUE: "main"}
    assert driver.requests == amounts(cpu="1", pods="1")
    assert worker.requests == amounts(cpu="4", memory="8Gi", pods="1")
    assert worker.constraints.node_selector == {"kubernetes.io/os": "linux"}


def test_pods_of_a_job_learn_its_queue_and_are_its_only_ones(snapshot):
    assert snapshot.workloads["research/train-x7k2p"].labels == {"job-name": "train", QUEUE: "main"}


def test_one_that_was_taken_in_needs_what_was_assigned_less_what_is_done(snapshot):
    first = snapshot.workloads["guests/job-lesson-7e8f9-main-0"]
    assert (first.gang, first.gang_min, first.requests) == (
        "job-lesson-7e8f9",
        0,
        amounts(cpu="500m", pods="1"),
    )


# Each row: a Workload, a pod, and whether the two belong together.
TOGETHER = {
    "a pod of its job": (queued(), owned("train-a", "Job/train"), True),
    "a pod of another job": (queued(), owned("trainer-a", "Job/trainer"), False),
    "a pod in another namespace": (queued(), owned("train-a", "Job/train", namespace="other"), False),
    "a pod without an owner": (queued(), pod("train-a"), False),
    "a pod of a job of its set": (
        queued(owner="JobSet/sweep"), owned("sweep-worker-0-x", "Job/sweep-worker-0"), True,
    ),
    "a pod of a set of its group": (
        queued(owner="LeaderWorkerSet/serve"), owned("serve-0", "StatefulSet/serve-0"), True,
    ),
    "a pod of a job that only begins alike": (
        queued(owner="TFJob/sweep"), owned("sweep-0-x", "Job/sweep-0"), False,
    ),
    "the pod that it is": (queued(owner="Pod/p"), pod("p"), True),
    "a pod of its group": (
        queued(name="group", owner=""),
        pod("p", metadata={"labels": {"kueue.x-k8s.io/pod-group-name": "group"}}), True,
    ),
    "a pod that was made for it": (
        queued(name="made", owner=""),
        pod("p", metadata={"labels": {"kueue.x-k8s.io/prebuilt-workload-name": "made"}}), True,
    ),
    "a pod of another group": (
        queued(owner="Job/train"),
        owned("p", "Job/train", metadata={"labels": {"kueue.x-k8s.io/pod-group-name": "group"}}), False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TOGETHER)
@pytest.mark.parametrize("status", [None, TAKEN_IN])
def test_a_workload_and_its_pods_count_once(case, status):
    wire, one, together = TOGETHER[case]
    found = dumped(*QUEUES, {**wire, "status": status or {}}, one)
    own = found.workloads[f"{one['metadata']['namespace']}/{one['metadata']['name']}"]
    lacking = 2 if not together else 1 if status else 0
    assert len(found.workloads) == 1 + lacking
    assert own.labels.get(QUEUE) == ("main" if together else None)
    assert own.admitted == (together and status is not None)


def test_pods_that_are_over_do_not_stand_for_a_job_that_waits_again():
    over = owned("train-a", "Job/train", status={"phase": "Failed"})
    assert len(dumped(*QUEUES, queued(), over).workloads) == 3
    assert len(dumped(*QUEUES, queued(status=TAKEN_IN), over).workloads) == 2


SETS = [
    {"name": name, "count": count, "template": {"spec": {"containers": [container("c", {"cpu": cpu})]}}}
    for name, count, cpu in (("head", 1, "1"), ("rest", 3, "2"))
]
HOLDS = {"conditions": [{"type": "QuotaReserved", "status": "True"}]}


def of_set(name: str, cpu: str, set_name: str = "", **fields):
    labels = {"labels": {"kueue.x-k8s.io/podset": set_name}} if set_name else {}
    return owned(name, "Job/train", metadata=labels, containers=[container("c", {"cpu": cpu})], **fields)


# Each row: what a Workload of one head (cpu 1) and three others (cpu 2) says, its pods, and what it lacks.
LACKING = {
    "no pod is there": (HOLDS, [], ["1", "2", "2", "2"]),
    "a pod that names its set": (HOLDS, [of_set("a", "9", "rest")], ["1", "2", "2"]),
    "a pod that asks for what its set does": (HOLDS, [of_set("a", "2")], ["1", "2", "2"]),
    "a pod of no set that is known": (HOLDS, [of_set("a", "9")], ["2", "2", "2"]),
    "a pod that runs": (HOLDS, [of_set("a", "1", nodeName="n1")], ["2", "2", "2"]),
    "more pods than it needs": (HOLDS, [of_set(name, "2") for name in "abcde"], []),
    "a pod that is over": (HOLDS, [of_set("a", "2", status={"phase": "Succeeded"})], ["1", "2", "2"]),
    "a pod that is over, and its quota given back": (
        {**HOLDS, "reclaimablePods": [{"name": "rest", "count": 1}]},
        [of_set("a", "2", status={"phase": "Succeeded"})], ["1", "2", "2"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LACKING)
def test_what_was_taken_in_uses_its_quota_once_with_pods_or_without(case):
    status, pods, lacking = LACKING[case]
    wire = queued(status=status)
    wire["spec"]["podSets"] = SETS
    found = dumped(*QUEUES, node("n1"), wire, *pods).workloads
    added = [each for each in found if each.kind == "Workload"]
    assert [each.requests for each in added] == [amounts(cpu=cpu, pods="1") for cpu in lacking]
    assert all(each.admitted and each.gang == "w" for each in added)
    for each in found:
        assert each.admitted == (each.state == "init")


def test_what_waits_is_not_admitted():
    assert [each.admitted for each in dumped(*QUEUES, queued()).workloads] == [False, False]


def test_a_job_that_is_in_the_dump_itself_counts_once():
    template = {"spec": {"containers": [container("c", {"cpu": "1"})]}}
    job = thing("batch/v1", "Job", "train", namespace="team", spec={"parallelism": 2, "template": template})
    assert len(dumped(*QUEUES, job, queued(status=TAKEN_IN)).workloads) == 2
    job["spec"]["suspend"] = True
    assert len(dumped(*QUEUES, job, queued()).workloads) == 2


def test_a_finished_workload_counts_no_more_whatever_was_read_of_it_before():
    over = queued(status={"conditions": [{"type": "Finished", "status": "True"}]})
    assert len(dumped(*QUEUES, queued(), over).workloads) == 0
    assert len(dumped(*QUEUES, queued(), queued()).workloads) == 2


# Each row: objects, and the workloads that wait.
NOT_TAKEN_IN = {
    "no queue is named": (queued(queue=None), 0),
    "its queue is not there": (queued(queue="other"), 0),
    "its queue is there": (queued(), 2),
    "a single pod is no gang": (queued(count=1), 1),
    "it has no pods": (queued(count=0), 0),
}


@pytest.mark.parametrize("case", NOT_TAKEN_IN)
def test_workloads_that_wait(case):
    wire, count = NOT_TAKEN_IN[case]
    found = list(dumped(*QUEUES, wire).workloads)
    assert len(found) == count
    assert all(each.gang == ("w" if count > 1 else "") for each in found)


@pytest.mark.parametrize("stopped", [0, 1])
def test_a_stopped_queue_takes_nothing_in(stopped):
    queues = [*QUEUES]
    queues[stopped] = {**queues[stopped], "spec": {**queues[stopped]["spec"], "stopPolicy": "HoldAndDrain"}}
    found = dumped(*queues, queued())
    assert not found.workloads
    assert "not counted: Workloads that no queue takes in: team/w" in found.unknowns


def test_pods_that_name_the_queue_they_run_in_count_in_it():
    labels = {"kueue.x-k8s.io/local-queue-name": "main"}
    found = dumped(*QUEUES, node(), pod("a", nodeName="n1", metadata={"labels": labels}))
    assert found.workloads["team/a"].labels == {**labels, QUEUE: "main"}
    assert "not found, so that pods count only in queues that they name: Workloads of Kueue" in found.unknowns
    without_queues = dumped(node(), pod("a", nodeName="n1", metadata={"labels": labels}))
    assert without_queues.workloads["team/a"].labels == labels


def test_replicas_share_their_labels():
    pods = [owned(f"train-{index}", "Job/train", metadata={"labels": {"a": "b"}}) for index in range(2)]
    for each in pods:
        each["metadata"]["labels"] = {"a": "b"}
    first, second = dumped(*QUEUES, queued(), *pods).workloads
    assert first.labels is second.labels


def test_names_that_pods_have_are_left_to_them():
    found = dumped(*QUEUES, queued(), pod("w-main-0"))
    assert set(found.workloads.keys()) == {"team/w-main-0", "team/w-main-0-workload", "team/w-main-1"}


def test_classes_of_a_template_count():
    classes = (
        thing("scheduling.k8s.io/v1", "PriorityClass", "usual", value=5, globalDefault=True),
        thing("node.k8s.io/v1", "RuntimeClass", "vm", overhead={"podFixed": {"cpu": "1"}}),
    )
    spec = {"containers": [container("c", {"cpu": "1"})], "runtimeClassName": "vm"}
    (found,) = dumped(*QUEUES, *classes, queued(count=1, template={"spec": spec})).workloads
    assert (found.priority, found.requests) == (5, amounts(cpu="2", pods="1"))
    unknown = dumped(*QUEUES, queued(count=1, template={"spec": spec}))
    assert any("RuntimeClass vm is not known" in line for line in unknown.unknowns), unknown.unknowns


BRONZE, GOLD = (
    thing("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass", name, value=value)
    for name, value in (("bronze", 3), ("gold", 9))
)
OTHER_GOLD = thing("scheduling.k8s.io/v1", "PriorityClass", "gold", value=50)
OF_KUEUE = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "gold"}
OF_KUBERNETES = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "gold"}

# Each row: what a Workload says of its priority, and which it has.
PRIORITIES = {
    "nothing": ({}, 0),
    "a number": ({"priority": 4}, 4),
    "a number beside a class": ({"priority": 4, "priorityClassRef": OF_KUEUE}, 4),
    "a class of Kueue": ({"priorityClassRef": OF_KUEUE}, 9),
    "a class of Kubernetes": ({"priorityClassRef": OF_KUBERNETES}, 50),
    "a class of Kueue, as v1beta1 names it": (
        {"priorityClassName": "gold", "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass"}, 9,
    ),
    "a class of Kubernetes, as v1beta1 names it": (
        {"priorityClassName": "gold", "priorityClassSource": "scheduling.k8s.io/priorityclass"}, 50,
    ),
    "a class that is not there": ({"priorityClassRef": {**OF_KUEUE, "name": "none"}}, 0),
}  # fmt: skip


@pytest.mark.parametrize("case", PRIORITIES)
@pytest.mark.parametrize("runs", [False, True])
def test_a_workload_and_its_pods_have_the_priority_of_its_class(case, runs):
    said, priority = PRIORITIES[case]
    wire = queued(count=1)
    wire["spec"] |= said
    pods = [owned("train-a", "Job/train", nodeName="n1")] if runs else []
    found = dumped(*QUEUES, GOLD, OTHER_GOLD, node(), wire, *pods)
    (one,) = found.workloads
    assert (one.priority, one.node) == (priority, "n1" if runs else "")
    told = any("WorkloadPriorityClass none is not known" in line for line in found.unknowns)
    assert told == (not runs and "not there" in case)


def test_a_pod_in_a_queue_has_the_priority_of_the_class_that_it_names():
    labels = {QUEUE: "main", "kueue.x-k8s.io/priority-class": "gold"}
    held = pod("a", nodeName="n1", metadata={"labels": labels}, priority=1)
    assert dumped(*QUEUES, GOLD, node(), held).workloads["team/a"].priority == 9
    assert dumped(*QUEUES, BRONZE, node(), held).workloads["team/a"].priority == 1
    assert dumped(GOLD, node(), held).workloads["team/a"].priority == 1


def test_a_job_that_waits_has_the_priority_of_the_class_that_it_names():
    template = {"spec": {"containers": [container("c", {"cpu": "1"})]}}
    job = thing("batch/v1", "Job", "train", namespace="team", spec={"template": template})
    job["metadata"]["labels"] = {QUEUE: "main", "kueue.x-k8s.io/priority-class": "gold"}
    (found,) = dumped(*QUEUES, GOLD, BRONZE, job).workloads
    assert (found.priority, found.labels[QUEUE]) == (9, "main")
    del job["metadata"]["labels"][QUEUE]
    (found,) = dumped(*QUEUES, GOLD, job).workloads
    assert found.priority == 0


# Each row: a Workload, and where its fault is.
WRONG = {
    "a request": (
        queued(template={"spec": {"containers": [container("c", {"cpu": "x"})]}}),
        "spec.podSets[0].template.spec.containers[0].resources.requests.cpu: ",
    ),
    "no containers": (queued(template={}), "spec.podSets[0].template.spec: a pod without containers"),
    "a count": (queued(count=10**8), "spec.podSets[0].count: count is 100000000; use at most"),
    "a queue": (queued(queue=1), "spec.queueName: "),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_with_its_path(case):
    wire, text = WRONG[case]
    assert refused(wire).startswith(f"standard input: items[0].{text}")


def test_too_many_pods_are_refused(monkeypatch):
    monkeypatch.setattr(kueue_workloads, "WORKLOADS_MAX", 3)
    assert len(dumped(*QUEUES, queued(count=3)).workloads) == 3
    text = refused(*QUEUES, queued(count=3), queued("v", "Job/other", count=1))
    assert text == "Workload team/w: more than 3 pods in all; lower the counts"
