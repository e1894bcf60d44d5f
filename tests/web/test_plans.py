"""A plan is committed as it was made, or not at all; and once."""

import asyncio
import json

import pytest

from ullage.model.ledger import Hold, Reserve
from ullage.model.resources import Resources
from ullage.service.ledger_file import read_ledger
from ullage.stores.protocol import MovedError, StoreUnavailableError
from ullage.web import plans as module
from ullage.web.history import Span
from ullage.web.http import Principal, Problem
from ullage.web.logs import Log
from ullage.web.plan_answers import essence
from ullage.web.takeover import take_over
from web.standing import told

ME = Principal("me", "commit")
NOBODY = {}


def cluster(path, *nodes, cpu="4", bigger=NOBODY):
    sizes = {**dict.fromkeys(nodes, cpu), **bigger}
    rows = [
        {"name": name, "capacity": {"cpu": size, "memory": "8Gi", "pods": "9"}}
        for name, size in sizes.items()
    ]
    document = {"apiVersion": "ullage.dev/v1", "kind": "Snapshot", "name": "mine", "nodes": rows}
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def pod(name="web", cpu="2"):
    requests = {"cpu": cpu, "memory": "1Gi"}
    container = {"name": "main", "image": "x", "resources": {"requests": requests}}
    metadata = {"name": name, "namespace": "team"}
    return json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
    ).encode()


@pytest.fixture
def run(tmp_path):
    source = cluster(tmp_path / "mine.json", "a", "b")
    return lambda story: told(tmp_path, (), story, mine=source)


def held(standing):
    if not standing.ledgers.place("mine"):
        return {}
    return {each.owner: each.capacity for each in read_ledger(standing.ledgers.path("mine")).entries}


async def problem(asked):
    with pytest.raises(Problem) as caught:
        await asked
    return caught.value


def test_of_a_cluster_that_is_removed_nothing_is_remembered(run):
    async def story(standing):
        first = await standing.plans.make("mine", {}, pod(), ME, "key")
        done = await standing.plans.make("mine", {}, pod("other"), ME)
        await standing.plans.commit("mine", done.told.id, ME)
        await standing.plans.forget("mine")
        assert await standing.plans.listed("mine", "", "", 9) == []
        again = await standing.plans.make("mine", {}, pod(cpu="1"), ME, "key")
        assert again.told.id != first.told.id

    run(story)


def test_of_two_who_ask_at_once_under_one_key_both_get_the_same_plan(run):
    async def story(standing):
        asked = [standing.plans.make("mine", NOBODY, pod(), ME, "key") for _ in range(5)]
        made = await asyncio.gather(*asked)
        assert len({kept.told.id for kept in made}) == 1
        assert len(await standing.plans.listed("mine", "", "", 10)) == 1

    run(story)


def test_what_was_planned_under_a_key_is_not_planned_again(run):
    async def story(standing):
        first = await standing.plans.make("mine", NOBODY, pod(), ME, "key")
        asked = len(standing.pool.asked)
        assert await standing.plans.make("mine", NOBODY, pod(), ME, "key") == first
        assert len(standing.pool.asked) == asked

    run(story)


def test_what_cannot_be_planned_leaves_its_key_free(run):
    async def story(standing):
        assert (await problem(standing.plans.make("mine", NOBODY, b"kind: {", ME, "key"))).status == 422
        kept = await standing.plans.make("mine", NOBODY, pod(), ME, "key")
        assert kept.told.state == "open"

    run(story)


def test_a_plan_holds_nothing_until_it_is_committed_and_then_what_it_said(run):
    async def story(standing):
        kept = await standing.plans.make("mine", NOBODY, pod(), ME)
        assert (kept.told.state, kept.told.fits, kept.told.names) == ("open", True, ("team/web",))
        assert kept.answer.report["kind"] == "FitReport"
        assert held(standing) == {}
        done = await standing.plans.commit("mine", kept.told.id, ME)
        assert (done.told.state, done.outcome.decision.accepted) == ("committed", True)
        (node,) = {each.capacity for each in done.changed}
        assert held(standing) == {"team/web": node}
        assert node in {"node/a", "node/b"}

    run(story)


def test_a_plan_is_committed_once_however_often_it_is_asked_for(run):
    async def story(standing):
        kept = await standing.plans.make("mine", NOBODY, pod(), ME)
        first = await standing.plans.commit("mine", kept.told.id, ME)
        again = await standing.plans.commit("mine", kept.told.id, ME)
        assert (again.outcome.repeated, again.outcome.revision) == (True, first.outcome.revision)
        assert again.told == first.told
        assert len(standing.state.audited()) == 1

    run(story)


def test_what_was_committed_before_a_crash_is_found_though_nobody_wrote_it_down(run, tmp_path):
    async def story(standing):
        kept = await standing.plans.make("mine", NOBODY, pod(), ME)
        await standing.plans.commit("mine", kept.told.id, ME)
        await standing.state.run(lambda connection: module._set(connection, kept.told))
        standing.pool.become("mine", cluster(tmp_path / "mine.json", "a", "b", cpu="1"))
        done = await standing.plans.commit("mine", kept.told.id, ME)
        assert (done.told.state, done.outcome.repeated) == ("committed", True)

    run(story)


async def committed_but_not_written_down(standing):
    """Return a plan whose step the ledger has taken, while the server's own disk was full."""
    kept = await standing.plans.make("mine", NOBODY, pod(), ME)
    full = "CREATE TRIGGER full BEFORE INSERT ON marks BEGIN SELECT raise(ABORT, 'full'); END"
    await standing.state.run(lambda connection: connection.execute(full))
    with pytest.raises(StoreUnavailableError):
        await standing.plans.commit("mine", kept.told.id, ME)
    await standing.state.run(lambda connection: connection.execute("DROP TRIGGER full"))
    return kept.told.id


def test_a_plan_that_the_ledger_holds_cannot_be_discarded_though_nobody_wrote_it_down(run):
    async def story(standing):
        plan = await committed_but_not_written_down(standing)
        refused = await problem(standing.plans.discard("mine", plan, "me"))
        assert (refused.status, refused.title) == (409, "the plan was committed")
        told = (await standing.plans.get("mine", plan)).told
        assert (told.state, set(held(standing))) == ("committed", {"team/web"})
        assert [(each.who, each.outcome) for _, each in standing.state.audited()] == [("", "committed")]
        assert len((await standing.history.past("mine", Span(0, 1 << 40, 10))).marks) == 1

    run(story)


def test_what_came_of_a_commit_is_written_whole_or_not_at_all(run):
    async def story(standing):
        plan = await committed_but_not_written_down(standing)
        assert (await standing.plans.get("mine", plan)).told.state == "open"
        assert standing.state.audited() == []
        done = await standing.plans.commit("mine", plan, ME)
        assert (done.told.state, done.outcome.repeated) == ("committed", True)
        assert [each.who for _, each in standing.state.audited()] == ["me"]
        assert len((await standing.history.past("mine", Span(0, 1 << 40, 10))).marks) == 1

    run(story)


def test_a_commit_is_told_to_the_audit_the_history_and_whoever_listens(run):
    async def story(standing):
        kept = await standing.plans.make("mine", NOBODY, pod(), ME)
        done = await standing.plans.commit("mine", kept.told.id, ME)
        ((_, entry),) = standing.state.audited()
        assert (entry.who, entry.cluster, entry.action, entry.subject) == (
            "me", "mine", "commit plan", kept.told.id,
        )  # fmt: skip
        assert (entry.outcome, entry.revision) == ("committed", done.outcome.revision)
        (mark,) = (await standing.history.past("mine", Span(0, 1 << 40, 10))).marks
        assert (mark.plan, mark.who, mark.text) == (kept.told.id, "me", "team/web")
        assert [json.loads(each.text)["state"] for each in standing.events._kept] == ["open", "committed"]

    run(story)


def test_where_the_ledger_has_moved_each_hold_is_decided_again(run):
    async def story(standing):
        kept = await standing.plans.make("mine", NOBODY, pod(), ME)
        other = await standing.plans.make("mine", NOBODY, pod("other", "3"), ME)
        await standing.plans.commit("mine", other.told.id, ME)
        done = await standing.plans.commit("mine", kept.told.id, ME)
        assert (done.told.state, done.outcome.moved) == ("refused", True)
        assert done.outcome.decision.shortfalls[0].resource == "cpu"
        assert set(held(standing)) == {"team/other"}
        again = await standing.plans.commit("mine", kept.told.id, ME)
        assert (again.told.state, again.outcome.repeated) == ("refused", True)

    run(story)


def test_who_wants_exactly_the_revisions_of_the_plan_has_no_other(run, tmp_path):
    async def story(standing):
        kept = await standing.plans.make("mine", NOBODY, pod(), ME)
        hold = Hold("x", "node/b", Resources({"cpu": 1}))
        await standing.ledgers.submit("mine", Reserve("r", "team/x", 1 << 40, holds=(hold,)))
        with pytest.raises(MovedError):
            await standing.plans.commit("mine", kept.told.id, ME, exact=True)
        ((_, entry),) = standing.state.audited()
        assert (entry.who, entry.action, entry.subject) == ("me", "commit plan", kept.told.id)
        standing.pool.become("mine", cluster(tmp_path / "mine.json", "a", "b", "c"))
        assert (await problem(standing.plans.commit("mine", kept.told.id, ME, exact=True))).status == 412
        assert (await standing.plans.get("mine", kept.told.id)).told.state == "open"
        assert "team/web" not in held(standing)
        fresh = await standing.plans.make("mine", NOBODY, pod(), ME)
        assert (await standing.plans.commit("mine", fresh.told.id, ME, exact=True)).told.state == "committed"

    run(story)


def test_where_the_cluster_has_moved_the_same_answer_is_committed_and_another_is_not(run, tmp_path):
    async def story(standing):
        kept = await standing.plans.make("mine", NOBODY, pod(), ME)
        (node,) = [
            hold.capacity
            for part in essence(kept.answer.step)
            if isinstance(part, Reserve)
            for hold in part.holds
        ]
        name = node.removeprefix("node/")
        standing.pool.become("mine", cluster(tmp_path / "mine.json", "a", "b", cpu="5"))
        done = await standing.plans.commit("mine", kept.told.id, ME)
        assert done.told.state == "committed"
        later = await standing.plans.make("mine", NOBODY, pod("later"), ME)
        others = [each for each in ("c", "d") if each != name]
        standing.pool.become("mine", cluster(tmp_path / "mine.json", *others))
        refused = await problem(standing.plans.commit("mine", later.told.id, ME))
        assert (refused.status, "moved" in refused.title) == (409, True)
        assert set(held(standing)) == {"team/web"}

    run(story)


def test_where_a_better_place_has_come_the_place_of_the_plan_is_held_all_the_same(run, tmp_path):
    async def story(standing):
        kept = await standing.plans.make("mine", NOBODY, pod(), ME)
        (place,) = {each["node"] for each in kept.answer.report["outcomes"][0]["nodes"]}
        standing.pool.become("mine", cluster(tmp_path / "mine.json", "a", "b", bigger={"c": "64"}))
        fresh = await standing.plans.make("mine", NOBODY, pod("other"), ME)
        assert fresh.answer.report["outcomes"][0]["nodes"] == [{"node": "c", "replicas": 1}]
        done = await standing.plans.commit("mine", kept.told.id, ME)
        assert (done.told.state, held(standing)) == ("committed", {"team/web": f"node/{place}"})

    run(story)


def test_a_place_that_is_there_no_more_is_refused_with_what_is_missing_and_that_is_written_down(
    run, tmp_path
):
    async def story(standing):
        kept = await standing.plans.make("mine", NOBODY, pod(), ME)
        (place,) = {each["node"] for each in kept.answer.report["outcomes"][0]["nodes"]}
        small = {name: "1" if name == place else "4" for name in ("a", "b")}
        standing.pool.become("mine", cluster(tmp_path / "mine.json", bigger=small))
        refused = await problem(standing.plans.commit("mine", kept.told.id, ME))
        assert (refused.status, f"node {place}: cpu short by 1" in refused.title) == (409, True)
        (short,) = refused.members["shortfalls"]
        assert (short["node"], short["resource"], short["missing"]) == (place, "cpu", "1")
        assert held(standing) == {}
        ((_, entry),) = standing.state.audited()
        assert (entry.who, entry.outcome) == ("me", refused.title)
        assert (await standing.plans.get("mine", kept.told.id)).told.state == "open"

    run(story)


def test_what_is_held_is_held_from_the_commit_on_and_not_from_the_plan(run, monkeypatch):
    async def story(standing):
        monkeypatch.setenv("ULLAGE_NOW", "1000000000")
        kept = await standing.plans.make("mine", {"holdSeconds": 60}, pod(), ME)
        monkeypatch.setenv("ULLAGE_NOW", "1000000500")
        done = await standing.plans.commit("mine", kept.told.id, ME)
        assert {each.expires_seconds for each in done.changed} == {1_000_000_560}

    run(story)


@pytest.mark.parametrize(
    ("atomic", "why"),
    [(True, "all or none was asked for, and not all fit"), (False, "nothing of the plan fits")],
)
def test_a_plan_that_fits_nowhere_is_kept_and_cannot_be_committed(run, atomic, why):
    async def story(standing):
        kept = await standing.plans.make("mine", {"atomic": atomic}, pod(cpu="99"), ME)
        assert (kept.told.fits, kept.told.may_be_committed) == (False, False)
        refused = await problem(standing.plans.commit("mine", kept.told.id, ME))
        assert (refused.status, refused.title) == (409, why)
        assert {each["missing"] for each in refused.members["shortfalls"]} == {"95"}
        assert held(standing) == {}
        ((_, entry),) = standing.state.audited()
        assert entry.outcome == why
        assert (await standing.plans.get("mine", kept.told.id)).told.state == "open"

    run(story)


def test_of_a_plan_that_fits_in_part_that_part_is_held_and_once(run):
    async def story(standing):
        kept = await standing.plans.make("mine", {"replicas": 3}, pod(cpu="3"), ME)
        assert (kept.told.fits, kept.told.may_be_committed) == (False, True)
        done = await standing.plans.commit("mine", kept.told.id, ME)
        assert done.told.state == "committed"
        assert sorted(each.state for each in done.changed) == ["REJECTED", "RESERVED", "RESERVED"]
        again = await standing.plans.make("mine", {"replicas": 3}, pod(cpu="3"), ME)
        assert not again.told.may_be_committed
        refused = await problem(standing.plans.commit("mine", again.told.id, ME))
        assert (refused.status, refused.title) == (409, "what fits of the plan is held already")

    run(story)


def test_a_plan_of_which_nothing_fits_is_committed_where_it_is_to_stand_in_line(run):
    async def story(standing):
        first = await standing.plans.make("mine", {"replicas": 2}, pod("first", cpu="3"), ME)
        await standing.plans.commit("mine", first.told.id, ME)
        kept = await standing.plans.make("mine", {"waits": True}, pod(cpu="3"), ME)
        assert (kept.told.fits, kept.told.may_be_committed) == (False, True)
        done = await standing.plans.commit("mine", kept.told.id, ME)
        assert {each.state for each in done.changed} == {"WAITING"}

    run(story)


def test_a_plan_that_was_discarded_is_not_committed_and_one_that_was_committed_not_discarded(run):
    async def story(standing):
        first, second = [await standing.plans.make("mine", NOBODY, pod(), ME) for _ in range(2)]
        assert (await standing.plans.discard("mine", first.told.id, "me")).state == "discarded"
        assert (await problem(standing.plans.commit("mine", first.told.id, ME))).status == 409
        await standing.plans.commit("mine", second.told.id, ME)
        assert (await problem(standing.plans.discard("mine", second.told.id, "me"))).status == 409

    run(story)


def test_plans_are_listed_newest_first_and_by_state(run):
    async def story(standing):
        made = [(await standing.plans.make("mine", NOBODY, pod(f"p{n}"), ME)).told for n in range(4)]
        await standing.plans.discard("mine", made[1].id, "me")
        every = await standing.plans.listed("mine", "", "", 9)
        assert [each.id for each in every] == [each.id for each in sorted(made, key=lambda p: p.id)[::-1]]
        assert [each.id for each in await standing.plans.listed("mine", "discarded", "", 9)] == [made[1].id]
        older = await standing.plans.listed("mine", "", every[1].id, 1)
        assert [each.id for each in older] == [every[2].id]
        assert (await problem(standing.plans.listed("other", "", "", 9))).status == 404

    run(story)


def test_what_cannot_be_planned_is_told_as_the_question_would(run):
    async def story(standing):
        wrong = await problem(standing.plans.make("mine", NOBODY, b"kind: {", ME))
        assert wrong.status in {400, 422}
        assert "standard input" in wrong.title
        assert (await problem(standing.plans.make("mine", NOBODY, b"", ME))).status == 422

    run(story)


def test_a_commit_that_was_lost_in_a_kill_is_written_down_by_the_next_server(run, tmp_path):
    async def story(standing):
        made = (await standing.plans.make("mine", {}, pod(), ME)).told

        async def killed(*_):
            raise asyncio.CancelledError

        standing.plans._settled = killed
        with pytest.raises(asyncio.CancelledError):
            await standing.plans.commit("mine", made.id, ME)
        del standing.plans._settled
        assert (await standing.plans.get("mine", made.id)).told.state == "open"
        await standing.state.run(lambda c: c.execute("INSERT INTO settled VALUES ('', 0)"))
        await standing.state.run(lambda connection: take_over(connection, tmp_path, Log()))
        found = (await standing.plans.get("mine", made.id)).told
        assert (found.state, found.committed_revision) == ("committed", read_ledger(path(standing)).revision)
        ((_, entry),) = standing.state.audited(rows_max=9)
        assert (entry.who, entry.action, entry.subject) == ("", "commit plan", made.id)
        past = await standing.history.past("mine", Span(0, 1 << 40, 9))
        assert [mark.plan for mark in past.marks] == [made.id]
        again = await standing.plans.commit("mine", made.id, ME)
        assert (again.told, len(standing.state.audited(rows_max=9))) == (found, 1)

    run(story)


def path(standing):
    return standing.ledgers.path("mine")
