"""What `advise requests` says: evidence, saving, patches, and the room when it was followed."""

import pytest

from builders import BUILT_IN_TYPES, cluster, node, pod, resources
from ullage.engine.requests import effective_request
from ullage.engine.usage.advice import advise
from ullage.model.cluster import Container
from ullage.service.advise_requests import RequestsQuestion, question_of, requests_report, shape_text
from usage_builders import DAY, book, every

GIB = 1 << 30
START = 98 * DAY


def web(memory="4Gi", owner="StatefulSet/web", name="web-0"):
    parts = (Container("c", requests=resources(cpu="1", memory=memory)),)
    requests = effective_request(parts) + resources(pods=1)
    return pod(name, namespace="n", owner=owner, containers=parts, requests=requests)


def report(gib, *pods, memory="16Gi", question=None):
    question = question or RequestsQuestion()
    snapshot = cluster(node("n1", cpu="16", memory=memory, pods=10).holding(*(pods or (web(),))))
    streams = {
        ("container/n/web-0/c", "memory"): every(3600, [gib * GIB] * 336, START),
        ("container/n/web-0/c", "cpu"): every(3600, [900] * 336, START),
    }
    advice = advise(snapshot, book(streams), question.rules())
    return requests_report(snapshot, advice, question)


def test_evidence_stands_beside_advice():
    (workload,) = report(1).workloads
    memory = next(each for each in workload.containers[0].resources if each.resource == "memory")
    seen = memory.evidence
    assert (memory.verdict, seen.points, seen.replicas, seen.confidence) == ("shrink", 336, 1, 1)
    assert (seen.window_seconds, seen.step_seconds) == (335 * 3600, 3600)
    assert (seen.max.value, seen.sees_peaks) == (GIB, False)


def test_what_is_freed_and_what_must_grow_are_apart():
    shrunk = report(1)
    assert set(shrunk.freed) == {"cpu", "memory"}
    assert not shrunk.grown
    grown = report(5)
    assert grown.grown.of("memory") == 5888 * (1 << 20) - 4 * GIB
    assert grown.workloads[0].grown == grown.grown


def test_room_is_counted_before_and_after_in_a_shape():
    found = report(1, question=RequestsQuestion(shape="memory=1Gi"))
    assert (found.before.more, found.after.more) == (9, 9), "pods bind"
    found = report(1)
    assert (found.before.more, found.after.more) == (3, 3)
    assert found.after.free.of("memory") > found.before.free.of("memory")
    assert shape_text(found, BUILT_IN_TYPES) == "cpu=1,memory=4Gi"


def test_what_no_longer_fits_is_said():
    found = report(5, memory="5Gi")
    assert not found.fits
    (move,) = found.outgrown
    assert (move.workload, move.from_node, move.to_node) == ("n/web-0", "n1", "")


def test_a_patch_comes_with_every_owner_that_can_be_patched():
    (patched,) = report(1).workloads
    assert patched.patch["kind"] == "StatefulSet"
    (job,) = report(1, web(owner="Job/once")).workloads
    assert job.patch is None
    assert "the template of a Job" in job.no_patch
    (replicas,) = report(1, web(owner="ReplicaSet/web")).workloads
    assert "leaves its pods as they are" in replicas.notes[-1]


def test_options_are_as_exact_as_they_are_written():
    wanted = {
        "cpu_percentile": 99.9,
        "memory_margin": 15,
        "days_min": 0.5,
        "saving_min": 0,
        "cpu_limits": "keep",
    }
    question = question_of({**wanted, "usage": "x.csv"})
    assert (str(question.cpu_percentile), str(question.days_min)) == ("999/10", "1/2")
    assert not question.removes_cpu_limits
    assert question_of({**wanted, "cpu_limits": "remove"}).removes_cpu_limits


@pytest.mark.parametrize(("gib", "yes"), [(1, True), (5, False)])
def test_the_answer_is_no_where_somebody_finds_no_place(gib, yes):
    assert report(gib, memory="5Gi").fits == yes
