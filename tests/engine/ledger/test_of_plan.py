"""An answer that is committed holds what it says, and the cluster is then as if it had come true."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import batch, cluster, entry, node, pod, policy, quota, volume, waiting
from engine.ledger.ledgers import Ledger
from ullage.engine.columns import Columns
from ullage.engine.ledger.audit import audit
from ullage.engine.ledger.of_plan import committed
from ullage.engine.ledger.promises import with_promises
from ullage.engine.placement.fit import fit
from ullage.engine.quota.use import quota_use
from ullage.engine.storage.extents import group_bytes
from ullage.model.disk_plan import DiskRequest
from ullage.model.drives import PlacedVolume, ThinPool, VolumeGroup
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE, Bind, Refuse, Release, Reserve, Resize, Supply
from ullage.model.resources import Resources

TWO = (node("n1", cpu="4", memory="8Gi"), node("n2", cpu="4", memory="8Gi"))
HOUR = 3600


def web(cpu="2", **more):
    return waiting("shop/web", cpu=cpu, memory="1Gi", kind="Deployment", **more)


def asked(ledger, snapshot, *batches, atomic=False):
    return fit(Columns(with_promises(snapshot, ledger.state.entries)), batches, atomic=atomic)


def planned(ledger, snapshot, *batches, **how):
    found = asked(ledger, snapshot, *batches, **how)
    return committed(snapshot, ledger.state.entries, batches, found, ledger.at_seconds + HOUR)


def commit(ledger, snapshot, *batches, **how):
    plan = planned(ledger, snapshot, *batches, **how)
    return ledger.do(plan.command) if plan.command else None


def parts(plan, kind):
    return [each for each in plan.command.commands if isinstance(each, kind)]


def test_every_replica_is_held_on_its_node_and_in_its_quotas():
    there = cluster(*TWO, quota("all", {"cpu": "8"}), quota("shop", {"cpu": "2"}, {"cpu": "6"}, parent="all"))
    plan = planned(Ledger(), there, batch(3, web()))
    assert {each.name for (supply,) in [parts(plan, Supply)] for each in supply.capacities} == {
        "node/n1", "node/n2", "quota/all", "quota/shop",
    }  # fmt: skip
    reserved = parts(plan, Reserve)
    assert [(each.reservation, each.owner) for each in reserved] == [
        (f"Deployment/shop/web/{number}", "shop/web") for number in (1, 2, 3)
    ]
    assert [[hold.capacity for hold in each.holds] for each in reserved] == [
        [f"node/{where}", "quota/shop", "quota/all"] for where in ("n1", "n1", "n2")
    ]


def test_asked_again_nothing_is_held_twice():
    ledger, there = Ledger(), cluster(*TWO)
    assert commit(ledger, there, batch(3, web())).accepted
    plan = planned(ledger, there, batch(3, web()))
    assert plan.command is None
    assert len(plan.kept) == 3


def test_a_single_pod_that_is_held_keeps_its_place():
    ledger, there = Ledger(), cluster(*TWO)
    one = batch(1, waiting("shop/a", cpu="2"))
    assert commit(ledger, there, one).accepted
    assert planned(ledger, there, one).command is None
    assert planned(ledger, there, one).kept == ("Pod/shop/a/1",)


@pytest.mark.parametrize(("replicas", "kinds"), [(2, [Release]), (4, [Reserve]), (3, [])])
def test_a_set_grows_and_shrinks_by_what_is_new(replicas, kinds):
    ledger, there = Ledger(), cluster(*TWO)
    commit(ledger, there, batch(3, web(cpu="1")))
    plan = planned(ledger, there, batch(replicas, web(cpu="1")))
    changes = [] if plan.command is None else plan.command.commands
    assert [type(each) for each in changes if isinstance(each, Release | Reserve | Resize)] == kinds


def test_another_size_is_a_resize_of_node_and_quota():
    ledger, there = Ledger(), cluster(*TWO, quota("shop", {"cpu": "4"}))
    commit(ledger, there, batch(1, waiting("shop/a", cpu="2")))
    larger = batch(1, waiting("shop/a", cpu="3"))
    plan = planned(ledger, there, larger)
    assert [each.capacity for each in parts(plan, Resize)] == ["node/n1", "quota/shop"]
    assert ledger.do(plan.command).accepted
    assert ledger.state.held("node/n1")["cpu"] == 3000


def test_replicas_that_run_are_held_where_they_are_although_nothing_else_has_room_there():
    running = [pod(f"shop/web-5d-{name}", cpu="2", memory="1Gi", owner="ReplicaSet/web-5d") for name in "ab"]
    there = cluster(TWO[0].holding(*running), TWO[1])
    ledger = Ledger()
    assert commit(ledger, there, batch(3, web())).accepted
    assert {name: ledger.state.held(f"node/{name}")["cpu"] for name in ("n1", "n2")} == {
        "n1": 4000,
        "n2": 2000,
    }
    assert Columns(with_promises(there, ledger.state.entries)).promised.sum(axis=1)[1] > 0


def test_what_fails_is_noted_with_its_reason_beside_what_is_held():
    ledger = Ledger()
    decision = commit(ledger, cluster(*TWO), batch(5, web()), batch(1, waiting("shop/huge", cpu="64")))
    assert decision.accepted
    rejected = [each for each in decision.changed if each.state == "REJECTED"]
    assert [each.owner for each in rejected] == ["shop/huge", "shop/web"] or [
        each.owner for each in rejected
    ] == ["shop/web", "shop/huge"]
    assert all("cpu short" in each.reason for each in rejected)
    assert ledger.state.held("node/n1")["cpu"] == 4000


def test_all_or_none_that_fails_holds_nothing():
    plan = planned(Ledger(), cluster(*TWO), batch(5, web()), atomic=True)
    assert [type(each) for each in plan.command.commands[1:]] == [Refuse]


def test_the_evicted_give_back_their_promise_and_their_room():
    there = cluster(
        node("n1", cpu="4").holding(pod("poor/a", cpu="3")),
        quota("rich", {"cpu": "4"}),
        quota("poor", {"cpu": "0"}),
    )
    ledger = Ledger()
    assert commit(ledger, cluster(node("n1", cpu="4"), *there.quotas), batch(1, waiting("poor/a", cpu="3")))
    ledger.do(Bind("Pod/poor/a/1"))
    plan = planned(ledger, there, batch(1, waiting("rich/w", cpu="4")))
    assert parts(plan, Release) == [Release("Pod/poor/a/1")]
    assert ledger.do(plan.command).accepted
    assert {each.owner for each in ledger.state.entries} == {"rich/w"}


def test_the_evicted_without_a_promise_give_up_their_room():
    there = cluster(
        node("n1", cpu="4").holding(pod("poor/a", cpu="3")),
        quota("rich", {"cpu": "4"}),
        quota("poor", {"cpu": "0"}),
    )
    ledger = Ledger()
    assert commit(ledger, there, batch(1, waiting("rich/w", cpu="4"))).accepted


def test_a_thin_pool_is_held_by_what_is_asked_of_it_and_never_beyond_its_ratio():
    pools = (ThinPool("slim", 2 << 30),)
    machine = TWO[0].with_volume_group("vg", "HDD", "8Gi", "0", thin_pools=pools, extent_bytes=32 << 20)
    there = cluster(machine, policy=policy(thin_pool_ratio="2"))
    thin = volume("data", "1500Mi", storage_class="HDDLVG", inline=True)
    ledger = Ledger()
    assert commit(ledger, there, batch(3, web(cpu="1", volumes=(thin,)))).accepted
    assert ledger.state.held("group/n1/vg/slim") == {VOLUME_SPACE: 2 * (1504 << 20)}
    assert audit(ledger.state) == ()
    assert planned(ledger, there, batch(2, web(cpu="1", volumes=(thin,)))).command is None


def test_disks_are_held_as_they_were_chosen_for_each_replica():
    machine = TWO[0].with_drive("d1", "HDD", "10Gi").with_drive("d2", "SSD", "10Gi")
    small = volume("data", "1Gi", storage_class="HDDLVG")
    ledger = Ledger()
    replicas = batch(2, waiting("shop/a", cpu="1", kind="Job", volumes=(small,)))
    whole = batch(1, waiting("shop/b", cpu="1", volumes=(volume("all", "5Gi", storage_class="SSD"),)))
    assert commit(ledger, cluster(machine), replicas, whole).accepted
    assert ledger.state.held("drive/n1/d1") == {VOLUME_SPACE: 2 << 30}
    assert ledger.state.held("drive/n1/d2") == {WHOLE_DRIVE: 1, VOLUME_SPACE: group_bytes(10 << 30)}
    assert [each.reservation for each in ledger.state.entries_on("drive/n1/d1")] == [
        "Job/shop/a/1",
        "Job/shop/a/2",
    ]
    assert commit(ledger, cluster(machine), whole) is None


def test_two_commits_of_the_last_room_one_is_refused_with_what_is_missing():
    there, ledger = cluster(node("n1", cpu="4")), Ledger()
    one, other = (planned(ledger, there, batch(1, waiting(f"shop/{name}", cpu="3"))) for name in "ab")
    assert ledger.do(one.command).accepted
    refused = ledger.do(other.command)
    assert not refused.accepted
    (short,) = refused.shortfalls
    assert (short.node, short.resource, short.missing.value) == ("node/n1", "cpu", 2000)


def test_what_its_time_has_come_for_ends_in_the_same_step():
    there, ledger = cluster(node("n1", cpu="4")), Ledger()
    commit(ledger, there, batch(1, waiting("shop/a", cpu="3")))
    ledger.at_seconds += 2 * HOUR
    question = batch(1, waiting("shop/b", cpu="3"))
    found = fit(Columns(there), [question])
    plan = committed(there, (), [question], found, ledger.at_seconds + HOUR)
    assert ledger.do(plan.command).accepted
    assert {each.owner for each in ledger.state.entries} == {"shop/b"}


def test_a_promise_under_another_name_to_the_same_owner_is_its_own():
    ledger, there = Ledger(), cluster(*TWO)
    ledger.state.put(entry("r-1", "node/n1", owner="shop/a", request="compute", cpu="2"))
    plan = planned(ledger, there, batch(1, waiting("shop/a", cpu="2")))
    assert (plan.command, plan.kept) == (None, ("r-1",))


small = st.integers(0, 4)


@st.composite
def questions(draw):
    """A few nodes with something on them, perhaps a quota, and one or two batches of two namespaces."""
    machines = [
        node(f"n{place}", cpu=draw(st.integers(1, 8)), memory=draw(st.integers(1, 8))).holding(
            *(
                pod(f"old/p{place}{number}", cpu=draw(small), memory=draw(small))
                for number in range(draw(st.integers(0, 2)))
            )
        )
        for place in range(draw(st.integers(1, 3)))
    ]
    quotas = [quota("a", {"cpu": str(draw(small))}, {"cpu": str(draw(st.integers(1, 12)))})]
    batches = [
        batch(
            draw(st.integers(1, 4)),
            waiting(
                f"{draw(st.sampled_from('ab'))}/w{place}", cpu=draw(small), memory=draw(small), kind="Job"
            ),
        )
        for place in range(draw(st.integers(1, 2)))
    ]
    return cluster(*machines, *quotas[: draw(st.integers(0, 1))]), batches


def as_if_run(snapshot, found, batches):
    """The cluster with every placed replica running."""
    made = {each.key: each.workload for each in batches}
    pods = [
        msgspec.structs.replace(
            made[outcome.subject],
            name=f"{made[outcome.subject].name}-{where}-{number}",
            kind="Pod",
            owner=f"Job/{made[outcome.subject].name}",
            node=where,
            state="ok",
        )
        for outcome in found.outcomes
        for where, count in outcome.nodes
        for number in range(count)
    ]
    return msgspec.structs.replace(snapshot, workloads=snapshot.workloads.changed(pods))


def rooms(snapshot):
    columns = Columns(snapshot)
    used = [(use.quota.name, use.used, use.workloads) for use in quota_use(columns)]
    free = {name: columns.free[:, place].tolist() for name, place in columns.resource_index.items()}
    return {name: each for name, each in free.items() if any(each)}, used


@settings(max_examples=40)
@given(questions(), st.integers(0, 8))
def test_committed_it_is_as_if_it_ran_and_when_it_runs_it_is_not_counted_twice(question, cpu):
    snapshot, batches = question
    ledger = Ledger()
    found = asked(ledger, snapshot, *batches)
    plan = committed(snapshot, (), batches, found, ledger.at_seconds + HOUR)
    if plan.command is not None:
        assert ledger.do(plan.command).accepted
    assert audit(ledger.state) == ()
    promised = with_promises(snapshot, ledger.state.entries)
    runs = as_if_run(snapshot, found, batches)
    assert rooms(promised) == rooms(runs)
    assert rooms(with_promises(runs, ledger.state.entries)) == rooms(runs)
    other = [batch(3, waiting("a/other", cpu=cpu, memory=1))]
    one, two = (fit(Columns(each), other, names_remedies=False) for each in (promised, runs))
    assert [(each.nodes, each.placed) for each in one.outcomes] == [
        (each.nodes, each.placed) for each in two.outcomes
    ]
    again = fit(Columns(promised), batches, names_remedies=False)
    then = fit(Columns(runs), batches, names_remedies=False)
    assert [each.placed for each in again.outcomes] == [each.placed for each in then.outcomes]


@settings(max_examples=40)
@given(questions())
def test_asked_twice_it_is_held_once(question):
    snapshot, batches = question
    ledger = Ledger()
    commit(ledger, snapshot, *batches)
    before = ledger.state.entries
    commit(ledger, snapshot, *batches)
    assert ledger.state.entries == before


@settings(max_examples=40)
@given(questions(), questions())
def test_planned_side_by_side_nothing_is_promised_twice(one, other):
    snapshot, batches = one
    renamed = [
        msgspec.structs.replace(each, workload=msgspec.structs.replace(each.workload, name=f"x{place}"))
        for place, each in enumerate(other[1])
    ]
    ledger = Ledger()
    plans = [planned(ledger, snapshot, *each) for each in (batches, renamed)]
    for plan in plans:
        if plan.command is not None:
            ledger.do(plan.command)
    assert audit(ledger.state) == ()
    free = Columns(with_promises(snapshot, ledger.state.entries))
    before = Columns(snapshot)
    over = free.promised > free.limit
    assert not (over & ~(before.promised > before.limit)).any()


def test_nothing_asked_is_nothing_held():
    assert planned(Ledger(), cluster(*TWO), batch(0, web())).command is None


def test_empty_requests_hold_a_place_of_nothing():
    ledger = Ledger()
    assert commit(ledger, cluster(*TWO), batch(1, waiting("shop/a"))).accepted
    (held,) = ledger.state.entries
    assert held.resources == Resources()


def test_what_is_given_back_is_not_offered_a_second_time_where_actual_use_counts():
    there = cluster(node("n1", cpu="10").using(cpu="5"), policy=policy(committed="actual"))
    ledger = Ledger()
    two = waiting("shop/a", cpu="2", kind="Job")
    commit(ledger, there, batch(2, two))
    plan = planned(ledger, there, batch(1, two), batch(1, waiting("shop/b", cpu="1")))
    assert len(parts(plan, Release)) == 1
    ((offered,),) = [supply.capacities for supply in parts(plan, Supply)]
    assert offered.offers["cpu"] == 7000


def test_a_disk_that_is_free_only_when_somebody_has_gone_cannot_be_held_before():
    inline = volume("data", "5Gi", storage_class="SSD", inline=True)
    machine = node("n1", cpu="4").with_drive("d1", "SSD", "10Gi", clean=False)
    made = PlacedVolume("v", "d1", 5 << 30, owner="poor/a")
    there = cluster(
        machine.with_(placed_volumes=(made,)).holding(pod("poor/a", cpu="3", volumes=(inline,))),
        quota("rich", {"cpu": "4"}),
        quota("poor", {"cpu": "0"}),
    )
    ledger = Ledger()
    question = batch(1, waiting("rich/w", cpu="4", volumes=(inline,)))
    assert asked(ledger, there, question).outcomes[0].evicted
    refused = commit(ledger, there, question)
    assert not refused.accepted
    assert {each.node for each in refused.shortfalls} == {"drive/n1/d1"}


def with_share(name, size="1Gi"):
    return batch(1, waiting(f"shop/{name}", cpu="1", volumes=(volume(name, size, storage_class="HDDLVG"),)))


def test_a_group_that_the_cluster_has_no_more_is_promised_to_nobody():
    group = {"volume_groups": (VolumeGroup("vg", "HDD", 10 << 30, 10 << 30),)}
    before, after = TWO[0].with_(**group), TWO[0].with_drive("d1", "HDD", "10Gi")
    ledger = Ledger()
    assert commit(ledger, cluster(before), with_share("a")).accepted
    known = [each.name for each in ledger.state.capacities]
    there, question = cluster(after), with_share("b")
    found = asked(ledger, there, question)
    plan = committed(there, ledger.state.entries, (question,), found, 5000, known=known)
    assert ledger.do(plan.command).accepted
    assert list(ledger.state.disks_of("n1")) == ["drive/n1/d1"]
    (finding,) = audit(ledger.state)
    assert finding.remedy == "release Pod/shop/a/1, and ask for it again"
    assert ledger.do(Release("Pod/shop/a/1")).accepted
    assert audit(ledger.state) == ()


def test_who_is_in_line_does_not_have_the_room_of_a_volume_that_outlasts_its_promise():
    group = VolumeGroup("vg", "HDD", 10 << 30, 10 << 30, drives=("d1",))
    machine = TWO[0].with_drive("d1", "HDD", "10Gi", clean=False).with_(volume_groups=(group,))
    ledger, there = Ledger(), cluster(machine, TWO[1])
    assert commit(ledger, there, with_share("a", "8Gi")).accepted
    waits = DiskRequest("w", "HDDLVG", 8 << 30)
    ledger.do(Reserve("w", "shop/w", 99_999, nodes=("n1",), volumes=(waits,), waits=True))
    assert [each.reservation for each in ledger.state.waiting] == ["w"]
    full = msgspec.structs.replace(group, free_bytes=2 << 30)
    made = PlacedVolume("pv", "vg", 8 << 30, "shop/a-a", owner="shop/a")
    there = cluster(machine.with_(volume_groups=(full,), placed_volumes=(made,)), TWO[1])
    ledger.at_seconds += HOUR
    over = ledger.state.due(ledger.at_seconds)
    question = batch(1, waiting("shop/b", cpu="4"))
    found = fit(Columns(there), (question,))
    plan = committed(there, (), (question,), found, ledger.at_seconds + HOUR, over=over)
    assert ledger.do(plan.command).accepted
    assert [each.reservation for each in ledger.state.waiting] == ["w"]
