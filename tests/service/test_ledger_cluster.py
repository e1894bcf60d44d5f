"""Which ledger is meant, and what the refusals of an API server mean for a step."""

import asyncio
import json

import pytest

from ullage.model.errors import InputError
from ullage.service import ledger_cluster as module
from ullage.service.ledger_cluster import ApiPlans, ClusterPlace, cluster_place, open_ledger
from ullage.sources.kubernetes.api.client import RefusedError
from ullage.sources.kubernetes.api.connection import BrokenError
from ullage.stores.kubernetes_objects import DoubtError, ExistsError
from ullage.stores.protocol import StoreUnavailableError


class Answers:
    """A client whose answers are given, in order; what it was asked is kept."""

    name = "here"

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def request(self, method, path, document=None, *, query=None):
        self.asked.append((method, path, document, query))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self):
        self.asked.append(("close",))


@pytest.mark.parametrize(
    ("named", "place"),
    [
        ("kube", ClusterPlace()),
        ("kube:east", ClusterPlace("east")),
        ("kube:a:b", ClusterPlace("a:b")),
        ("kube:", None),
        ("./kube", None),
        ("kubernetes", None),
        ("", None),
    ],
)
def test_a_cluster_is_named_by_a_word_and_its_context(named, place):
    assert cluster_place(named) == place
    if place is not None:
        assert place.name == named


@pytest.mark.parametrize(
    ("answer", "raised", "said"),
    [
        (RefusedError(409, "AlreadyExists", "there"), ExistsError, "there"),
        (RefusedError(409, "Conflict", "terminating"), DoubtError, "terminating"),
        (RefusedError(500, "InternalError", "etcd"), DoubtError, "etcd"),
        (RefusedError(504, "Timeout", "late"), DoubtError, "late"),
        (RefusedError(429, "TooManyRequests", "busy"), DoubtError, "busy"),
        (BrokenError("reset"), DoubtError, "reset"),
        (RefusedError(404, "NotFound", "no"), StoreUnavailableError, "run ullage kube install --apply"),
        (RefusedError(403, "Forbidden", "no"), StoreUnavailableError, "the right to create plans"),
        (RefusedError(422, "Invalid", "spec.hash"), StoreUnavailableError, "spec.hash"),
    ],
)
def test_a_step_that_was_not_created_is_somebody_elses_in_doubt_or_refused(answer, raised, said):
    with pytest.raises(raised, match=said):
        asyncio.run(ApiPlans(Answers(answer)).create({"kind": "Plan"}))


def test_what_is_not_there_is_nothing_and_need_not_be_deleted():
    absent = RefusedError(404, "NotFound", "no")
    client = Answers(absent, absent, b"{}")
    plans = ApiPlans(client)

    async def ask():
        return await plans.get("a"), await plans.delete("b"), await plans.get("c")

    assert asyncio.run(ask()) == (None, None, b"{}")
    assert [each[:2] for each in client.asked] == [
        ("GET", "/apis/ullage.dev/v1/plans/a"),
        ("DELETE", "/apis/ullage.dev/v1/plans/b"),
        ("GET", "/apis/ullage.dev/v1/plans/c"),
    ]


def page(*items, after=""):
    return json.dumps({"metadata": {"continue": after}, "items": items}).encode()


def test_a_list_is_all_pages_and_one_that_the_server_lost_is_begun_again():
    client = Answers(
        page({"a": 1}, after="t"),
        RefusedError(410, "Expired", "too old"),
        page({"a": 1}, after="u"),
        page({"b": 2}),
    )
    found = asyncio.run(ApiPlans(client).read_all())
    assert [json.loads(each) for each in found] == [{"a": 1}, {"b": 2}]
    assert [each[3].get("continue") for each in client.asked] == [None, "t", None, "u"]


@pytest.mark.parametrize(
    "answers",
    [[RefusedError(410, "Expired", "")] * module.LISTS_MAX, [b"{"]],
    ids=["lost every time", "cut off"],
)
def test_a_list_that_never_comes_is_doubt(answers):
    with pytest.raises(DoubtError):
        asyncio.run(ApiPlans(Answers(*answers)).read_all())


def test_without_a_cluster_there_is_no_ledger_of_one(monkeypatch, tmp_path):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(InputError, match="there is no kubeconfig"):
        open_ledger(ClusterPlace())
