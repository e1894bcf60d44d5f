"""What runs already is not counted twice when it is asked for again."""

import msgspec
import pytest

from builders import cluster, node, pod, policy
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.placement.running import Running, sets_of
from ullage.model.cluster import Batch


def replica(name, owner, memory, **fields):
    return msgspec.structs.replace(pod(name, memory=memory), owner=owner, **fields)


def asked(kind, name, memory, replicas):
    template = msgspec.structs.replace(pod(name, memory=memory), kind=kind, state="init")
    return Batch(template, replicas)


def deployment(*nodes):
    """Three replicas of web/api, four each, on nodes of the given sizes."""
    sizes = {name: node(name, memory=size) for name, size in nodes}
    for index, name in enumerate(["n1", "n1", "n2"]):
        sizes[name] = sizes[name].holding(replica(f"web/api-{index}", "ReplicaSet/api-7d4b", "4"))
    return cluster(*sizes.values())


def judged(snapshot, batch):
    return fit(Columns(snapshot), [batch])


@pytest.mark.parametrize(
    ("owner", "sets"),
    [
        ("ReplicaSet/api-7d4b", ("ReplicaSet/api-7d4b", "Deployment/api")),
        ("ReplicaSet/my-api-7d4b", ("ReplicaSet/my-api-7d4b", "Deployment/my-api")),
        ("ReplicaSet/api", ("ReplicaSet/api",)),
        ("ReplicaSet/-x", ("ReplicaSet/-x",)),
        ("StatefulSet/db-0", ("StatefulSet/db-0",)),
    ],
)
def test_an_owner_stands_for_itself_and_a_replica_set_for_its_deployment(owner, sets):
    assert sets_of(owner) == sets


def test_replicas_are_those_of_the_same_namespace_that_hold_capacity():
    snapshot = cluster(
        node("n1", memory="9").holding(
            replica("web/a-1", "StatefulSet/a", "1"),
            replica("web/a-0", "StatefulSet/a", "1"),
            replica("other/a-0", "StatefulSet/a", "1"),
            replica("web/a-2", "StatefulSet/a", "1", state="deleted"),
            replica("web/b-0", "StatefulSet/b", "1"),
            replica("web/c-0", "", "1"),
        )
    )
    found = Running(snapshot).replicas_of(asked("StatefulSet", "web/a", "1", 2).workload)
    assert [each.key for each in found] == ["web/a-0", "web/a-1"]
    assert Running(snapshot).replicas_of(asked("Deployment", "web/a", "1", 2).workload) == []


def test_what_is_applied_again_unchanged_stays_where_it_is():
    answer = judged(deployment(("n1", "8"), ("n2", "4")), asked("Deployment", "web/api", "4", 3))
    (found,) = answer.outcomes
    assert (found.placed, found.nodes, found.action, found.refusal) == (
        3,
        (("n1", 2), ("n2", 1)),
        "keep",
        None,
    )
    assert answer.fits
    assert answer.plan.steps == ()


def test_only_further_replicas_need_room():
    (found,) = judged(deployment(("n1", "8"), ("n2", "8")), asked("Deployment", "web/api", "4", 5)).outcomes
    assert (found.replicas, found.placed, found.nodes) == (5, 4, (("n1", 2), ("n2", 2)))
    assert found.refusal.count == 1
    assert found.action == "resize"


def test_fewer_replicas_give_room_back_from_the_last_on():
    snapshot = deployment(("n1", "8"), ("n2", "4"))
    other = Batch(msgspec.structs.replace(pod("web/x", memory="4"), state="init"))
    answer = fit(Columns(snapshot), [asked("Deployment", "web/api", "4", 2), other])
    assert [(each.placed, each.nodes) for each in answer.outcomes] == [(2, (("n1", 2),)), (1, (("n2", 1),))]
    assert answer.outcomes[0].action == "resize"


def test_a_replica_that_cannot_grow_in_place_goes_elsewhere():
    (found,) = judged(deployment(("n1", "10"), ("n2", "12")), asked("Deployment", "web/api", "6", 3)).outcomes
    assert (found.placed, found.nodes, found.action) == (3, (("n1", 1), ("n2", 2)), "resize")


def test_growth_beyond_all_room_is_refused_for_those_that_find_none():
    (found,) = judged(deployment(("n1", "8"), ("n2", "6")), asked("Deployment", "web/api", "6", 3)).outcomes
    assert (found.placed, found.state, found.refusal.count) == (2, "error", 1)
    assert not found.verdict.admitted


def test_a_machine_that_runs_holds_what_its_kind_takes():
    machine = msgspec.structs.replace(pod("vm", cpu="2", memory="8Gi"), kind="zmachine")
    rules = policy(consumption="by-kind", machine_root_large="2Gi")
    snapshot = cluster(
        node("n1", {"ullage.dev/ssd-space": "3Gi"}, cpu="8", memory="16Gi").holding(machine), policy=rules
    )
    columns = Columns(snapshot)
    assert columns.figures(0)["ullage.dev/ssd-space"].committed == 2 << 30
    assert fit(columns, [Batch(machine)]).fits


def test_replicas_that_come_and_go_are_those_of_a_cluster_counted_anew():
    before = deployment(("n1", "20"), ("n2", "20"))
    added = [
        msgspec.structs.replace(replica(f"web/api-{name}", "ReplicaSet/api-7d4b", "4"), node="n2")
        for name in ("00", "1", "9")
    ]
    moved = msgspec.structs.replace(before.workloads["web/api-0"], owner="ReplicaSet/other-1")
    after = msgspec.structs.replace(
        before, workloads=before.workloads.changed([*added, moved], ["web/api-2"])
    )
    like, anew = Running(after, Running(before)), Running(after)
    for name in ("api", "other"):
        template = asked("Deployment", f"web/{name}", "4", 1).workload
        assert like.replicas_of(template) == anew.replicas_of(template)
    assert [each.key for each in like.replicas_of(asked("Deployment", "web/api", "4", 1).workload)] == [
        "web/api-00",
        "web/api-1",
        "web/api-9",
    ]
