"""A status is written where it says something else, and nothing is written for ever."""

import asyncio
import json

import pytest

from sources.kubernetes.api.raw_server import RawServer, answer, serving
from ullage.kube.events import Events
from ullage.kube.operator.statuses import NOWHERE, Statuses, Verdict, Wanted, valid
from ullage.kube.stated import Stated
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.object_kinds import NOS, OWN_GROUP

ELASTIC, QUOTA = Kind(NOS, "ElasticQuota"), Kind(OWN_GROUP, "Quota")
HOLDS = Verdict(holds=True, reason="Valid", message="it holds")
FAILS = Verdict(holds=False, reason="Invalid", message="it does not")
SINCE = "2020-01-01T00:00:00Z"


def condition(status: str, reason: str = "Valid", message: str = "it holds") -> dict:
    return {
        "type": "Valid",
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": SINCE,
    }


class Said:
    """Keeps what was said in events."""

    def __init__(self) -> None:
        self.said = []

    def say(self, subject, reason, note, **_) -> None:
        self.said.append((subject.kind, subject.namespace, subject.name, reason, note))


def write(*wanted: Wanted, kept: dict | None = None) -> tuple[list[tuple[str, dict]], list]:
    """Return the patches that were made, and the events that were said."""

    async def whole():
        reply = json.dumps({"status": kept if kept is not None else {"used": {}, "conditions": []}}).encode()
        async with serving([answer(200, reply)]) as server:
            client, said = ApiClient(server.access()), Said()
            statuses = Statuses(client, said)
            for each in wanted:
                differs = statuses.differ(each)
                assert await statuses.write(each) is differs
            await client.close()
            assert statuses.written == len(server.asked)
            return patches(server), said.said

    return asyncio.run(whole())


def patches(server: RawServer) -> list[tuple[str, dict]]:
    found = []
    for request in server.asked:
        head, _, body = request.partition(b"\r\n\r\n")
        assert b"application/merge-patch+json" in head
        found.append((head.split(b" ")[1].decode(), json.loads(body)["status"]))
    return found


CHANGES = {
    "nothing where it says so already": ({"used": {"cpu": "1"}}, {"used": {"cpu": "1"}}, None),
    "nothing where nothing is to be said": ({}, {"used": {}}, None),
    "what is new": ({}, {"used": {"cpu": "1"}}, {"used": {"cpu": "1"}}),
    "what is no more": ({"used": {"cpu": "1"}}, {"used": {}}, {"used": {"cpu": None}}),
    "what is otherwise, and only that": (
        {"used": {"cpu": "1", "memory": "1"}, "borrowed": {"cpu": "1"}},
        {"used": {"cpu": "2"}, "borrowed": {"cpu": "1"}},
        {"used": {"cpu": "2", "memory": None}},
    ),
    "what somebody wrote that is none": ({"used": "much"}, {"used": {"cpu": "1"}}, {"used": {"cpu": "1"}}),
}


@pytest.mark.parametrize(("before", "status", "change"), CHANGES.values(), ids=CHANGES)
def test_what_is_written(before, status, change):
    made, _ = write(Wanted(QUOTA, "q", Stated(before, 1), status))
    assert made == ([] if change is None else [("/apis/ullage.dev/v1/quotas/q/status", change)])


def test_where_an_object_of_a_namespace_is_written():
    made, _ = write(Wanted(ELASTIC, "a/q", NOWHERE, {"used": {"cpu": "1"}}))
    assert made[0][0] == "/apis/nos.nebuly.com/v1alpha1/namespaces/a/elasticquotas/q/status"


def test_a_field_that_a_kind_does_not_know_is_written_once():
    wanted = Wanted(ELASTIC, "a/q", NOWHERE, {"used": {"cpu": "1"}, "conditions": [condition("True")]})
    made, _ = write(wanted, wanted, kept={"used": {"cpu": "1"}})
    assert [set(change) for _, change in made] == [{"used", "conditions"}, {"used"}]


SAID = {
    "nothing of one that is new and holds": ({}, "True", None),
    "nothing of one that holds as before": ({"conditions": [condition("True")]}, "True", None),
    "one that is new and does not hold": ({}, "False", "Invalid"),
    "one that holds no more": ({"conditions": [condition("True")]}, "False", "Invalid"),
    "one that holds again": ({"conditions": [condition("False")]}, "True", "Valid"),
    "nothing of one that fails as before": ({"conditions": [condition("False")]}, "False", None),
}


@pytest.mark.parametrize(("before", "now", "reason"), SAID.values(), ids=SAID)
def test_what_is_said_in_events(before, now, reason):
    status = {"conditions": [condition(now, "Valid" if now == "True" else "Invalid")], "used": {"cpu": "1"}}
    _, said = write(Wanted(ELASTIC, "a/q", Stated(before, 1), status))
    assert said == ([("ElasticQuota", "a", "q", reason, "it holds")] if reason else [])


def test_a_condition_says_since_when():
    (new,) = valid(NOWHERE, HOLDS)
    assert (new["status"], new["reason"], new["lastTransitionTime"] > SINCE) == ("True", "Valid", True)
    before = Stated({"conditions": [condition("True"), {"type": "Other"}, "nonsense"]}, 1)
    assert valid(before, HOLDS) == [{"type": "Other"}, condition("True")]
    turned = valid(before, FAILS)[1]
    assert (turned["status"], turned["reason"], turned["message"]) == ("False", "Invalid", "it does not")
    assert turned["lastTransitionTime"] > SINCE


def test_events_of_statuses_are_those_of_the_process():
    assert Statuses(None, Events(None, component="x", identity="r0")).written == 0
