"""Decisions as a whole: pure, all or none, the same whenever they are made again, and never a byte twice."""

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from engine.ledger import commands as drawn
from engine.ledger.ledgers import MIB, Ledger, capacity, drive, hold, reserve, volume
from simulation.linearizability import Sums
from ullage.engine.ledger.apply import apply
from ullage.engine.ledger.audit import audit
from ullage.engine.ledger.decide import decide
from ullage.engine.ledger.replay import differences, replay
from ullage.engine.ledger.state import LedgerState
from ullage.engine.storage.extents import group_bytes
from ullage.model.ledger import (
    VOLUME_SPACE,
    Bind,
    Expire,
    JournalRow,
    Refuse,
    Release,
    Resize,
    Supply,
    Together,
)
from ullage.model.ledger_entry import FINAL
from ullage.model.resources import Resources


class AnyHistory(RuleBasedStateMachine):
    """Every command in any order, beside sums that share nothing with the ledger's."""

    def __init__(self):
        super().__init__()
        self.state = LedgerState()
        self.rows = []
        self.sums = Sums()
        self.now = 100
        self.step(Supply(drawn.FLEET))

    def step(self, command):
        """Decide a command twice, on the ledger and on one that was read anew; take the step."""
        before = self.state.copy()
        decision = decide(self.state, command, self.now)
        assert self.state == before
        assert decide(before, command, self.now) == decision
        if decision.accepted:
            assert self.sums.follow(decision) == []
        else:
            assert decision.reason
            assert (decision.capacities, decision.gone, decision.waiting) == ((), (), None)
            assert all(entry.state == "REJECTED" and entry.reason for entry in decision.changed)
            assert not any(self.state.entries_of(entry.reservation) for entry in decision.changed)
        assert decision.reason.isprintable()
        apply(self.state, decision, self.now)
        self.rows.append(JournalRow(self.state.revision, self.now, command, decision))

    @rule(command=drawn.commands)
    def command(self, command):
        self.step(drawn.at(command, self.now))

    @rule(command=drawn.reserves | drawn.shares)
    def reserve(self, command):
        self.step(drawn.at(command, self.now))

    @rule(place=st.integers(0, 20), change=drawn.changes)
    def change(self, place, change):
        entries = self.state.entries
        if entries:
            self.step(drawn.at(change(entries[place % len(entries)]), self.now))

    @rule(seconds=st.integers(1, 6))
    def time_passes(self, seconds):
        self.now += seconds

    @invariant()
    def sums_are_those_of_the_entries(self):
        for name in drawn.NAMES:
            assert self.state.held(name) == self.state.summed(name)
            ours = {key[1]: amount for key, amount in self.sums.held.items() if key[0] == name and amount}
            assert self.state.held(name) == ours

    @invariant()
    def live_entries_are_those_that_have_not_ended(self):
        live = {key: entry for key, entry in self.sums.entries.items() if entry.state not in FINAL}
        assert self.state.entries == tuple(live[key] for key in sorted(live))

    @invariant()
    def nothing_is_wrong(self):
        assert [finding for finding in audit(self.state) if finding.severity == "error"] == []

    @invariant()
    def who_waits_is_in_nobodys_way_but_those_who_wait_behind(self):
        live = {entry.reservation for entry in self.state.entries}
        for command in self.state.waiting:
            for entry in self.state.entries_of(command.reservation):
                for_room = command.waits and bool(entry.reason)
                assert entry.blocked_by in live - {command.reservation} or (for_room and not entry.blocked_by)

    def teardown(self):
        assert replay(self.rows) == self.state
        assert list(differences(self.rows)) == []


AnyHistory.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestAnyHistory = AnyHistory.TestCase


@settings(max_examples=50)
@given(st.lists(drawn.judged, min_size=1, max_size=6), st.lists(drawn.judged, max_size=8))
def test_together_is_one_after_the_other_or_nothing(together, before):
    ledger = Ledger(*drawn.FLEET)
    together = [drawn.at(command, ledger.at_seconds) for command in together]
    for command in before:
        ledger.do(drawn.at(command, ledger.at_seconds))
    single = ledger.state.copy()
    refusals = []
    for command in together:
        decision = decide(single, command, ledger.at_seconds)
        refusals += [decision.reason] if not decision.accepted else []
        apply(single, decision, ledger.at_seconds)
    joint = ledger.state.copy()
    decision = decide(joint, Together(tuple(together)), ledger.at_seconds)
    apply(joint, decision, ledger.at_seconds)
    if refusals:
        assert not decision.accepted
        assert decision.reason.endswith(refusals[0])
        assert (joint.entries, joint.capacities, joint.waiting) == (
            ledger.state.entries, ledger.state.capacities, ledger.state.waiting
        )  # fmt: skip
    else:
        assert decision.accepted
        assert (joint.entries, joint.capacities, joint.waiting) == (
            single.entries, single.capacities, single.waiting
        )  # fmt: skip
    keys = [(entry.reservation, entry.request, entry.capacity) for entry in decision.changed]
    assert len(keys) == len(set(keys))


comers = st.builds(
    lambda name, size, seconds, passes: reserve(
        name,
        expires=seconds,
        nodes=("a",),
        volumes=(volume("v", "HDDLVG", size * MIB),),
        mode="compat",
        waits=True,
        lets_pass=passes,
    ),
    drawn.names,
    st.sampled_from((4, 24, 40)),
    st.sampled_from((2, 20)),
    st.booleans(),
)
steps = st.tuples(
    st.sampled_from((0, 3)),
    st.sampled_from((8, 32, 64)),
    st.lists(comers, min_size=1, max_size=3, unique_by=lambda each: each.reservation),
    st.integers(0, 9),
)
"""How much time passes, how large the drive is then in MiB, who comes, and which entry is given back."""


@settings(max_examples=200)
@given(st.lists(steps, min_size=3, max_size=8))
def test_whoever_has_a_turn_has_what_is_offered_at_the_end_of_the_step(steps):
    ledger = Ledger(drive("a", "d", 64 * MIB))
    ledger.do(reserve("first", expires=13, nodes=("a",), volumes=(volume("v", "HDDLVG", MIB),)))
    for seconds, size, came, place in steps:
        now = ledger.at_seconds + seconds
        due = {entry.key for entry in ledger.state.due(now)}
        stand = sorted({entry.reservation for entry in ledger.state.entries if entry.key not in due})
        gone = [Release(stand[place])] if place < len(stand) else []
        new = [drawn.at(each, now) for each in came if each.reservation not in stand]
        parts = (Expire(), Supply((drive("a", "d", size * MIB),)), *gone, *new)
        decision = ledger.do(Together(parts, line_last=True), now)
        known = {entry.reservation for entry in decision.changed if entry.holds}
        promised = ledger.state.held("drive/a/d").get(VOLUME_SPACE, 0)
        assert not (decision.accepted and known) or promised <= group_bytes(size * MIB)
        assert [finding for finding in audit(ledger.state) if finding.severity == "error"] == []
    assert list(differences(ledger.rows)) == []


small = st.integers(0, 3).map(lambda amount: Resources({"cpu": amount}))


@given(st.lists(st.tuples(small, st.sampled_from("abc")), max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_commands_that_all_fit_does_not_matter(asked, random):
    def total(order):
        ledger = Ledger(*(capacity(f"node/{name}", cpu=18) for name in "abc"))
        for number, (resources, node) in order:
            assert ledger.do(reserve(f"r{number}", hold(f"node/{node}", **resources))).accepted
            if number % 2:
                assert ledger.do(Bind(f"r{number}")).accepted
        return {name: ledger.state.held(f"node/{name}") for name in "abc"}, ledger.state.entries

    order = list(enumerate(asked))
    shuffled = random.sample(order, len(order))
    assert total(order) == total(shuffled)


def test_a_plan_is_committed_whole_and_says_which_command_fails():
    ledger = Ledger(capacity("node/n", cpu=4))
    fits, not_both = reserve("a", hold("node/n", cpu=3)), reserve("b", hold("node/n", cpu=2))
    reason = ledger.refuses(Together((fits, not_both, Expire())))
    assert reason.startswith("command 2 of 3: node/n: cpu short by 1m (asked 2m, free 1m of 4m)")
    decision = ledger.rows[-1].decision
    assert [(entry.reservation, entry.state) for entry in decision.changed] == [("b", "REJECTED")]
    assert [short.node for short in decision.shortfalls] == ["node/n"]
    assert ledger.do(
        Together((fits, Bind("a"), Resize("a", "web", "node/n", Resources({"cpu": 1})), not_both))
    ).accepted
    assert ledger.states("a") == {("web", "node/n"): "BOUND"}
    assert ledger.state.held("node/n") == {"cpu": 3}


def test_a_refused_plan_does_not_end_what_it_would_have_replaced():
    ledger = Ledger(capacity("node/n", cpu=4))
    ledger.do(reserve("a", hold("node/n", cpu=3)))
    larger = reserve("a", hold("node/n", cpu=9))
    assert ledger.refuses(Together((Release("a"), larger))).startswith("command 2 of 2: ")
    assert ledger.rows[-1].decision.changed == ()
    assert ledger.states("a") == {("web", "node/n"): "RESERVED"}


def test_what_is_replaced_in_one_step_is_listed_once():
    ledger = Ledger(capacity("node/n", cpu=4), capacity("node/m", cpu=4))
    ledger.do(reserve("a", hold("node/n", cpu=3)))
    larger = reserve("a", hold("node/n", cpu=4))
    decision = ledger.do(Together((Release("a"), larger)))
    assert [(entry.state, dict(entry.resources)) for entry in decision.changed] == [("RESERVED", {"cpu": 4})]
    first, second = capacity("node/n", cpu=5), capacity("node/n", cpu=6)
    gone = Supply(gone=("node/m", "node/n"))
    decision = ledger.do(Together((Supply((first,)), gone, Supply((second,)))))
    assert (decision.capacities, decision.gone) == ((second,), ("node/m",))


def test_a_command_that_cannot_be_judged_is_refused_without_an_entry():
    ledger = Ledger()
    assert ledger.refuses(reserve("r")).startswith("reservation r asks for nothing")
    assert ledger.rows[-1].decision.changed == ()
    assert ledger.refuses(Together((Refuse("", "o", "q", ""),))).startswith("command 1 of 1: name ''")
