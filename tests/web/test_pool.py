"""Clusters in processes of their own: what dies is replaced, and harms nobody else.

Workers are real; a question that takes for ever is one whose worker is stopped by a signal.
"""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress

import msgspec
import psutil
import pytest

from ullage.web import uploads
from ullage.web.http import Problem
from ullage.web.pool import takes_long
from ullage.web.served import Bounds
from ullage.web.work import Work
from web.pools import SNAPSHOT, Served, document, until


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    (folder / "cluster.json").write_bytes(document("first"))
    clusters = [("file", str(folder / "cluster.json")), ("absent", str(folder / "absent.json"))]
    running = Served(folder, clusters, Bounds(refresh_seconds=0))
    running.run(running.pool.refresh("file"))
    yield running
    running.close()


@pytest.fixture
def ready(served):
    served.ready("file")
    return served


def refusal(running, name, work=SNAPSHOT, **options):
    with pytest.raises(Problem) as refused:
        running.answer(name, work, **options)
    return refused.value


def test_a_question_is_answered_from_what_was_read(ready):
    done = ready.answer("file")
    assert done.status == 200
    assert done.revision == ready.pool.revision("file") > 0
    assert msgspec.json.decode(done.body)["name"] == "first"


def test_a_cluster_that_there_is_not_is_not_found(ready):
    assert refusal(ready, "nowhere").status == 404
    for asked in (ready.pool.refresh("nowhere"), ready.pool.remove("nowhere")):
        with pytest.raises(Problem) as refused:
            ready.run(asked)
        assert refused.value.status == 404


def test_a_source_that_cannot_be_read_is_told_and_the_others_answer(ready):
    ready.run(until(lambda: ready.pool.state("absent").failure))
    state = ready.pool.state("absent")
    assert state.state == "failed"
    assert "absent.json: cannot be read" in state.failure
    refused = refusal(ready, "absent")
    assert (refused.status, "cannot be read" in refused.title) == (503, True)
    assert refused.members["retryAfterSeconds"] > 0
    assert any(heard.kind == "failure" and heard.state.name == "absent" for heard in ready.heard)


@pytest.mark.parametrize("busy", [False, True], ids=["with nothing to do", "within a question"])
def test_a_worker_that_is_killed_costs_one_answer_at_most_and_is_replaced(ready, busy):
    before = ready.workers("file")
    if busy:
        ready.stop_workers("file")

        async def kills_it():
            asking = asyncio.create_task(ready.ask("file"))
            await asyncio.sleep(0.1)
            for worker in before:
                os.kill(worker, signal.SIGKILL)
            return await asyncio.gather(asking, return_exceptions=True)

        (problem,) = ready.run(kills_it())
        assert isinstance(problem, Problem)
        assert problem.status == 500
        ready.run(until(lambda: not set(before) & set(ready.workers("file"))))
    else:
        os.kill(before[0], signal.SIGKILL)
        ready.run(until(lambda: before[0] not in ready.workers("file")))
    assert ready.answer("file").status == 200
    assert ready.ready("file").workers == 2
    assert set(ready.workers("file")) != set(before)


def test_what_takes_too_long_ends_its_worker_and_says_how_to_ask(ready):
    before = ready.workers("file")
    ready.stop_workers("file")
    refused = refusal(ready, "file", seconds_max=0.1)
    assert refused.status == 504
    assert "respond-async" in refused.detail
    ready.run(until(lambda: len(set(before) & set(ready.workers("file"))) == 1))
    (left,) = set(before) & set(ready.workers("file"))
    os.kill(left, signal.SIGCONT)
    assert ready.answer("file").status == 200


def test_quick_questions_are_answered_while_long_ones_wait_for_each_other(ready):
    ready.stop_workers("file")

    async def ask_all():
        long = [asyncio.create_task(ready.ask("file", is_long=True)) for _ in range(3)]
        await asyncio.sleep(0.05)
        free = [each.process for each in ready.cluster("file")._line._free]
        assert len(free) == 1
        os.kill(free.pop(), signal.SIGCONT)
        quick = await ready.ask("file")
        assert not any(each.done() for each in long)
        ready.go_on("file")
        return quick, await asyncio.gather(*long)

    quick, long = ready.run(ask_all())
    assert [quick.status, *(each.status for each in long)] == [200] * 4


@pytest.mark.slow
def test_what_nobody_waits_for_any_more_ends_its_worker(ready):
    before = ready.workers("file")
    ready.stop_workers("file")

    async def hangs_up():
        asking = asyncio.create_task(ready.ask("file"))
        await asyncio.sleep(0.05)
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
        await until(lambda: len(set(before) & set(ready.workers("file"))) == 1)

    ready.run(hangs_up())
    for worker in set(before) & set(ready.workers("file")):
        os.kill(worker, signal.SIGCONT)


@pytest.mark.slow
def test_a_loader_that_is_killed_is_replaced_and_its_workers_answer_meanwhile(ready):
    loader, workers, revision = ready.loader("file"), ready.workers("file"), ready.pool.revision("file")
    os.kill(loader, signal.SIGKILL)

    async def meanwhile():
        await until(ready.cluster("file")._loader_gone.is_set)
        done = await ready.ask("file")
        assert set(ready.workers("file")) == set(workers)
        await until(lambda: ready.loader("file") != loader)
        return done

    assert ready.run(meanwhile()).status == 200
    assert ready.ready("file").revision == revision
    ready.run(until(lambda: not any(map(psutil.pid_exists, workers))))


@pytest.mark.slow
def test_a_refresh_takes_the_place_of_what_was_read_and_a_bad_one_does_not(ready):
    path, revision = ready.folder / "cluster.json", ready.pool.revision("file")
    before = ready.workers("file")
    assert ready.run(ready.pool.refresh("file")).revision == revision
    assert ready.workers("file") == before
    path.write_bytes(document("second", nodes=5))
    state = ready.run(ready.pool.refresh("file"))
    assert (state.revision, state.nodes, state.failure) == (revision + 1, 5, "")
    assert msgspec.json.decode(ready.answer("file").body)["name"] == "second"
    path.write_bytes(b"{")
    with pytest.raises(Problem) as refused:
        ready.run(ready.pool.refresh("file"))
    assert refused.value.status == 503
    state = ready.pool.state("file")
    assert (state.state, state.revision) == ("ready", revision + 1)
    assert "cluster.json" in state.failure
    assert ready.answer("file").revision == revision + 1
    path.write_bytes(document("second", nodes=5))
    assert ready.run(ready.pool.refresh("file")).failure == ""
    ready.run(until(lambda: not any(map(psutil.pid_exists, before))))


@pytest.mark.slow
def test_a_reading_takes_over_with_all_its_workers(ready):
    """With fewer, those who ask would wait for each other."""
    for nodes in (3, 4):
        ready.run(ready.pool.put("other", document("other", nodes)))
    assert [heard.state.workers for heard in ready.heard if heard.state.name == "other"][-1] == 2


@pytest.mark.slow
def test_an_upload_is_a_cluster_until_it_is_removed(ready):
    state = ready.run(ready.pool.put("mine", document()))
    assert (state.name, state.source, state.revision, state.nodes) == ("mine", "upload", 1, 2)
    assert ready.answer("mine").revision == 1
    with pytest.raises(Problem) as refused:
        ready.run(ready.pool.put("mine", b"{}"))
    assert refused.value.status == 422
    assert str(ready.folder) not in refused.value.detail
    assert ready.answer("mine").revision == 1
    assert ready.run(ready.pool.put("mine", document())).revision == 1
    assert ready.run(ready.pool.put("mine", document(nodes=3))).revision == 2
    workers = ready.workers("mine")
    ready.run(ready.pool.remove("mine"))
    assert refusal(ready, "mine").status == 404
    ready.run(until(lambda: not any(map(psutil.pid_exists, workers))))
    assert ready.heard[-1].kind == "removed"


@pytest.mark.slow
def test_a_large_document_of_one_keeps_no_small_one_of_another_waiting(ready, monkeypatch):
    monkeypatch.setattr(uploads, "SMALL_BYTES_MAX", 4000)
    ended = []

    async def put(name, client, nodes):
        state = await ready.pool.put(name, document(nodes=nodes), client)
        ended.append(name)
        return state.nodes

    async def both():
        return await asyncio.gather(put("large", "a", 6000), put("small", "b", 2))

    assert ready.run(both()) == [6000, 2]
    assert ended == ["small", "large"]
    ready.run(ready.pool.remove("large"))
    ready.run(ready.pool.remove("small"))


@pytest.mark.parametrize(
    ("name", "status"),
    [("file", 409), ("..", 422), ("a/b", 422)],
    ids=["of the command line", "dots", "path"],
)
def test_an_upload_takes_no_name_that_it_must_not(ready, name, status):
    with pytest.raises(Problem) as refused:
        ready.run(ready.pool.put(name, document()))
    assert refused.value.status == status
    with pytest.raises(Problem) as refused:
        ready.run(ready.pool.remove("file"))
    assert refused.value.status == 409


def test_an_upload_that_cannot_be_read_leaves_nothing(ready):
    with pytest.raises(Problem):
        ready.run(ready.pool.put("broken", b"{"))
    assert not list((ready.folder / "clusters").glob("broken/*"))
    assert all(state.name != "broken" for state in ready.pool.clusters())


@pytest.mark.parametrize(
    ("work", "is_long"),
    [
        (Work("question/fit"), False),
        (Work("question/fit", {"exactSeconds": "2"}), False),
        (Work("question/fit", {"exactSeconds": 60}), True),
        (Work("question/fit", {"exactSeconds": "x"}), False),
        (Work("question/balance"), True),
        (Work("question/status"), False),
        (Work("question/status", {"usage": "recorded"}), True),
        (Work("question/none"), False),
        (Work("question/fit", {}, b" " * (1 << 18)), False),
        (Work("question/fit", {}, b" " * ((1 << 18) + 1)), True),
        (Work("page/overview"), False),
        (Work("page/balance"), True),
        (Work("snapshot"), True),
        (Work("figures"), True),
        (Work("offers"), False),
    ],
    ids=lambda each: str(each)[:60],
)
def test_what_may_take_long_is_known_before_it_does(work, is_long):
    assert takes_long(work) == is_long


def test_quick_questions_get_help_where_others_turn_out_to_be_slow(ready):
    ready.stop_workers("file")
    slow_ones = ready.workers("file")

    async def ask_all():
        slow = [asyncio.create_task(ready.ask("file", is_long=False)) for _ in range(2)]
        await asyncio.sleep(0.05)
        quick = await ready.ask("file", is_long=False)
        assert not any(each.done() for each in slow)
        for worker in slow_ones:
            os.kill(worker, signal.SIGCONT)
        return quick, await asyncio.gather(*slow)

    quick, slow = ready.run(ask_all())
    assert [quick.status, *(each.status for each in slow)] == [200] * 3
    ready.run(until(lambda: ready.pool.state("file").workers == 2))


async def until_called(running):
    await until(lambda: not running.cluster("file")._current.is_awaiting)


def test_help_that_comes_when_nobody_waits_any_more_goes_again(ready):
    ready.stop_workers("file")
    os.kill(ready.loader("file"), signal.SIGSTOP)

    async def ask_all():
        asked = [asyncio.create_task(ready.ask("file", is_long=False)) for _ in range(3)]
        await until(lambda: ready.cluster("file")._current.is_awaiting)
        ready.go_on("file")
        return await asyncio.gather(*asked)

    try:
        assert [each.status for each in ready.run(ask_all())] == [200] * 3
    finally:
        os.kill(ready.loader("file"), signal.SIGCONT)
    ready.run(until_called(ready))
    ready.ready("file")


def test_a_worker_that_ended_before_it_could_call_is_asked_for_again(ready, monkeypatch):
    """Its place would stay empty otherwise: who never called is never seen to go."""
    reading = ready.cluster("file")._current
    monkeypatch.setattr(reading, "_fork", lambda _: None)
    os.kill(ready.workers("file")[0], signal.SIGKILL)
    ready.run(until(lambda: ready.pool.state("file").workers == 1))
    monkeypatch.undo()
    assert ready.answer("file").status == 200
    assert reading._awaited == 1
    reading._awaited_until = 0.0
    assert ready.answer("file").status == 200
    ready.ready("file")


PARENT = """
import asyncio, sys
from pathlib import Path
from ullage.web.pool import Pool
from ullage.web.settings import Listed, Settings

async def main():
    pool = Pool(Settings(Path(sys.argv[1]), (Listed("demo", "demo"),)))
    await pool.start()
    await pool.refresh("demo")
    while pool.state("demo").workers < 2:
        await asyncio.sleep(0.02)
    print("ready", flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


@pytest.mark.slow
def test_no_process_outlives_a_server_that_was_killed(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, tmp_path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as parent:
        assert parent.stdout.readline() == b"ready\n"
        children = psutil.Process(parent.pid).children(recursive=True)
        assert len(children) == 3
        os.kill(children[-1].pid, signal.SIGSTOP)  # a worker that is as busy as one can be
        parent.kill()
        parent.wait()
        gone, left = psutil.wait_procs(children, timeout=60)
        assert (len(gone), left) == (3, [])


@pytest.mark.slow
def test_a_server_that_starts_again_has_its_uploads_and_their_revisions(tmp_path):
    first = Served(tmp_path, [], Bounds(workers=1))
    first.run(first.pool.put("mine", document()))
    first.run(first.pool.put("mine", document(nodes=3)))
    first.close()
    second = Served(tmp_path, [("file", "demo")], Bounds(workers=1))
    assert [state.name for state in second.pool.clusters()] == ["file", "mine"]
    state = second.run(second.pool.refresh("mine"))
    assert (state.revision, state.nodes, state.source) == (2, 3, "upload")
    second.close()
