"""The parts of a server, stopped whatever becomes of one of them."""

import asyncio
import sqlite3
from io import StringIO

import pytest

from ullage.model.errors import InputError
from ullage.model.ledger import Bind
from ullage.web.logs import Log
from ullage.web.server import Server
from ullage.web.settings import Settings
from ullage.web.state import State
from web.pools import document, until

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
            await server.pool.remove("mine")
            await until(lambda: not server._forgetting)
            assert "mine" not in server.ledgers._ready
            with pytest.raises(InputError, match="has ended"):
                await kept.submit_async(Bind("nobody"), at_seconds=1)
        finally:
            await server.stop()

    asyncio.run(work())


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
