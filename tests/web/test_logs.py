"""The log: lines of JSON, in order, and never so many that they are in the way."""

import asyncio
import io
import json

from ullage.web import logs
from ullage.web.logs import Log


def said(*messages):
    target = io.StringIO()

    async def work():
        log = Log(target=target)
        for message in messages:
            log.say(message, cluster="demo")
        log.write()
        log.write()

    asyncio.run(work())
    return [json.loads(line) for line in target.getvalue().splitlines()]


def test_a_line_says_when_who_what_and_about_what():
    (line,) = said("read")
    assert list(line) == ["at", "component", "message", "cluster"]
    assert line["message"] == "read"


def test_a_line_is_a_line_whatever_is_in_it():
    assert [line["message"] for line in said("a\nb", "ü\x1b[31m")] == ["a\nb", "ü\x1b[31m"]


def test_where_no_loop_runs_it_is_written_at_once():
    target = io.StringIO()
    Log(target=target).say("starts")
    assert json.loads(target.getvalue())["message"] == "starts"


def test_what_is_too_much_is_counted(monkeypatch):
    monkeypatch.setattr(logs, "WAITING_MAX", 3)
    lines = said(*"abcde")
    assert [line["message"] for line in lines] == ["a", "b", "c", "left out lines: too many came at once"]
    assert lines[-1]["count"] == 2
