"""The volumes of a workload open and close nodes as they do for kube-scheduler."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import claim, cluster, node, persistent_volume, pod, size, volume, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.batches import place_replicas
from ullage.engine.placement.scheduling import schedule
from ullage.engine.trial import Trial
from ullage.model.cluster import Volume
from ullage.model.constraints import LabelSelector, NodeSelector, NodeSelectorTerm, Requirement
from ullage.model.storage import StorageCapacity, StorageClass, StorageDriver

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
DRIVER = "disks.example.com"
ONE_WRITER = ("ReadWriteOnce",)
FAST = StorageClass("fast", DRIVER, "WaitForFirstConsumer")
BY_HAND = StorageClass("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")


def server(name, zone="a", **limits):
    made = node(name, cpu="8").labelled({HOST: name, ZONE: zone})
    return made.with_(attach_limits={DRIVER: limits["attaches"]}) if limits else made


def on(*names):
    return NodeSelector((NodeSelectorTerm((Requirement(HOST, "In", names),)),))


def disk(name, where, amount="10Gi", storage_class="local", **fields):
    fields = {"access_modes": ONE_WRITER, "node_affinity": on(where), **fields}
    return persistent_volume(name, amount, storage_class=storage_class, **fields)


def has(name, volume_name, **fields):
    return claim(f"web/{name}", "10Gi", bound=True, volume=volume_name, access_modes=ONE_WRITER, **fields)


def waits(name, amount="10Gi", storage_class="local", **fields):
    fields = {"access_modes": ONE_WRITER, **fields}
    return claim(f"web/{name}", amount, storage_class=storage_class, **fields)


def asks(*claims, name="new", **fields):
    return waiting(f"web/{name}", volumes=tuple(Volume(each, each) for each in claims), **fields)


def runs(name, *claims):
    return pod(f"web/{name}", volumes=tuple(Volume(each, each) for each in claims))


def stateful(storage_class="local", amount="10Gi", replicas_of="db"):
    own = volume("data", amount, claim=f"data-{replicas_of}", storage_class=storage_class)
    return waiting(
        f"web/{replicas_of}", kind="StatefulSet", owner=f"StatefulSet/{replicas_of}", volumes=(own,)
    )


def scratch(storage_class="local", amount="10Gi", claim_name="new-scratch"):
    return volume("scratch", amount, claim=claim_name, storage_class=storage_class, inline=True)


def open_to(trial, workload):
    return [trial.nodes[row].name for row in np.flatnonzero(trial.feasible(trial.shape_of(workload)))]


TWO = [server("n1"), server("n2", "b")]
EVERY = ["n1", "n2"]
RULES = {
    "a claim that is not there stops its workload": (TWO, asks("data"), []),
    "a claim of another namespace is not there": ([*TWO, claim("other/data", "1Gi")], asks("data"), []),
    "a bound claim is where its volume is reached from": (
        [*TWO, disk("d", "n2"), has("data", "d")],
        asks("data"),
        ["n2"],
    ),
    "a volume without node affinity is reached from everywhere": (
        [*TWO, disk("d", "", node_affinity=None), has("data", "d")],
        asks("data"),
        EVERY,
    ),
    "a claim bound to a volume that is gone stops its workload": ([*TWO, has("data", "d")], asks("data"), []),
    "a bound claim whose volume is not told is anywhere": ([*TWO, has("data", "")], asks("data"), EVERY),
    "two bound claims must be reached from one node": (
        [*TWO, disk("d", "n2"), disk("e", "n1"), has("data", "d"), has("log", "e")],
        asks("data", "log"),
        [],
    ),
    "a bound claim follows the zone label of its volume": (
        [*TWO, disk("d", "", node_affinity=None, labels={ZONE: "b__c"}), has("data", "d")],
        asks("data"),
        ["n2"],
    ),
    "an unbound claim of an immediate class waits": (
        [*TWO, StorageClass("now", DRIVER), waits("data", storage_class="now")],
        asks("data"),
        [],
    ),
    "an unbound claim of an unknown class waits": ([*TWO, waits("data")], asks("data"), []),
    "a claim that names a volume and is not bound waits": (
        [*TWO, FAST, disk("d", "n1", storage_class="fast"), waits("data", storage_class="fast", volume="d")],
        asks("data"),
        [],
    ),
    "a claim that is being deleted takes nobody, bound or not": (
        [*TWO, FAST, disk("d", "n1"), has("data", "d", terminating=True)],
        asks("data"),
        [],
    ),
    "a claim that was created for another takes nobody, bound or not": (
        [*TWO, FAST, disk("d", "n1"), has("data", "d")],
        waiting("web/new", volumes=(Volume("scratch", "data", inline=True, foreign_claim=True),)),
        [],
    ),
    "a free volume draws a waiting claim": (
        [*TWO, BY_HAND, disk("d", "n2"), waits("data")],
        asks("data"),
        ["n2"],
    ),
    "a volume that another claim has is not free": (
        [*TWO, BY_HAND, disk("d", "n2", claim="web/other"), waits("data")],
        asks("data"),
        [],
    ),
    "a volume that names the claim is its own, whatever its phase": (
        [*TWO, BY_HAND, disk("d", "n2", claim="web/data", phase="Pending"), disk("e", "n1"), waits("data")],
        asks("data"),
        ["n2"],
    ),
    "a released volume is not free": (
        [*TWO, BY_HAND, disk("d", "n2", phase="Released"), waits("data")],
        asks("data"),
        [],
    ),
    "where no volume is free one is made": (
        [*TWO, FAST, disk("d", "n2", storage_class="fast"), waits("data", storage_class="fast")],
        asks("data"),
        EVERY,
    ),
    "a volume is made where its driver has room": (
        [
            *TWO,
            FAST,
            StorageDriver(DRIVER, checks_capacity=True),
            StorageCapacity("c", "x", "fast", LabelSelector({HOST: "n1"}), size("5Gi")),
            StorageCapacity("d", "x", "fast", LabelSelector({HOST: "n2"}), size("20Gi")),
            waits("data", storage_class="fast"),
        ],
        asks("data"),
        ["n2"],
    ),
    "the node that was chosen for a claim stays": (
        [*TWO, FAST, waits("data", storage_class="fast", selected_node="n1")],
        asks("data"),
        ["n1"],
    ),
    "a chosen node that is gone leaves none": (
        [*TWO, FAST, waits("data", storage_class="fast", selected_node="n9")],
        asks("data"),
        [],
    ),
    "a claim for one pod that is in use keeps others out everywhere": (
        [
            server("n1").holding(runs("old", "data")),
            server("n2"),
            claim("web/data", "1Gi", bound=True, access_modes=("ReadWriteOncePod",)),
        ],
        asks("data"),
        [],
    ),
    "a claim for one pod that is not in use lets one in": (
        [*TWO, claim("web/data", "1Gi", bound=True, access_modes=("ReadWriteOncePod",))],
        asks("data"),
        EVERY,
    ),
    "a node attaches no more volumes than it can": (
        [
            server("n1", attaches=1).holding(runs("old", "old")),
            server("n2"),
            FAST,
            waits("old", storage_class="fast"),
            waits("data", storage_class="fast"),
        ],
        asks("data"),
        ["n2"],
    ),
    "a volume that is attached already needs no more": (
        [server("n1", attaches=1).holding(runs("old", "old")), FAST, has("old", "", storage_class="fast")],
        asks("old"),
        ["n1"],
    ),
    "a claim of its own that nobody has made yet is made": ([*TWO, FAST], stateful("fast"), EVERY),
    "a claim to come has the default class": (
        [*TWO, msgspec.structs.replace(FAST, default=True)],
        stateful(""),
        EVERY,
    ),
    "a claim to come of a class without volumes goes nowhere": ([*TWO, BY_HAND], stateful(), []),
    "an inline claim to come is made": ([*TWO, FAST], waiting("web/new", volumes=(scratch("fast"),)), EVERY),
    "an inline claim that is there is taken as it is": (
        [*TWO, FAST, disk("d", "n2"), has("new-scratch", "d")],
        waiting("web/new", volumes=(scratch("fast"),)),
        ["n2"],
    ),
    "where nothing is known of storage claims to come are not judged": (TWO, stateful("fast"), EVERY),
    "an inline volume of a driver is not judged": (
        [server("n1", attaches=0)],
        waiting("web/new", volumes=(Volume("v", inline=True, driver=DRIVER),)),
        ["n1"],
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule(rule):
    parts, asked, nodes = RULES[rule]
    assert open_to(Trial(Columns(cluster(*parts))), asked) == nodes


def test_a_refusal_says_why():
    trial = Trial(Columns(cluster(*TWO)))
    [rule] = trial.shape_of(asks("data")).local_rules
    assert rule.reason == "claim data is unknown"
    own = waiting(
        "web/new", volumes=(volume("scratch", "1Gi", claim="data", inline=True, foreign_claim=True),)
    )
    [rule] = Trial(Columns(cluster(*TWO, waits("data")))).shape_of(own).local_rules
    assert rule.reason == "claim data was not created for it"


def test_nothing_is_made_where_no_workload_has_volumes():
    trial = Trial(Columns(cluster(*TWO)))
    trial.shape_of(waiting("web/new", cpu="1"))
    assert "volumes" not in vars(trial)


def test_whoever_shares_a_claim_follows_it():
    trial = Trial(Columns(cluster(*TWO, FAST, waits("data", storage_class="fast"))))
    mark = trial.mark()
    assert open_to(trial, asks("data")) == EVERY
    trial.place(trial.shape_of(asks("data")), trial.row_of["n2"])
    assert open_to(trial, asks("data", name="another", labels={"a": "b"})) == ["n2"]
    trial.undo(mark)
    assert open_to(trial, asks("data", name="another", labels={"a": "b"})) == EVERY


def test_a_volume_that_was_taken_is_gone_for_others():
    trial = Trial(
        Columns(cluster(*TWO, BY_HAND, disk("d", "n1"), disk("e", "n2"), waits("data"), waits("log")))
    )
    trial.place(trial.shape_of(asks("data")), 0)
    assert open_to(trial, asks("log")) == ["n2"]


def test_each_replica_of_a_stateful_set_takes_a_volume():
    disks = [disk("d", "n1"), disk("e", "n1"), disk("f", "n2")]
    trial = Trial(Columns(cluster(*TWO, BY_HAND, *disks)))
    assert place_replicas(trial, trial.shape_of(stateful()), 9) == {0: 2, 1: 1}


def test_replicas_that_share_a_claim_that_is_asked_for_stay_together():
    trial = Trial(Columns(cluster(*TWO, FAST)))
    shared = waiting("web/new", volumes=(volume("v", "1Gi", claim="data", storage_class="fast"),))
    assert list(place_replicas(trial, trial.shape_of(shared), 4).values()) == [4]


def test_inline_claims_are_each_replica_s_own():
    disks = [disk("d", "n1"), disk("e", "n2")]
    trial = Trial(Columns(cluster(*TWO, BY_HAND, *disks)))
    replica = waiting("web/new", volumes=(scratch(),))
    assert place_replicas(trial, trial.shape_of(replica), 9) == {0: 1, 1: 1}


def test_replicas_without_anything_to_take_are_placed_at_once():
    trial = Trial(Columns(cluster(*TWO, FAST)))
    assert trial.shape_of(stateful("fast")).takes == []


def test_each_replica_is_attached_for_itself():
    trial = Trial(Columns(cluster(server("n1", attaches=3), server("n2", attaches=2), FAST)))
    assert place_replicas(trial, trial.shape_of(stateful("fast")), 9) == {0: 3, 1: 2}


def test_a_workload_that_is_evicted_gives_back_its_claim_and_its_attachment():
    old = runs("old", "data")
    single = claim("web/data", "1Gi", storage_class="fast", bound=True, access_modes=("ReadWriteOncePod",))
    trial = Trial(Columns(cluster(server("n1", attaches=1).holding(old), FAST, single)))
    mark = trial.mark()
    assert open_to(trial, asks("data")) == []
    assert open_to(trial, stateful("fast")) == []
    trial.evict(trial.columns.snapshot.workloads["web/old"])
    assert open_to(trial, asks("data")) == ["n1"]
    assert open_to(trial, stateful("fast")) == ["n1"]
    trial.undo(mark)
    assert open_to(trial, asks("data")) == open_to(trial, stateful("fast")) == []


def test_an_inline_claim_goes_with_its_workload_and_the_next_one_is_new():
    old = pod("web/old", volumes=(scratch("fast", claim_name="old-scratch"),))
    bound = claim("web/old-scratch", "10Gi", storage_class="fast", bound=True, volume="d")
    parts = [server("n1", attaches=1).holding(old), server("n2"), FAST, bound]
    trial = Trial(
        Columns(
            cluster(*parts, disk("d", "n1", storage_class="fast", driver=DRIVER, claim="web/old-scratch"))
        )
    )
    assert open_to(trial, stateful("fast")) == ["n2"]
    running = trial.columns.snapshot.workloads["web/old"]
    trial.evict(running)
    assert open_to(trial, running) == EVERY
    assert open_to(trial, stateful("fast")) == EVERY


STORAGE = [
    *(server(f"n{number}", zone, attaches=2) for number, zone in enumerate("aab")),
    FAST,
    BY_HAND,
    disk("d0", "n0"),
    disk("d1", "n1", "20Gi"),
    disk("d2", "", "30Gi", node_affinity=None, driver=DRIVER),
    disk("d3", "n2", storage_class="fast", driver=DRIVER, labels={ZONE: "b"}),
    waits("one"),
    waits("two", "15Gi"),
    waits("three", storage_class="fast"),
    waits("four", storage_class="fast", access_modes=("ReadWriteOncePod",)),
    has("five", "", storage_class="fast"),
]
RUNNING = [("n0", ("three",)), ("n1", ("five",)), ("n2", ("four", "one"))]
CLAIMS = ["one", "two", "three", "four", "five"]
WORKLOADS = st.one_of(
    st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=3, unique=True).map(lambda each: asks(*each)),
    st.sampled_from([stateful("fast"), stateful("local"), waiting("web/new", volumes=(scratch("local"),))]),
)


def state_of(trial):
    volumes = trial.volumes
    return (
        {driver: used.tolist() for driver, used in volumes.attachments.used.items()},
        {
            name: [[list(group.free) for group in each] for each in pool.sets]
            for name, pool in volumes.pools.items()
        },
        {key: count for key, count in volumes.uses.users.items() if count},
        {key: (each.volume, each.users) for key, each in volumes.open_claims.items()},
    )


@given(
    running=st.sets(st.sampled_from(range(3))),
    asked=st.lists(WORKLOADS, min_size=1, max_size=5),
    steps=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 2), st.booleans()), max_size=12),
)
def test_undo_leaves_everything_as_it_was(running, asked, steps):
    held = [
        msgspec.structs.replace(runs(f"r{index}", *RUNNING[index][1]), node=RUNNING[index][0])
        for index in running
    ]
    trial = Trial(Columns(cluster(*STORAGE, *held)))
    known = [*asked, *held]
    before = [open_to(trial, each) for each in known]
    state = state_of(trial)
    mark = trial.mark()
    for which, row, place in steps:
        shape = trial.shape_of(known[which % len(known)])
        trial.place(shape, row, 1 if place else -1)
        open_to(trial, known[row % len(known)])
    trial.undo(mark)
    assert state_of(trial) == state
    assert [open_to(trial, each) for each in known] == before


@given(asked=st.lists(WORKLOADS, min_size=1, max_size=6))
def test_what_was_looked_at_all_the_time_is_what_is_seen_when_looked_at_once(asked):
    watched, plain = (Trial(Columns(cluster(*STORAGE))) for _ in range(2))
    for each in asked:
        for other in asked:
            open_to(watched, other)
        row = watched.pick(watched.shape_of(each))
        if row >= 0:
            watched.place(watched.shape_of(each), row)
            plain.place(plain.shape_of(each), row)
    for each in asked:
        assert open_to(watched, each) == open_to(plain, each)


@pytest.mark.parametrize("priority", [0, 1])
def test_who_uses_a_claim_for_one_pod_is_the_one_to_go(priority):
    one = claim("web/data", "1Gi", bound=True, access_modes=("ReadWriteOncePod",))
    parts = [server("n1").holding(runs("a"), runs("user", "data")), server("n2").holding(runs("b")), one]
    asked = asks("data", priority=priority)
    done = schedule(Columns(cluster(*parts, asked)), [asked])
    if priority:
        assert [each.workload for each in done.nominated[0].evicted] == ["web/user"]
    else:
        assert "evict web/user: it then fits" in done.unplaced[0].refusal.remedy


def test_who_uses_a_claim_for_one_pod_may_go_though_another_node_is_taken_then():
    one = claim("web/data", "1Gi", bound=True, access_modes=("ReadWriteOncePod",))
    parts = [node("n1", cpu="1").holding(runs("user", "data")), node("n2", cpu="4"), one]
    asked = asks("data", cpu=2)
    (found,) = schedule(Columns(cluster(*parts, asked)), [asked]).unplaced
    assert "evict web/user: it then fits" in found.refusal.remedy


@pytest.mark.parametrize(
    ("published", "told"),
    [
        (("4Gi", "6Gi"), "no volume for claim data (10Gi asked, at most 6Gi can be made)"),
        ((), "no volume for claim data (10Gi asked, nothing can be made)"),
    ],
)
def test_a_volume_larger_than_any_that_can_be_made_is_told_with_both_sizes(published, told):
    driver = StorageDriver(DRIVER, checks_capacity=True)
    rooms = [
        StorageCapacity(str(index), storage_class="fast", topology=LabelSelector(), capacity_bytes=size(each))
        for index, each in enumerate(published)
    ]
    asked = asks("data")
    there = cluster(*TWO, FAST, driver, *rooms, waits("data", storage_class="fast"), asked)
    (found,) = schedule(Columns(there), [asked]).unplaced
    assert told in found.refusal.reason
