"""A cluster in which advice was followed: who still has a place, and how much room there is."""

from builders import cluster, node, pod, quota, resources, waiting
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


def test_advice_is_followed_by_all_pods_of_a_workload_that_lists_no_containers():
    pods = [pod(f"w-{number}", namespace="n", owner="StatefulSet/w", memory="8Gi") for number in range(2)]
    older = pod("w-2", namespace="n", owner="StatefulSet/w", memory="9Gi")
    snapshot = cluster(node("n1", cpu="16", memory="32Gi").holding(*pods, older))
    streams = {(f"pod/n/w-{number}", "memory"): every(3600, [GIB] * 336, START) for number in range(3)}
    advice = advise(snapshot, book(streams), Rules())
    done = applied(Columns(snapshot), advice, SHAPE)
    (saved,) = [each.freed.of("memory") for each in advice]
    assert saved > 18 * GIB
    gained = done.after.summary.free.of("memory") - done.before.summary.free.of("memory")
    assert gained == saved + GIB, "the older pod asks for more than the others"


def test_pods_that_are_alike_go_where_there_is_room_and_stay_where_they_can():
    pods = [sized(f"w-{number}", "4Gi", "w", created_seconds=START - number) for number in range(4)]
    snapshot = cluster(
        node("n1", cpu="16", memory="16Gi").holding(*pods),
        node("n2", cpu="16", memory="7Gi"),
    )
    done = found(snapshot, **{each.name: 5 for each in pods})  # of 5.75 Gi, two have room beside each other
    assert [(key, before) for key, before, _ in done.moved] == [("n/w-2", "n1")]
    assert [each.workload for each in done.homeless] == ["n/w-3"]
    where = [done.snapshot.workloads[f"n/w-{number}"].node for number in range(4)]
    assert where == ["n1", "n1", "n2", ""]


def test_who_is_evicted_for_pods_that_grow_is_named_and_holds_no_room():
    lent = pod("lent", namespace="b", memory="8Gi")
    mine = sized("w-0", "2Gi", "w")
    snapshot = cluster(
        node("n1", cpu="16", memory="10Gi").holding(mine, lent),
        quota("n", {"memory": "10Gi"}),
        quota("b", {"memory": "0"}),
    )
    done = found(snapshot, **{"w-0": 4})
    assert [(each.workload, each.node, each.reason) for each in done.homeless] == [
        ("b/lent", "n1", "goes for n/w-0")
    ]
    assert done.snapshot.workloads["b/lent"].node == ""
    assert done.snapshot.workloads["n/w-0"].node == "n1"
