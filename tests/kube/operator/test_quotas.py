"""What quotas use and who is over is written where the cluster says something else, and nowhere else."""

import asyncio
import json
import re

import pytest

from sources.kubernetes.api.raw_server import RawServer, answer, serving
from ullage.kube.election import ALONE
from ullage.kube.following import Following
from ullage.kube.operator.quotas import QuotaKeeper
from ullage.kube.operator.statuses import Statuses
from ullage.kube.operator.writing import Writing
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.items import NODE, POD, Kind
from ullage.sources.kubernetes.object_kinds import NOS, OWN_GROUP

ELASTIC, COMPOSITE = Kind(NOS, "ElasticQuota"), Kind(NOS, "CompositeElasticQuota")
QUOTA = Kind(OWN_GROUP, "Quota")
LABEL = "nos.nebuly.com/capacity"
REPLY = {"status": {"used": {}, "conditions": [], "entitlement": {}, "borrowed": {}, "observedGeneration": 1}}


class Said:
    def __init__(self) -> None:
        self.said = []

    def say(self, subject, reason, note, **_) -> None:
        del note
        self.said.append((subject.kind, subject.name, reason))


class World:
    """A cluster as it is followed, and the keeper of its quotas."""

    def __init__(self, server: RawServer) -> None:
        self.server = server
        self.client = ApiClient(server.access(), tries_max=1)
        self.following = Following(server.access(), self.client)
        self.events = Said()
        statuses = Statuses(self.client, self.events)
        self.keeper = QuotaKeeper(self.client, self.following, statuses, Writing(ALONE), self.events)
        amounts = {"allocatable": {"cpu": "16"}, "capacity": {"cpu": "16"}}
        self.put(NODE, "n0", status=amounts)

    def put(self, kind: Kind, key: str, **parts) -> None:
        namespace, _, name = key.rpartition("/")
        metadata = {"name": name, "uid": f"uid-{name}", "generation": 1, **parts.pop("metadata", {})}
        metadata |= {"namespace": namespace} if namespace else {}
        self.following.put(kind, json.dumps({"metadata": metadata, **parts}).encode())

    def drop(self, kind: Kind, key: str) -> None:
        namespace, _, name = key.rpartition("/")
        metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
        self.following.drop(kind, json.dumps({"metadata": metadata}).encode())

    def pod(self, key: str, created: int = 0, **labels: str) -> None:
        requests = {"resources": {"requests": {"cpu": "1"}}}
        metadata = {"labels": labels, "creationTimestamp": f"2020-01-01T00:00:{created:02}Z"}
        self.put(
            POD, key, metadata=metadata, spec={"nodeName": "n0", "containers": [{"name": "c", **requests}]}
        )

    async def look(self) -> dict[str, dict]:
        """Let the keeper look once; return what it has written, by what it was written to."""
        count = len(self.server.asked)
        delta = self.following.take()
        columns = self.following.advance(delta)
        self.keeper.seen(columns, delta)
        await self.keeper.write(columns)
        return dict(map(written, self.server.asked[count:]))


def written(request: bytes) -> tuple[str, dict]:
    head, _, body = request.partition(b"\r\n\r\n")
    path = head.split(b" ")[1].decode()
    found = json.loads(body)
    if path.endswith("/status"):
        return re.sub(r".*/([a-z]+/[^/]+)/status", r"\1", path), found["status"]
    return re.sub(r".*/([a-z]+/[^/]+)", r"\1", path), found["metadata"]


def run(work, *script) -> None:
    async def whole() -> None:
        async with serving(*(script or [[answer(200, json.dumps(REPLY).encode())]])) as server:
            world = World(server)
            await work(world)
            await world.client.close()

    asyncio.run(whole())


def test_labels_and_statuses_are_written_and_then_nothing():
    async def work(world: World) -> None:
        world.put(ELASTIC, "a/q", spec={"min": {"cpu": "1"}})
        world.put(QUOTA, "b", spec={"namespaces": ["b"], "min": {"cpu": "1"}})
        for space in "ab":
            for number in range(2):
                world.pod(f"{space}/{space}{number}", number)
        first = await world.look()
        assert {key: each["labels"][LABEL] for key, each in first.items() if key.startswith("pods/")} == {
            "pods/a0": "in-quota", "pods/a1": "over-quota", "pods/b0": "in-quota", "pods/b1": "over-quota",
        }  # fmt: skip
        assert first["pods/a0"]["uid"] == "uid-a0"
        assert first["elasticquotas/q"]["used"] == {"cpu": "2"}
        assert first["quotas/b"] | {"conditions": ()} == {
            "used": {"cpu": "2"},
            "borrowed": {"cpu": "1"},
            "entitlement": {"cpu": "2"},
            "observedGeneration": 1,
            "conditions": (),
        }
        assert world.events.said == [
            ("Pod", "a1", "OverQuota"), ("Pod", "b1", "OverQuota"),
            ("ElasticQuota", "q", "Borrowing"), ("Quota", "b", "Borrowing"),
        ]  # fmt: skip
        for space in "ab":
            for number, label in enumerate(("in-quota", "over-quota")):
                world.pod(f"{space}/{space}{number}", number, **{LABEL: label})
        world.put(ELASTIC, "a/q", spec={"min": {"cpu": "1"}}, status=first["elasticquotas/q"])
        world.put(QUOTA, "b", spec={"namespaces": ["b"], "min": {"cpu": "1"}}, status=first["quotas/b"])
        world.keeper._pace._next = 0
        assert await world.look() == {}
        assert world.keeper.wait_seconds is None
        assert [each.quota.name for each in world.keeper.figures] == ["a/q", "b"]

    run(work)


def test_a_quota_that_holds_says_what_is_warned_of_and_numbers_follow_now_and_then():
    """In the words of check; one node would otherwise have all quotas written anew at once."""

    def message(cpus: int) -> str:
        guaranteed = "quotas guarantee 1000 cpu in all, the cluster can promise"
        return f"{guaranteed} {cpus}; lower their min by {1000 - cpus}, or add nodes"

    async def work(world: World) -> None:
        spec = {"namespaces": ["b"], "min": {"cpu": "1000"}}
        world.put(QUOTA, "b", spec=spec)
        world.put(QUOTA, "c", spec={"namespaces": ["c"], "min": {"memory": "0"}})
        found = await world.look()
        told = {key: each["conditions"][0] for key, each in found.items()}
        assert {key: (each["status"], each["reason"]) for key, each in told.items()} == {
            "quotas/b": ("True", "Warned"), "quotas/c": ("True", "Valid"),
        }  # fmt: skip
        assert told["quotas/b"]["message"] == message(16)
        assert not world.events.said
        for name, each in found.items():
            kept = spec if name == "quotas/b" else {"namespaces": ["c"], "min": {"memory": "0"}}
            world.put(QUOTA, name.removeprefix("quotas/"), spec=kept, status=each)
        world.put(NODE, "n1", status={"allocatable": {"cpu": "4"}, "capacity": {"cpu": "4"}})
        world.keeper._pace._next = 0
        assert await world.look() == {}
        assert world.keeper.wait_seconds > 1
        world.keeper._pace._next = world.keeper._slow_pace._next = 0
        assert (await world.look())["quotas/b"]["conditions"][0]["message"] == message(20)

    run(work)


def test_what_is_wrong_stands_before_what_is_warned_of():
    async def work(world: World) -> None:
        world.put(QUOTA, "b", spec={"namespaces": ["b"], "min": {"cpu": "99"}, "max": {"cpu": "9"}})
        found = (await world.look())["quotas/b"]["conditions"][0]
        assert (found["status"], found["reason"]) == ("False", "Invalid")
        assert found["message"].startswith("quota b: cpu has min 99 above max 9; lower min or raise max")

    run(work)


def test_a_quota_that_does_not_hold_says_why_and_counts_nothing():
    async def work(world: World) -> None:
        world.put(QUOTA, "b", spec={"namespaces": ["b"], "min": {"cpu": "1"}})
        world.put(QUOTA, "c", spec={"namespaces": ["b"], "min": {"cpu": "1"}}, status={"used": {"cpu": "1"}})
        world.put(QUOTA, "d", spec={"namespaces": ["d"], "min": {"cpu": "much"}})
        found = await world.look()
        verdicts = {key: each["conditions"][0]["status"] for key, each in found.items()}
        assert verdicts == {"quotas/b": "True", "quotas/c": "False", "quotas/d": "False"}
        assert found["quotas/c"]["used"] == {"cpu": "0"}
        assert "b" in found["quotas/c"]["conditions"][0]["message"]
        assert found["quotas/d"]["conditions"][0]["reason"] == "Unreadable"
        assert {("Quota", "c", "Invalid"), ("Quota", "d", "Unreadable")} == set(world.events.said)

    run(work)


def test_a_composite_of_the_same_name_is_told_its_own():
    async def work(world: World) -> None:
        world.put(ELASTIC, "a/q", spec={"min": {"cpu": "5"}})
        world.put(COMPOSITE, "a/q", spec={"namespaces": ["b"], "min": {"cpu": "5"}})
        world.pod("a/a0")
        world.pod("b/b0")
        world.pod("b/b1")
        found = await world.look()
        assert found["elasticquotas/q"]["used"] == {"cpu": "1"}
        assert found["compositeelasticquotas/q"]["used"] == {"cpu": "2"}

    run(work)


def test_an_entitlement_that_alone_has_changed_is_left_for_later():
    async def work(world: World) -> None:
        spec = {"namespaces": ["b"], "min": {"cpu": "1"}}
        world.put(QUOTA, "b", spec=spec)
        world.put(QUOTA, "c", spec={**spec, "namespaces": ["c"], "min": {"cpu": "9"}})
        world.pod("b/b0")
        first = await world.look()
        stated = {name: {**first[f"quotas/{name}"], "entitlement": {"cpu": "77"}} for name in "bc"}
        world.put(QUOTA, "b", spec=spec, status=stated["b"])
        world.put(QUOTA, "c", spec={**spec, "namespaces": ["c"], "min": {"cpu": "9"}}, status=stated["c"])
        world.pod("b/b0", **{LABEL: "in-quota"})
        world.keeper._pace._next = 0
        assert await world.look() == {}
        assert world.keeper.wait_seconds > 5
        world.pod("b/b1", **{LABEL: "over-quota"})
        world.pod("b/b0", **{LABEL: "in-quota"})
        world.keeper._pace._next = 0
        changed = await world.look()
        assert set(changed) == {"quotas/b"}
        assert changed["quotas/b"]["entitlement"] == {"cpu": "2"}
        world.keeper._pace._next = world.keeper._slow_pace._next = 0
        assert "quotas/c" in await world.look()

    run(work)


@pytest.mark.parametrize("status", [403, 409])
def test_what_fails_or_meets_a_conflict_is_tried_again_a_little_later(status):
    async def work(world: World) -> None:
        world.put(ELASTIC, "a/q", spec={"min": {"cpu": "1"}})
        world.pod("a/a0")
        assert set(await world.look()) == {"pods/a0", "elasticquotas/q"}
        assert world.keeper.labels_written == 0
        assert 0 < world.keeper.wait_seconds <= 5
        assert await world.look() == {}
        world.keeper._again._next = world.keeper._pace._next = 0
        assert set(await world.look()) == {"pods/a0", "elasticquotas/q"}
        assert world.keeper.labels_written == 1
        world.pod("a/a0", **{LABEL: "in-quota"})
        assert await world.look() == {}
        assert world.keeper.wait_seconds is None

    ok = [answer(200, json.dumps(REPLY).encode())]
    run(work, [answer(status, b"{}")], [answer(status, b"{}")], ok)


def test_a_pod_under_no_quota_loses_its_label():
    async def work(world: World) -> None:
        world.pod("free/p", **{LABEL: "in-quota"})
        assert (await world.look())["pods/p"]["labels"] == {LABEL: None}
        assert not world.events.said

    run(work)


def test_a_label_that_is_taken_away_right_after_it_was_written_is_written_again():
    """The pod is as it was before, as if nothing had happened to it."""

    async def work(world: World) -> None:
        world.put(ELASTIC, "a/q", spec={"min": {"cpu": "1"}})
        world.pod("a/a0")
        assert "pods/a0" in await world.look()
        world.pod("a/a0", **{LABEL: "in-quota"})
        world.pod("a/a0")
        assert await world.look() == {}
        assert 0 < world.keeper.wait_seconds <= 5
        world.keeper._again._next = 0
        assert (await world.look())["pods/a0"]["labels"] == {LABEL: "in-quota"}
        world.pod("a/a0", **{LABEL: "in-quota"})
        assert await world.look() == {}
        assert not world.keeper._unconfirmed

    run(work)


def test_a_label_that_is_written_all_the_time_does_not_put_off_the_others():
    async def work(world: World) -> None:
        world.put(ELASTIC, "a/q", spec={"min": {"cpu": "9"}})
        world.pod("a/a0")
        await world.look()
        due = world.keeper._again._next
        for number in range(1, 4):
            world.pod(f"a/a{number}", number)
            assert f"pods/a{number}" in await world.look()
        assert world.keeper._again._next == due

    run(work)


def test_what_was_written_is_forgotten_once_it_is_right_or_its_pod_is_gone():
    async def work(world: World) -> None:
        world.put(ELASTIC, "a/q", spec={"min": {"cpu": "9"}})
        world.pod("a/a0")
        world.pod("a/a1")
        await world.look()
        assert set(world.keeper._unconfirmed) == {"a/a0", "a/a1"}
        world.drop(POD, "a/a1")
        world.drop(ELASTIC, "a/q")
        await world.look()
        assert set(world.keeper._unconfirmed) == {"a/a0"}
        world.keeper._again._next = 0
        assert (await world.look())["pods/a0"]["labels"] == {LABEL: None}
        world.keeper._again._next = 0
        assert await world.look() == {}
        assert not world.keeper._unconfirmed

    run(work)


def test_a_status_that_is_taken_away_right_after_it_was_written_is_written_again():
    async def work(world: World) -> None:
        spec = {"min": {"cpu": "1"}}
        world.put(ELASTIC, "a/q", spec=spec)
        first = await world.look()
        world.put(ELASTIC, "a/q", spec=spec, status=first["elasticquotas/q"])
        world.put(ELASTIC, "a/q", spec=spec)
        world.keeper._pace._next = 0
        again = await world.look()
        assert again["elasticquotas/q"]["used"] == first["elasticquotas/q"]["used"] == {"cpu": "0"}

    run(work)
