"""What is told in parts by a process of its own: all of it, to a few at once, as long as they listen."""

import os
import signal

import numpy as np
import psutil
import pytest

from ullage.engine.usage.book import Book, Samples
from ullage.stores.usage import Batch, Marks, append
from ullage.stores.usage_exchange import PART_BYTES, usage_message
from ullage.web import apart
from ullage.web.http import Problem
from ullage.web.served import Bounds
from ullage.web.work import Work
from web.pools import Served, document, until

PODS = 6000
SEED = 7


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """A ledger that takes more than one part to be told: a day of many pods."""
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    amounts = np.random.default_rng(SEED).integers(0, 1 << 40, PODS * 24)
    names = [f"pod/shop/web-{number}" for number in range(PODS)]
    hours = np.tile(np.arange(24) * 3600, PODS)
    observed = Book()
    observed.add(Samples("memory", "usage", names, np.repeat(np.arange(PODS), 24), hours, amounts))
    append(path, Batch("test", observed, Marks(0, {}), 86_400))
    return path


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    (folder / "cluster.json").write_bytes(document("first"))
    running = Served(folder, [("file", str(folder / "cluster.json"))], Bounds(refresh_seconds=0))
    running.run(running.pool.refresh("file"))
    yield running
    running.close()


def recorded_in(path):
    return Work("usage/recorded", {"only": ""}, b"", str(path), str(path))


def parts_of(served, path, seconds_max=60.0, client=""):
    return served.pool.parts_apart("file", recorded_in(path), seconds_max=seconds_max, client=client)


def telling(served):
    """The processes that tell something now."""
    return [worker.process for worker in served.cluster("file")._current.apart]


def test_all_parts_are_told_one_after_the_other(served, ledger):
    async def told():
        return [done.body async for done in parts_of(served, ledger)]

    found = served.run(told())
    assert len(found) > 2
    assert max(map(len, found)) < 2 * PART_BYTES
    assert b"".join(found) == b"".join(usage_message(ledger))
    served.run(until(lambda: not telling(served)))


def test_a_process_ends_when_nobody_listens_any_more(served, ledger):
    async def heard_enough():
        parts = parts_of(served, ledger)
        await anext(parts)
        (process,) = telling(served)
        await parts.aclose()
        await until(lambda: not telling(served) and not psutil.pid_exists(process))

    served.run(heard_enough())


def test_only_a_few_are_told_so_much_at_once_and_of_each_client_fewer(served, ledger, monkeypatch):
    monkeypatch.setattr(apart, "TELLING_MAX", 3)

    async def refused(client):
        with pytest.raises(Problem) as caught:
            await anext(parts_of(served, ledger, client=client))
        return caught.value.status, caught.value.title

    async def listens():
        every = [parts_of(served, ledger, client=client) for client in ("a", "a")]
        for parts in every:
            await anext(parts)
        told = [await refused("a")]
        every.append(parts_of(served, ledger, client="b"))
        assert (await anext(every[-1])).status == 200
        told.append(await refused("b"))
        for parts in every:
            await parts.aclose()
        again = parts_of(served, ledger, client="a")
        assert (await anext(again)).status == 200
        await again.aclose()
        return told

    assert served.run(listens()) == [
        (503, "2 of yours are being told as much already"),
        (503, "too many are being told as much already"),
    ]


def test_a_process_that_ends_too_early_is_told(served, ledger):
    async def killed():
        parts = parts_of(served, ledger)
        await anext(parts)
        os.kill(telling(served)[0], signal.SIGKILL)
        with pytest.raises(Problem) as refused:
            async for _ in parts:
                pass
        return refused.value

    assert served.run(killed()).status == 500


def test_what_takes_too_long_is_told(served, ledger):
    async def waits():
        with pytest.raises(Problem) as refused:
            await anext(parts_of(served, ledger, seconds_max=0.0))
        return refused.value

    assert served.run(waits()).status == 504


def test_a_refusal_is_all_that_is_told(served, ledger, tmp_path):
    (tmp_path / "notes").write_text("mine", encoding="utf-8")
    unknown = Work("usage/status", {"subject": "node/none"}, b"", str(ledger), str(ledger))

    async def told(work):
        return [done.status async for done in served.pool.parts_apart("file", work, seconds_max=60.0)]

    assert served.run(told(recorded_in(tmp_path / "notes"))) == [422]
    assert served.run(told(unknown)) == [422]
