"""The report of a replay: hours as quantities, results by delay, everything that differs."""

from pathlib import Path

import pytest

from ullage.engine.quota.replay_figures import Figures
from ullage.model.resources import ResourceTypes
from ullage.service.asked import Asked
from ullage.service.quota_replay import Choice, quota_replay
from ullage.service.quota_replay_report import hours_text, result_of

TYPES = ResourceTypes()


@pytest.fixture
def files():
    return Path(__file__).parent.parent / "cli" / "files"


@pytest.mark.parametrize(
    ("resource", "seconds", "exact", "readable"),
    [
        ("nvidia.com/gpu", 2 * 5400, "3", "3"),
        ("nvidia.com/gpu", 1800, "500m", "500m"),
        ("nvidia.com/gpu", -1800, "-500m", "-500m"),
        ("cpu", 2500 * 3600, "2500m", "2.5"),
        ("memory", (3 << 30) * 3600, "3Gi", "3Gi"),
        ("nvidia.com/gpu", -1, "0", "0"),
    ],
)
def test_resource_seconds_in_hours(resource, seconds, exact, readable):
    assert hours_text(TYPES, resource, seconds) == exact
    assert hours_text(TYPES, resource, seconds, readable=True) == readable


def figures(delay):
    return Figures(*[0] * 8, delay, {}, {}, {}, {})


@pytest.mark.parametrize(("own", "other", "result"), [(5, 4, "won"), (4, 5, "lost"), (5, 5, "same")])
def test_who_waits_and_loses_less_has_won(own, other, result):
    assert result_of(figures(own), figures(other)) == result


def test_every_number_of_the_example(files):
    asked = Asked(str(files / "trace-cluster.yaml"))
    data = quota_replay(asked, Choice((str(files / "trace.csv"),), str(files / "trace-quotas.yaml"))).data()
    assert (data["kind"], data["endSeconds"], data["workloads"]) == ("QuotaReplayReport", 28800, 12)
    assert data["capacityHours"] == {"nvidia.com/gpu": "64"}
    team_b = data["quotas"][1]
    assert (team_b["quota"], team_b["result"], team_b["workloads"]) == ("team-b", "won", 7)
    assert (team_b["own"]["usedHours"], team_b["other"]["usedHours"]) == (
        {"nvidia.com/gpu": "33500m"},
        {"nvidia.com/gpu": "29"},
    )
    assert data["total"]["own"]["evicted"] == 6
    assert data["differing"][0] == {
        "workload": "team-a/a-train",
        "ownDelaySeconds": 0,
        "otherDelaySeconds": 14400,
        "ownEvictions": 0,
        "otherEvictions": 0,
    }


def test_alone_there_is_nothing_to_compare(files):
    asked = Asked(str(files / "trace-cluster.yaml"))
    data = quota_replay(asked, Choice((str(files / "trace.csv"),))).data()
    assert (data["other"], data["differing"]) == ("", ())
    assert "other" not in data["quotas"][0]
