"""Workloads of Kueue, and jobs for a queue, as manifests that somebody asks about."""

import pytest

from sources.kubernetes.kube import amounts, asked, container, not_asked, thing
from ullage.model.admission import PriorityClass
from ullage.sources.kubernetes.classes import WORKLOAD_CLASS_PREFIX
from ullage.sources.kubernetes.object_kinds import Known

QUEUE = "kueue.x-k8s.io/queue-name"
GOLD = thing("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass", "gold", value=9)


def pod_set(name="main", count=1, cpu="1", **spec):
    template = {"spec": {"containers": [container("c", {"cpu": cpu})], **spec}}
    return {"name": name, "count": count, "template": template}


def queued(*sets, namespace="team", **spec):
    return thing(
        "kueue.x-k8s.io/v1beta2",
        "Workload",
        "w",
        namespace=namespace,
        spec={"queueName": "main", "podSets": list(sets), **spec},
    )


def job(**labels):
    template = {"spec": {"containers": [container("c", {"cpu": "1"})]}}
    found = thing("batch/v1", "Job", "train", namespace="team", spec={"parallelism": 2, "template": template})
    found["metadata"]["labels"] = {
        f"kueue.x-k8s.io/{name.replace('_', '-')}": text for name, text in labels.items()
    }
    return found


def test_a_workload_is_its_sets_of_pods_in_its_queue_and_they_are_a_gang():
    driver, worker = asked(queued(pod_set("driver"), pod_set("worker", 3, "4"))).batches
    assert (driver.key, driver.replicas, worker.key, worker.replicas) == (
        "team/w-driver",
        1,
        "team/w-worker",
        3,
    )
    assert worker.workload.requests == amounts(cpu="4", pods="1")
    for each in (driver.workload, worker.workload):
        assert (each.kind, each.state, each.gang, each.gang_min) == ("Workload", "init", "w", 0)
        assert each.labels == {QUEUE: "main"}


def test_a_single_pod_is_no_gang_and_few_may_be_enough_of_one():
    (one,) = asked(queued(pod_set())).batches
    assert one.workload.gang == ""
    (some,) = asked(queued({**pod_set(count=4), "minCount": 3})).batches
    assert (some.workload.gang, some.workload.gang_min, some.replicas) == ("w", 3, 4)


def test_a_workload_without_a_namespace_is_in_the_one_that_is_asked_about():
    wire = queued(pod_set())
    del wire["metadata"]["namespace"]
    (found,) = asked(wire, namespace="other").batches
    assert found.workload.namespace == "other"


@pytest.mark.parametrize(
    ("spec", "priority"),
    [
        ({}, 0),
        ({"priority": 4}, 4),
        ({"priorityClassRef": {"group": "kueue.x-k8s.io", "name": "gold"}}, 9),
        ({"priorityClassName": "gold", "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass"}, 9),
        ({"priorityClassName": "gold", "priorityClassSource": "scheduling.k8s.io/priorityclass"}, 0),
    ],
)
def test_the_class_of_a_workload_counts_wherever_it_is_described(spec, priority):
    known = Known(priority_classes=[PriorityClass(f"{WORKLOAD_CLASS_PREFIX}gold", 9)])
    (beside,) = asked(GOLD, queued(pod_set(), **spec)).batches
    (cluster,) = asked(queued(pod_set(), **spec), known=known).batches
    assert (beside.workload.priority, cluster.workload.priority) == (priority, priority)


def test_a_job_is_in_the_queue_and_of_the_priority_that_its_labels_name():
    (found,) = asked(GOLD, job(queue_name="main", priority_class="gold")).batches
    assert (found.workload.priority, found.workload.labels[QUEUE], found.replicas) == (9, "main", 2)
    (without_queue,) = asked(GOLD, job(priority_class="gold")).batches
    assert without_queue.workload.priority == 0


def test_a_class_that_nobody_describes_is_told():
    found = asked(job(queue_name="main", priority_class="none"))
    assert found.warnings == ("team/train: WorkloadPriorityClass none is not known; it adds nothing",)


def test_a_job_beside_its_workload_is_asked_for_once():
    wire = queued(pod_set(count=2))
    wire["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "train", "controller": True}]
    assert [each.key for each in asked(job(queue_name="main"), wire).batches] == ["team/train"]
    assert [each.key for each in asked(wire, job(queue_name="main")).batches] == ["team/train"]
    assert [each.key for each in asked(wire).batches] == ["team/w-main"]


def test_what_an_api_server_would_refuse_is_refused_with_its_path():
    text = not_asked(queued(pod_set(tolerations=[{"key": "a", "operator": "Near"}])))
    assert "spec.podSets[0].template.spec.tolerations[0].operator" in text
    assert "count is 100000000" in not_asked(queued(pod_set(count=10**8)))


def test_the_same_workload_twice_is_refused():
    assert "a second Workload named team/w" in not_asked(queued(pod_set()), queued(pod_set("other")))
