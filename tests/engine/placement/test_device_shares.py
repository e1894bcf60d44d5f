"""Devices and their shares: who fits, which device is taken, and that everything can be given back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.placement.device_shares import DEVICES_MAX, WHOLE_MILLI, DeviceShares, devices_asked

asks = st.one_of(
    st.tuples(st.just(1), st.integers(1, WHOLE_MILLI)),
    st.tuples(st.integers(1, 4), st.just(WHOLE_MILLI)),
)


def shares_with(*nodes: tuple[int, ...]) -> DeviceShares:
    """Return one node for each tuple of free thousandths."""
    shares = DeviceShares([len(node) for node in nodes])
    for row, node in enumerate(nodes):
        for device, free in enumerate(node):
            shares.take(row, [device], WHOLE_MILLI - free)
    return shares


class TestDevicesAsked:
    @pytest.mark.parametrize(
        ("amount_milli", "asked"),
        [(0, (0, 0)), (1, (1, 1)), (470, (1, 470)), (1000, (1, 1000)), (8000, (8, 1000)), (1500, None)],
    )
    def test_an_amount_is_a_share_of_one_device_or_whole_ones(self, amount_milli, asked):
        assert devices_asked(amount_milli) == asked


class TestFits:
    shares = shares_with((500, 500), (1000, 0), (1000, 1000), ())

    @pytest.mark.parametrize(
        ("count", "milli", "fitting"),
        [
            (1, 500, [0, 1, 2]),
            (1, 501, [1, 2]),
            (1, 1000, [1, 2]),
            (2, 1000, [2]),
            (3, 1000, []),
            (0, 0, [0, 1, 2, 3]),
        ],
    )
    def test_a_share_never_spans_devices_and_whole_ones_are_empty(self, count, milli, fitting):
        assert np.flatnonzero(self.shares.fits(count, milli)).tolist() == fitting

    @pytest.mark.parametrize(("count", "milli"), [(2, 500), (1, 1001), (1, 0), (0, 10), (-1, 1000)])
    def test_what_no_device_can_give_is_refused(self, count, milli):
        with pytest.raises(ValueError, match="ask for a share of one"):
            self.shares.fits(count, milli)


class TestPlace:
    @pytest.mark.parametrize(
        ("free", "count", "milli", "chosen"),
        [
            ((1000, 600, 500), 1, 500, (2,)),
            ((1000, 600, 400), 1, 500, (1,)),
            ((700, 600, 600), 1, 600, (1,)),
            ((1000, 999, 1000), 1, 1000, (0,)),
            ((0, 1000, 500, 1000, 1000), 2, 1000, (1, 3)),
            ((0,), 0, 0, ()),
        ],
    )
    def test_a_share_takes_the_tightest_device_and_whole_ones_the_first_empty(
        self, free, count, milli, chosen
    ):
        shares = shares_with(free)
        assert shares.place(0, count, milli) == chosen
        expected = [each - milli if device in chosen else each for device, each in enumerate(free)]
        assert shares.free_milli[0].tolist() == expected

    def test_where_it_does_not_fit_nothing_changes(self):
        shares = shares_with((1000, 400))
        with pytest.raises(ValueError, match="no room"):
            shares.place(0, 2, WHOLE_MILLI)
        assert shares.free_milli.tolist() == [[1000, 400]]

    @given(
        counts=st.lists(st.integers(0, 4), min_size=1, max_size=4),
        steps=st.lists(st.tuples(st.integers(0, 3), asks), max_size=20),
    )
    def test_placing_succeeds_exactly_where_it_fits_and_releasing_undoes_it(self, counts, steps):
        shares = DeviceShares(counts)
        before, placed = shares.free_milli.copy(), []
        for turn, (count, milli) in steps:
            node = turn % len(counts)
            room = (shares.free_milli[node] >= milli).sum() >= count
            assert shares.fits(count, milli)[node] == room
            if room:
                placed.append((node, shares.place(node, count, milli), milli))
                assert len(set(placed[-1][1])) == count
        used = sum(len(devices) * milli for _, devices, milli in placed)
        assert shares.free_milli.min(initial=0) >= 0
        assert before.sum() - shares.free_milli.sum() == used
        for node, devices, milli in placed:
            shares.release(node, devices, milli)
        assert (shares.free_milli == before).all()
        assert shares.empty_count.tolist() == counts
        assert shares.largest_milli.tolist() == [WHOLE_MILLI * bool(count) for count in counts]


class TestRelease:
    def test_more_than_was_taken_cannot_be_given_back(self):
        with pytest.raises(ValueError, match="1001/1000"):
            DeviceShares([2]).release(0, [1], 1)

    def test_more_than_is_free_cannot_be_taken(self):
        shares = shares_with((300,))
        with pytest.raises(ValueError, match="-1/1000"):
            shares.take(0, [0], 301)
        assert shares.free_milli.tolist() == [[300]]

    def test_a_device_that_is_not_there_has_nothing(self):
        with pytest.raises(ValueError, match="no device 1"):
            DeviceShares([2, 1]).release(1, [1], 1)


class TestModels:
    shares = DeviceShares([1, 1, 0], ["T4", "A10", ""])

    @pytest.mark.parametrize(
        ("models", "nodes"), [((), [0, 1, 2]), (("T4",), [0]), (("T4", "A10"), [0, 1]), (("G2",), [])]
    )
    def test_a_node_is_of_the_model_of_its_devices(self, models, nodes):
        assert np.flatnonzero(self.shares.of_models(frozenset(models))).tolist() == nodes

    def test_each_node_has_a_model(self):
        with pytest.raises(ValueError, match="one for each node"):
            DeviceShares([1, 1], ["T4"])


@pytest.mark.parametrize("count", [-1, DEVICES_MAX + 1])
def test_the_devices_of_a_node_are_bounded(count):
    with pytest.raises(ValueError, match="between 0 and"):
        DeviceShares([count])


def test_a_cluster_without_devices_fits_nothing_that_asks_for_one():
    shares = DeviceShares([0, 0])
    assert not shares.fits(1, 10).any()
    assert shares.fits(0, 0).all()
