"""The parts of a server, stopped whatever becomes of one of them."""

import asyncio
import sqlite3
from io import StringIO

import pytest

from ullage.model.errors import InputError
from ullage.model.ledger import Bind, Hold, Release, Reserve
from ullage.model.resources import Resources
from ullage.service.ledger_file import read_ledger
from ullage.web.http import Problem
from ullage.web.logs import Log
from ullage.web.server import Server
from ullage.web.settings import Settings
from ullage.web.state import State
from web.pools import document

STOPS = {
    "jobs": "stop",
    "figures": "stop",
    "ledgers": "close",
    "pool": "stop",
    "tokens": "close",
    "state": "close",
}


@pytest.mark.parametrize("broken", STOPS)
def test_a_part_that_cannot_be_stopped_keeps_no_other_from_it(tmp_path, broken):
    lines, stopped = StringIO(), []

    async def work():
        server = Server(Settings(tmp_path), Log(target=lines))
        await server.start()
        stops = {name: getattr(getattr(server, name), stop) for name, stop in STOPS.items()}

        def breaks(name):
            def stop(*words):
                stopped.append(name)
                if name == broken:
                    raise sqlite3.OperationalError("the disk is gone")
                return stops[name](*words)

            return stop

        for name, stop in STOPS.items():
            setattr(getattr(server, name), stop, breaks(name))
        await server.stop()
        done = stops[broken]()
        if done is not None:
            await done
        assert server.ending.is_set()

    asyncio.run(work())
    assert stopped == list(STOPS)
    (line,) = lines.getvalue().splitlines()
    assert f'"what":"{broken}","why":"OperationalError: the disk is gone"' in line


def test_the_ledger_of_a_cluster_that_is_removed_is_closed(tmp_path):
    async def work():
        server = Server(Settings(tmp_path, workers=1), Log(target=StringIO()))
        await server.start()
        try:
            await server.pool.put("mine", document())
            await server.ledgers.submit("mine", Bind("nobody"))
            kept = server.ledgers._ready["mine"].kept
            await server.remove("mine")
            assert "mine" not in server.ledgers._ready
            with pytest.raises(InputError, match="has ended"):
                await kept.submit_async(Bind("nobody"), at_seconds=1)
        finally:
            await server.stop()

    asyncio.run(work())


def test_a_cluster_that_gets_the_name_of_another_has_none_of_its_promises_and_keys(tmp_path):
    hold = Hold("r", "node/n0", Resources({"cpu": 1}))
    step = Reserve("old", "team/web", 4_000_000_000, (hold,))

    async def work():
        server = Server(Settings(tmp_path, workers=1), Log(target=StringIO()))
        await server.start()
        try:
            await server.pool.put("mine", document())
            assert (await server.ledgers.submit("mine", step, key="k")).decision.accepted
            with pytest.raises(Problem) as refused:
                await server.remove("mine")
            assert (refused.value.status, refused.value.members) == (409, {"live": 1})
            await server.ledgers.submit("mine", Release("old"))
            await server.remove("mine")
            (aside,) = (tmp_path / "clusters" / "mine").glob("removed-*/ledger.db")
            assert read_ledger(aside).revision > 0
            await server.pool.put("mine", document("another"))
            assert await server.ledgers.known("mine", "k") is None
            done = await server.ledgers.submit("mine", step, key="k")
            return done.decision.accepted, done.repeated
        finally:
            await server.stop()

    assert asyncio.run(work()) == (True, False)


def test_a_step_that_nobody_has_noted_is_in_the_audit_log_after_an_orderly_end(tmp_path):
    """As one is that was on its way to the ledger when the time for answers was over."""

    async def work():
        server = Server(Settings(tmp_path, workers=1), Log(target=StringIO()))
        await server.start()
        try:
            await server.pool.put("mine", document())
            return await server.ledgers.submit("mine", Bind("nobody"))
        finally:
            await server.stop()

    outcome = asyncio.run(work())
    state = State(tmp_path)
    ((_, noted),) = state.audited()
    state.close()
    assert (noted.cluster, noted.action, noted.subject, noted.revision) == (
        "mine",
        "bind",
        "nobody",
        outcome.revision,
    )
