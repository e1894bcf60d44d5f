"""What use is held against: what those who were observed asked for, and what they may have."""

from builders import cluster, node, pod
from ullage.engine.columns import Columns
from ullage.engine.usage.promised import promised_to, seen_in
from ullage.model.resources import Resources
from usage_builders import book, every

SNAPSHOT = cluster(
    node("n1", cpu="4", memory="8Gi").holding(
        pod("shop/web-0", owner="StatefulSet/web", cpu="1", memory="1Gi", limits=Resources({"cpu": 2000})),
        pod("shop/web-1", owner="StatefulSet/web", cpu="1", memory="1Gi", limits=Resources({"cpu": 2000})),
        pod("shop/db-0", owner="StatefulSet/db", cpu="500m"),
    )
)


def promised(streams):
    return promised_to(Columns(SNAPSHOT), seen_in(book(streams)))


def test_a_workload_was_promised_what_those_of_its_pods_asked_for_that_were_observed():
    some = promised({("pod/shop/web-0", "cpu"): every(60, [1])})["workload/shop/StatefulSet/web"]
    assert (some.request["cpu"], some.limit["cpu"], some.pods, some.all_pods) == (1000, 2000, 1, 2)
    every_one = promised({})["workload/shop/StatefulSet/web"]
    assert (every_one.request["cpu"], every_one.pods) == (2000, 2)


def test_what_not_all_pods_bound_has_no_bound():
    assert "cpu" not in promised({})["namespace/shop"].limit


def test_a_node_was_promised_what_is_committed_on_it_and_has_what_is_allocatable():
    found = promised({})["node/n1"]
    assert (found.request["cpu"], found.limit["cpu"]) == (2500, 4000)
    assert promised({})["cluster"].request["cpu"] == 2500


def test_what_one_subject_was_promised_is_what_it_was_among_all():
    seen = seen_in(book({("pod/shop/web-0", "cpu"): every(60, [1])}))
    columns = Columns(SNAPSHOT)
    for subject, promise in promised_to(columns, seen).items():
        assert promised_to(columns, seen, subject)[subject] == promise


def test_whoever_is_asked_about_alone_nobody_else_is_looked_at():
    asked = []
    found = promised_to(Columns(SNAPSHOT), lambda pods: asked.append(list(pods)) or (), "namespace/shop")
    assert asked == [["pod/shop/db-0", "pod/shop/web-0", "pod/shop/web-1"]]
    assert "node/n1" not in found
    assert promised_to(Columns(SNAPSHOT), None, "node/n1")["node/n1"] == promised({})["node/n1"]
