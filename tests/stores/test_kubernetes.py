"""What is the own of a ledger in a cluster; what every store promises is in test_protocol.py."""

import asyncio

import pytest

from engine.ledger.ledgers import hold, reserve
from stores.ledger_files import FLEET, STORY, tell
from stores.plan_objects import PlansInMemory
from ullage.model.errors import InputError
from ullage.stores import kubernetes
from ullage.stores import kubernetes_compaction as compaction
from ullage.stores.kubernetes import KubernetesLedger

ONE = reserve("one", hold("node/a", cpu=10), expires=10**9)


@pytest.fixture
def objects():
    return PlansInMemory()


@pytest.fixture
def ledger(objects):
    with KubernetesLedger(lambda: objects) as opened:
        yield opened


def test_history_names_what_is_asked_for(ledger):
    tell(ledger)
    assert [row.revision for row in ledger.history(reservation="r1")] == [2, 5]
    assert [row.revision for row in ledger.history(owner="other", capacity="group/a/vg")] == [3]
    with pytest.raises(InputError, match="nothing to look for"):
        next(ledger.history())


def test_a_key_finds_its_step(ledger):
    tell(ledger)
    assert ledger.row_of_key("first").revision == 2
    assert ledger.row_of_key("second") is None
    assert ledger.row_of_key("") is None


def test_old_steps_go_while_it_is_used_and_it_says_how_far_back_it_goes(ledger, monkeypatch):
    monkeypatch.setattr(compaction, "KEEP_STATE_STEPS", 2)
    monkeypatch.setattr(compaction, "STEPS_KEPT_MIN", 3)
    monkeypatch.setattr(compaction, "SECONDS_KEPT", 0)
    assert ledger.earliest() == 0
    tell(ledger)
    assert ledger.earliest() == 4
    assert [row.revision for row in ledger.journal()] == [5, 6, 7, 8]
    assert ledger.at(4).revision == 4
    assert [finding for finding in ledger.verify() if finding.severity == "error"] == []


def test_a_command_that_no_object_can_hold_is_refused(ledger, monkeypatch):
    monkeypatch.setattr(kubernetes, "COMMAND_CHARACTERS_MAX", 20)
    with pytest.raises(InputError, match=r"a command of .* characters; split it"):
        ledger.submit(ONE, at_seconds=101)


def test_who_gives_up_waiting_takes_nothing_back(ledger, objects):
    ledger.submit(FLEET, at_seconds=100)

    async def slowly(verb, _):
        await asyncio.sleep(0.05 if verb == "create" else 0)

    async def impatient():
        asking = asyncio.create_task(ledger.submit_async(ONE, at_seconds=101))
        await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        return asking.cancelled()

    objects.before = slowly
    assert asyncio.run(impatient())
    ledger.close()
    assert len(objects.stored) == 2
    assert objects.asked[-1] == ("close", "")


def test_a_cluster_that_cannot_be_reached_is_said_when_it_is_opened():
    def connect():
        raise InputError("there is no kubeconfig")

    with pytest.raises(InputError, match="there is no kubeconfig"):
        KubernetesLedger(connect)


def test_a_story_takes_a_create_and_a_look_back_for_each_step(ledger, objects):
    tell(ledger)
    verbs = [verb for verb, _ in objects.asked]
    assert verbs.count("create") == len(STORY)
    assert verbs.count("get") == len(STORY) - 1
    assert verbs.count("list") == 2
