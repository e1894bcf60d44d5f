"""Use beside what was promised: of pods, containers, and of a node that all want at once."""

from builders import cluster, node, pod, resources
from ullage.engine.columns import Columns
from ullage.model.cluster import Container
from ullage.model.usage import MAX_USAGE
from ullage.service.used import contention_on, usage_of, used_holdings, used_parts
from usage_builders import book, every

CPU = frozenset(("cpu",))


def busy(name, cpu, **fields):
    return pod(name, namespace="n", requests=resources(cpu=cpu), **fields)


def observed(**pods):
    return book({(f"pod/n/{name}", "cpu"): every(60, [used // 2, used]) for name, used in pods.items()})


def test_workloads_are_told_whose_use_is_known():
    found = used_holdings(observed(a=500), (busy("a", "1"), busy("b", "1")), CPU)
    assert [(each.workload, each.usage["cpu"].max.value) for each in found] == [("n/a", 500)]
    assert used_holdings(observed(a=500), (busy("a", "1"),), frozenset(("memory",))) == ()


def test_containers_are_told_and_then_the_pod_as_a_whole():
    parts = (Container("c", requests=resources(cpu="1")), Container("d", requests=resources(cpu="2")))
    streams = {("container/n/a/c", "cpu"): [(0, 5)], ("pod/n/a", "cpu"): [(0, 9)]}
    found = used_parts(book(streams), busy("a", "3", containers=parts))
    assert [(each.container, each.requests.of("cpu")) for each in found] == [("c", 1000), ("", 3000)]


def test_nothing_is_known_of_what_nobody_observed():
    assert usage_of(observed(a=5), "pod/n/b") == {}
    assert used_parts(observed(a=5), busy("b", "1")) == ()


def contention(*pods, **used):
    snapshot = cluster(node("n1", cpu="4").reserving(cpu="1").holding(*pods))
    return contention_on(Columns(snapshot), observed(**used), 0)


def test_a_peak_that_the_source_noted_is_wanted_too():
    snapshot = cluster(node("n1", cpu="4").reserving(cpu="1").holding(busy("low", "1")))
    noted = book(
        {("pod/n/low", "cpu"): every(60, [1000]), ("pod/n/low", "cpu", MAX_USAGE): every(60, [4000])}
    )
    (found,) = contention_on(Columns(snapshot), noted, 0)
    assert (found.demand.value, found.short) == (4000, True)


def test_what_is_not_enough_for_all_is_shared_by_four_rules():
    low = busy("low", "1", priority=1)
    high = busy("high", "500m", priority=9, limits=resources(cpu="2"))
    (found,) = contention(low, high, low=3000, high=2000)
    assert (found.supply.value, found.demand.value, found.short) == (3000, 5000, True)
    shares = {
        each.workload: [each.equal, each.by_request, each.by_limit, each.by_priority]
        for each in found.portions
    }
    assert {name: [each.value for each in given] for name, given in shares.items()} == {
        "n/low": [1500, 2000, 1800, 1000],
        "n/high": [1500, 1000, 1200, 2000],
    }


def test_whoever_was_not_observed_wants_what_it_asks_for():
    (found,) = contention(busy("seen", "1"), busy("unseen", "1"), seen=500)
    assert {each.workload: each.demand.value for each in found.portions} == {"n/seen": 500, "n/unseen": 1000}
    assert not found.short


def test_a_resource_that_nobody_observed_is_not_contended():
    assert contention(busy("a", "1")) == ()
