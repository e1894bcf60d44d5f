"""One cycle of a scheduler: who runs now, who waits for others to go, who has no place."""

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import batch, cluster, entry, node, policy, quota, volume, waiting, workload
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.placement.scheduling import Cycle, explain, schedule
from ullage.model.admission import DisruptionBudget
from ullage.model.cluster import Snapshot, Workload
from ullage.model.constraints import Constraints, LabelSelector


def cycle(snapshot: Snapshot, *pods: Workload, nominated: Mapping[str, str] | None = None) -> Cycle:
    asked = msgspec.structs.replace(snapshot, workloads=snapshot.workloads.changed(pods))
    return schedule(Columns(asked), pods, nominated=nominated)


def bound(done: Cycle) -> dict[str, str]:
    return {each.workload: each.node for each in done.bound}


def important(name: str, priority: int, **parts) -> Workload:
    return waiting(name, priority=priority, **parts)


def test_pods_that_are_alike_go_where_one_after_the_other_would_go():
    nodes = [node(f"n{index}", cpu=4, memory="8Gi") for index in range(3)]
    pods = [waiting(f"p{index}", cpu=1, memory="1Gi") for index in range(7)]
    alike = cycle(cluster(*nodes), *pods)
    alone = fit(Columns(cluster(*nodes)), [batch(1, each) for each in pods])
    counts = sorted(bound(alike).values())
    assert counts == sorted(name for each in alone.outcomes for name, _ in each.nodes)
    assert len(alike.bound) == 7
    assert not alike.unplaced


def test_the_most_important_then_the_oldest_has_the_first_turn():
    old = waiting("old", cpu=1, created_seconds=1)
    young = waiting("young", cpu=1, created_seconds=2)
    late = important("important", 9, cpu=1, created_seconds=3)
    done = cycle(cluster(node("n1", cpu=2)), young, late, old)
    assert bound(done) == {"important": "n1", "old": "n1"}
    assert [each.workload for each in done.unplaced] == ["young"]
    assert "cpu short" in done.unplaced[0].refusal.reason


def test_each_refusal_names_its_own_waiting():
    done = cycle(cluster(node("n1", cpu=1)), *(waiting(name, cpu=2) for name in ("a", "b", "c")))
    assert sorted(each.refusal.subject for each in done.unplaced) == ["a", "b", "c"]


@pytest.mark.parametrize("quotas", [(), (quota("a", {"cpu": "9"}),)], ids=["no quota", "one quota"])
def test_each_of_many_that_are_alike_is_told_what_would_help_it_alone(quotas):
    one = waiting("a/p", cpu=2)
    pods = [msgspec.structs.replace(one, name=f"p{index}") for index in range(20)]
    asked = cluster(node("n1", cpu=1), *pods, *quotas)
    told = explain(Columns(asked), pods, 1)
    assert {key: each.subject for key, each in told.items()} == {each.key: each.key for each in pods}
    assert all("it then fits" in each.remedy and "all 20" not in each.remedy for each in told.values())
    other = waiting("z", cpu=3)
    assert "z" not in explain(Columns(cluster(node("n1", cpu=1), *pods, other)), [*pods, other], 1)


def test_of_one_that_would_have_a_place_by_itself_nothing_is_told():
    one = waiting("one", cpu=1)
    assert explain(Columns(cluster(node("n0", cpu=1), one)), [one], 5) == {"one": None}


class TestPriority:
    """Workloads that no quota counts go by priority."""

    full = node("n1", cpu=2).holding(workload("low", cpu=1), workload("middle", cpu=1, priority=5))

    def test_a_less_important_pod_goes_for_a_more_important_one(self):
        done = cycle(cluster(self.full), important("high", 9, cpu=1))
        assert not done.bound
        (later,) = done.nominated
        assert later.node == "n1"
        assert [each.workload for each in later.evicted] == ["low"]

    def test_nobody_goes_for_one_of_the_same_priority(self):
        done = cycle(cluster(self.full), important("same", 0, cpu=1))
        assert [each.workload for each in done.unplaced] == ["same"]

    def test_nobody_goes_for_one_that_never_preempts(self):
        shy = important("shy", 9, cpu=1, preempts=False)
        assert not cycle(cluster(self.full), shy).nominated

    def test_who_is_on_the_way_out_is_waited_for_and_nobody_else_is_evicted(self):
        leaving = workload("low", cpu=1, terminating=True)
        busy = node("n1", cpu=2).holding(leaving, workload("other", cpu=1))
        (later,) = cycle(cluster(busy), important("high", 9, cpu=1)).nominated
        assert later.evicted == ()
        assert later.waits_for == ("low",)

    @pytest.mark.parametrize(
        ("least", "goes"),
        [
            pytest.param(0, {"g1", "g2", "g3"}, id="all or none"),
            pytest.param(3, {"g1", "g2", "g3"}, id="too few are left"),
            pytest.param(2, {"g1"}, id="enough are left"),
        ],
    )
    def test_a_gang_of_which_too_few_would_run_on_goes_whole(self, least, goes):
        members = [workload(f"g{index}", cpu=4, gang="g", gang_min=least) for index in (1, 2, 3)]
        busy = [node(f"n{index}", cpu=4).holding(each) for index, each in enumerate(members, 1)]
        (later,) = cycle(cluster(*busy), important("high", 9, cpu=4)).nominated
        assert {each.workload for each in later.evicted} == goes
        assert {each.gang for each in later.evicted} == ({"g"} if len(goes) == 3 else {""})

    def test_others_go_rather_than_a_gang(self):
        gang = [workload(f"g{index}", cpu=2, gang="g") for index in (1, 2)]
        busy = [node(f"n{index}", cpu=2).holding(each) for index, each in enumerate(gang, 1)]
        pair = node("n3", cpu=2).holding(workload("one", cpu=1), workload("two", cpu=1))
        (later,) = cycle(cluster(*busy, pair), important("high", 9, cpu=2)).nominated
        assert {each.workload for each in later.evicted} == {"one", "two"}

    def test_a_gang_stays_of_which_one_is_as_important(self):
        gang = [workload("g1", cpu=4, gang="g"), workload("g2", cpu=4, gang="g", priority=9)]
        busy = [node(f"n{index}", cpu=4).holding(each) for index, each in enumerate(gang, 1)]
        done = cycle(cluster(*busy), important("high", 9, cpu=4))
        assert not done.nominated
        assert not done.bound

    def test_gangs_go_whole_for_several_that_are_alike(self):
        members = [workload(f"g{index}", cpu=4, gang="g") for index in range(4)]
        busy = [node(f"n{index}", cpu=4).holding(each) for index, each in enumerate(members)]
        done = cycle(cluster(*busy), *(important(f"high{index}", 9, cpu=4) for index in range(2)))
        assert len(done.nominated) == 2 - len(done.bound)
        assert {each.workload for later in done.nominated for each in later.evicted} == {
            f"g{index}" for index in range(4)
        }

    def test_no_victim_serves_two(self):
        busy = node("n1", cpu=2).holding(workload("a", cpu=1), workload("b", cpu=1))
        done = cycle(cluster(busy), important("x", 9, cpu=1), important("y", 9, cpu=1))
        victims = [each.workload for later in done.nominated for each in later.evicted]
        assert sorted(victims) == ["a", "b"]

    @pytest.mark.parametrize(("allowed", "named"), [(0, "web/keep"), (1, "")])
    def test_a_budget_that_keeps_the_only_place_is_named(self, allowed, named):
        labels = {"app": "x"}
        pods = [workload(f"web/{name}", cpu=1, labels=labels) for name in ("a", "b")]
        budget = DisruptionBudget("keep", "web", LabelSelector(labels), "1", disruptions_allowed=allowed)
        kept = cluster(node("n1", cpu=2).holding(*pods), budget)
        done = cycle(kept, important("web/high", 9, cpu=1))
        told = [each.refusal.reason for each in done.unplaced]
        wanted = f"it would fit on n1 if disruption budget {named} let web/a go"
        assert [wanted in each for each in told] == ([True] if named else [])
        shy = cycle(kept, important("web/high", 9, cpu=1, preempts=False)).unplaced
        assert "budget" not in shy[0].refusal.reason

    def test_what_a_quota_counts_is_not_evicted_by_priority(self):
        counted = node("n1", cpu=1).holding(workload("team/low", cpu=1))
        snapshot = cluster(counted, quota("team", {"cpu": "1"}))
        assert not cycle(snapshot, important("high", 9, cpu=1)).nominated


class TestQuotas:
    """Under quotas the owner takes back, and its place is held for it."""

    borrowed = cluster(
        node("n1", cpu=4).holding(*(workload(f"b/{index}", cpu=1) for index in range(4))),
        quota("a", {"cpu": "2"}),
        quota("b", {"cpu": "2"}),
        policy=policy(quota_mode="fair"),
    )

    def test_the_owner_is_nominated_and_the_borrower_evicted(self):
        (later,) = cycle(self.borrowed, waiting("a/claim", cpu=1)).nominated
        assert (later.workload, later.node) == ("a/claim", "n1")
        assert [each.quota for each in later.evicted] == ["b"]

    def test_nobody_goes_for_one_that_is_not_to_preempt(self):
        shy = waiting("a/claim", cpu=1, preempts=False)
        (unplaced,) = cycle(self.borrowed, shy).unplaced
        assert "nobody is evicted for it: it is not to preempt others" in unplaced.refusal.reason

    @pytest.mark.parametrize("size", [1, 2, 3])
    @pytest.mark.parametrize("allowed", [0, 1, 2, 3])
    @pytest.mark.parametrize("is_gang", [False, True])
    def test_nobody_goes_whom_a_budget_keeps(self, is_gang, allowed, size):
        """An API server refuses such an eviction, and who went before it would have gone for nothing."""
        labels = {"app": "x"}
        there = [workload(f"b/{index}", cpu=1, labels=labels) for index in range(4)]
        budget = DisruptionBudget("keep", "b", LabelSelector(labels), "1", disruptions_allowed=allowed)
        quotas = [quota("a", {"cpu": "3"}), quota("b", {"cpu": "1"})]
        snapshot = cluster(
            node("n1", cpu=4).holding(*there), *quotas, budget, policy=policy(quota_mode="nos")
        )
        claims = [waiting("a/claim", cpu=size)]
        if is_gang:
            claims = [waiting(f"a/g{index}", cpu=1, gang="g", gang_min=size) for index in range(size)]
        done = cycle(snapshot, *claims)
        gone = {each.workload for later in done.nominated for each in later.evicted}
        assert len(gone) == (size if size <= allowed else 0)
        if size > allowed:
            told = " ".join(each.refusal.reason for each in done.unplaced)
            assert (
                "nobody is evicted for it: disruption budget b/keep keeps those who would have to go" in told
            )

    def test_others_go_where_a_budget_keeps_the_best(self):
        labels = {"app": "x"}
        kept = [workload(f"b/{index}", cpu=1, labels=labels) for index in range(2)]
        others = [workload(f"c/{index}", cpu=1) for index in range(2)]
        budget = DisruptionBudget("keep", "b", LabelSelector(labels), "1", disruptions_allowed=1)
        quotas = [quota(name, {"cpu": least}) for name, least in (("a", "4"), ("b", "0"), ("c", "0"))]
        snapshot = cluster(
            node("n1", cpu=4).holding(*kept, *others), *quotas, budget, policy=policy(quota_mode="nos")
        )
        (later,) = cycle(snapshot, waiting("a/claim", cpu=3)).nominated
        assert len([each for each in later.evicted if each.quota == "b"]) == 1
        assert len([each for each in later.evicted if each.quota == "c"]) == 2

    def test_nobody_goes_for_a_gang_of_which_one_is_not_to_preempt(self):
        members = [
            waiting(f"a/g{index}", cpu=1, gang="g", gang_min=2, preempts=bool(index)) for index in range(2)
        ]
        done = cycle(self.borrowed, *members)
        assert not done.nominated
        assert not done.bound
        assert any("it is not to preempt others" in each.refusal.reason for each in done.unplaced)

    def test_who_was_nominated_has_its_turn_before_all_others(self):
        free = cluster(node("n1", cpu=1))
        first = waiting("first", cpu=1)
        assert bound(cycle(free, first, waiting("nominated", cpu=1), nominated={"nominated": ""})) == {
            "nominated": "n1"
        }


class TestGangs:
    """All of a gang run, or none of it."""

    @staticmethod
    def member(name: str, priority: int = 0, **parts) -> Workload:
        return important(name, priority, gang="g", **parts)

    def test_a_gang_is_bound_whole_or_not_at_all(self):
        done = cycle(cluster(node("n1", cpu=2)), *(self.member(name, cpu=1) for name in "abc"))
        assert not done.bound
        assert len(done.unplaced) == 3

    def test_members_with_room_wait_for_those_for_whom_others_go(self):
        busy = node("n1", cpu=2).holding(workload("low", cpu=1))
        done = cycle(cluster(busy), self.member("a", 9, cpu=1), self.member("b", 9, cpu=1))
        assert not done.bound
        assert sorted(each.workload for each in done.nominated) == ["a", "b"]
        assert [each.workload for later in done.nominated for each in later.evicted] == ["low"]

    def test_enough_of_a_gang_run_at_once(self):
        busy = node("n1", cpu=2).holding(workload("low", cpu=1))
        members = [self.member(name, 9, cpu=1, gang_min=1) for name in ("a", "b")]
        done = cycle(cluster(busy), *members)
        assert len(done.bound) == 1
        assert len(done.nominated) == 1


@given(st.lists(st.sampled_from((1, 2, 3)), max_size=12), st.permutations(range(12)))
def test_the_order_in_which_pods_are_given_does_not_matter(sizes, order):
    pods = [waiting(f"p{index}", cpu=size) for index, size in enumerate(sizes)]
    snapshot = cluster(node("n1", cpu=8), node("n2", cpu=5))
    mixed = [pods[index] for index in order if index < len(pods)]
    assert bound(cycle(snapshot, *pods)) == bound(cycle(snapshot, *mixed))


@given(st.lists(st.tuples(st.sampled_from((1, 2, 3)), st.integers(0, 2)), max_size=10))
def test_everybody_is_bound_nominated_or_told_why_not(asked):
    running = [workload(f"r{index}", cpu=1, priority=index % 2) for index in range(4)]
    snapshot = cluster(node("n1", cpu=4).holding(*running), node("n2", cpu=3))
    pods = [important(f"p{index}", priority, cpu=size) for index, (size, priority) in enumerate(asked)]
    done = cycle(snapshot, *pods)
    told = [each.workload for part in done for each in part]
    assert sorted(told) == sorted(each.key for each in pods)
    used = {"n1": 4, "n2": 0}
    sizes = {each.key: size for each, (size, _) in zip(pods, asked, strict=True)}
    for each in (*done.bound, *done.nominated):
        used[each.node] += sizes[each.workload]
    for later in done.nominated:
        for victim in later.evicted:
            used[victim.node] -= 1
            assert next(each for each in running if each.key == victim.workload).priority < 2
    assert used["n1"] <= 4
    assert used["n2"] <= 3


class TestRoomThatIsNotThereYet:
    """What somebody leaves who goes for another is nobody's before that one is gone."""

    @pytest.mark.parametrize("terminating", [False, True], ids=["to be evicted", "on the way out"])
    @pytest.mark.parametrize("mode", ["", "nos", "fair"])
    def test_the_rest_of_the_room_of_a_victim_is_waited_for(self, mode, terminating):
        victim = workload("b/victim", cpu=2, terminating=terminating)
        quotas = [quota(name, {"cpu": "1"}) for name in "ab"] if mode else []
        snapshot = cluster(
            node("n1", cpu=2).holding(victim), *quotas, policy=policy(quota_mode=mode) if mode else policy()
        )
        done = cycle(snapshot, important("a/x", 9, cpu=1), important("b/y", 5, cpu=1))
        assert not done.bound
        assert {each.workload: each.node for each in done.nominated} == {"a/x": "n1", "b/y": "n1"}
        goes = {each.workload for later in done.nominated for each in later.evicted}
        goes |= {key for later in done.nominated for key in later.waits_for}
        assert goes == {"b/victim"}

    @pytest.mark.parametrize("mode", ["", "nos", "fair"])
    def test_several_wait_for_one_who_is_on_the_way_out(self, mode):
        leaves = workload("a/old", cpu=8, terminating=True)
        quotas = [quota("a", {"cpu": "8"}, {"cpu": "8"})] if mode else []
        snapshot = cluster(
            node("n1", cpu=8).holding(leaves),
            node("n2", cpu=8),
            *quotas,
            policy=policy(quota_mode=mode) if mode else policy(),
        )
        pods = [
            waiting(f"a/p{index}", cpu=2, constraints=Constraints({"disk": "fast"})) for index in range(4)
        ]
        fast = msgspec.structs.replace(
            snapshot, nodes=snapshot.nodes.changed([node("n1", cpu=8).labelled({"disk": "fast"}).record])
        )
        assert not cycle(fast, *pods).bound

    def test_a_max_counts_who_is_still_there(self):
        gang = [workload(f"b/v{index}", cpu=1, gang="v", gang_min=2) for index in range(2)]
        snapshot = cluster(
            node("n1", cpu=1).labelled({"disk": "fast"}).holding(gang[0]),
            node("n2", cpu=2).holding(gang[1]),
            quota("a", {"cpu": "1"}),
            quota("b", {"cpu": "1"}, {"cpu": "2"}),
            policy=policy(quota_mode="nos"),
        )
        claim = waiting("a/x", cpu=1, constraints=Constraints({"disk": "fast"}))
        done = cycle(snapshot, claim, waiting("b/y", cpu=1))
        assert {each.workload for later in done.nominated for each in later.evicted} == {"b/v0", "b/v1"}
        assert "b/y" not in bound(done)

    def test_who_has_room_beside_everybody_runs_at_once(self):
        snapshot = cluster(node("n1", cpu=2).holding(workload("low", cpu=2)), node("n2", cpu=1))
        done = cycle(snapshot, important("high", 9, cpu=2), important("small", 5, cpu=1))
        assert bound(done) == {"small": "n2"}
        assert [each.workload for each in done.nominated] == ["high"]


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from((1, 2)), st.integers(0, 2)), max_size=8),
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from((1, 2, 3)), st.booleans()), max_size=4),
    st.sampled_from(("", "nos", "fair")),
)
def test_who_is_bound_has_room_beside_everybody_who_still_runs(asked, runs, mode):
    """Nodes and every max hold at once, and not only after somebody has gone."""
    rooms = {"n1": 4, "n2": 3}
    there = []
    for index, (team, size, terminating) in enumerate(runs):
        name = next((each for each, room in rooms.items() if room >= size), None)
        if name is not None:
            rooms[name] -= size
            there.append((name, workload(f"{team}/r{index}", cpu=size, terminating=terminating)))
    nodes = [
        node(name, cpu=cpu).holding(*(each for at, each in there if at == name))
        for name, cpu in (("n1", 4), ("n2", 3))
    ]
    quotas = [quota(name, {"cpu": "2"}, {"cpu": "4"}) for name in "ab"] if mode else []
    snapshot = cluster(*nodes, *quotas, policy=policy(quota_mode=mode) if mode else policy())
    pods = [important(f"{team}/p{index}", rank, cpu=size) for index, (team, size, rank) in enumerate(asked)]
    done = cycle(snapshot, *pods)
    used = {each.key.split("/")[0]: 0 for each in quotas}
    sizes = {each.key: each.requests["cpu"] // 1000 for each in (*pods, *(each for _, each in there))}
    for each in done.bound:
        rooms[each.node] -= sizes[each.workload]
    assert min(rooms.values()) >= 0
    for key in [*(each.key for _, each in there), *bound(done)]:
        used[key[0]] = used.get(key[0], 0) + sizes[key]
    newcomers = {each.workload[0] for each in done.bound}
    assert all(used[team] <= 4 for team in newcomers & {"a", "b"} if mode)


@pytest.mark.parametrize("count", [0, 1])
def test_nobody_who_waits_gives_an_empty_cycle(count):
    assert cycle(cluster(*(node("n1", cpu=1) for _ in range(count)))) == Cycle()


def test_few_drives_come_before_preferences_and_only_here():
    """Who copies kube-scheduler chooses as it does; a scheduler of our own opens few drives."""
    opened = node("busy", cpu=4).with_drive("h1", "HDD", "100Gi").with_drive("h2", "HDD", "100Gi")
    fresh = node("empty", cpu=4).with_drive("h3", "HDD", "100Gi")
    held = entry("r", "drive/busy/h1", {"ullage.dev/volume-space": "10Gi"}, owner="web/other")
    snapshot = cluster(
        opened.holding(workload("web/other", cpu=2)), fresh, held, policy=policy(placement="preferences")
    )
    asked = waiting("web/new", cpu=1, volumes=(volume("v", "10Gi", storage_class="HDDLVG", inline=True),))
    assert bound(cycle(snapshot, asked)) == {"web/new": "busy"}
    assert fit(Columns(snapshot), [batch(1, asked)]).outcomes[0].nodes == (("empty", 1),)
