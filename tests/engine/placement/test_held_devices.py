"""Which devices there are and who holds them: offers of nodes, what runs, and that every move is undone."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import GPU, cluster, node, pod
from ullage.engine.columns import Columns
from ullage.engine.placement.device_shares import DEVICES_MAX
from ullage.engine.placement.held_devices import NO_OFFER, HeldDevices, Offer, amounts_milli, offer_of
from ullage.model.cluster import Device
from ullage.model.resources import GPU_MILLI, Resources

AMD = "amd.com/gpu"


def shared(name, count, *pods, milli=None):
    """A node with so many devices of which shares are handed out."""
    devices = tuple(Device(f"{name}-{index}", GPU_MILLI) for index in range(count))
    amount = str(count * 1000 if milli is None else milli)
    return node(name, {GPU_MILLI: amount}, cpu="64").with_(devices=devices).holding(*pods)


def share(name, milli):
    return pod(name, {GPU_MILLI: str(milli)})


def held_by(*nodes):
    """The devices of a cluster with what runs there."""
    columns = Columns(cluster(*nodes))
    held = HeldDevices([offer_of(each, only_shared=True) for each in columns.nodes])
    held.put_running(columns.snapshot.workloads, columns.node_index, columns.taken)
    return held


def free(held):
    return held.shares.free_milli.tolist()


class TestOffer:
    @pytest.mark.parametrize(
        ("record", "offer"),
        [
            (node("n", cpu="4"), NO_OFFER),
            (shared("n", 3), Offer(3, (GPU_MILLI,))),
            (shared("n", 3, milli=9000), Offer(3, (GPU_MILLI,))),
            (node("n", {GPU_MILLI: "2000"}), Offer(2, (GPU_MILLI,), 1000)),
            (node("n", {GPU_MILLI: "2300"}), Offer(3, (GPU_MILLI,), 300)),
            (node("n", {GPU_MILLI: "4000"}).with_gpus(4), Offer(4, (GPU_MILLI, GPU))),
            (node("n", {GPU_MILLI: "9000000"}), Offer(DEVICES_MAX, (GPU_MILLI,))),
        ],
    )
    def test_shares_are_cut_from_the_devices_of_a_node(self, record, offer):
        assert offer_of(record.record, only_shared=True) == offer

    def test_devices_that_are_only_had_whole_are_offered_where_they_are_asked_about(self):
        whole = node("n").with_gpus(2).record
        assert offer_of(whole, only_shared=True) == NO_OFFER
        assert offer_of(whole, only_shared=False) == Offer(2, (GPU,))

    def test_devices_under_two_names_beside_shares_are_others(self):
        both = node("n", {GPU_MILLI: "1000"}).with_gpus(2).record
        both = msgspec.structs.replace(both, devices=(*both.devices, Device("a", AMD)))
        assert offer_of(both, only_shared=True) == Offer(1, (GPU_MILLI,))

    def test_amounts_are_in_thousandths(self):
        asked = Resources({GPU_MILLI: 300, GPU: 2, "cpu": 4})
        assert amounts_milli(asked, [GPU, GPU_MILLI, AMD]) == {GPU: 2000, GPU_MILLI: 300}


class TestRunning:
    @pytest.mark.parametrize(
        ("sizes", "left"),
        [
            ((300, 700), [0, 1000]),
            ((300, 600, 500), [100, 500]),
            ((400, 400, 600, 600), [0, 0]),
            ((1000, 300), [0, 700]),
            ((2000,), [0, 0]),
            ((600, 600, 600), [0, 200]),
            ((1500,), [0, 500]),
            ((9000,), [0, 0]),
        ],
    )
    def test_what_runs_is_put_by_best_fit_the_largest_first(self, sizes, left):
        running = (share(f"p{index}", size) for index, size in enumerate(sizes))
        assert free(held_by(shared("n", 2, *running))) == [left]

    def test_whole_devices_and_shares_of_the_same_devices_exclude_each_other(self):
        both = node("n", {GPU_MILLI: "4000"}).with_gpus(4)
        assert free(held_by(both.holding(pod("w", gpu=2), share("s", 300)))) == [[0, 0, 700, 1000]]

    def test_what_waits_or_runs_elsewhere_holds_nothing(self):
        waits = msgspec.structs.replace(share("w", 500), state="init")
        assert free(held_by(shared("a", 1), shared("b", 1, share("s", 200)), waits)) == [[1000], [800]]

    def test_the_missing_part_of_a_device_is_never_free(self):
        assert free(held_by(node("n", {GPU_MILLI: "1300"}))) == [[1000, 300]]


class TestMoves:
    def test_an_eviction_undone_takes_the_same_devices_again(self):
        held = held_by(shared("n", 2, share("a", 300), share("b", 800)))
        assert free(held) == [[200, 700]]
        held.give_back(0, 800)
        held.undo()
        assert free(held) == [[200, 700]]

    def test_giving_back_what_nobody_holds_changes_nothing(self):
        held = held_by(shared("n", 1))
        held.give_back(0, 500)
        held.undo()
        assert free(held) == [[1000]]
        held.take(0, 500)
        assert free(held) == [[500]]

    def test_a_move_is_undone_where_the_log_is_shorter_than_it_was(self):
        held = held_by(shared("n", 1))
        assert not held.is_undone(0)
        held.take(0, 500, log_length=3)
        assert [held.is_undone(length) for length in (2, 3, 4)] == [True, False, False]

    @given(
        st.lists(
            st.tuples(st.integers(0, 1), st.sampled_from((100, 300, 600, 1000, 2000, 1500))), max_size=12
        ),
        st.lists(
            st.tuples(st.integers(0, 1), st.sampled_from((100, 300, 600, 1000, 2000)), st.booleans()),
            max_size=12,
        ),
    )
    def test_undoing_all_moves_restores_every_device(self, running, steps):
        pods = ([], [])
        for index, (row, size) in enumerate(running):
            pods[row].append(share(f"p{index}", size))
        held = held_by(shared("n0", 2, *pods[0]), shared("n1", 3, *pods[1]))
        states = []
        for row, size, is_taken in steps:
            states.append(free(held))
            if is_taken:
                held.take(row, size)
            else:
                held.give_back(row, size)
            assert held.shares.free_milli.min() >= 0
        for state in reversed(states):
            held.undo()
            assert free(held) == state
