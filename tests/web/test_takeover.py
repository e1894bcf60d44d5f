"""Steps that a killed server could not note are noted by the next one, once, and nothing else is."""

import asyncio
import contextlib

from ullage.model.ledger import Capacity, Expire, Hold, Reserve, Supply, Together
from ullage.model.resources import Resources
from ullage.service.ledger_file import submitted
from ullage.web.logs import Log
from ullage.web.server import Server
from ullage.web.settings import Settings
from ullage.web.state import Audited, State

SUPPLY = Supply((Capacity("node/n1", Resources({"cpu": 1000})),))


def reserve(name, cpu=1):
    return Reserve(name, "team/x", 1 << 40, (Hold("r", "node/n1", Resources({"cpu": cpu})),))


def take(folder, *commands, key=""):
    ledger = folder / "clusters" / "demo" / "ledger.db"
    ledger.parent.mkdir(parents=True, exist_ok=True)
    return [submitted(ledger, each, at_seconds=100, key=key, create=True).revision for each in commands]


class Quiet:
    def write(self, text):
        pass

    def flush(self):
        pass


def serve(folder, *noted, is_killed, meanwhile=()):
    """Let a server start, note some entries while steps are taken, and end; return the whole log."""

    async def work():
        server = Server(Settings(folder, port=0), Log(target=Quiet()))
        await server.start()
        take(folder, *meanwhile)
        for entry in noted:
            await server.state.note(entry)
        server.state.is_served = not is_killed  # what a clean end notes is all that a kill lacks
        await server.stop()

    asyncio.run(work())
    with contextlib.closing(State(folder)) as state:
        return [entry for _, entry in state.audited(rows_max=1000)]


def noted(revision):
    return Audited(7, "ci", "demo", "reserve", f"r{revision}", "accepted", revision)


def told(entries):
    return [(each.who, each.action, each.subject, each.outcome, each.revision) for each in entries]


def test_steps_that_were_not_noted_are_noted_once_also_before_one_that_was(tmp_path):
    steps = (SUPPLY, *(reserve(f"r{number}") for number in range(2, 5)), reserve("r5", 5000), Expire())
    serve(tmp_path, noted(3), is_killed=True, meanwhile=steps)
    found = serve(tmp_path, is_killed=True)
    assert told(found)[:3] == [
        ("ci", "reserve", "r3", "accepted", 3),
        ("", "reserve", "r2", "accepted", 2),
        ("", "reserve", "r4", "accepted", 4),
    ]
    (refused,) = found[3:]
    assert (refused.subject, refused.outcome[:8], refused.at_seconds) == ("r5", "refused:", 100)
    assert serve(tmp_path, is_killed=False) == found


def test_other_commands_are_told_by_what_they_are(tmp_path):
    serve(tmp_path, is_killed=True, meanwhile=(Together((SUPPLY, reserve("one"))),))
    (found,) = serve(tmp_path, is_killed=False)
    assert (found.action, found.subject, found.revision) == ("ledger step", "together", 1)


def test_what_others_did_while_no_server_ran_is_not_its_own(tmp_path):
    take(tmp_path, SUPPLY, reserve("before"))
    assert serve(tmp_path, is_killed=False) == []
    take(tmp_path, reserve("between"))
    assert serve(tmp_path, is_killed=True) == []
    assert serve(tmp_path, is_killed=False) == []


def test_the_commit_of_a_plan_that_is_gone_is_noted_by_its_name(tmp_path):
    serve(tmp_path, is_killed=True)
    take(tmp_path, SUPPLY)
    take(tmp_path, reserve("planned"), key="plan/1")
    assert told(serve(tmp_path, is_killed=False)) == [("", "commit plan", "1", "accepted", 2)]


def test_a_ledger_that_cannot_be_read_keeps_no_server_from_starting(tmp_path):
    serve(tmp_path, is_killed=True)
    ledger = tmp_path / "clusters" / "demo" / "ledger.db"
    ledger.parent.mkdir(parents=True, exist_ok=True)
    ledger.write_text("no ledger", encoding="utf-8")
    assert serve(tmp_path, is_killed=False) == []
