"""A cluster in which advice was followed: who still has a place, and how much room there is."""

from builders import cluster, node, pod, resources, waiting
from ullage.engine.columns import Columns
from ullage.engine.usage.advice import advise
from ullage.engine.usage.requests import Rules
from ullage.engine.usage.requests_applied import applied
from ullage.model.cluster import Batch, Container
from usage_builders import DAY, book, every

GIB = 1 << 30
START = 98 * DAY
SHAPE = Batch(pod("shape", cpu="1", memory="4Gi"))


def sized(name, memory, owner, **fields):
    part = Container("c", "main", resources(cpu="1", memory=memory))
    return pod(
        name,
        namespace="n",
        owner=f"StatefulSet/{owner}",
        containers=(part,),
        requests=part.requests,
        **fields,
    )


def found(snapshot, **used):
    streams = {
        (f"container/n/{name}/c", resource): every(3600, [amount] * 336, START)
        for name, gib in used.items()
        for resource, amount in (("memory", gib * GIB), ("cpu", 900))
    }
    advice = advise(snapshot, book(streams), Rules())
    return applied(Columns(snapshot), advice, SHAPE)


def test_room_that_is_gained_is_counted_in_a_shape_and_in_those_that_wait():
    snapshot = cluster(
        node("n1", cpu="16", memory="16Gi").holding(sized("a", "14Gi", "a")), waiting("late", memory="8Gi")
    )
    result = found(snapshot, a=2)
    assert (result.before.more, result.after.more) == (0, 3)
    assert (result.before.waiting_placed, result.after.waiting_placed, result.waiting) == (0, 1, 1)
    assert result.after.summary.free.of("memory") > result.before.summary.free.of("memory")
    assert not result.moved
    assert not result.homeless


def test_a_pod_that_outgrows_its_node_goes_where_there_is_room():
    snapshot = cluster(
        node("n1", cpu="16", memory="8Gi").holding(sized("a", "4Gi", "a"), sized("b", "3Gi", "b")),
        node("n2", cpu="16", memory="16Gi"),
    )
    result = found(snapshot, a=8)
    assert result.moved == (("n/a", "n1", "n2"),)
    assert result.snapshot.workloads["n/a"].node == "n2"
    assert not result.homeless


def test_a_pod_that_finds_no_place_is_named():
    snapshot = cluster(node("n1", cpu="16", memory="8Gi").holding(sized("a", "4Gi", "a")))
    result = found(snapshot, a=8)
    assert [(each.workload, each.node) for each in result.homeless] == [("n/a", "n1")]
    assert result.homeless[0].reason


def test_what_was_over_before_and_does_not_grow_stays():
    snapshot = cluster(node("n1", cpu="16", memory="8Gi").holding(sized("a", "10Gi", "a")))
    result = found(snapshot)
    assert (result.moved, result.homeless) == ((), ())
