"""How many more: of each shape alone, and of whole sets."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import batch, cluster, container, node, pod, policy, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement import headroom as module
from ullage.engine.placement.fit import fit
from ullage.engine.placement.headroom import headroom, headroom_of_sets
from ullage.model.admission import LimitRange, LimitRangeItem, ResourceQuota
from ullage.model.constraints import Constraints, LabelSelector, TopologySpread
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes


def more(snapshot, *workloads, **options):
    return headroom(Columns(snapshot), [batch(1, each) for each in workloads], **options)


ROOMY = cluster(
    node("a", cpu="4", memory="8Gi").holding(pod("old", cpu="1", memory="1Gi")),
    node("b", cpu="4", memory="4Gi"),
    node("c", cpu="8", memory="8Gi").cordoned(),
)


def test_each_shape_is_counted_alone():
    small, large = more(ROOMY, pod("small", cpu="1", memory="1Gi"), pod("large", cpu="3"))
    assert (small.subject, small.replicas, small.nodes) == ("small", 7, (("a", 3), ("b", 4)))
    assert (large.replicas, large.nodes) == (2, (("a", 1), ("b", 1)))
    assert small.bounded


def test_what_binds_is_tallied_by_node():
    (found,) = more(ROOMY, pod("w", cpu="1", memory="2Gi"))
    assert (found.replicas, found.reasons) == (5, {"cordoned": 1, "cpu short": 1, "memory short": 1})


def test_what_fits_nowhere_is_zero_with_its_reasons():
    (found,) = more(ROOMY, pod("w", cpu="1", more={"nvidia.com/gpu": "1"}))
    assert (found.replicas, found.nodes) == (0, ())
    assert found.reasons == {"cordoned": 1, "size of the node (nvidia.com/gpu)": 2}


@pytest.mark.parametrize("constraints", [Constraints(), None], ids=["by slots", "one by one"])
def test_what_takes_nothing_has_no_bound(monkeypatch, constraints):
    monkeypatch.setattr(module, "ONE_BY_ONE_MAX", 50)
    rules = constraints or Constraints(
        topology_spread=(TopologySpread(99, "zone", label_selector=LabelSelector({"app": "w"})),)
    )
    snapshot = cluster(node("a", cpu="4").labelled({"zone": "z"}))
    (found,) = more(snapshot, pod("w", labels={"app": "w"}, constraints=rules))
    assert not found.bounded
    assert found.replicas == (50 if constraints is None else module.COUNT_MAX)


def test_a_spread_bounds_by_the_fullest_zone():
    rules = Constraints(
        topology_spread=(TopologySpread(1, "zone", label_selector=LabelSelector({"app": "w"})),)
    )
    snapshot = cluster(
        node("a", cpu="9").labelled({"zone": "one"}), node("b", cpu="2").labelled({"zone": "two"})
    )
    (found,) = more(snapshot, pod("w", cpu="1", labels={"app": "w"}, constraints=rules))
    assert (found.replicas, found.nodes) == (5, (("a", 3), ("b", 2)))
    assert found.reasons == {"cpu short": 1, "topology spread over zone": 1}


def test_a_quota_of_the_namespace_binds_first():
    snapshot = cluster(
        node("a", cpu="9"), ResourceQuota("q", "team", hard={"requests.cpu": "3"}, used={"requests.cpu": "1"})
    )
    (bound, free) = more(snapshot, pod("team/w", cpu="1"), pod("other/w", cpu="1"))
    assert (bound.replicas, free.replicas) == (2, 9)
    assert "quota team/q" in bound.refusal
    assert free.refusal == ""


def test_a_limit_range_gives_defaults_and_may_refuse():
    item = LimitRangeItem(
        "Container",
        max=ResourceTypes().parse({"cpu": "2"}),
        default_requests=ResourceTypes().parse({"cpu": "2"}),
    )
    snapshot = cluster(node("a", cpu="9"), LimitRange("r", "team", (item,)))
    small = pod("team/w", containers=(container("main"),))
    large = pod("team/w", cpu="3", containers=(container("main", cpu="3"),))
    (defaulted, refused) = more(snapshot, small, large)
    assert (defaulted.replicas, defaulted.refusal) == (4, "")
    assert refused.replicas == 0
    assert "team/r" in refused.refusal


@pytest.mark.parametrize("placement", ["spread", "pack", "balanced"])
def test_how_nodes_are_scored_does_not_change_how_many_plain_ones_fit(placement):
    (found,) = more(ROOMY, pod("w", cpu="1", memory="1Gi"), placement=placement)
    assert found.replicas == 7


def sets(snapshot, *batches, **options):
    return headroom_of_sets(Columns(snapshot), batches, **options)


def test_whole_sets_are_counted():
    found = sets(ROOMY, batch(2, pod("small", cpu="1")), batch(1, pod("large", cpu="2")))
    assert found.sets == 1
    assert found.missing[0] in {"small", "large"}
    assert "cpu short on 2" in found.missing[1]


def test_none_fits_where_one_of_them_fits_nowhere():
    found = sets(ROOMY, batch(1, pod("small", cpu="1")), batch(1, pod("huge", cpu="5")))
    assert (found.sets, found.missing[0]) == (0, "huge")


def test_sets_have_an_end_and_an_empty_set_is_an_error(monkeypatch):
    monkeypatch.setattr(module, "SETS_MAX", 8)
    found = sets(cluster(node("a", cpu="4")), batch(1, pod("w")))
    assert (found.sets, found.bounded, found.missing) == (8, False, ())
    with pytest.raises(InputError, match="an empty set fits without end"):
        sets(ROOMY, batch(0, pod("w", cpu="1")))
    with pytest.raises(InputError, match="an empty set"):
        sets(ROOMY)


def test_a_quota_bounds_sets_too():
    snapshot = cluster(node("a", cpu="9"), ResourceQuota("q", "team", hard={"pods": "3"}, used={"pods": "0"}))
    found = sets(snapshot, batch(1, pod("team/w", cpu="1", pods=0)), batch(1, pod("team/v", cpu="1")))
    assert found.sets == 1
    assert "quota team/q" in found.missing[1]


def test_actual_use_counts_where_the_policy_says_so():
    part = node("a", cpu="4", memory="8Gi").using(memory="6Gi")
    (promised,) = more(cluster(part), pod("w", memory="3Gi"))
    (actual,) = more(cluster(part, policy=policy(committed="actual")), pod("w", memory="3Gi"))
    assert (promised.replicas, actual.replicas) == (2, 0)


@st.composite
def clusters(draw):
    parts = [
        node(f"n{number}", cpu=draw(st.integers(1, 8)), memory=f"{draw(st.integers(1, 8))}Gi")
        for number in range(draw(st.integers(1, 4)))
    ]
    return cluster(*parts)


@settings(max_examples=40)
@given(
    snapshot=clusters(),
    cpu=st.integers(1, 4),
    memory=st.integers(0, 4),
    placement=st.sampled_from(["spread", "pack", "balanced"]),
)
def test_so_many_fit_and_one_more_does_not(snapshot, cpu, memory, placement):
    columns = Columns(snapshot)
    asked = pod("w", cpu=cpu, memory=f"{memory}Gi")
    (found,) = headroom(columns, [batch(1, asked)], placement=placement)
    assert fit(columns, [batch(found.replicas, asked)], placement=placement).fits
    assert not fit(columns, [batch(found.replicas + 1, asked)], placement=placement).fits
    assert sum(count for _, count in found.nodes) == found.replicas
    whole = headroom_of_sets(columns, [batch(2, asked)], placement=placement)
    assert whole.sets == found.replicas // 2


def test_plain_shapes_are_counted_at_once_whatever_the_policy_prefers(monkeypatch):
    monkeypatch.setattr(module, "ONE_BY_ONE_MAX", 1)
    (found,) = more(ROOMY, pod("w", cpu="1", memory="1Gi"), placement="preferences")
    assert found.replicas == 7


class TestGangs:
    """Nobody is told of room for fewer than a gang would place."""

    ROOM = cluster(node("a", cpu="5").holding(pod("web/r", cpu="1", gang="g")))

    def counted(self, *batches):
        return [(each.replicas, each.refusal) for each in headroom(Columns(self.ROOM), batches)]

    @staticmethod
    def member(name="web/a", replicas=1, **fields):
        return batch(replicas, waiting(name, cpu="1", **{"gang": "g", **fields}))

    def test_as_many_as_are_enough_with_those_that_run(self):
        assert self.counted(self.member(gang_min=5)) == [(4, "")]
        assert self.counted(self.member(gang_min=6)) == [(0, "its gang g needs 6 and 5 have a place")]

    def test_other_workloads_of_the_gang_are_taken_to_have_a_place(self):
        two = self.member(gang_min=6), self.member("web/b", replicas=2, gang_min=6)
        assert self.counted(*two) == [(4, ""), (4, "")]

    @pytest.mark.parametrize(("replicas", "expected"), [(1, 4), (2, 4), (3, 3), (5, 0)])
    def test_a_gang_that_does_not_say_how_many_are_enough_is_counted_whole(self, replicas, expected):
        refusal = f"its gang g is placed {replicas} at once" if expected < 4 else ""
        assert self.counted(self.member(replicas=replicas)) == [(expected, refusal)]

    def test_nodes_hold_what_is_counted_and_reasons_are_those_of_the_next(self):
        (found,) = headroom(Columns(self.ROOM), [self.member(replicas=3)])
        assert (found.nodes, found.reasons) == ((("a", 3),), {"cpu short": 1})

    @pytest.mark.parametrize(("least", "expected"), [(5, 2), (6, 0)])
    def test_sets_together_must_be_enough(self, least, expected):
        found = headroom_of_sets(Columns(self.ROOM), [self.member(replicas=2, gang_min=least)])
        assert found.sets == expected
        if not expected:
            assert found.missing == ("web/a", "its gang g needs 6 and 5 have a place")
