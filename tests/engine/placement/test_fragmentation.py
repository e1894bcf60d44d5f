"""The score against fragmentation: rules that hold on small clusters, and that caches never show."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.engine.placement import fragmentation
from ullage.engine.placement.device_shares import DeviceShares
from ullage.engine.placement.fragmentation import MIX_MAX, NO_ROOM, FragmentationScore, Shape, typical_mix

HALF = Shape((4, 16), 1, 500)
ONE = Shape((8, 32), 1, 1000)
TWO = Shape((16, 64), 2, 1000)
FOUR = Shape((32, 64), 4, 1000)
CPU_ONLY = Shape((8, 32))
ON_T4 = Shape((8, 32), 1, 1000, frozenset({"T4"}))
MIX = {HALF: 5, ONE: 10, TWO: 2, FOUR: 1}
SHAPES = (*MIX, CPU_ONLY, ON_T4)


class Cluster:
    """Nodes of (processors, memory, devices, model), on which shapes are placed where the score says."""

    def __init__(self, *nodes: tuple[int, int, int, str], mix=MIX):
        self.capacity = np.array([node[:2] for node in nodes], np.int64).reshape(-1, 2)
        self.free = self.capacity.copy()
        self.shares = DeviceShares([node[2] for node in nodes], [node[3] for node in nodes])
        self.mix = mix
        self.score = self.fresh()

    def fresh(self):
        """Return a score that has seen nothing of what went before."""
        return FragmentationScore(self.shares, self.free, self.capacity, self.mix)

    def put(self, shape, node, *, foretold=False):
        self.shares.place(node, shape.device_count, shape.device_milli)
        self.free[node] -= shape.requests
        if foretold:
            self.score.placed(shape, node)
        else:
            self.score.touch(node)

    def fits(self, shape):
        fits = self.shares.fits(shape.device_count, shape.device_milli)
        return fits & self.shares.of_models(shape.models) & (self.free >= shape.requests).all(axis=1)


clusters = st.lists(
    st.tuples(
        st.sampled_from((8, 32, 64)),
        st.sampled_from((64, 256)),
        st.sampled_from((0, 1, 4, 8)),
        st.sampled_from(("T4", "G2")),
    ),
    min_size=1,
    max_size=6,
).map(lambda nodes: Cluster(*nodes, mix={**MIX, ON_T4: 3}))


class TestWhichNodeIsBest:
    def test_a_whole_node_is_kept_for_who_needs_all_of_it(self):
        cluster = Cluster((64, 256, 4, ""), (64, 256, 4, ""))
        cluster.put(ONE, 1)
        assert cluster.score.best(ONE) == 1
        assert cluster.score.best(FOUR) == 0

    def test_a_share_joins_another_share(self):
        cluster = Cluster((64, 256, 2, ""), (64, 256, 2, ""))
        cluster.put(HALF, 1)
        assert cluster.score.best(HALF) == 1

    def test_what_needs_no_device_goes_where_no_device_is_stranded(self):
        cluster = Cluster((16, 64, 2, ""), (16, 64, 0, ""))
        assert cluster.score.best(CPU_ONLY) == 1

    def test_processors_are_taken_where_there_are_more_of_them_by_device(self):
        cluster = Cluster((32, 512, 4, ""), (64, 512, 4, ""))
        assert cluster.score.best(Shape((16, 32), 1, 1000)) == 1

    def test_a_model_that_some_can_only_use_is_left_to_them(self):
        cluster = Cluster((64, 256, 2, "T4"), (64, 256, 2, "G2"), mix={ONE: 5, ON_T4: 5})
        assert cluster.score.best(ONE) == 1
        assert cluster.score.best(ON_T4) == 0

    def test_the_few_large_nodes_are_left_to_shapes_that_fit_only_there(self):
        large = Shape((120, 64), 4, 1000)
        nodes = [(128, 256, 4, "")] + [(64, 256, 4, "")] * 8
        cluster = Cluster(*nodes, mix={FOUR: 20, large: 1})
        assert cluster.score.best(FOUR) == 1
        assert cluster.score.best(large) == 0

    def test_such_shapes_have_a_price_of_their_own(self):
        large = Shape((120, 64), 4, 1000)
        nodes = [(128, 256, 4, "")] * 2 + [(64, 256, 4, "")] * 8
        cluster = Cluster(*nodes, mix={FOUR: 20, large: 1})
        before = np.diff(cluster.score.score(FOUR)[[-1, 1]])
        cluster.put(large, 0)
        assert np.diff(cluster.score.score(FOUR)[[-1, 1]]) == 2 * before < 0

    def test_equal_nodes_tie_and_the_lowest_row_wins(self):
        cluster = Cluster(*[(64, 256, 4, "")] * 3)
        for shape in (*MIX, CPU_ONLY):
            assert len(set(cluster.score.score(shape).tolist())) == 1
            assert cluster.score.best(shape) == 0

    def test_only_candidates_are_chosen(self):
        cluster = Cluster(*[(64, 256, 4, "")] * 3)
        assert cluster.score.best(ONE, np.array([False, False, True])) == 2
        assert cluster.score.best(ONE, np.zeros(3, np.bool_)) is None

    def test_a_loss_weighs_more_as_supply_shrinks(self):
        cluster = Cluster(*[(64, 256, 4, "")] * 4, mix={FOUR: 1})
        before = int(cluster.score.score(ONE)[0])
        cluster.put(ONE, 3)
        cluster.put(ONE, 2)
        assert int(cluster.score.score(ONE)[0]) == 2 * before < 0


class TestScore:
    def test_it_is_the_loss_of_supply_by_the_rule_in_words(self):
        cluster = Cluster((12, 256, 2, ""), (64, 256, 2, ""), mix={ONE: 1})
        whole = fragmentation.WEIGHT_SUM * fragmentation.PRICE_STEPS
        empty = 12 * 1000 // 8 + 2000
        losses = [0 - 12 * 1000 // 8, 1000 - 2000]
        assert cluster.score.score(ONE).tolist() == [loss * whole for loss in losses]
        cluster.put(ONE, 0)
        price = Fraction(empty * fragmentation.PRICE_STEPS, 2000).__floor__()
        assert cluster.score.score(ONE).tolist() == [
            NO_ROOM,
            losses[1] * fragmentation.WEIGHT_SUM * price,
        ]

    def test_a_request_that_fills_a_node_exactly_counts_as_room(self):
        for cores in range(1, 200):
            cluster = Cluster((cores, 1, 1, ""), mix={Shape((cores, 1), 1, 999): 1})
            assert cluster.score._supplies.tolist() == [999 * fragmentation.WEIGHT_SUM]

    def test_a_resource_that_a_shape_does_not_ask_for_does_not_limit_it(self):
        cluster = Cluster((8, 32, 1, ""), mix={ONE: 1, Shape((8, 0), 1, 1000): 1, Shape((0, 32), 1, 1000): 2})
        assert cluster.score._supplies.tolist() == [1000 * fragmentation.WEIGHT_SUM]

    def test_a_share_is_foretold_to_take_the_tightest_device(self):
        cluster = Cluster((64, 256, 2, ""))
        cluster.put(HALF, 0)
        cluster.score.score(HALF)
        cluster.put(HALF, 0, foretold=True)
        assert cluster.score._supplies.tolist() == cluster.fresh()._supplies.tolist()

    def test_what_was_foretold_before_the_node_changed_is_counted_again(self):
        cluster = Cluster((24, 256, 2, ""), (24, 256, 2, ""))
        cluster.score.score(HALF)
        cluster.score.score(ONE)
        cluster.put(ONE, 0, foretold=True)
        cluster.put(HALF, 0, foretold=True)
        assert cluster.score.score(ONE).tolist() == cluster.fresh().score(ONE).tolist()

    @settings(max_examples=60, deadline=None)
    @given(cluster=clusters, steps=st.lists(st.tuples(st.sampled_from(SHAPES), st.booleans()), max_size=15))
    def test_caches_never_show(self, cluster, steps):
        for shape, foretold in steps:
            node = cluster.score.best(shape)
            if node is not None:
                cluster.put(shape, node, foretold=foretold)
            fresh = cluster.fresh()
            for each in SHAPES:
                assert (cluster.score.score(each) == fresh.score(each)).all()

    @settings(max_examples=60, deadline=None)
    @given(cluster=clusters, steps=st.lists(st.sampled_from(SHAPES), max_size=15))
    def test_exactly_the_nodes_that_fit_have_a_score_and_none_gains(self, cluster, steps):
        for shape in steps:
            scores = cluster.score.score(shape)
            assert ((scores > NO_ROOM) == cluster.fits(shape)).all()
            assert scores.max() <= 0
            node = cluster.score.best(shape)
            assert (node is None) == (not cluster.fits(shape).any())
            if node is not None:
                cluster.put(shape, node)

    def test_undoing_a_placement_brings_back_the_scores(self):
        cluster = Cluster((64, 256, 4, ""), (32, 256, 4, ""))
        before = {shape: cluster.score.score(shape).tolist() for shape in SHAPES}
        devices = cluster.shares.place(1, 1, 500)
        cluster.free[1] -= HALF.requests
        cluster.score.touch(1)
        assert cluster.score.score(TWO).tolist() != before[TWO]
        cluster.shares.release(1, devices, 500)
        cluster.free[1] += HALF.requests
        cluster.score.touch(1)
        assert {shape: cluster.score.score(shape).tolist() for shape in SHAPES} == before


class TestLimits:
    def test_blocks_and_a_small_cache_change_no_score(self, monkeypatch):
        nodes = [(64, 256, 4, ""), (64, 256, 4, "T4"), (32, 128, 2, "T4"), (8, 64, 1, "")] * 4
        cluster = Cluster(*nodes, mix={**MIX, ON_T4: 3})
        expected = [cluster.score.score(shape).tolist() for shape in SHAPES]
        monkeypatch.setattr(fragmentation, "BLOCK_CELLS", 8)
        monkeypatch.setattr(fragmentation, "CACHE_CELLS", 150)
        small = cluster.fresh()
        for _ in range(2):
            assert [small.score(shape).tolist() for shape in SHAPES] == expected
        assert len(small._asked) < len(SHAPES)

    def test_too_many_typical_shapes_are_refused(self):
        mix = {Shape((each, 1), 1, 1000): 1 for each in range(MIX_MAX + 1)}
        with pytest.raises(ValueError, match="at most"):
            Cluster((64, 256, 4, ""), mix=mix)

    def test_nodes_must_agree(self):
        free = np.zeros((2, 2), np.int64)
        with pytest.raises(ValueError, match="different nodes"):
            FragmentationScore(DeviceShares([1]), free, free, MIX)

    @pytest.mark.parametrize("mix", [{}, {CPU_ONLY: 3}, {Shape((999, 1), 1, 1000): 1}])
    def test_without_typical_shapes_that_fit_all_nodes_are_equal(self, mix):
        cluster = Cluster((64, 256, 4, ""), (32, 256, 0, ""), mix=mix)
        assert cluster.score.score(ONE).tolist() == [0, NO_ROOM]
        assert cluster.score.score(CPU_ONLY).tolist() == [0, 0]

    def test_nodes_without_devices_take_what_asks_for_none(self):
        cluster = Cluster((16, 64, 0, ""))
        assert cluster.score.best(CPU_ONLY) == 0
        cluster.put(CPU_ONLY, 0, foretold=True)
        cluster.put(CPU_ONLY, 0)
        assert cluster.score.best(CPU_ONLY) is None

    def test_a_cluster_without_nodes_has_no_best_one(self):
        assert Cluster().score.best(ONE) is None


class TestTypicalMix:
    def test_shapes_that_ask_for_devices_are_counted_the_most_frequent_first(self):
        mix = typical_mix([ONE, HALF, CPU_ONLY, ONE, ON_T4])
        assert list(mix.items()) == [(ONE, 2), (HALF, 1), (ON_T4, 1)]

    def test_it_is_bounded(self):
        many = [Shape((each, 1), 1, 1000) for each in range(MIX_MAX + 5)]
        mix = typical_mix([*many, many[-1]])
        assert len(mix) == MIX_MAX
        assert next(iter(mix)) == many[-1]
