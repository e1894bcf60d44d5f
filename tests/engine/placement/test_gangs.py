"""Gangs: which batches stand or fall together, and how many members there are."""

import msgspec
import pytest

from builders import batch, cluster, node, pod, waiting
from ullage.engine.placement.gangs import Gang, gangs_of, units_of
from ullage.engine.placement.running import Running
from ullage.model.cluster import MEMBERS_UNSAID, Batch


def member(name, replicas=1, **fields):
    return batch(replicas, waiting(name, cpu="1", **{"gang": "g", "gang_min": 5, **fields}))


def gangs(*batches, running=(), **options):
    snapshot = cluster(node("x", cpu="9").holding(*running))
    return gangs_of(batches, Running(snapshot), **options)


def test_a_gang_is_judged_where_its_first_workload_is():
    single, other = member("web/s", gang=""), member("web/o", gang="h")
    first, second, elsewhere = member("web/a"), member("web/b"), member("sys/a")
    assert list(units_of([single, first, other, second, elsewhere])) == [
        [single], [first, second], [other], [elsewhere],
    ]  # fmt: skip


def test_only_gangs_that_say_how_many_are_enough_have_a_number_to_reach():
    assert not gangs(member("web/a", gang_min=0), member("web/b", gang="", gang_min=0))
    assert gangs(member("web/a", 2), member("web/b", 1)) == {("web", "g"): Gang("g", 5, 0, 3)}


def test_members_that_run_count_in_their_own_namespace():
    running = [pod("web/r", cpu="1", gang="g"), pod("sys/r", cpu="1", gang="g"), pod("web/n", cpu="1")]
    assert gangs(member("web/a", 2), running=running) == {("web", "g"): Gang("g", 5, 1, 2)}


def test_what_is_asked_for_again_is_not_counted_twice():
    replica = msgspec.structs.replace(pod("web/a-1", cpu="1", gang="g"), owner="Job/a")
    again = pod("web/b", cpu="1", gang="g", gang_min=5)
    job = msgspec.structs.replace(member("web/a").workload, kind="Job")
    asked = [Batch(job, 3), Batch(again, 1)]
    assert gangs(*asked, running=[replica, again])["web", "g"] == Gang("g", 5, 0, 4)
    assert gangs(*asked, running=[replica, again], more=True)["web", "g"] == Gang("g", 5, 2, 4)


@pytest.mark.parametrize(
    ("gang", "missing", "said"),
    [
        (Gang("g", 5, 0, 3), 2, "its gang g needs 5 and has 3"),
        (Gang("g", 5, 1, 3), 1, "its gang g needs 5 and has 4, of which 1 run"),
        (Gang("g", 5, 2, 3), 0, ""),
    ],
)
def test_too_few_are_those_that_run_and_those_that_are_asked_for(gang, missing, said):
    assert gang.missing == missing
    assert gang.is_enough(gang.asked) == (not missing)
    assert not said or gang.too_few_asked == said


@pytest.mark.parametrize(
    ("gang", "said"),
    [
        (Gang("g", 2, 0, 1), "its gang g waits for its other members: 1 of 2 is there"),
        (Gang("g", 5, 1, 3), "its gang g waits for its other members: 4 of 5 are there, of which 1 run"),
        (
            Gang("g", MEMBERS_UNSAID, 0, 3),
            "its PodGroup g is not there yet, which says how many of its gang are enough",
        ),
    ],
)
def test_a_gang_that_is_not_complete_says_what_it_waits_for(gang, said):
    assert gang.waits_for == said
