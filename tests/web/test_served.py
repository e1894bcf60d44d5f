"""A cluster is read again whatever went wrong before, and says what did."""

import asyncio
import os
from contextlib import closing

import pytest

from ullage.web.http import Problem
from ullage.web.served import Bounds
from ullage.web.work import Work
from web.pools import Served, document, until


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source.json"
    path.write_bytes(document("first"))
    return path


def serve(tmp_path, source, refresh_seconds=0.0):
    return closing(
        Served(tmp_path, [("file", str(source))], Bounds(workers=1, refresh_seconds=refresh_seconds))
    )


def record(tmp_path):
    folder = tmp_path / "clusters" / "file"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "cluster.json"


def cannot_be_written(path):
    path.symlink_to(path.parent / "absent" / "cluster.json")


def cannot_be_opened(path):
    path.mkdir()


def is_damaged(path):
    path.write_bytes(b"{")


@pytest.mark.parametrize(
    ("spoil", "mend", "why"),
    [
        (cannot_be_written, os.unlink, "cannot be written: no such file"),
        (cannot_be_opened, os.rmdir, "is a directory"),
        (is_damaged, os.unlink, "cluster.json is damaged"),
    ],
)
def test_a_record_that_cannot_be_kept_is_told_and_reading_goes_on(tmp_path, source, spoil, mend, why):
    spoil(record(tmp_path))
    with serve(tmp_path, source) as served:
        served.run(until(lambda: served.pool.state("file").failure))
        state = served.pool.state("file")
        assert (state.state, why in state.failure) == ("failed", True), state.failure
        assert str(tmp_path) not in state.failure
        assert [heard.kind for heard in served.heard] == ["failure"]
        mend(record(tmp_path))
        served.run(until(lambda: served.pool.state("file").state == "ready"))
        assert served.pool.state("file").failure == ""


def test_who_cannot_hear_of_a_failure_does_not_end_reading(tmp_path, source, capsys):
    source.unlink()

    def deaf(heard):
        raise RuntimeError(f"cannot hear of a {heard.kind}")

    with serve(tmp_path, source) as served:
        served.pool.hear(deaf)
        served.run(until(lambda: "defect" in served.pool.state("file").failure))
        assert served.pool.state("file").state == "failed"
        source.write_bytes(document("first"))
        served.run(until(lambda: served.pool.state("file").state == "ready"))
        served.pool._log.write()
    assert "RuntimeError: cannot hear of a failure" in capsys.readouterr().err


@pytest.mark.slow
def test_a_document_that_cannot_take_its_place_is_refused_and_counts_when_it_comes_again(tmp_path, source):
    with serve(tmp_path, source) as served:
        served.run(served.pool.put("mine", document(nodes=2)))
        place = tmp_path / "clusters" / "mine" / "document"
        place.unlink()
        (place / "in the way").mkdir(parents=True)
        with pytest.raises(Problem) as refused:
            served.run(served.pool.put("mine", document(nodes=3)))
        assert (refused.value.status, "is a directory" in refused.value.detail) == (503, True)
        assert served.pool.state("mine").nodes == 2
        (place / "in the way").rmdir()
        place.rmdir()
        assert served.run(served.pool.put("mine", document(nodes=3))).nodes == 3


def test_a_long_question_of_one_client_keeps_no_other_client_waiting(tmp_path):
    endless = Work("question/check", {"nodesLost": 3})
    served = Served(tmp_path, [("large", "synthetic:nodes=1000,seed=3")], Bounds())
    with closing(served):
        served.run(served.pool.refresh("large"))
        served.ready("large")

        async def asked():
            first = asyncio.create_task(served.ask("large", endless, client="anne", seconds_max=600.0))
            await until(lambda: served.cluster("large")._line._long_running["anne"])
            other = await served.ask("large", client="boris", is_long=True, seconds_max=600.0)
            was_there = not first.done()
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            return other.status, was_there

        assert served.run(asked()) == (200, True)
        served.ready("large")
