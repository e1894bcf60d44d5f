"""Devices in a trial: who may go where and why not, that everything is undone, and how `pack` chooses."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import batch, cluster, node, pod, waiting
from builders import policy as settings_of
from ullage.engine.columns import Columns
from ullage.engine.placement.batches import place_replicas
from ullage.engine.placement.fit import fit
from ullage.engine.placement.reasons import reasons_of
from ullage.engine.placement.spare_nodes import larger_trial, repeat
from ullage.engine.trial import Trial
from ullage.model.cluster import Device
from ullage.model.constraints import Constraints
from ullage.model.delta import Delta
from ullage.model.resources import GPU_MILLI

POLICIES = ("spread", "pack", "balanced", "preferences")


def shared(name, count, cpu="32"):
    """A node that hands out shares of its devices."""
    devices = tuple(Device(f"{name}-{index}", GPU_MILLI) for index in range(count))
    return node(name, {GPU_MILLI: str(count * 1000)}, cpu=cpu, memory="64Gi").with_(devices=devices)


def whole(name, count, cpu="32"):
    return node(name, cpu=cpu, memory="64Gi").with_gpus(count)


def both(name, count):
    """A node that offers the same devices whole and in shares."""
    return node(name, {GPU_MILLI: str(count * 1000)}, cpu="32", memory="64Gi").with_gpus(count)


def share(name, milli, **parts):
    return waiting(name, {GPU_MILLI: str(milli)}, **parts)


def running(name, milli, **parts):
    return pod(name, {GPU_MILLI: str(milli)}, **parts)


def trial_of(*parts, policy="spread"):
    return Trial(Columns(cluster(*parts)), policy)


def free(trial):
    return trial.devices._held.shares.free_milli.tolist()


def reasons(trial, workload):
    return reasons_of(trial, trial.shape_of(workload)).tally()


class TestRules:
    @pytest.mark.parametrize(
        ("asked", "why"),
        [
            (share("s", 500), {}),
            (share("s", 501), {"no device with 501 thousandths free": 1}),
            (share("s", 1000), {"no device free": 1}),
            (share("s", 2000), {"fewer than 2 devices free": 1}),
            (share("s", 1500), {"a share of 1500 thousandths spans devices: ask for 1000 or 2000": 1}),
        ],
    )
    @pytest.mark.parametrize("policy", POLICIES)
    def test_parts_of_several_devices_make_no_whole(self, policy, asked, why):
        held = shared("n", 3).holding(running("x", 500), running("y", 600), running("z", 600))
        assert reasons(trial_of(held, policy=policy), asked) == why

    def test_an_amount_that_spans_devices_is_refused_where_it_is_told_how_to_ask(self):
        answer = fit(Columns(cluster(shared("n", 4))), [batch(1, share("s", 1500))])
        assert "a share of 1500 thousandths spans devices: ask for 1000 or 2000" in (
            answer.outcomes[0].refusal.reason
        )

    @pytest.mark.parametrize("policy", ["spread", "pack"])
    def test_that_no_more_shares_of_a_size_fit_is_proven_by_placing_them(self, policy):
        held = cluster(shared("n", 2).holding(running("x", 600), running("y", 600)))
        asked = [batch(3, share("s", 300))]
        (outcome,) = fit(Columns(held), asked, placement=policy, exact_seconds=1).outcomes
        assert (outcome.placed, outcome.certificate) == (2, "impossible")

    def test_whole_devices_are_not_had_where_shares_of_them_are_taken(self):
        nodes = (both("b", 2).holding(running("r", 100)), whole("w", 1))
        trial = trial_of(*nodes)
        assert reasons(trial, waiting("one", gpu=1)) == {}
        assert reasons(trial, waiting("two", gpu=2)) == {
            "fewer than 2 devices free": 1,
            "nvidia.com/gpu short": 1,
        }
        shape = trial.shape_of(waiting("one", gpu=1))
        trial.place(shape, trial.row_of["b"])
        assert reasons(trial, share("s", 950)) == {"no device with 950 thousandths free": 1} | {
            "size of the node (ullage.dev/gpu-milli)": 1
        }

    def test_shares_and_whole_ones_of_the_same_devices_are_not_asked_for_together(self):
        asked = waiting("x", {GPU_MILLI: "500"}, gpu=1)
        assert reasons(trial_of(both("b", 2)), asked) == {
            "ullage.dev/gpu-milli is of the same devices: ask for either": 1
        }

    def test_without_shares_nothing_is_looked_at_device_by_device(self):
        trial = trial_of(whole("w", 4))
        shape = trial.shape_of(waiting("one", gpu=1))
        assert not shape.takes
        assert not trial.devices.goes_one_by_one(shape)

    def test_models_are_chosen_by_rules_of_nodes(self):
        trial = trial_of(shared("a", 1).labelled({"model": "T4"}), shared("b", 1))
        asked = share("s", 500, constraints=Constraints(node_selector={"model": "T4"}))
        assert trial.pick(trial.shape_of(asked)) == 0

    def test_an_evicted_workload_gives_its_device_back(self):
        trial = trial_of(shared("n", 1).holding(running("r", 800)))
        assert reasons(trial, share("s", 500)) == {
            "no device with 500 thousandths free": 1,
        }
        trial.evict(trial.columns.snapshot.workloads["r"])
        assert reasons(trial, share("s", 500)) == {}
        assert free(trial) == [[1000]]

    def test_nodes_are_alike_by_what_is_free_on_each_device(self):
        spread_out = shared("a", 2).holding(running("a1", 600), running("a2", 600))
        packed = shared("b", 2).holding(running("b1", 1000), running("b2", 200))
        equal = shared("c", 2).holding(running("c1", 600), running("c2", 600))
        first, second, third = (trial_of(spread_out, packed, equal).devices.free_on(row) for row in range(3))
        assert first == third != second
        assert trial_of(whole("w", 2)).devices.free_on(0) == b""

    def test_nodes_that_are_added_bring_their_devices(self):
        trial = trial_of(shared("n", 1), policy="pack")
        shape = trial.shape_of(share("s", 700))
        trial.place(shape, 0)
        more = larger_trial(trial, Delta(nodes=(shared("o", 1).record,)))
        repeat(trial.log, more, np.array([0]))
        assert free(more) == [[300], [1000]]
        assert more.pick(more.shape_of(share("s", 700))) == 1


class TestResize:
    cluster = cluster(shared("n", 2).holding(running("a", 600), running("b", 500)))

    @pytest.mark.parametrize(("milli", "fits"), [(900, True), (1000, True), (1400, False)])
    def test_a_share_that_runs_grows_only_within_a_device(self, milli, fits):
        grown = msgspec.structs.replace(running("a", milli), node="n")
        (outcome,) = fit(Columns(self.cluster), [batch(1, grown)]).outcomes
        assert (outcome.refusal is None) == fits

    def test_a_refused_one_keeps_what_it_has(self):
        bound = cluster(shared("n", 2).holding(running("a", 600), running("b", 500), running("c", 400)))
        grown = [batch(1, running("a", 700)), batch(1, share("s", 400))]
        answer = fit(Columns(bound), grown)
        assert answer.outcomes[0].refusal.reason == "n: no device with 700 thousandths free"
        assert answer.outcomes[1].placed == 1


NODES = (
    shared("a", 2).holding(running("r1", 450, cpu="4"), running("r2", 800)),
    shared("b", 3),
    both("c", 2).holding(running("r3", 100, cpu="1"), running("r5", 100, cpu="1")),
    whole("d", 2).holding(pod("r4", cpu="1", gpu=1)),
    node("e", cpu="3", memory="64Gi"),
)
SNAPSHOT = cluster(*NODES)
ASKED = (
    share("s100", 100, cpu="1"),
    share("s450", 450, cpu="4"),
    share("s600", 600),
    share("s1000", 1000, cpu="1"),
    share("s2000", 2000, cpu="8"),
    waiting("g1", gpu=1, cpu="1"),
    waiting("g2", gpu=2, cpu="1"),
    waiting("plain", cpu="2"),
)
steps = st.lists(
    st.tuples(st.sampled_from(("place", "many", "evict", "mark", "undo")), st.integers(0, 11)), max_size=14
)


def state(trial):
    shares = trial.devices._held.shares
    return (
        shares.free_milli.tolist(),
        shares.largest_milli.tolist(),
        shares.empty_count.tolist(),
        trial.room.free.tolist(),
    )


def worth(trial, workload):
    """What each node would lose, as `pack` sees it."""
    trial.pick(trial.shape_of(ASKED[0]))
    typical = trial.devices._typical(trial.shape_of(workload))
    return trial.devices._weighing(typical).score(typical).tolist()


def picks(trial):
    return [trial.pick(trial.shape_of(each)) for each in ASKED]


def step(trial, marks, gone, what, number):
    """Do one step of a walk; states and marks are kept, so that undo can be judged."""
    if what in {"place", "many"}:
        shape = trial.shape_of(ASKED[number % len(ASKED)])
        if what == "many":
            place_replicas(trial, shape, number)
        elif trial.pick(shape) >= 0:
            trial.place(shape, trial.pick(shape))
    elif what == "evict":
        left = [each for each in SNAPSHOT.workloads if each.key not in gone]
        if left:
            picks(trial)
            trial.evict(left[number % len(left)])
            gone.append(left[number % len(left)].key)
    elif what == "mark":
        marks.append((trial.mark(), state(trial), picks(trial), list(gone)))
    elif marks:
        mark, before, chosen, then = marks.pop()
        trial.undo(mark)
        gone[:] = then
        assert state(trial) == before
        assert picks(trial) == chosen


class TestWalks:
    @pytest.mark.parametrize("policy", ["spread", "pack", "balanced"])
    @settings(max_examples=40, deadline=None)
    @given(walk=steps)
    def test_undo_restores_devices_and_what_is_held_is_what_is_promised(self, policy, walk):
        trial = Trial(Columns(SNAPSHOT), policy)
        trial.shape_of(ASKED[0])
        marks, gone = [], []
        for what, number in walk:
            step(trial, marks, gone, what, number)
            shares = trial.devices._held.shares
            for row in range(3):
                promised = dict(zip(trial.columns.resources, trial.room.promised(row), strict=True))
                used = promised[GPU_MILLI] + 1000 * promised["nvidia.com/gpu"]
                assert int(shares.device_count[row]) * 1000 - int(shares.free_milli[row].sum()) == used

    @settings(max_examples=40, deadline=None)
    @given(walk=steps)
    def test_caches_of_pack_never_show(self, walk):
        trial = Trial(Columns(SNAPSHOT), "pack")
        marks, gone = [], []
        trial.shape_of(ASKED[0])
        for what, number in walk:
            step(trial, marks, gone, what, number)
        fresh = Trial(Columns(SNAPSHOT), "pack")
        for shape, rows, counts in trial.log:
            twin = fresh.shape_of(shape.workload)
            for row, count in zip(np.atleast_1d(rows).tolist(), np.atleast_1d(counts).tolist(), strict=True):
                fresh.place(twin, row, count)
        assert state(fresh) == state(trial)
        assert [worth(trial, each) for each in ASKED] == [worth(fresh, each) for each in ASKED]

    @pytest.mark.parametrize("policy", POLICIES)
    @settings(max_examples=15, deadline=None)
    @given(
        first=st.sampled_from(ASKED),
        second=st.sampled_from(ASKED),
        counts=st.tuples(st.integers(0, 15), st.integers(0, 15)),
    )
    def test_replicas_at_once_lie_where_they_do_one_by_one(self, policy, first, second, counts):
        many, single = (Trial(Columns(SNAPSHOT), policy) for _ in range(2))
        for asked, count in zip((first, second), counts, strict=True):
            place_replicas(many, many.shape_of(asked), count)
            for _ in range(count):
                place_replicas(single, single.shape_of(asked), 1)
        many.shape_of(ASKED[0]), single.shape_of(ASKED[0])
        assert state(many) == state(single)

    @pytest.mark.parametrize(("milli", "fitting"), [(600, 3), (500, 6), (1000, 3), (2000, 1)])
    def test_replicas_fill_each_device_for_itself(self, milli, fitting):
        trial = trial_of(shared("n", 3))
        assert place_replicas(trial, trial.shape_of(share("s", milli)), 9) == {0: fitting}

    def test_changes_that_are_forgotten_do_not_show(self):
        trial = Trial(Columns(SNAPSHOT), "pack")
        picks(trial)
        trial.place(trial.shape_of(ASKED[-1]), 1, 14)
        trial.room.changes = len(trial.room._changed)
        trial.place(trial.shape_of(ASKED[1]), 2)
        fresh = Trial(Columns(SNAPSHOT), "pack")
        fresh.place(fresh.shape_of(ASKED[-1]), 1, 14)
        fresh.place(fresh.shape_of(ASKED[1]), 2)
        assert [worth(trial, each) for each in ASKED] == [worth(fresh, each) for each in ASKED]


class TestPack:
    def test_a_share_joins_another_and_leaves_whole_devices_to_others(self):
        often = [share(f"w{index}", 2000, cpu="1") for index in range(4)]
        trial = trial_of(shared("a", 2), shared("b", 2).holding(running("r", 300)), *often, policy="pack")
        assert trial.pick(trial.shape_of(share("s", 500))) == 1

    def test_whole_devices_are_taken_where_no_larger_request_loses_its_node(self):
        often = [waiting(f"w{index}", gpu=4) for index in range(4)]
        trial = trial_of(whole("a", 4), whole("b", 4).holding(pod("r", gpu=1)), *often, policy="pack")
        assert trial.pick(trial.shape_of(waiting("one", gpu=1))) == 1

    def test_what_is_expected_counts_as_typical(self):
        nodes = [shared("a", 1, cpu="8"), shared("b", 1, cpu="64")]
        asked = share("s", 100, cpu="1")
        trial = trial_of(*nodes, policy="pack")
        trial.devices.expect([batch(3, share("large", 1000, cpu="60")), batch(1, asked)])
        assert trial.pick(trial.shape_of(asked)) == 0

    def test_what_asks_for_no_device_goes_where_none_is_first(self):
        trial = trial_of(shared("a", 1, cpu="4"), node("b", cpu="32"), waiting("w", gpu=1), policy="pack")
        counts = place_replicas(trial, trial.shape_of(waiting("p", cpu="2")), 18)
        assert counts == {1: 16, 0: 2}

    def test_beyond_that_it_goes_where_it_strands_no_device(self):
        often = [share(f"w{index}", 1000, cpu="8") for index in range(3)]
        trial = trial_of(shared("a", 4), shared("b", 1), *often, policy="pack")
        assert trial.pick(trial.shape_of(waiting("p", cpu="8"))) == 1

    def test_where_nobody_asks_for_devices_it_packs_as_usual(self):
        trial = trial_of(shared("a", 1), shared("b", 1).holding(pod("r", cpu="9")), policy="pack")
        assert trial.pick(trial.shape_of(waiting("p", cpu="8"))) == 1

    def test_over_committed_devices_are_chosen_by_room(self):
        more = settings_of(nodes={"a": {"nvidia.com/gpu-ratio": "2"}})
        columns = Columns(cluster(whole("a", 1).holding(pod("r", gpu=1)), policy=more))
        trial = Trial(columns, "pack")
        shape = trial.shape_of(waiting("one", gpu=1))
        assert place_replicas(trial, shape, 2) == {0: 1}
        assert free(trial) == [[0]]
