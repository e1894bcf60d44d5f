"""Promises on a cluster that is held: as if it had been read with its ledger this very moment."""

import msgspec
import pytest

from builders import cluster, entry, node, workload
from ullage.model.ledger import Capacity, Hold, Release, Reserve, Supply, Together
from ullage.model.resources import Resources
from ullage.service.asked import Asked, read_everybody, read_to_hold, read_whole
from ullage.service.held import held, holding
from ullage.service.ledger_file import submitted
from ullage.sources.own_text import snapshot_text


def written(tmp_path, *reservations, **fields):
    snapshot = cluster(
        node("n1", cpu="8", memory="8Gi").holding(workload("a/b", cpu="2")), *reservations, name="ours"
    )
    path = tmp_path / "ours.json"
    path.write_bytes(snapshot_text(msgspec.structs.replace(snapshot, **fields), "json"))
    return path


def reserve(path, name, cpu_milli, *, until=1000, at=100):
    supply = Supply((Capacity("node/n1", Resources({"cpu": 8000})),))
    hold = Reserve(name, f"team/{name}", until, (Hold("r1", "node/n1", Resources({"cpu": cpu_milli})),))
    assert submitted(path, Together((supply, hold)), at_seconds=at, create=True).decision.accepted


def promised_milli(asked):
    return sum(
        each.requests.of("cpu") for each in read_everybody(asked).workloads if each.namespace == "team"
    )


@pytest.fixture
def at(monkeypatch):
    return lambda seconds: monkeypatch.setenv("ULLAGE_NOW", str(seconds))


def test_a_step_of_the_ledger_counts_in_the_next_question(tmp_path, at):
    at(100)
    ledger = tmp_path / "ledger.db"
    reserve(ledger, "one", 1000)
    with holding([read_to_hold("x", Asked(str(written(tmp_path))))]):
        asked = Asked("x", ledger=str(ledger))
        assert promised_milli(asked) == 1000
        first = read_everybody(asked)
        assert read_everybody(asked) is first
        reserve(ledger, "two", 500)
        assert promised_milli(asked) == 1500
        assert submitted(ledger, Release("one"), at_seconds=100).decision.accepted
        assert promised_milli(asked) == 500
        assert promised_milli(Asked("x")) == 0


def test_a_promise_ends_when_its_time_has_come_though_nobody_changed_anything(tmp_path, at):
    ledger = tmp_path / "ledger.db"
    reserve(ledger, "one", 1000, until=200)
    reserve(ledger, "two", 500, until=300)
    with holding([read_to_hold("x", Asked(str(written(tmp_path))))]):
        asked = Asked("x", ledger=str(ledger))
        found = []
        for seconds in (100, 199, 200, 299, 300, 150):
            at(seconds)
            found.append(promised_milli(asked))
    assert found == [1500, 1500, 500, 500, 0, 1500]


def test_reservations_of_the_cluster_itself_end_too(tmp_path, at):
    own = entry("mine", "node/n1", cpu="1", owner="team/x", expires_seconds=200)
    path = written(tmp_path, reservations=cluster(node("n")).reservations.changed([own]))
    with holding([read_to_hold("x", Asked(str(path)))]):
        found = []
        for seconds in (100, 199, 200):
            at(seconds)
            found.append(promised_milli(Asked("x")))
    assert found == [1000, 1000, 0]


def test_a_held_cluster_with_promises_is_as_one_that_is_read(tmp_path, at):
    at(100)
    ledger, path = tmp_path / "ledger.db", written(tmp_path)
    for number in range(3):
        reserve(ledger, f"r{number}", 500, until=150 + number)
    with holding([read_to_hold("x", Asked(str(path)))]):
        for seconds in (100, 151, 160):
            at(seconds)
            asked = Asked("x", ledger=str(ledger))
            assert read_everybody(asked) == read_everybody(msgspec.structs.replace(asked, cluster=str(path)))


def test_promises_under_a_policy_file_are_counted_and_not_kept(tmp_path, at):
    at(100)
    ledger = tmp_path / "ledger.db"
    reserve(ledger, "one", 1000)
    rules = tmp_path / "policy.yaml"
    rules.write_text(
        "apiVersion: ullage.dev/v1\nkind: Policy\ncluster: {memory-ratio: 2}\n", encoding="utf-8"
    )
    with holding([read_to_hold("x", Asked(str(written(tmp_path))))]):
        asked = Asked("x", policy=str(rules), ledger=str(ledger))
        assert promised_milli(asked) == 1000
        assert held("x").variant(read_everybody(asked)) is None


def test_without_promises_it_is_the_cluster_itself(tmp_path):
    with holding([read_to_hold("x", Asked(str(written(tmp_path))))]):
        assert read_everybody(Asked("x")) is read_whole(Asked("x"))
