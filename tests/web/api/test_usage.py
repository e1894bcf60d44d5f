"""Use over HTTP: samples that are sent count once, subjects and their points are told, sources observed."""

import time
from pathlib import Path

import pytest

from web_client import started, until_ready

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = ROOT / "examples" / "usage.csv"
BEGIN = 1_767_225_600
CSV = {"Content-Type": "text/csv"}
BASE = "/v1/clusters/demo/usage"
HEAD = b"subject,resource,time,value\n"
SECONDS_MAX = 60

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with started(tmp_path_factory.mktemp("data"), "-c", "demo") as server:
        until_ready(server)
        assert send(server, SAMPLES.read_bytes()).data["points"] == 4200
        yield server


def send(server, body, **headers):
    given = {name.replace("_", "-"): told for name, told in headers.items()}
    return server.ask("POST", f"{BASE}/samples", {**CSV, **given}, body)


def until(look):
    ends = time.monotonic() + SECONDS_MAX
    while time.monotonic() < ends:
        found = look()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("this never came to be")


def test_what_is_sent_again_counts_once(served):
    before = served.ask("GET", f"{BASE}/node/n1").body
    again = send(served, SAMPLES.read_bytes()).data
    assert (again["points"], again["repeated"]) == (0, 4200)
    assert served.ask("GET", f"{BASE}/node/n1").body == before


def test_under_one_key_it_is_answered_as_the_first_time(served):
    table = HEAD + b"node/n2,cpu,1768500000,1\nnode/n2,cpu,1768500060,\n"
    first = send(served, table, Idempotency_Key="mine")
    assert (first.data["points"], first.data["dropped"], first.data["repeated"]) == (2, 1, 0)
    assert send(served, table, Idempotency_Key="mine").body == first.body
    assert send(served, table, Idempotency_Key="another").data["repeated"] == 2


def test_a_key_is_of_one_table(served):
    assert send(served, HEAD + b"node/n4,cpu,1768500000,1\n", Idempotency_Key="of one").status == 200
    other = send(served, HEAD + b"node/n4,cpu,1768500060,1\n", Idempotency_Key="of one")
    assert other.status == 422
    assert "Idempotency-Key" in other.data["title"]


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (b"", "there are no samples"),
        (b"subject,resource\n", "there is no column time"),
        (HEAD + b"node/n5,cpu,1768500000,1\nnode/n5,cpu,never,1\n", ":3"),
        (HEAD + b"shelf/n5,cpu,1768500000,1\n", "shelf"),
        (HEAD + b"node/n5,cpu,99999999999,1\n", ":2"),
        (HEAD, "nothing was observed"),
    ],
)
def test_a_table_that_is_none_is_refused_and_nothing_of_it_is_taken(served, table, told):
    before = served.ask("GET", f"{BASE}/node/n5").body
    reply = send(served, table)
    assert reply.status == 422
    assert reply.headers["content-type"] == "application/problem+json"
    assert told in reply.data["title"]
    assert served.ask("GET", f"{BASE}/node/n5").body == before


def test_a_table_is_bounded_and_a_table(served):
    assert served.ask("POST", f"{BASE}/samples", {"Content-Type": "application/json"}, b"{}").status == 415
    huge = {**CSV, "Content-Length": str((64 << 20) + 1)}
    assert served.ask("POST", f"{BASE}/samples", huge, b"x").status == 413


@pytest.mark.parametrize(
    "subject", ["cluster", "node/n1", "namespace/web", "pod/web/api-0", "workload/web/ReplicaSet/api"]
)
def test_a_subject_has_its_status_and_what_it_was_promised(served, subject):
    told = served.ask("GET", f"{BASE}/{subject}").data
    assert (told["kind"], told["subject"]) == ("ResourceStatus", subject)
    assert {"cpu", "memory"} <= set(told["requests"])
    shown = served.ask("GET", f"{BASE}/show?subject={subject}").data["items"][0]
    assert shown == told


def test_a_subject_that_nobody_observed_is_not_there(served):
    reply = served.ask("GET", f"{BASE}/node/n99")
    assert reply.status == 404
    assert reply.data["status"] == 404
    assert "no observed subject" in reply.data["title"]


def test_a_subject_that_nobody_observed_has_no_points_either(served):
    for subject in ("foo", "node/n99", "workload/web/none"):
        reply = served.ask("GET", f"{BASE}/series?subject={subject}")
        assert reply.status == 404
        assert reply.data["title"] == f"nothing was observed of {subject!r}"
    before = served.ask("GET", f"{BASE}/series?subject=node/n1&from=0&to=9")
    assert not any(each["times"] for each in before.data["series"])
    assert served.ask("GET", f"{BASE}/series?subject=node/n1&measure=none").status == 422


def test_points_are_peaks_and_as_few_as_is_wished(served):
    query = f"subject=node/n1&resource=cpu&from={BEGIN}&to={BEGIN + 14 * 86_400}"
    (every,) = served.ask("GET", f"{BASE}/series?{query}&points=5000").data["series"]
    (few,) = served.ask("GET", f"{BASE}/series?{query}&points=7").data["series"]
    assert len(every["times"]) == 83  # 84 points in two weeks, of which one was dropped
    assert len(few["times"]) <= 7
    assert max(few["values"]) == max(every["values"])
    assert every["times"] == sorted(every["times"])


def test_points_are_of_the_span_that_is_asked_for(served):
    until_seconds = BEGIN + 86_400
    (found,) = served.ask(
        "GET", f"{BASE}/series?subject=node/n1&resource=memory&from={BEGIN}&to={until_seconds}"
    ).data["series"]
    assert found["times"]
    assert all(BEGIN <= at <= until_seconds for at in found["times"])
    assert served.ask("GET", f"{BASE}/series?from=5&to=4").status == 422


def test_the_state_of_a_cluster_and_the_audit_log_tell_what_was_sent(served):
    usage = served.ask("GET", "/v1/clusters/demo").data["usage"]
    assert usage["points"] >= 4200
    assert usage["failure"] == ""
    entries = served.ask("GET", "/v1/audit?limit=100").data["entries"]
    assert entries[0]["action"] == "send samples"


def test_without_observations_series_are_empty_and_questions_say_how_to_get_some(tmp_path):
    with started(tmp_path / "data", "-c", "demo") as server:
        until_ready(server)
        assert server.ask("GET", f"{BASE}/series").data["series"] == []
        assert server.ask("GET", f"{BASE}/node/n1").status == 404
        told = server.ask("GET", "/v1/clusters/demo/forecast").data
        assert "usage/samples" in told["remedy"]
        assert str(tmp_path) not in told["title"]
        assert b"How observations come here" in server.ask("GET", "/usage").body


def test_a_source_is_observed_and_read_again_when_it_has_grown(tmp_path):
    table = tmp_path / "usage.csv"
    table.write_bytes(HEAD + b"node/n1,cpu,1768500000,1\n")
    with started(tmp_path / "data", "-c", "demo", "--usage", str(table), "--observe", "1") as server:
        until_ready(server)

        def usage():
            return server.ask("GET", "/v1/clusters/demo").data["usage"] or {}

        until(lambda: usage().get("points") == 1)
        with table.open("ab") as more:
            more.write(b"node/n1,cpu,1768500060,3\n")
        until(lambda: usage().get("points") == 2)
        assert usage()["source"] == "file"
        told = server.ask("GET", f"{BASE}/node/n1").data["resourceStatus"][0]["usage"][0]["cpu"]
        assert (told["count"], told["max"]) == (2, "3")


def test_a_source_that_fails_is_told_and_tried_again(tmp_path):
    table = tmp_path / "usage.csv"
    with started(tmp_path / "data", "-c", "demo", "--usage", str(table), "--observe", "1") as server:
        until_ready(server)

        def usage():
            return server.ask("GET", "/v1/clusters/demo").data["usage"] or {}

        failure = until(lambda: usage().get("failure"))
        assert str(tmp_path) not in failure
        metrics = server.ask("GET", "/metrics").body.decode()
        assert 'ullage_usage_observer_failing{cluster="demo"} 1.0' in metrics
        table.write_bytes(HEAD + b"node/n1,cpu,1768500000,1\n")
        until(lambda: usage().get("points") == 1)
        assert usage()["failure"] == ""
        code, lines = server.stop()
    assert code == 0
    assert [line["cluster"] for line in lines if line["message"] == "cannot observe"] == ["demo"]
    assert "observes again" in [line["message"] for line in lines]


def test_what_is_committed_is_recorded_with_each_revision_also_without_a_source(tmp_path):
    room = tmp_path / "room.yaml"
    room.write_bytes((ROOT / "examples" / "room.yaml").read_bytes())
    data = tmp_path / "data"
    with started(data, "-c", f"room={room}") as server:
        until_ready(server)

        def measures():
            series = server.ask("GET", "/v1/clusters/room/usage/series").data.get("series", ())
            return {each["measure"] for each in series}

        assert until(measures) == {"committed"}
    assert (data / "clusters" / "room" / "ledger.db").exists()


def test_a_server_that_is_not_to_observe_records_nothing(tmp_path):
    data = tmp_path / "data"
    with started(data, "-c", f"room={ROOT / 'examples' / 'room.yaml'}", "--observe", "0") as server:
        until_ready(server)
        assert server.ask("GET", "/v1/clusters/room").data["usage"] is None
    assert not (data / "clusters" / "room" / "ledger.db").exists()
