"""A ledger that a process of its own keeps answers as one in this process does, whatever becomes of it."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from ullage.model.errors import InputError
from ullage.model.ledger import Bind, Capacity, Expire, Hold, Release, Reserve, Supply
from ullage.model.resources import Resources
from ullage.service.ledger_file import read_ledger
from ullage.stores.protocol import MovedError, StoreUnavailableError
from ullage.stores.sqlite import SqliteLedger
from ullage.web import kept_ledger
from ullage.web.keeper_frames import Refused, refused
from ullage.web.kept_ledger import KeptLedger

NODE = Supply((Capacity("node/a", Resources({"cpu": 4000})),))


def reserve(name, cpu=1000, until=1 << 40):
    return Reserve(name, "team/x", until, holds=(Hold("web", "node/a", Resources({"cpu": cpu})),))


def kept(path, story):
    async def within():
        ledger, opened = await KeptLedger.open(path)
        try:
            async with asyncio.timeout(20):
                return await story(ledger, opened)
        finally:
            await ledger.close()

    return asyncio.run(within())


STEPS = {
    "what there is": (NODE, {}),
    "a reservation": (reserve("one"), {"key": "k1"}),
    "the same again under its key": (reserve("one"), {"key": "k1"}),
    "another under that key": (reserve("two"), {"key": "k1"}),
    "more than there is": (reserve("three", cpu=9000), {}),
    "one planned on the revision that is last": (reserve("four"), {"revision": 3, "exact": True}),
    "one planned on a revision before": (reserve("five"), {"revision": 2, "exact": True}),
    "one that may have moved": (reserve("six"), {"revision": 2}),
    "one planned on the future": (reserve("seven"), {"revision": 99}),
    "a key that cannot be kept": (reserve("eight"), {"key": "\n"}),
    "no time": (reserve("nine"), {"at_seconds": -1}),
    "half a character": (reserve("\ud800"), {}),
    "a binding": (Bind("one"), {}),
    "giving back": (Release("four"), {}),
    "the end of what is due": (Expire(), {}),
}


def test_each_step_has_the_outcome_that_a_ledger_of_this_process_gives(tmp_path):
    async def every(submit):
        found = []
        for name, (command, options) in STEPS.items():
            try:
                found.append((name, await submit(command, **{"at_seconds": 5, **options})))
            except InputError as error:
                found.append((name, type(error), error.what, error.where, error.remedy))
        return found

    async def story(ledger, _):
        return await every(ledger.submit_async)

    with SqliteLedger(tmp_path / "here.db") as here:
        expected = asyncio.run(every(here.submit_async))
    assert kept(tmp_path / "kept.db", story) == expected
    assert read_ledger(tmp_path / "kept.db").entries == read_ledger(tmp_path / "here.db").entries


def test_whoever_opens_it_is_told_where_it_is_and_what_it_knows(tmp_path):
    with SqliteLedger(tmp_path / "ledger.db") as ledger:
        ledger.submit(NODE, at_seconds=1)

    async def story(_, opened):
        return opened.revision, opened.known

    assert kept(tmp_path / "ledger.db", story) == (1, list(NODE.capacities))


def test_what_is_no_ledger_is_refused_as_ever(tmp_path):
    path = tmp_path / "ledger.db"
    path.write_text("a letter", encoding="utf-8")
    with pytest.raises(InputError) as here:
        SqliteLedger(path)

    async def story(*_):
        raise AssertionError("it was opened")

    with pytest.raises(InputError) as there:
        kept(path, story)
    assert str(there.value) == str(here.value)
    assert path.read_text(encoding="utf-8") == "a letter"


@pytest.mark.parametrize("count", [1, 3, 4, 5, 500])
def test_many_at_once_are_all_answered_and_in_order(tmp_path, count):
    async def story(ledger, _):
        await ledger.submit_async(NODE, at_seconds=1)
        steps = [ledger.submit_async(reserve(f"r{each}", cpu=1), at_seconds=2) for each in range(count)]
        return await asyncio.gather(*steps)

    outcomes = kept(tmp_path / "ledger.db", story)
    assert [each.revision for each in outcomes] == list(range(2, count + 2))
    assert len(read_ledger(tmp_path / "ledger.db")) == count


def test_time_that_has_come_is_seen(tmp_path):
    async def story(ledger, _):
        await ledger.submit_async(NODE, at_seconds=1)
        await ledger.submit_async(reserve("one", until=100), at_seconds=2)
        return [await ledger.due(99), await ledger.due(100)]

    assert kept(tmp_path / "ledger.db", story) == [(2, False), (2, True)]


def test_steps_of_other_processes_count(tmp_path):
    async def story(ledger, _):
        await ledger.submit_async(NODE, at_seconds=1)
        with SqliteLedger(tmp_path / "ledger.db") as other:
            await asyncio.to_thread(other.submit, reserve("theirs", cpu=4000), at_seconds=2)
        return await ledger.submit_async(reserve("ours"), at_seconds=3)

    outcome = kept(tmp_path / "ledger.db", story)
    assert (outcome.revision, outcome.decision.accepted) == (3, False)


def test_who_waits_when_the_process_is_killed_is_told_and_acknowledged_steps_are_there(tmp_path):
    async def story(ledger, _):
        await ledger.submit_async(NODE, at_seconds=1)
        await ledger.submit_async(reserve("one"), at_seconds=2)
        os.kill(ledger._process.pid, signal.SIGSTOP)
        waiting = [
            asyncio.ensure_future(ledger.submit_async(reserve(name), at_seconds=3, key=name))
            for name in ("two", "three")
        ]
        await asyncio.sleep(0.1)
        os.kill(ledger._process.pid, signal.SIGKILL)
        told = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(each) for each in told] == [StoreUnavailableError] * 2
        assert ledger.is_gone
        with pytest.raises(StoreUnavailableError, match="has ended"):
            await ledger.submit_async(reserve("four"), at_seconds=3)

    kept(tmp_path / "ledger.db", story)
    assert [each.reservation for each in read_ledger(tmp_path / "ledger.db").entries] == ["one"]


def test_a_process_that_answers_nobody_any_more_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_ledger, "WATCH_SECONDS", 0.05)

    async def story(ledger, _):
        await ledger.submit_async(NODE, at_seconds=1)
        monkeypatch.setattr(kept_ledger, "STUCK_SECONDS", 0.3)
        await asyncio.sleep(0.5)  # nobody waits for anything
        assert not ledger.is_gone
        os.kill(ledger._process.pid, signal.SIGSTOP)
        with pytest.raises(StoreUnavailableError, match="has ended"):
            await ledger.submit_async(reserve("one"), at_seconds=2)

    kept(tmp_path / "ledger.db", story)


def test_a_process_that_cannot_be_started_is_told(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(subprocess, "Popen", fail)
    with pytest.raises(StoreUnavailableError, match="Too many open files"):
        asyncio.run(KeptLedger.open(tmp_path / "ledger.db"))


def test_signals_to_a_whole_group_are_not_for_it(tmp_path):
    async def story(ledger, _):
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(ledger._process.pid, each)
        return await ledger.submit_async(NODE, at_seconds=1)

    assert kept(tmp_path / "ledger.db", story).revision == 1


def test_what_was_asked_is_answered_before_it_is_closed(tmp_path):
    async def story():
        ledger, _ = await KeptLedger.open(tmp_path / "ledger.db")
        asked = asyncio.ensure_future(ledger.submit_async(NODE, at_seconds=1))
        await asyncio.sleep(0)
        await ledger.close()
        assert ledger._process.returncode == 0
        return await asked

    assert asyncio.run(story()).revision == 1


def test_who_gives_up_waiting_takes_nothing_back(tmp_path):
    async def story(ledger, _):
        asked = asyncio.ensure_future(ledger.submit_async(NODE, at_seconds=1))
        await asyncio.sleep(0)
        asked.cancel()
        return await ledger.due(1)

    assert kept(tmp_path / "ledger.db", story) == (1, False)


def test_no_more_may_wait_than_can_be_held(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_ledger, "QUEUE_MAX", 3)

    async def story(ledger, _):
        asked = [asyncio.ensure_future(ledger.due(1)) for _ in range(4)]
        return await asyncio.gather(*asked, return_exceptions=True)

    *told, last = kept(tmp_path / "ledger.db", story)
    assert told == [(0, False)] * 3
    assert isinstance(last, StoreUnavailableError)


def test_a_large_command_arrives_whole_and_one_that_is_too_large_is_refused(tmp_path, monkeypatch):
    def many(count):
        return Supply(tuple(Capacity(f"node/{each}", Resources({"cpu": 1})) for each in range(count)))

    async def story(ledger, _):
        taken = await ledger.submit_async(many(40_000), at_seconds=1)
        monkeypatch.setattr(kept_ledger, "COMMAND_CHARACTERS_MAX", 1000)
        with pytest.raises(InputError, match="split it"):
            await ledger.submit_async(many(100), at_seconds=1)
        return len(taken.decision.capacities)

    assert kept(tmp_path / "ledger.db", story) == 40_000


def test_it_ends_with_the_process_that_started_it(tmp_path):
    program = (
        "import asyncio, sys, time; from pathlib import Path; from ullage.web.kept_ledger import KeptLedger\n"
        "async def run():\n"
        "    ledger, _ = await KeptLedger.open(Path(sys.argv[1]))\n"
        "    print(ledger._process.pid, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(run())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "ledger.db")], stdout=subprocess.PIPE, text=True
    ) as parent:
        keeper = int(parent.stdout.readline())
        parent.kill()
    with contextlib.suppress(ProcessLookupError):
        for _ in range(200):
            os.kill(keeper, 0)
            time.sleep(0.05)
        pytest.fail("it goes on alone")


@pytest.mark.parametrize(
    "kind", [InputError, StoreUnavailableError, MovedError], ids=lambda each: each.__name__
)
def test_an_error_arrives_as_it_was_raised(kind):
    error = refused(3, kind("what", where="where", remedy="do")).error()
    assert (type(error), error.what, error.where, error.remedy) == (kind, "what", "where", "do")


def test_an_error_that_nobody_foresaw_stays_one():
    told = refused(3, KeyError("x"))
    assert told == Refused(3, "", "KeyError: 'x'")
    assert isinstance(told.error(), RuntimeError)
