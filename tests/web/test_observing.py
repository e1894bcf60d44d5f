"""When use is observed: with backoff where a source fails, and what may be told of it."""

import asyncio
from types import SimpleNamespace

import pytest

from ullage.service.usage_records import Recorded
from ullage.web.http import Problem
from ullage.web.observing import RETRY_SECONDS, Observer, kind_of_source, stamp_of
from web_client import until


class Around:
    """What an observer has around it: each reading is answered as the test says."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.done, self.states, self.lines = [], [], []
        self.revision = 0

    async def do(self, _cluster, name, _seconds, _body=b""):
        self.done.append(name)
        await asyncio.sleep(0)
        found = self.answers.pop(0) if self.answers else Recorded()
        if isinstance(found, Exception):
            raise found
        return found

    def ledger_revision(self, _):
        return self.revision

    def note(self, _, state):
        self.states.append(state)

    def say(self, message, **more):
        self.lines.append(SimpleNamespace(message=message, **more))


def looked(observer, times):
    async def story():
        return [await observer._look() for _ in range(times)]

    return asyncio.run(story())


def observer(around, source="prometheus:http://secret:9090", seconds=1):
    return Observer("c", source, seconds, around)


def test_a_source_that_fails_is_read_later_and_later_and_as_usual_once_it_answers():
    gone = Problem(422, "gone")
    around = Around(*[gone] * 8, Recorded(points=1))
    waits = looked(observer(around), 10)
    assert waits[:8] == [*RETRY_SECONDS, RETRY_SECONDS[-1], RETRY_SECONDS[-1]]
    assert waits[8:] == [1, 1]
    assert [line.message for line in around.lines] == ["cannot observe", "observes again"]


def test_a_source_that_is_read_seldom_is_not_read_more_often_because_it_fails():
    assert looked(observer(Around(Problem(422, "gone")), seconds=120), 1) == [120]


def test_what_is_told_of_a_failure_has_no_address():
    around = Around(Problem(422, "x", what="http://secret:9090 does not answer"))
    looked(observer(around), 1)
    assert around.states[-1].failure == "prometheus does not answer"


def test_a_defect_of_ours_is_no_end_of_observing():
    around = Around(RuntimeError("oh"), Recorded(points=2, last_seconds=5))
    looked(observer(around), 2)
    assert around.states[-1].failure == ""
    assert (around.states[-1].points, around.states[-1].last_seconds) == (2, 5)


def test_a_file_that_has_not_changed_is_not_read_again(tmp_path):
    table = tmp_path / "usage.csv"
    table.write_text("one", encoding="utf-8")
    around = Around()
    found = observer(around, str(table))
    looked(found, 2)
    assert around.done == ["source"]
    table.write_text("another", encoding="utf-8")
    looked(found, 1)
    assert around.done == ["source", "source"]


def test_what_is_committed_is_recorded_with_each_revision_and_step_of_the_ledger():
    async def story():
        around = Around()
        found = observer(around, source="", seconds=0.01)
        found.start()
        await until(lambda: around.done == ["committed"])
        await asyncio.sleep(0.1)
        assert around.done == ["committed"]
        around.revision = 1
        await until(lambda: len(around.done) == 2)
        found.start()
        await until(lambda: len(around.done) == 3)
        await found.stop()

    asyncio.run(story())


def test_a_cluster_that_never_changes_commits_nothing():
    async def story():
        around = Around()
        found = observer(around, source="", seconds=0.01)
        found.start(commits=False)
        await asyncio.sleep(0.1)
        await found.stop()
        assert around.done == []

    asyncio.run(story())


def test_those_who_send_too_much_at_once_are_told_to_come_again():
    async def story():
        found = observer(Around(), source="")
        found._sending = 4
        with pytest.raises(Problem) as refused:
            await found.send(b"")
        assert refused.value.status == 503

    asyncio.run(story())


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("", ""),
        ("metrics", "metrics"),
        ("host", "host"),
        ("prometheus:http://x", "prometheus"),
        ("/a.csv", "file"),
    ],
)
def test_a_source_is_told_by_its_kind(source, kind):
    assert kind_of_source(source) == kind
    assert stamp_of(source) == ()
