"""Two replays of one recording: under the cluster's own quotas and under others."""

import json
from pathlib import Path

import msgspec
import pytest

from ullage.model.errors import InputError
from ullage.service.asked import Asked
from ullage.service.quota_replay import UNDER_NO_QUOTA, Choice, _recording, compared, quota_replay

FILES = Path(__file__).parent.parent / "cli" / "files"
ASKED = Asked(str(FILES / "trace-cluster.yaml"))
TRACE = str(FILES / "trace.csv")
QUOTAS = str(FILES / "trace-quotas.yaml")
GPU = "nvidia.com/gpu"


def comparison(asked=ASKED, **choice):
    chosen = Choice((TRACE,), **choice)
    return compared(_recording(asked, chosen), asked, chosen)


def test_the_same_again_differs_in_nothing():
    found = comparison(quotas=ASKED.cluster)
    assert found.own.outcome == found.other.outcome
    assert found.own.figures == found.other.figures
    assert found.moved() == []


def test_other_quotas_move_what_workloads_wait_and_lose():
    found = comparison(quotas=QUOTAS)
    own, other = found.own.figures, found.other.figures
    assert {name: each.evicted for name, each in own.items()} == {"team-a": 0, "team-b": 6, "team-c": 0}
    assert {name: each.evicted for name, each in other.items()} == {"team-a": 0, "team-b": 1, "team-c": 0}
    assert own["team-b"].delay_seconds > other["team-b"].delay_seconds
    assert own["team-c"].delay_seconds < other["team-c"].delay_seconds
    first, second = found.moved()[0]
    assert (first.key, first.delay_seconds, second.delay_seconds) == ("team-a/a-train", 0, 4 * 3600)


@pytest.mark.parametrize(
    "choice", [{}, {"quotas": QUOTAS}, {"quota_mode": "fair"}, {"run_min_seconds": 3600}]
)
def test_resource_hours_are_conserved(choice):
    found = comparison(**choice)
    for played in filter(None, (found.own, found.other)):
        total = played.total
        assert total.used[GPU] == total.within[GPU] + total.borrowed[GPU]
        assert total.used[GPU] <= found.capacity[GPU] == 8 * played.outcome.end_seconds
        work = 6 * 14400 + 4 * 10800 + 2 * 3600 + 3 * 7200 + 7200 + 2 * 1800
        assert total.used[GPU] - total.lost[GPU] == work


def test_both_are_counted_until_the_same_moment():
    found = comparison(quotas=QUOTAS)
    assert found.own.outcome.end_seconds == found.other.outcome.end_seconds == 8 * 3600


@pytest.fixture
def bare(tmp_path):
    """The cluster without its quotas."""
    path = tmp_path / "bare.yaml"
    path.write_text(Path(ASKED.cluster).read_text(encoding="utf-8").partition("quotas:")[0], encoding="utf-8")
    return Asked(str(path))


def test_without_any_quotas_there_is_nothing_to_play_under(bare):
    with pytest.raises(InputError, match="has no quotas; name some with --quotas FILE"):
        comparison(bare)


def test_without_quotas_of_its_own_workloads_are_grouped_by_the_others(bare):
    found = comparison(bare, quotas=QUOTAS)
    assert list(found.own.figures) == ["team-a", "team-b", "team-c"]
    assert found.own.figures["team-a"].within == {}
    assert found.own.figures["team-a"].used[GPU] > 0


def test_who_is_under_no_quota_is_a_group_of_its_own(tmp_path):
    trace = tmp_path / "trace.csv"
    trace.write_text("name,namespace,start,duration,gpu\nx,elsewhere,0,60,1\n", encoding="utf-8")
    chosen = Choice((str(trace),))
    found = compared(_recording(ASKED, chosen), ASKED, chosen)
    assert found.own.figures[UNDER_NO_QUOTA].used == {GPU: 60}


def test_a_policy_chooses_the_other_mode(tmp_path):
    policy = tmp_path / "fair.yaml"
    policy.write_text(
        "apiVersion: ullage.dev/v1\nkind: Policy\ninherits: kubernetes\ncluster: {quota-mode: fair}\n",
        encoding="utf-8",
    )
    found = comparison(msgspec.structs.replace(ASKED, policy=str(policy)))
    assert set(found.own.accounts.book.modes) == {"nos"}
    assert set(found.other.accounts.book.modes) == {"fair"}
    assert found.other.outcome == comparison(quota_mode="fair").other.outcome


def evictions(played):
    return sum(job.evictions for job in played.outcome.jobs)


def test_each_policy_has_its_own_minimum_run_time_where_none_is_named(tmp_path):
    policy = tmp_path / "patient.yaml"
    policy.write_text(
        "apiVersion: ullage.dev/v1\nkind: Policy\ninherits: kubernetes\ncluster: {quota-run-min: '36000'}\n",
        encoding="utf-8",
    )
    under = msgspec.structs.replace(ASKED, policy=str(policy))
    found = comparison(under)
    assert (evictions(found.own), evictions(found.other)) == (6, 0)
    assert found.other.outcome.jobs == comparison(run_min_seconds=36000).own.outcome.jobs
    assert evictions(comparison(under, run_min_seconds=0).other) == 6


def snapshot(running, asking, nodes=1):
    pods = [
        {"name": name, "namespace": name[0], "node": "n0", "requests": {"cpu": "1"}} for name in running
    ] + [{"name": name, "namespace": name[0], "state": "init", "requests": {"cpu": "1"}} for name in asking]
    return json.dumps(
        {
            "apiVersion": "ullage.dev/v1",
            "kind": "Snapshot",
            "nodes": [{"name": f"n{number}", "capacity": {"cpu": "2"}} for number in range(nodes)],
            "workloads": pods,
            "quotas": [
                {"name": name, "namespaces": [name], "min": {"cpu": amount}}
                for name, amount in (("a", "1"), ("b", "1"))
            ],
        }
    )


@pytest.fixture
def record(tmp_path):
    folder = tmp_path / "record"
    folder.mkdir()
    texts = [snapshot(["b1", "b2"], []), snapshot(["b1", "b2"], ["a1"]), snapshot(["b1"], ["a1"], nodes=2)]
    for number, text in enumerate(texts):
        (folder / f"{number}.json").write_text(text, encoding="utf-8")
    return folder


def test_a_record_of_snapshots_is_played_from_its_first(record):
    chosen = Choice((str(record),), every_seconds=60, run_min_seconds=90)
    found = compared(_recording(Asked(), chosen), Asked(), chosen)
    jobs = {each.key: each for each in found.own.outcome.jobs}
    assert found.own.outcome.end_seconds == 240
    assert (jobs["a/a1"].arrived_seconds, jobs["a/a1"].waited_seconds) == (60, 30)
    assert (jobs["b/b2"].evictions, jobs["b/b2"].lost_seconds, jobs["b/b2"].waited_seconds) == (1, 90, 30)
    assert found.capacity["cpu"] == 2000 * 120 + 4000 * 120
    assert any("60 s apart" in note for note in found.recording.notes)


def test_quotas_that_change_in_a_record_are_told(record):
    path = record / "2.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"min": {"cpu": "1"}', '"min": {"cpu": "0"}', 1))
    recording = _recording(Asked(), Choice((str(record),)))
    assert any(note.startswith("quotas that changed") for note in recording.notes)


@pytest.mark.parametrize(
    ("asked", "choice", "message"),
    [
        (ASKED, Choice(), "nothing to play; name a trace"),
        (ASKED, Choice((TRACE, TRACE)), "more than one trace"),
        (ASKED, Choice((ASKED.cluster,)), "is no trace; with -c name a trace"),
        (ASKED, Choice(("nowhere.csv",)), "nowhere.csv: cannot be read: no such file"),
        (ASKED, Choice((TRACE,), quotas=str(FILES / "catalog.yaml")), "catalog.yaml"),
        (msgspec.structs.replace(ASKED, namespace="nowhere"), Choice((TRACE,)), "no namespace 'nowhere'"),
    ],
)
def test_what_cannot_be_played_is_said(asked, choice, message):
    with pytest.raises(InputError) as caught:
        quota_replay(asked, choice)
    assert message in str(caught.value)


def test_gangs_of_a_trace_and_their_hours_count_as_one(tmp_path):
    trace = tmp_path / "trace.csv"
    trace.write_text(
        "name,namespace,start,duration,gpu,gang\nx,team-a,0,3600,1,train\ny,team-a,0,3600,2,train\n"
        "z,team-a,0,3600,1,\n",
        encoding="utf-8",
    )
    chosen = Choice((str(trace),))
    found = compared(_recording(ASKED, chosen), ASKED, chosen)
    assert sorted(job.key for job in found.own.outcome.jobs) == ["team-a/train", "team-a/z"]
    assert found.own.figures["team-a"].used[GPU] == 4 * 3600


def test_gangs_of_which_a_part_is_enough_are_told(tmp_path):
    trace = tmp_path / "trace.yaml"
    text = (
        "apiVersion: ullage.dev/v1\nkind: Trace\nworkloads:\n- {name: x, replicas: 2, gang: g, gangMin: %d}\n"
    )
    for least, told in ((1, True), (0, False)):
        trace.write_text(text % least, encoding="utf-8")
        recording = _recording(ASKED, Choice((str(trace),)))
        assert [each.key for each in recording.arrivals] == ["g"]
        assert any("a part is enough" in note for note in recording.notes) == told
