"""The checker of histories: what really happened passes, and every wrong history is caught."""

import threading
import time

import msgspec
import pytest

from simulation.linearizability import Operation, Sums, violations
from ullage.engine.ledger.apply import apply
from ullage.engine.ledger.decide import decide
from ullage.engine.ledger.state import LedgerState
from ullage.model.ledger import Bind, Capacity, Decision, Expire, Hold, Outcome, Release, Reserve, Supply
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources

NODE = Capacity("node/n", Resources({"cpu": 4}))


def reserve(name, cpu):
    return Reserve(name, "team", 100, holds=(Hold("web", "node/n", Resources({"cpu": cpu})),))


def history(*commands, decide=decide):
    """One client that asks for one thing after the other."""
    state, found = LedgerState(), []
    for number, command in enumerate(commands):
        decision = decide(state, command, 10)
        apply(state, decision, 10)
        outcome = Outcome(state.revision, decision)
        found.append(Operation(10 * number, 10 * number + 5, command, outcome, 10))
    return found


@pytest.fixture
def honest():
    return history(
        Supply((NODE,)), reserve("a", 3), reserve("b", 2), Bind("a"), Release("a"), reserve("b", 2)
    )


def changed(operation, **changes):
    outcome = msgspec.structs.replace(operation.outcome, **changes)
    return operation._replace(outcome=outcome)


def test_what_happened_passes_in_whatever_order_it_is_told(honest):
    assert violations(honest) == []
    assert violations(reversed(honest)) == []
    assert violations([]) == []


def test_a_history_may_begin_with_a_ledger(honest):
    start = LedgerState()
    for operation in honest[:3]:
        apply(start, operation.outcome.decision, 10)
    kept = start.copy()
    assert violations(honest[3:], start) == []
    assert start == kept
    assert violations(honest[2:], start) != []


def test_a_lost_step_is_caught(honest):
    assert "revision 4 is missing" in violations([*honest[:3], *honest[4:]])
    assert "revision 1 is missing" in violations(honest[1:])


def test_a_revision_given_twice_is_caught(honest):
    assert "revision 3 was given twice" in violations([*honest, honest[2]])


def test_an_order_against_the_clock_is_caught(honest):
    late = honest[1]._replace(invoked=26, returned=27)
    assert violations([honest[0], late, *honest[2:]]) == [
        "revision 2: asked for after a later one was answered"
    ]
    overlapping = honest[1]._replace(invoked=25, returned=60)
    assert violations([honest[0], overlapping, *honest[2:]]) == []


def test_an_answer_before_the_question_is_caught(honest):
    assert violations([honest[0]._replace(returned=-1), *honest[1:]]) == [
        "revision 1: answered before it was asked"
    ]


def test_another_outcome_than_follows_is_caught(honest):
    lied = changed(honest[3], decision=Decision(accepted=True, reason="bound already"))
    found = violations([*honest[:3], lied, *honest[4:]])
    assert found[0] == "revision 4: Bind should have been decided otherwise"


def test_two_clients_with_the_same_space_are_caught(honest):
    refused = honest[2]
    entry = LedgerEntry(
        "b",
        "web",
        "node/n",
        "team",
        Resources({"cpu": 2}),
        "RESERVED",
        created_seconds=10,
        expires_seconds=100,
    )
    both = changed(refused, decision=Decision(accepted=True, changed=(entry,)))
    assert violations([*honest[:2], both]) == [
        "revision 3: Reserve should have been decided otherwise",
        "revision 3: node/n: 5 of cpu is promised, 4 is offered",
    ]


def test_space_promised_twice_is_caught_though_the_rules_agree_to_it():
    def generous(state, command, at_seconds):
        full = LedgerState((Capacity("node/n", Resources({"cpu": 99})),), state.entries)
        return decide(state if isinstance(command, Supply) else full, command, at_seconds)

    wrong = history(Supply((NODE,)), reserve("a", 3), reserve("b", 2), decide=generous)
    assert violations(wrong, decide=generous) == ["revision 3: node/n: 5 of cpu is promised, 4 is offered"]


def test_a_cut_under_promises_is_no_violation_but_more_of_them_is():
    cut = Capacity("node/n", Resources({"cpu": 1}))
    assert violations(history(Supply((NODE,)), reserve("a", 3), Supply((cut,)), Bind("a"))) == []
    sums = Sums((cut,), (LedgerEntry("a", "web", "node/n", "team", Resources({"cpu": 3}), "BOUND"),))
    more = LedgerEntry("a", "web", "node/n", "team", Resources({"cpu": 4}), "BOUND")
    assert sums.follow(Decision(accepted=True, changed=(more,))) == [
        "node/n: 4 of cpu is promised, 1 is offered"
    ]
    assert sums.follow(Decision(accepted=True, changed=(msgspec.structs.replace(more, paused=True),))) == []


HOLDS = {
    "no owner": {"owner": "", "state": "RESERVED", "expires_seconds": 5},
    "no end": {"owner": "team", "state": "RESERVED"},
    "no end in line": {"owner": "team", "state": "WAITING"},
    "in use and expiring": {"owner": "team", "state": "BOUND", "expires_seconds": 5},
}


@pytest.mark.parametrize("facts", HOLDS.values(), ids=HOLDS)
def test_a_hold_without_owner_or_end_is_caught(facts):
    decision = Decision(accepted=True, changed=(LedgerEntry("a", "web", "node/n", **facts),))
    (found,) = Sums((NODE,)).follow(decision)
    assert found.startswith(f"a/web@node/n is {facts['state']} for {facts['owner'] or 'nobody'} until")


def test_what_has_gone_or_is_unbounded_is_judged_so():
    entry = LedgerEntry("a", "web", "node/n", "team", Resources({"cpu": 9}), "BOUND")
    assert (
        Sums((Capacity("node/n", unbounded=("cpu",)),)).follow(Decision(accepted=True, changed=(entry,)))
        == []
    )
    assert Sums((NODE,)).follow(Decision(accepted=True, gone=("node/n",), changed=(entry,))) == [
        "node/n: 9 of cpu is promised, 0 is offered"
    ]


def test_a_repeated_key_has_the_outcome_of_the_first_time(honest):
    first = honest[1]._replace(key="k")
    repeat = changed(first, repeated=True)._replace(invoked=300, returned=301)
    others = [honest[0], *honest[2:]]
    assert violations([first, *others, repeat]) == []
    other = changed(repeat, decision=honest[3].outcome.decision)
    assert violations([first, *others, other]) == ["revision 2: key 'k' was answered with another's outcome"]
    stolen = repeat._replace(key="else")
    assert violations([first, *others, stolen]) == [
        "revision 2: key 'else' was answered with another's outcome"
    ]
    unnamed = changed(honest[1], repeated=True)
    assert violations([*honest, unnamed]) == ["revision 2: key '' was answered with another's outcome"]
    early = repeat._replace(invoked=1, returned=2)
    assert violations([first, *others, early]) == ["revision 2: repeated before it was asked for"]


def test_a_step_whose_first_client_never_heard_of_it_is_known_by_the_repetition(honest):
    repeat = changed(honest[1], repeated=True)._replace(key="k", invoked=300, returned=301)
    assert violations([honest[0], *honest[2:], repeat]) == []


def test_real_threads_with_a_real_lock_pass_and_without_their_order_do_not():
    state, lock, found = LedgerState((NODE,)), threading.Lock(), []
    start = state.copy()

    def client(number):
        for turn in range(20):
            for command in (reserve(f"r{number}", 1 + turn % 3), Expire(), Release(f"r{number}")):
                invoked = time.monotonic()
                with lock:
                    decision = decide(state, command, 10)
                    apply(state, decision, 10)
                    outcome = Outcome(state.revision, decision)
                found.append(Operation(invoked, time.monotonic(), command, outcome, 10))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 * 20 * 3
    assert violations(found, start) == []
    last = max(operation.outcome.revision for operation in found)
    turned = [changed(operation, revision=last + 1 - operation.outcome.revision) for operation in found]
    assert violations(turned, start) != []
