"""Events are written behind the work: each once in a while, none that anybody waits for."""

import asyncio

import pytest

from sources.kubernetes.api.raw_server import answer, serving
from ullage.kube import events as events_module
from ullage.kube.events import AGAIN_SECONDS, BUSY_SECONDS, Events, Subject
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.kubeconfig import find_access

POD = Subject("Pod", "p", "a", "u1")


def said(*statuses: int, work) -> list[bytes]:
    """Return what a server was asked, whose answers have these statuses."""

    async def whole() -> list[bytes]:
        async with serving(*[[answer(status, b"{}")] for status in statuses]) as server:
            client = ApiClient(server.access(), tries_max=1)
            now = [0.0]
            events = Events(client, component="ullage-x", identity="r0", now=lambda: now[0])
            task = asyncio.create_task(events.run())
            try:
                await work(events, now)
                await asyncio.wait_for(events.drain(), 10)
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                await client.close()
            return server.asked

    return asyncio.run(whole())


def test_the_same_event_is_written_again_only_after_a_while():
    async def work(events: Events, now: list[float]) -> None:
        events.say(POD, "OverQuota", "beyond its min")
        events.say(POD, "OverQuota", "beyond its min")
        events.say(POD, "OverQuota", "for another reason")
        events.say(POD._replace(name="q"), "OverQuota", "beyond its min")
        now[0] = AGAIN_SECONDS - 1
        events.say(POD, "OverQuota", "beyond its min")
        now[0] = AGAIN_SECONDS
        events.say(POD, "OverQuota", "beyond its min")

    assert len(said(201, work=work)) == 4


def test_an_event_that_is_refused_hinders_no_other():
    async def work(events: Events, _: list[float]) -> None:
        for number in range(5):
            events.say(POD, "OverQuota", f"number {number}")

    asked = said(403, 500, 422, 201, work=work)
    assert sorted(number for number in range(5) for each in asked if b"number %d" % number in each) == [
        0,
        1,
        2,
        3,
        4,
    ]


def test_while_there_is_more_urgent_work_they_are_written_slowly_but_are(monkeypatch):
    waits: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        waits.append(seconds)
        await sleep(0)

    async def work(events: Events, _: list[float]) -> None:
        monkeypatch.setattr(events_module.asyncio, "sleep", noted)
        events.is_busy = lambda: len(waits) < 2
        for number in range(5):
            events.say(POD, "OverQuota", f"number {number}")

    assert len(said(201, work=work)) == 5
    assert waits.count(BUSY_SECONDS) == 2


def test_those_that_come_too_fast_are_dropped_and_counted(monkeypatch):
    monkeypatch.setattr(events_module, "WAITING_MAX", 3)

    async def whole() -> int:
        events = Events(None, component="x", identity="r0")
        for number in range(5):
            events.say(POD, "OverQuota", f"number {number}")
        return events.dropped

    assert asyncio.run(whole()) == 2


@pytest.mark.parametrize(
    ("subject", "namespace"),
    [(POD, ""), (Subject("Quota", "q", "", "u2", "ullage.dev/v1"), "default")],
    ids=["in its namespace", "without one in default"],
)
def test_the_api_server_takes_them(plane, subject, namespace):
    async def work(where: Subject) -> None:
        client = ApiClient(find_access(kubeconfig=str(plane.kubeconfig())))
        events = Events(client, component="ullage-operator", identity="r0")
        task = asyncio.create_task(events.run())
        events.say(where, "OverQuota", "x" * 2000, action="Labelling", is_warning=True)
        await asyncio.wait_for(events.drain(), 10)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await client.close()

    with plane.scratch() as scratch:
        where = subject._replace(namespace=scratch) if subject.namespace else subject
        asyncio.run(work(where))
        found = plane.items(f"/apis/events.k8s.io/v1/namespaces/{namespace or scratch}/events")
        (event,) = [each for each in found if each["regarding"]["name"] == where.name]
        assert (event["reason"], event["type"], event["action"]) == ("OverQuota", "Warning", "Labelling")
        assert event["regarding"]["uid"] == where.uid
        assert (event["reportingController"], len(event["note"])) == ("ullage-operator", 1024)
