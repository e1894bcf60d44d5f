"""Figures are asked for when something has moved, and kept in the history."""

import asyncio
import sqlite3
from contextlib import closing
from io import StringIO

import pytest

from ullage.model.ledger import Hold, Reserve
from ullage.model.resources import Resources
from ullage.web.figures import AGAIN_SECONDS, Figures
from ullage.web.history import History, Span
from ullage.web.http import Problem
from ullage.web.ledgers import Ledgers
from ullage.web.logs import Log
from ullage.web.state import State
from web.standing import InProcess

START = 1_000_000.0


class World:
    def __init__(self, folder):
        self.pool = InProcess(demo="demo")
        self.state = State(folder)
        self.ledgers = Ledgers(folder, self.pool)
        self.history = History(self.state)
        self.seconds = START
        self.lines = StringIO()
        self.figures = Figures(
            self.pool,
            self.ledgers,
            self.history,
            log=Log(target=self.lines),
            look_seconds=0.01,
            now=lambda: self.seconds,
        )

    async def past(self):
        return await self.history.past("demo", Span(0, int(2 * START), int(3 * START)))

    async def close(self):
        await self.figures.stop()
        await self.ledgers.close()
        self.state.close()


def told(tmp_path, story):
    async def within():
        world = World(tmp_path)
        try:
            async with asyncio.timeout(20):
                return await story(world)
        finally:
            await world.close()

    return asyncio.run(within())


async def until(is_so):
    while not is_so():  # noqa: ASYNC110 - nobody tells when it is so
        await asyncio.sleep(0.01)


def test_figures_are_those_of_the_cluster_and_a_sample_is_kept(tmp_path):
    async def story(world):
        await world.figures.look()
        known = world.figures.all()["demo"]
        assert (known.revision, known.at_seconds) == (1, START)
        cpu = next(row for row in known.figures.total.resources if row.resource == "cpu")
        past = await world.past()
        assert past.times == [int(START)]
        (kept,) = past.samples
        assert kept.resources["cpu"]["ullage"] == cpu.ullage
        assert (kept.nodes, kept.waiting, kept.revision) == (12, 2, 1)

    told(tmp_path, story)


def test_nothing_is_asked_again_until_the_cluster_the_ledger_or_enough_time_has_moved(tmp_path):
    async def story(world):
        async def asks():
            before = world.pool.asked.count("figures")
            world.seconds += 1
            await world.figures.look()
            return world.pool.asked.count("figures") - before

        assert await asks() == 1
        assert await asks() == 0
        world.pool.revisions["demo"] += 1
        assert (await asks(), await asks()) == (1, 0)
        hold = Hold("web", "node/n3", Resources({"cpu": 1000}))
        before = world.figures.all()["demo"].figures.total.resources[0].committed
        await world.ledgers.submit("demo", Reserve("r", "team/x", 1 << 40, holds=(hold,)))
        assert (await asks(), await asks()) == (1, 0)
        assert world.figures.all()["demo"].figures.total.resources[0].committed == pytest.approx(before + 1)
        world.seconds += AGAIN_SECONDS
        assert (await asks(), await asks()) == (1, 0)
        assert len((await world.past()).times) == 4

    told(tmp_path, story)


def test_a_cluster_that_does_not_answer_keeps_its_figures_and_its_turn(tmp_path):
    async def story(world):
        await world.figures.look()
        before = world.figures.all()
        world.pool.revisions["demo"] += 1
        ask = world.pool.ask

        async def busy(*_, **__):
            raise Problem(503, "busy")

        world.pool.ask = busy
        await world.figures.look()
        assert world.figures.all() == before
        world.pool.ask = ask
        await world.figures.look()
        assert world.figures.all()["demo"].revision == 2

    told(tmp_path, story)


def test_it_looks_by_itself_and_forgets_who_is_gone(tmp_path):
    async def story(world):
        world.figures.start()
        await until(lambda: "demo" in world.figures.all())
        world.pool.revisions["demo"] = 7
        world.figures.moved()
        await until(lambda: world.figures.all()["demo"].revision == 7)
        await world.figures.stop()
        world.figures.forget("demo")
        assert world.figures.all() == {}
        assert (await world.past()).times, "what was stays known"

    told(tmp_path, story)


def test_a_history_that_cannot_be_written_is_logged_and_looking_goes_on(tmp_path):
    async def story(world):
        world.state._connection.execute("PRAGMA busy_timeout = 0")
        with closing(sqlite3.connect(world.state.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            world.figures.start()
            await until(lambda: "cannot keep figures" in world.lines.getvalue())
            assert "database is locked" in world.lines.getvalue()
        world.pool.revisions["demo"] = 2
        world.figures.moved()
        await until(lambda: world.figures.all()["demo"].revision == 2)
        while not (await world.past()).times:  # noqa: ASYNC110 - nobody tells when it is so
            await asyncio.sleep(0.01)

    told(tmp_path, story)


def test_stopping_does_not_fail_where_looking_did(tmp_path):
    async def story(world):
        world.pool.revisions = None  # no pool is like that: a defect
        world.figures.start()
        await until(world.figures._task.done)
        await world.figures.stop()

    told(tmp_path, story)
