"""Which containers had to be started again, and which of them ran out of memory."""

import pytest

from sources.kubernetes.kube import only_pod, pod
from ullage.model.cluster import Outage

OVER = "2026-01-02T03:04:05Z"
OVER_SECONDS = 1767323045


def outages(**status: object) -> tuple[Outage, ...]:
    return only_pod(pod("p", status={"containerStatuses": [{"name": "main", **status}]})).outages


def ended(reason: str | None = None, code: int = 1) -> dict[str, object]:
    return {"terminated": {"reason": reason, "exitCode": code, "finishedAt": OVER}}


def again(restarts: int, *, killed: bool) -> Outage:
    return Outage("main", restarts, killed, OVER_SECONDS)


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        ({}, ()),
        ({"restartCount": 0, "lastState": {}, "state": {"running": {"startedAt": OVER}}}, ()),
        ({"restartCount": 0, "state": ended("Completed", 0)}, ()),
        ({"restartCount": 3}, (Outage("main", 3),)),
        ({"restartCount": 2, "lastState": ended("Error")}, (again(2, killed=False),)),
        ({"restartCount": 2, "lastState": ended("OOMKilled", 137)}, (again(2, killed=True),)),
        ({"restartCount": 1, "lastState": ended("Error", 137)}, (again(1, killed=True),)),
        ({"restartCount": 1, "lastState": ended("Evicted", 137)}, (again(1, killed=False),)),
        ({"restartCount": 0, "state": ended("OOMKilled", 137)}, (again(0, killed=True),)),
    ],
)
def test_a_container_is_named_when_it_was_started_again_or_killed(status, wanted):
    assert outages(**status) == wanted


def test_a_kill_before_the_last_end_is_not_forgotten():
    found = outages(restartCount=4, state=ended("Error"), lastState=ended("OOMKilled", 137))
    assert found == (again(4, killed=True),)


def test_init_containers_are_looked_at_too():
    status = {"initContainerStatuses": [{"name": "seed", "restartCount": 5}]}
    assert only_pod(pod("p", status=status)).outages == (Outage("seed", 5),)
