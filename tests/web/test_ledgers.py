"""Steps of the ledgers of clusters: told what there is before they decide, on the revision that is meant."""

import asyncio
import json
from contextlib import suppress

import msgspec
import pytest

from stores.plan_objects import PlansInMemory
from ullage.model.errors import InputError
from ullage.model.ledger import Bind, Capacity, Expire, Hold, Reserve, Supply, Together
from ullage.model.resources import Resources
from ullage.service.ledger_cluster import ClusterPlace
from ullage.service.ledger_file import read_ledger
from ullage.stores.entry_pages import Wanted
from ullage.stores.kubernetes import KubernetesLedger
from ullage.stores.protocol import MovedError
from ullage.stores.sqlite import SqliteLedger
from ullage.web import ledgers
from ullage.web.http import Problem
from ullage.web.ledgers import OPERATOR_SECONDS, Ledgers
from web.standing import InProcess

NEVER = 1 << 40


def document(path, cpu, *names):
    nodes = [{"name": name, "capacity": {"cpu": cpu, "memory": "8Gi", "pods": "9"}} for name in names]
    told = {"apiVersion": "ullage.dev/v1", "kind": "Snapshot", "name": "mine", "nodes": nodes}
    path.write_text(json.dumps(told), encoding="utf-8")
    return str(path)


def reserve(name, node="a", cpu=1000):
    return Reserve(name, "team/x", NEVER, holds=(Hold("web", f"node/{node}", Resources({"cpu": cpu})),))


class World:
    """A cluster of two nodes, and the ledgers that are kept for it."""

    def __init__(self, folder):
        self.folder = folder
        self.pool = InProcess(mine=document(folder / "mine.json", "4", "a", "b"))
        self.told = []
        self.ledgers = self.opened()

    def opened(self):
        return Ledgers(self.folder, self.pool, told=lambda *moved: self.told.append(moved))

    def become(self, cpu, *names):
        self.pool.become("mine", document(self.folder / "mine.json", cpu, *names))
        self.ledgers.moved("mine")

    async def submit(self, command, **options):
        return await self.ledgers.submit("mine", command, **options)


def test_a_cluster_that_moves_is_not_asked_what_it_offers_before_anybody_wanted_to_know(tmp_path):
    asked = []

    async def story(world):
        plain = world.pool.ask

        async def ask(cluster, work, *, seconds_max):
            asked.append(work.name)
            return await plain(cluster, work, seconds_max=seconds_max)

        world.pool.ask = ask
        await world.submit(Expire())  # which opens the ledger
        world.become("8", "a", "b")
        await asyncio.sleep(0.05)
        before = list(asked)
        await world.submit(reserve("r"))
        world.become("9", "a", "b")
        await asyncio.sleep(0.05)
        return before

    assert told(tmp_path, story) == []
    assert asked == ["offers", "offers"]


def told(tmp_path, story):
    async def within():
        world = World(tmp_path)
        try:
            async with asyncio.timeout(20):
                return await story(world)
        finally:
            await world.ledgers.close()

    return asyncio.run(within())


def state_of(world):
    return read_ledger(world.ledgers.path("mine"))


def test_what_a_node_has_can_be_reserved_and_no_more(tmp_path):
    async def story(world):
        outcomes = [await world.submit(reserve(name, cpu=2000)) for name in ("one", "two", "three")]
        assert [outcome.decision.accepted for outcome in outcomes] == [True, True, False]
        (short,) = outcomes[2].decision.shortfalls
        assert (short.node, short.resource, short.missing.value) == ("node/a", "cpu", 2000)
        assert world.told == [("mine", 2), ("mine", 3), ("mine", 4)]
        assert world.ledgers.revision("mine") == 4

    told(tmp_path, story)


def test_the_cluster_is_looked_at_once_for_many_who_come_at_the_same_time(tmp_path):
    async def story(world):
        outcomes = await asyncio.gather(*(world.submit(reserve(str(number), cpu=10)) for number in range(50)))
        assert all(outcome.decision.accepted for outcome in outcomes)
        assert world.pool.asked == ["offers"]
        assert sorted(outcome.revision for outcome in outcomes) == list(range(2, 52))
        assert len(state_of(world)) == 50

    told(tmp_path, story)


def test_a_node_that_has_grown_or_gone_is_known_as_it_is(tmp_path):
    async def story(world):
        assert (await world.submit(reserve("one", cpu=4000))).decision.accepted
        assert not (await world.submit(reserve("two"))).decision.accepted
        world.become("6", "a")
        await asyncio.shield(world.ledgers._ready["mine"].look_again())
        assert (await world.submit(reserve("three"))).decision.accepted
        assert (await world.submit(reserve("four", "b"))).decision.reason.startswith("node/b is not known")

    told(tmp_path, story)


def test_a_cluster_that_cannot_be_looked_at_again_offers_what_it_did(tmp_path):
    async def story(world):
        await world.submit(reserve("one"))
        kept, world.pool.held = world.pool.held, {}
        await world.ledgers._ready["mine"].look_again()
        world.pool.held = kept
        assert (await world.submit(reserve("two"))).decision.accepted

    told(tmp_path, story)


def test_who_plans_on_a_revision_has_the_step_on_it_though_the_ledger_learns_of_a_node_first(tmp_path):
    async def story(world):
        first = await world.submit(reserve("one"))
        second = await world.submit(reserve("two", "b"), revision=first.revision, exact=True)
        assert second.decision.accepted
        with pytest.raises(MovedError):
            await world.submit(reserve("three"), revision=first.revision, exact=True)
        assert {entry.reservation for entry in state_of(world).entries} == {"one", "two"}
        loose = await world.submit(reserve("four"), revision=first.revision)
        assert (loose.decision.accepted, loose.moved) == (True, True)

    told(tmp_path, story)


def test_who_asks_again_under_a_key_has_the_first_answer_though_what_is_offered_has_changed(tmp_path):
    async def story(world):
        await world.submit(reserve("zero", "b"))
        first = await world.submit(reserve("one"), key="k", revision=2, exact=True)
        world.become("5", "a", "b")
        await asyncio.shield(world.ledgers._ready["mine"].look_again())
        again = await world.submit(reserve("one"), key="k", revision=2, exact=True)
        assert (again.revision, again.repeated) == (first.revision, True)

    told(tmp_path, story)


def test_a_ledger_is_what_it_was_when_it_is_opened_again(tmp_path):
    async def story(world):
        await world.submit(reserve("one"))
        await world.ledgers.close()
        world.ledgers = world.opened()
        outcome = await world.submit(Bind("one"))
        assert outcome.revision == 3
        (entry,) = outcome.decision.changed
        assert (entry.reservation, entry.state) == ("one", "BOUND")
        await world.submit(reserve("two"))
        assert state_of(world).revision == 4, "what it knew of the node is no news"

    told(tmp_path, story)


def test_others_may_use_the_file_at_the_same_time(tmp_path):
    async def story(world):
        await world.submit(reserve("one"))
        with SqliteLedger(world.ledgers.path("mine")) as other:
            other.submit(Bind("one"), at_seconds=1)
        assert (await world.submit(reserve("two"))).revision == 4

    told(tmp_path, story)


def test_a_cluster_that_is_not_served_has_no_ledger(tmp_path):
    async def story(world):
        for asked in (
            world.ledgers.submit("other", reserve("one")),
            world.ledgers.page("other", Wanted(), "", 5),
        ):
            with pytest.raises(Problem) as caught:
                await asked
            assert caught.value.status == 404
        assert not (tmp_path / "clusters").exists()

    told(tmp_path, story)


def test_the_ledger_of_a_cluster_that_was_removed_takes_no_step(tmp_path):
    async def story(world):
        await world.submit(reserve("one"))
        world.pool.held.clear()
        for command in (reserve("two"), Bind("one")):
            with pytest.raises(Problem) as caught:
                await world.submit(command)
            assert caught.value.status == 404
        assert state_of(world).revision == 2

    told(tmp_path, story)


def test_a_ledger_that_is_let_go_while_it_is_opened_can_be_opened_again(tmp_path):
    async def story(world):
        opening = asyncio.create_task(world.submit(Bind("nobody")))
        await asyncio.sleep(0)
        assert "mine" in world.ledgers._open
        await world.ledgers.forget("mine")
        await asyncio.gather(opening, return_exceptions=True)
        assert (await world.submit(reserve("one"))).decision.accepted

    told(tmp_path, story)


def test_letting_go_of_a_ledger_that_cannot_be_opened_does_not_fail(tmp_path):
    async def story(world):
        world.ledgers.path("mine").mkdir(parents=True)
        opening = asyncio.create_task(world.submit(Bind("nobody")))
        await asyncio.sleep(0)
        assert "mine" in world.ledgers._open
        await world.ledgers.forget("mine")
        (refused,) = await asyncio.gather(opening, return_exceptions=True)
        assert isinstance(refused, InputError)

    told(tmp_path, story)


def test_who_waits_for_what_a_cluster_offers_is_told_when_its_ledger_is_let_go(tmp_path):
    async def story(world):
        asked = asyncio.Event()

        async def never(*_, **__):
            asked.set()
            await asyncio.Event().wait()

        world.pool.ask = never
        waiting = asyncio.create_task(world.submit(reserve("one")))
        await asked.wait()
        await world.ledgers.forget("mine")
        with pytest.raises(Problem) as caught:
            await waiting
        assert caught.value.status == 503

    told(tmp_path, story)


def test_a_ledger_that_nobody_has_used_is_empty_and_is_not_made_by_looking(tmp_path):
    async def story(world):
        page = await world.ledgers.page("mine", Wanted(), "", 5)
        assert (page.revision, page.entries, world.ledgers.place("mine")) == (0, (), "")
        await world.submit(reserve("one"))
        page = await world.ledgers.page("mine", Wanted(), "", 5)
        assert (page.revision, len(page.entries)) == (2, 1)
        assert world.ledgers.place("mine") == str(world.ledgers.path("mine"))

    told(tmp_path, story)


def test_the_ledger_of_a_cluster_that_is_let_go_can_be_opened_again(tmp_path):
    async def story(world):
        await world.submit(reserve("one"))
        await world.ledgers.forget("mine")
        assert world.ledgers.revision("mine") == 0
        assert (await world.submit(reserve("two"))).decision.accepted

    told(tmp_path, story)


def test_a_promise_whose_time_has_come_ends_by_itself(tmp_path, monkeypatch):
    async def story(world):
        monkeypatch.setenv("ULLAGE_NOW", "1000")
        short = msgspec.structs.replace(reserve("one", cpu=4000), expires_seconds=1060)
        assert (await world.submit(short)).decision.accepted
        await world.ledgers.look_after()
        assert not (await world.submit(reserve("two"))).decision.accepted
        monkeypatch.setenv("ULLAGE_NOW", "1061")
        await world.ledgers.close()
        world.ledgers = world.opened()
        world.ledgers.start()
        while len(state_of(world)):  # noqa: ASYNC110 - the server tells nobody in this process
            await asyncio.sleep(0.01)
        assert (await world.submit(reserve("three"))).decision.accepted
        revision = state_of(world).revision
        await world.ledgers.look_after()
        assert state_of(world).revision == revision, "nothing is written where nothing has ended"

    told(tmp_path, story)


def test_a_step_that_needs_no_room_asks_nothing_of_the_cluster(tmp_path):
    async def story(world):
        assert not (await world.submit(Bind("nobody"))).decision.accepted
        assert world.pool.asked == []

    told(tmp_path, story)


def test_steps_that_others_take_are_known_after_a_look(tmp_path):
    async def story(world):
        await world.submit(reserve("one"))
        with SqliteLedger(world.ledgers.path("mine")) as other:
            other.submit(Bind("one"), at_seconds=1)
        world.told.clear()
        await world.ledgers.look_after()
        assert world.ledgers.revision("mine") == 3
        assert world.told == [("mine", 3)]

    told(tmp_path, story)


def test_what_a_plan_told_of_a_node_is_put_right_before_the_next_reservation(tmp_path):
    async def story(world):
        await world.submit(reserve("one"))
        roomy = Capacity("node/a", Resources({"cpu": 99_000}))
        assert (await world.submit(Together((Supply((roomy,)), reserve("two"))))).decision.accepted
        assert not (await world.submit(reserve("three", cpu=3000))).decision.accepted

    told(tmp_path, story)


def test_a_ledger_whose_process_was_killed_is_opened_again_by_the_next_who_come(tmp_path):
    async def story(world):
        await world.submit(reserve("one"), key="k")
        process = world.ledgers._ready["mine"].kept._process
        process.kill()
        process.wait()
        with suppress(InputError):
            await world.submit(reserve("one"), key="k")  # nobody has noticed yet
        outcomes = await asyncio.gather(
            world.submit(reserve("one"), key="k"),
            *(world.submit(reserve(str(each), cpu=1)) for each in range(9)),
        )
        assert outcomes[0].repeated
        assert all(outcome.decision.accepted for outcome in outcomes)
        assert len(state_of(world)) == 10
        assert world.ledgers.opened_again["mine"] == 1

    told(tmp_path, story)


@pytest.mark.parametrize("revision", [0, 99], ids=["a revision before", "one that is not reached"])
def test_what_there_is_counts_for_others_though_whoever_brought_it_had_planned_on_something_else(
    tmp_path, revision
):
    async def story(world):
        await world.submit(reserve("first", "b"))
        late, other = await asyncio.gather(
            world.submit(reserve("late"), revision=revision, exact=True),
            world.submit(reserve("other")),
            return_exceptions=True,
        )
        assert isinstance(late, InputError)
        assert other.decision.accepted

    told(tmp_path, story)


def test_room_that_has_gone_is_not_promised_beside_one_who_had_planned_on_it(tmp_path):
    async def story(world):
        await world.submit(reserve("first"))
        world.become("2", "a", "b")
        await asyncio.shield(world.ledgers._ready["mine"].look_again())
        late, other = await asyncio.gather(
            world.submit(reserve("late"), revision=1, exact=True),
            world.submit(reserve("other", cpu=3000)),
            return_exceptions=True,
        )
        assert isinstance(late, MovedError)
        assert not other.decision.accepted

    told(tmp_path, story)


def test_only_so_many_wait_for_one_ledger(tmp_path, monkeypatch):
    monkeypatch.setattr(ledgers, "WAITING_MAX", 5)
    monkeypatch.setattr(ledgers, "WAITING_EACH_MAX", 3)

    async def story(world):
        await world.submit(reserve("first", cpu=1))
        clients = "aaaaabbb"
        steps = [
            world.submit(reserve(f"r{number}", cpu=1), client=client) for number, client in enumerate(clients)
        ]
        found = await asyncio.gather(*steps, return_exceptions=True)
        told = "".join("y" if getattr(each, "status", 200) == 200 else "n" for each in found)
        assert told == "yyynnyyn"
        assert "3 steps of yours" in found[3].title
        assert "too many" in found[7].title
        assert (await world.submit(reserve("later", cpu=1))).decision.accepted

    told(tmp_path, story)


def test_promises_end_though_one_ledger_fails_in_a_way_that_nobody_foresaw(tmp_path, monkeypatch):
    lines = []

    async def story(world):
        await world.submit(reserve("one"))
        world.ledgers._say = lambda *line: lines.append(line)

        async def fail(_):
            raise OSError("no more files")

        monkeypatch.setattr(world.ledgers._ready["mine"], "is_due", fail)
        await world.ledgers.look_after()

    told(tmp_path, story)
    assert lines == [("cannot end promises", "mine", "OSError: no more files")]


def test_of_a_ledger_in_a_cluster_others_are_heard_and_what_nobody_ends_is_ended(tmp_path, monkeypatch):
    stored = {}

    def connected():
        return KubernetesLedger(lambda: PlansInMemory(stored))

    monkeypatch.setattr(ledgers, "open_ledger", lambda _: connected())
    monkeypatch.setenv("ULLAGE_NOW", "1000")
    short = msgspec.structs.replace(reserve("one"), expires_seconds=1060)
    offered = Supply((Capacity("node/a", Resources({"cpu": 4000})),))

    async def story(world):
        told = []
        world.ledgers = Ledgers(
            world.folder,
            world.pool,
            in_cluster={"mine": ClusterPlace("prod")},
            told=lambda *x: told.append(x),
        )
        await world.submit(Expire())
        with connected() as other:
            taken = await asyncio.to_thread(other.submit, Together((offered, short)), at_seconds=1000)
        told.clear()
        await world.ledgers.look_after()
        assert told == [("mine", taken.revision)]
        monkeypatch.setenv("ULLAGE_NOW", str(1060 + OPERATOR_SECONDS - 1))
        await world.ledgers.look_after()
        assert (await world.ledgers.page("mine", Wanted(), "", 10)).live == 1, "its operator may do it"
        monkeypatch.setenv("ULLAGE_NOW", str(1060 + OPERATOR_SECONDS))
        await world.ledgers.look_after()
        assert (await world.ledgers.page("mine", Wanted(), "", 10)).live == 0

    told(tmp_path, story)


def test_a_ledger_in_a_cluster_is_opened_once_for_all_that_is_asked_of_it(tmp_path, monkeypatch):
    opened = []

    def open_in_memory(place):
        opened.append(place)
        return KubernetesLedger(PlansInMemory)

    monkeypatch.setattr(ledgers, "open_ledger", open_in_memory)
    there = ClusterPlace("prod")

    async def story(world):
        world.ledgers = Ledgers(world.folder, world.pool, in_cluster={"mine": there})
        assert world.ledgers.is_shared("mine")
        assert await world.ledgers.known("mine", "key") is None
        offered = Supply((Capacity("node/a", Resources({"cpu": 4000})),))
        told = await world.submit(Together((offered, reserve("one"))), key="key")
        for _ in range(3):
            known = await world.ledgers.known("mine", "key")
            assert (known.revision, known.decision, known.repeated) == (told.revision, told.decision, True)
        page = await world.ledgers.page("mine", Wanted(), "", 10)
        assert [entry.reservation for entry in page.entries] == ["one"]

    told(tmp_path, story)
    assert opened == [there]
