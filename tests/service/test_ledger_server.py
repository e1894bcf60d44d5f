"""The ledger of a server: what its refusals mean, and on what a step was planned."""

import pytest

from raw_answers import answering, problem
from ullage.model.ledger import Decision, Expire, Outcome
from ullage.service.ledger_file import ledger_path, submitted, told_path
from ullage.service.ledger_server import ServerPlace, open_server_ledger, server_place
from ullage.sources.server_access import Access, reached, reaching
from ullage.stores.exchange import outcome_message
from ullage.stores.protocol import MovedError, StoreUnavailableError

DONE = Outcome(3, Decision(accepted=True))


def done():
    body = outcome_message(DONE)
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def test_a_ledger_is_that_of_a_server_where_its_name_is_an_address():
    assert server_place("http://a:1/") == ServerPlace("http://a:1")
    assert server_place("ledger.db") is None
    assert told_path(ledger_path("https://a/v1/clusters/b")) == "b"


def test_a_step_tells_which_revision_of_the_cluster_was_read_for_it():
    with answering(done(), done()) as (address, heard), reaching(Access()):
        place = ServerPlace(f"{address}/v1/clusters/demo")
        assert submitted(place, Expire(), at_seconds=1) == DONE
        reached().revisions[address, "demo"] = 7
        assert submitted(place, Expire(), at_seconds=1, key="k", revision=2) == DONE
    assert heard[0].startswith(b"POST /v1/clusters/demo/ledger/commands HTTP/1.1\r\n")
    assert heard[1].startswith(
        b"POST /v1/clusters/demo/ledger/commands?planned=2&clusterRevision=7 HTTP/1.1\r\n"
    )
    assert b"Idempotency-Key: k\r\n" in heard[1]


@pytest.mark.parametrize(("status", "kind"), [(412, MovedError), (503, StoreUnavailableError)])
def test_a_refusal_is_that_of_a_store(status, kind):
    answer = problem(status, '{"title": "t", "what": "it has moved", "remedy": "look again"}')
    with (
        answering(answer) as (address, _),
        open_server_ledger(ServerPlace(f"{address}/v1/clusters/demo")) as ledger,
        pytest.raises(kind, match=r"^it has moved; look again$"),
    ):
        ledger.submit(Expire(), at_seconds=1, revision=1, exact=True)
