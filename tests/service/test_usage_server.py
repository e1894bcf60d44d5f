"""Use that a server has recorded is read as it is there; answers that are none of ours are one line."""

import pytest

from raw_answers import answering, problem
from ullage.engine.capacity.metering import Reading
from ullage.engine.ledger.state import LedgerState
from ullage.engine.usage.book import Stream
from ullage.engine.usage.metering_counters import CounterName
from ullage.model.errors import InputError
from ullage.service.asked import Asked
from ullage.service.ledger_server import ServerPlace
from ullage.service.observed import read_usage
from ullage.service.usage_report_read import UsageReportQuestion, read
from ullage.service.usage_server import recorded_message, server_book, server_meters
from ullage.stores.exchange import state_message
from ullage.stores.usage import Batch, Marks, append
from ullage.stores.usage_exchange import to_book, to_meters, usage_message
from ullage.stores.usage_meters import change_meters
from usage_builders import book, every

NODE = Stream("node/n1", "memory")
NO_DESCRIPTION = problem(404, "{}")
NOTHING = b"".join(usage_message(None))


def sent(data):
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


@pytest.fixture
def ledger(tmp_path):
    """A ledger of a server that has recorded use and readings of a counter."""
    path = tmp_path / "ledger.db"
    append(path, Batch("test", book({NODE[:2]: every(300, [5, 9])}), Marks(0, {}), 1000))
    readings = [Reading(3600, 1), Reading(7200, 6)]
    change_meters(path, lambda meters: meters.add(CounterName("a", "network/x"), readings))
    return path


def told(path, only="", ledger=None):
    """What a server tells that records in a file."""
    asked = Asked("demo", ledger=str(path) if ledger is None else ledger, observed=str(path))
    return b"".join(recorded_message(asked, only))


def test_what_is_wanted_is_asked_for_and_read(ledger):
    answers = (sent(told(ledger, "days")), sent(told(ledger, "meters")))
    with answering(*answers) as (address, heard):
        place = ServerPlace(f"{address}/v1/clusters/demo")
        assert server_book(place).figures(NODE).total == 14
        assert len(server_meters(place).counters) == 1
    assert heard[0].startswith(b"GET /v1/clusters/demo/usage/recorded?only=days HTTP/1.1\r\n")
    assert heard[1].startswith(b"GET /v1/clusters/demo/usage/recorded?only=meters HTTP/1.1\r\n")


def test_a_server_tells_all_unless_only_a_part_is_wanted(ledger):
    for only, days, meters in (("", 1, True), ("days", 1, False), ("meters", 0, True)):
        message = told(ledger, only)
        assert (len(to_book(message)), to_meters(message) is not None) == (days, meters)


def test_meters_of_a_ledger_that_does_not_count_are_not_told(ledger):
    assert to_meters(told(ledger, ledger="kube")) is None
    assert len(to_book(told(ledger, ledger="kube"))) == 1


def test_a_file_that_is_not_there_has_nothing(tmp_path):
    assert told(tmp_path / "none") == NOTHING


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"<html>", "its usage cannot be read: this is no usage"),
        (NOTHING[:-1], "its usage cannot be read: the usage is cut off or damaged"),
        (NOTHING[:9] + b"\2" + NOTHING[10:], "its usage cannot be read: usage of version 2, known is 1"),
    ],
)
def test_an_answer_that_cannot_be_read_is_told_in_one_line(data, what):
    with answering(sent(data), NO_DESCRIPTION) as (address, _), pytest.raises(InputError) as raised:
        read_usage("", Asked("demo", ledger=f"{address}/v1/clusters/demo"))
    assert str(raised.value).startswith(f"{address}: {what}; ask again")


def test_what_a_server_refuses_is_told_as_it_says_it():
    answer = problem(422, '{"title": "t", "what": "600 MiB are recorded", "remedy": "ask the server"}')
    with (
        answering(answer) as (address, _),
        pytest.raises(InputError, match=r"^600 MiB are recorded; ask the server$"),
    ):
        server_book(ServerPlace(f"{address}/v1/clusters/demo"))


def test_where_nothing_is_recorded_it_is_said_how_to_have_it_recorded():
    with (
        answering(sent(NOTHING)) as (address, _),
        pytest.raises(InputError, match=r"demo: nothing was observed; start the server with --usage SOURCE"),
    ):
        read_usage("", Asked("demo", ledger=f"{address}/v1/clusters/demo"))


def reported(*answers):
    """What a report is made from, where a server answers so."""
    state = sent(state_message(LedgerState()))
    with answering(state, *answers) as (address, _):
        return read(Asked("demo", ledger=f"{address}/v1/clusters/demo"), UsageReportQuestion())


def test_counters_alone_are_reported_but_not_where_use_could_not_be_read(ledger):
    meters = sent(told(ledger, "meters"))
    known = reported(meters, sent(NOTHING))
    assert known.book is None
    assert known.meters is not None
    with pytest.raises(InputError, match="too much to do"):
        reported(meters, problem(503, '{"title": "too much to do"}'))
