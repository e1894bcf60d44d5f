"""What nodes say while the cluster changes is what they say to one who looks for the first time."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import claim, cluster, node, pod, policy, quota, volume, waiting
from placement_strategies import clusters, workloads
from quota_worlds import crowded_cluster
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.placement.node_verdicts import SCORE_BEST, UNKNOWN_NODE, NodeVerdicts
from ullage.engine.placement.scheduling import schedule
from ullage.model.cluster import Batch, Snapshot, Workload
from ullage.model.constraints import Constraints
from ullage.model.delta import Delta, apply
from ullage.model.storage import StorageClass

GPU = "nvidia.com/gpu"
GPU_MEMORY = "nos.nebuly.com/gpu-memory"
LOCAL = StorageClass("group", "csi-baremetal", "WaitForFirstConsumer", parameters={"storageType": "HDDLVG"})


def with_waiting(snapshot: Snapshot, *pods: Workload) -> Snapshot:
    return apply(snapshot, Delta(workloads=pods))


def said(snapshot: Snapshot, asked: Workload, held: dict[str, str] | None = None) -> dict[str, str]:
    names = [each.name for each in snapshot.nodes]
    return NodeVerdicts(Columns(with_waiting(snapshot, asked))).reasons(asked, names, held or {})


def running(row: Workload, where: str) -> Workload:
    return msgspec.structs.replace(row, node=where, state="ok")


class Followed:
    """A cluster that changes, with what nodes say kept beside it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.columns = Columns(snapshot)
        self.verdicts = NodeVerdicts(self.columns)

    def change(self, delta: Delta) -> None:
        self.columns = self.columns.advance(delta)
        self.verdicts.advance(self.columns, delta)

    def check(self, asked: Workload, held: dict[str, str] | None = None) -> None:
        """Whoever looks for the first time is told the same, of several reasons perhaps another one."""
        names = [each.name for each in self.columns.snapshot.nodes]
        anew = NodeVerdicts(Columns(self.columns.snapshot))
        kept, made = (each.reasons(asked, names, held or {}) for each in (self.verdicts, anew))
        assert {name for name in kept if kept[name]} == {name for name in made if made[name]}
        assert self.verdicts.scores(asked, names) == anew.scores(asked, names)


@st.composite
def changes(draw: st.DrawFn, snapshot: Snapshot, number: int) -> Delta:
    names = [each.name for each in snapshot.nodes]
    there = [each for each in snapshot.workloads if each.node]
    kind = draw(st.sampled_from(("come", "come", "go", "leave", "relabel", "node")))
    if kind == "come" or not there:
        new = draw(workloads(f"new{number}"))
        return Delta(workloads=(running(new, draw(st.sampled_from(names))),))
    one = draw(st.sampled_from(there))
    if kind == "go":
        return Delta(dropped={"workloads": (one.key,)})
    if kind == "leave":
        return Delta(workloads=(msgspec.structs.replace(one, terminating=True),))
    if kind == "relabel":
        return Delta(workloads=(msgspec.structs.replace(one, labels={"app": "b"}),))
    changed = draw(st.sampled_from(list(snapshot.nodes)))
    return Delta(nodes=(msgspec.structs.replace(changed, labels={"zone": "y"}),))


@settings(max_examples=12)
@given(st.data(), clusters(), workloads("asked"), st.sampled_from(("spread", "preferences", "pack")))
def test_what_is_kept_says_what_is_made_anew(data, snapshot, asked, placement):
    snapshot = msgspec.structs.replace(snapshot, policy=policy(placement=placement))
    followed = Followed(with_waiting(snapshot, asked))
    followed.check(asked)
    for number in range(3):
        followed.change(data.draw(changes(followed.columns.snapshot, number)))
        followed.check(asked)


@settings(max_examples=25)
@given(st.integers(0, 1 << 20))
def test_under_quotas_some_node_takes_it_exactly_if_the_scheduler_binds_it(seed):
    snapshot, asked = crowded_cluster(seed)
    whole = with_waiting(snapshot, asked)
    cycle = schedule(Columns(whole), (asked,), names_remedies=False)
    takes = [name for name, reason in said(snapshot, asked).items() if not reason]
    assert bool(cycle.bound) == bool(takes)
    assert {each.node for each in cycle.bound} <= set(takes)


@settings(max_examples=15)
@given(clusters(), workloads("asked"))
def test_some_node_takes_it_exactly_if_the_scheduler_binds_it(snapshot, asked):
    whole = with_waiting(snapshot, asked)
    cycle = schedule(Columns(whole), (asked,), names_remedies=False)
    takes = [name for name, reason in said(snapshot, asked).items() if not reason]
    assert bool(cycle.bound) == bool(takes)


@settings(max_examples=20)
@given(st.data(), st.integers(0, 1 << 20))
def test_use_of_quotas_is_followed(data, seed):
    snapshot, asked = crowded_cluster(seed)
    followed = Followed(with_waiting(snapshot, asked))
    followed.check(asked)
    for number in range(3):
        there = [each for each in followed.columns.snapshot.workloads if each.node]
        if there and data.draw(st.booleans()):
            followed.change(Delta(dropped={"workloads": (data.draw(st.sampled_from(there)).key,)}))
        else:
            new = msgspec.structs.replace(asked, name=f"more{number}")
            followed.change(Delta(workloads=(running(new, next(iter(followed.columns.nodes)).name),)))
        followed.check(asked)


TEAM = quota("team", {"cpu": "1"}, {"cpu": "2"})
BUSY = node("n1", cpu="8").holding(pod("team/old", cpu="1500m"))


def test_quotas_say_it_in_the_words_of_fit():
    asked = waiting("team/new", cpu=1)
    snapshot = cluster(BUSY, node("n2", cpu="8"), TEAM)
    told = said(snapshot, asked)
    (outcome,) = fit(Columns(with_waiting(snapshot, asked)), (Batch(asked),)).outcomes
    assert told["n1"] == told["n2"] == "quota team would use more than its max, 500m of cpu beyond 2"
    assert outcome.refusal.reason.startswith(told["n1"])


def test_what_reservations_hold_is_told_apart_with_its_amount():
    held = pod("web/r", cpu="3", promised=True)
    snapshot = cluster(
        node("n1", cpu="4").holding(held), node("n2", cpu="4").holding(pod("web/p", cpu="3")),
        node("n3", cpu="1").holding(pod("web/q", cpu="1", promised=True)),
    )  # fmt: skip
    followed = Followed(with_waiting(snapshot, asked := waiting("web/a", cpu="2")))

    def told() -> dict[str, str]:
        return followed.verdicts.reasons(asked, ["n1", "n2", "n3"])

    size = "size of the node (cpu)"
    assert told() == {"n1": "cpu held by reservations of the ledger: 3", "n2": "cpu short", "n3": size}
    followed.change(Delta(workloads=(msgspec.structs.replace(held, node="n1", promised=False),)))
    assert told() == {"n1": "cpu short", "n2": "cpu short", "n3": size}
    followed.change(Delta(dropped={"workloads": ("web/r",)}))
    assert told()["n1"] == ""


def test_who_is_held_a_place_counts_there_for_all_others_and_not_for_itself():
    first, second = waiting("a/first", cpu=1), waiting("a/second", cpu=1)
    snapshot = cluster(node("n1", cpu="1"), node("n2", cpu="1"), quota("a", {"cpu": "1"}, {"cpu": "1"}))
    whole = with_waiting(snapshot, first)
    held = {"a/first": "n1"}
    assert "quota a" in said(whole, second, held)["n2"]
    assert said(whole, waiting("b/other", cpu=1), held) == {"n1": "cpu short", "n2": ""}
    assert said(snapshot, first, held) == {"n1": "", "n2": ""}


def test_what_is_held_for_one_question_is_not_there_in_the_next():
    first, other = waiting("a/first", cpu=1), waiting("b/other", cpu=1)
    snapshot = cluster(node("n1", cpu="1"), quota("a", {"cpu": "1"}, {"cpu": "1"}), first, other)
    verdicts = NodeVerdicts(Columns(snapshot))
    assert verdicts.reasons(other, ("n1",), {"a/first": "n1"}) == {"n1": "cpu short"}
    assert verdicts.reasons(other, ("n1",)) == {"n1": ""}
    assert verdicts.reasons(first, ("n1",)) == {"n1": ""}


def test_it_depends_on_the_size_of_gpus_what_a_quota_says_of_a_node():
    nodes = [node(name, cpu="9").with_gpus(1, memory=f"{size}Gi") for name, size in (("s", 16), ("l", 80))]
    asked = waiting("a/p", {GPU: "1"})
    told = said(cluster(*nodes, quota("a", {GPU_MEMORY: "16"}, {GPU_MEMORY: "16"})), asked)
    assert told["s"] == ""
    assert told["l"].startswith("quota a would use more than its max, 64 of nos.nebuly.com/gpu-memory")


def test_claimed_devices_are_for_whoever_asks_to_allocate():
    claims = Constraints(resource_claims=("gpu",))
    alone = waiting("web/p", cpu=1, constraints=claims)
    assert said(cluster(node("n1", cpu="1"), alone), alone) == {"n1": ""}


def test_nodes_that_are_not_known_are_named():
    assert NodeVerdicts(Columns(cluster(node("n1", cpu="1")))).reasons(waiting("p"), ("n1", "n9")) == {
        "n1": "",
        "n9": UNKNOWN_NODE,
    }


@pytest.mark.parametrize("placement", ["spread", "pack", "preferences"])
def test_the_node_that_would_be_chosen_scores_best(placement):
    nodes = [node(f"n{index}", cpu="8", memory="8Gi") for index in range(3)]
    nodes[0] = nodes[0].holding(pod("old", cpu="4", memory="4Gi"))
    asked = waiting("new", cpu=1, memory="1Gi")
    snapshot = cluster(*nodes, node("full", cpu="500m"), asked, policy=policy(placement=placement))
    scores = NodeVerdicts(Columns(snapshot)).scores(asked, [each.name for each in snapshot.nodes])
    (bound,) = schedule(Columns(snapshot), (asked,)).bound
    assert scores[bound.node] == SCORE_BEST
    assert [name for name, score in scores.items() if score == SCORE_BEST] == [bound.node]
    assert scores["full"] == 0
    assert all(0 <= score <= SCORE_BEST for score in scores.values())


class TestVolumes:
    """What serves volumes is told with the node, and seen again after every change."""

    disks = node("n1", cpu="8").with_volume_group("vg", "HDD", "100Gi", free="10Gi")
    asked = waiting("web/p", cpu=1, volumes=(volume("d", "8Gi", claim="d", storage_class="group"),))

    def snapshot(self) -> Snapshot:
        return cluster(self.disks, LOCAL, claim("web/d", "8Gi", storage_class="group"), self.asked)

    def test_the_disk_is_named(self):
        found = NodeVerdicts(Columns(self.snapshot())).bound(self.asked, "n1")
        assert [(each.volume, each.place) for each in found.disks] == [("d", "vg")]

    def test_nothing_stays_placed_by_asking(self):
        verdicts = NodeVerdicts(Columns(self.snapshot()))
        assert verdicts.bound(self.asked, "n1") == verdicts.bound(self.asked, "n1")

    def test_a_node_that_does_not_take_it_says_why(self):
        verdicts = NodeVerdicts(Columns(cluster(node("n1", cpu="500m"), self.asked, LOCAL)))
        assert isinstance(verdicts.bound(self.asked, "n1"), str)

    def test_a_disk_that_fills_up_is_seen(self):
        followed = Followed(self.snapshot())
        followed.check(self.asked)
        reservation = schedule(Columns(self.snapshot()), (self.asked,)).bound[0].disks[0]
        assert reservation.place == "vg"
        full = node("n1", cpu="8").with_volume_group("vg", "HDD", "100Gi", free="1Gi")
        followed.change(Delta(nodes=(full.record,)))
        followed.check(self.asked)
        assert followed.verdicts.reasons(self.asked, ("n1",))["n1"]
