"""What kube-scheduler is told of nodes, scores, victims and bindings."""

import asyncio
import json

import pytest

from ullage.engine.placement.scheduling import Bound
from ullage.kube.extender import answers as module
from ullage.kube.extender.answers import NEEDS_NAMES, NOT_SEEN, Answers, Leader
from ullage.kube.scheduler.actions import NotDoneError
from ullage.kube.serving import Served

UID = "uid-p"
GROUP = {"scheduling.x-k8s.io/pod-group": "g"}


async def never(key: str, uid: str, node: str) -> None:
    raise NotDoneError(f"{key} {uid} {node}")


def asked(name: str = "p", *nodes: str, uid: str = "") -> bytes:
    metadata = {"name": name, "namespace": "a", "uid": uid or f"uid-{name}"}
    return json.dumps({"Pod": {"metadata": metadata}, "NodeNames": list(nodes)}).encode()


@pytest.fixture
def made_way() -> list[str]:
    return []


@pytest.fixture
def answers(watched, judging, made_way) -> Answers:
    return Answers(watched.outlook, Leader(judging, made_way.append, never))


@pytest.fixture
def told(answers):

    def ask(verb: str, body: bytes):
        return asyncio.run(getattr(answers, verb)(body))

    return ask


def test_nodes_that_take_a_pod_are_named_and_the_others_with_their_reason(watched, told):
    watched.node("n1", cpu="1")
    watched.node("n2", cpu="4")
    watched.pod("a/p", cpu="2")
    found = told("filter", asked("p", "n1", "n2", "n9"))
    assert found.node_names == ["n2"]
    assert found.failed_and_unresolvable_nodes == {
        "n1": "size of the node (cpu)",
        "n9": "the node is not known yet",
    }
    assert not found.error


def test_only_the_nodes_that_were_asked_about_are_answered(watched, told):
    for name in ("n1", "n2"):
        watched.node(name)
    watched.pod("a/p", cpu="1")
    assert told("filter", asked("p", "n1")).node_names == ["n1"]


def test_devices_by_resource_claims_are_for_kube_scheduler_to_allocate(watched, told):
    watched.node("n1", cpu="4")
    watched.pod("a/p", cpu="1", spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}]})
    assert told("filter", asked("p", "n1")).node_names == ["n1"]


def test_a_pod_that_its_quota_does_not_let_in_fits_nowhere(watched, told):
    for name in ("n1", "n2"):
        watched.node(name)
    watched.quota("a/q", cpu="1")
    watched.pod("a/p", cpu="2")
    found = told("filter", asked("p", "n1", "n2"))
    assert found.node_names == []
    words = "all quotas together would use more than their mins, 1 of cpu beyond 1"
    assert found.failed_and_unresolvable_nodes == dict.fromkeys(("n1", "n2"), words)


def test_whole_nodes_cannot_be_asked_about(told):
    body = json.dumps({"Pod": {"metadata": {"name": "p", "uid": UID}}, "Nodes": {"items": []}}).encode()
    assert told("filter", body).error == NEEDS_NAMES


def test_a_pod_that_the_watch_does_not_show_is_waited_for(watched, told, monkeypatch):
    monkeypatch.setattr(module, "SEEN_SECONDS_MAX", 0.02)
    watched.node("n1")
    watched.pod("a/p", cpu="1", uid="older")
    assert told("filter", asked("p", "n1")).error == NOT_SEEN
    assert [each.score for each in told("prioritize", asked("p", "n1"))] == [0]


def test_a_pod_that_is_being_bound_fits_only_there(watched, told):
    for name in ("n1", "n2"):
        watched.node(name)
    watched.pod("a/p", cpu="1", on="n2")
    found = told("filter", asked("p", "n1", "n2"))
    assert found.node_names == ["n2"]
    assert found.failed_and_unresolvable_nodes == {"n1": "it is being bound to n2"}


def test_scores_are_between_0_and_10_and_the_best_node_has_10(watched, told):
    watched.node("n1")
    watched.node("n2")
    watched.pod("a/old", cpu="3", on="n1")
    watched.pod("a/p", cpu="1", memory="1Gi")
    scores = {each.host: each.score for each in told("prioritize", asked("p", "n1", "n2"))}
    assert scores["n2"] == 10
    assert 0 <= scores["n1"] < 10


class TestPreempt:
    """Whoever goes is chosen by the rules of quotas."""

    def victims(self, told, name: str) -> dict[str, list[str]]:
        found = told("preempt", asked(name)).node_name_to_meta_victims
        return {node: [each.uid for each in victims.pods] for node, victims in found.items()}

    def test_who_is_over_quota_goes_for_one_within_its_own(self, watched, told):
        watched.node("n1", cpu="2")
        watched.quota("a/q", cpu="1")
        watched.quota("b/q", cpu="1")
        for name in ("b1", "b2"):
            watched.pod(f"b/{name}", cpu="1", on="n1")
        watched.pod("a/p", cpu="1")
        assert self.victims(told, "p") in ({"n1": ["uid-b2"]}, {"n1": ["uid-b1"]})

    def test_less_important_ones_go_for_one_whose_devices_others_allocate(self, watched, told):
        watched.node("n1", cpu="1")
        watched.pod("a/low", cpu="1", on="n1")
        claims = [{"name": "gpu", "resourceClaimName": "one"}]
        watched.pod("a/p", cpu="1", spec={"priority": 10, "resourceClaims": claims})
        assert self.victims(told, "p") == {"n1": ["uid-low"]}

    def test_nobody_goes_for_one_that_its_quota_does_not_let_in(self, watched, told):
        watched.node("n1", cpu="2")
        watched.quota("a/q", cpu="1")
        for name in ("a1", "a2"):
            watched.pod(f"a/{name}", cpu="1", on="n1", spec={"priority": 0})
        watched.pod("a/p", cpu="1")
        assert self.victims(told, "p") == {}

    def test_less_important_ones_go_where_there_are_no_quotas(self, watched, told):
        watched.node("n1", cpu="1")
        watched.pod("a/low", cpu="1", on="n1")
        watched.pod("a/p", cpu="1", spec={"priority": 9})
        assert self.victims(told, "p") == {"n1": ["uid-low"]}

    def test_whoever_is_on_the_way_out_is_not_evicted_again(self, watched, told):
        watched.node("n1", cpu="1")
        watched.pod("a/low", cpu="1", on="n1")
        watched.pod("a/p", cpu="1", spec={"priority": 9})
        watched.outlook.catch_up()
        watched.outlook.evict("a/low")
        assert self.victims(told, "p") == {}

    def test_who_is_only_being_bound_makes_way_and_is_not_evicted(self, watched, told, made_way):
        watched.node("n1", cpu="1")
        watched.pod("a/low", cpu="1")
        watched.pod("a/p", cpu="1", spec={"priority": 9})
        watched.outlook.catch_up()
        watched.outlook.bind(watched.outlook.pod("a/low"), Bound("a/low", "n1"))
        assert self.victims(told, "p") == {}
        assert made_way == ["a/low"]

    def test_nobody_is_evicted_by_kube_scheduler_for_one_of_a_gang(self, watched, told):
        watched.node("n1", cpu="1")
        watched.gang("a/g", 2)
        watched.pod("a/low", cpu="1", on="n1")
        for name in ("p", "q"):
            watched.pod(f"a/{name}", cpu="500m", labels=GROUP, spec={"priority": 9})
        assert self.victims(told, "p") == {}

    @pytest.fixture
    def spread_gang(self, watched, in_vain):
        """A gang that runs on two nodes, and a more important pod that needs all of one."""
        made = {"kueue.x-k8s.io/pod-group-total-count": "4"}
        group = {"kueue.x-k8s.io/pod-group-name": "g"}
        for name in ("n1", "n2"):
            watched.node(name, cpu="2")
            for number in range(2):
                watched.pod(f"a/{name}-{number}", cpu="1", on=name, labels=group, annotations=made)
        watched.pod("a/p", cpu="2", spec={"priority": 9}, status=in_vain)
        return watched

    def test_kube_scheduler_does_not_evict_a_part_of_a_gang(self, spread_gang, told, claiming, written):
        assert self.victims(told, "p") == {}
        asyncio.run(claiming.look())
        assert sorted(written.evicted) == ["a/n1-0", "a/n1-1", "a/n2-0", "a/n2-1"]
        assert list(spread_gang.outlook.held) == ["a/p"]

    def test_all_of_a_gang_stay_where_one_of_it_may_not_go(self, spread_gang, told, claiming, written):
        written.refused.add("a/n2-1")
        assert self.victims(told, "p") == {}
        asyncio.run(claiming.look())
        assert (written.evicted, spread_gang.outlook.held) == ([], {})

    def test_room_is_made_at_once_for_one_that_was_looked_at_before(
        self, spread_gang, told, claiming, written
    ):
        asyncio.run(claiming.look())
        assert (written.evicted, spread_gang.outlook.held) == ([], {})
        self.victims(told, "p")
        asyncio.run(claiming.look())
        assert len(written.evicted) == 4

    def test_a_gang_that_is_all_on_one_node_is_for_kube_scheduler_to_evict(
        self, watched, told, claiming, written, in_vain
    ):
        watched.node("n1", cpu="2")
        made = {"kueue.x-k8s.io/pod-group-total-count": "2"}
        for name in ("g1", "g2"):
            group = {"kueue.x-k8s.io/pod-group-name": "g"}
            watched.pod(f"a/{name}", cpu="1", on="n1", labels=group, annotations=made)
        watched.pod("a/p", cpu="1", spec={"priority": 9}, status=in_vain)
        assert {node: sorted(uids) for node, uids in self.victims(told, "p").items()} == {
            "n1": ["uid-g1", "uid-g2"]
        }
        asyncio.run(claiming.look())
        assert written.evicted == []


class TestLeader:
    """What depends on places that are held is answered by the replica that leads."""

    @pytest.fixture
    def ask(self, watched, judging):
        watched.node("n1")
        watched.gang("a/g", 2)
        watched.pod("a/p", cpu="1", labels=GROUP)

        def asked_of(leader):
            answers = Answers(watched.outlook, Leader(judging, print, never, leader))
            return asyncio.run(answers.filter(asked("p", "n1"))), asyncio.run(answers.preempt(asked("p")))

        return asked_of

    def test_its_answer_about_a_gang_is_passed_on(self, watched, ask):
        async def leader(verb: str, body: bytes) -> bytes:
            assert (verb, body) == ("filter", asked("p", "n1"))
            return b'{"NodeNames":["n7"],"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}'

        assert ask(leader)[0].node_names == ["n7"]
        assert watched.outlook.held == {}

    def test_without_one_nothing_is_answered(self, watched, ask):
        async def nobody(*_: object) -> bytes:
            raise NotDoneError("no replica leads yet")

        told, goes = ask(nobody)
        assert (told.error, goes.node_name_to_meta_victims) == ("no replica leads yet", {})
        assert watched.outlook.held == {}


def test_why_a_bind_failed_is_told(told):
    body = b'{"PodName":"p","PodNamespace":"a","PodUID":"u","Node":"n1"}'
    assert told("bind", body).error == "a/p u n1"


class Seconds:
    """Notes how often something was timed."""

    def __init__(self) -> None:
        self.times = 0

    def observe(self, amount: float) -> None:
        assert amount >= 0
        self.times += 1


def test_each_verb_is_served_at_its_path_and_timed(watched, answers):
    timed: dict[str, Seconds] = {}
    served = Served()
    answers.serve(served, lambda verb: timed.setdefault(verb, Seconds()))

    async def post(path: str, body: bytes) -> tuple[int, bytes]:
        sent: list[dict] = []

        async def receive() -> dict:
            return {"type": "http.request", "body": body}

        async def send(message: dict) -> None:
            sent.append(message)

        await served({"type": "http", "method": "POST", "path": path}, receive, send)
        return sent[0]["status"], sent[1]["body"]

    watched.node("n1")
    watched.pod("a/p", cpu="1")
    status, body = asyncio.run(post("/filter", asked("p", "n1")))
    assert (status, json.loads(body)["NodeNames"]) == (200, ["n1"])
    assert asyncio.run(post("/filter", b"not json"))[0] == 400
    assert timed["filter"].times == 2
    assert set(timed) == {"filter", "prioritize", "preempt", "bind"}
