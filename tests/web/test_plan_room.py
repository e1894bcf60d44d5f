"""Which plans are kept: what was committed is never dropped for what was not."""

import pytest

from ullage.web import plan_room as module
from ullage.web.api.history_pages import commits_of, taken_by
from ullage.web.http import Problem
from web.standing import told
from web.test_plans import ME, NOBODY, cluster, pod, problem


@pytest.fixture
def run(tmp_path):
    sources = {name: cluster(tmp_path / f"{name}.json", "a", "b") for name in ("mine", "other")}
    return lambda story: told(tmp_path, (), story, **sources)


async def made(standing, count=1, name="mine", key=""):
    return [(await standing.plans.make(name, NOBODY, pod(), ME, key)).told.id for _ in range(count)]


async def kept(standing, name="mine"):
    return {each.id for each in await standing.plans.listed(name, "", "", 99)}


@pytest.mark.parametrize(("name", "most", "left"), [("PLANS_MAX", 2, 2), ("BYTES_MAX", 1, 1)])
def test_the_oldest_plans_go_where_there_are_too_many_or_they_are_too_large(
    run, monkeypatch, name, most, left
):
    async def story(standing):
        monkeypatch.setattr(module, name, most)
        plans = await made(standing, 4)
        assert await kept(standing) == set(sorted(plans)[-left:])
        assert (await problem(standing.plans.get("mine", min(plans)))).status == 404

    run(story)


def test_those_that_were_committed_stay_and_those_of_others_too(run, monkeypatch):
    async def story(standing):
        monkeypatch.setattr(module, "PLANS_MAX", 2)
        (committed,) = await made(standing)
        await standing.plans.commit("mine", committed, ME)
        (theirs,) = await made(standing, name="other")
        newer = await made(standing, 4)
        assert await kept(standing) == {committed, *sorted(newer)[-2:]}
        assert await kept(standing, "other") == {theirs}

    run(story)


def test_those_that_are_open_stay_longer_than_those_that_were_discarded(run, monkeypatch):
    async def story(standing):
        monkeypatch.setattr(module, "PLANS_MAX", 3)
        plans = await made(standing, 3)
        await standing.plans.discard("mine", max(plans), "me")
        plans += await made(standing)
        assert await kept(standing) == {*plans} - {max(plans[:3])}

    run(story)


def test_only_so_many_are_kept_of_those_that_were_committed(run, monkeypatch):
    async def story(standing):
        monkeypatch.setattr(module, "COMMITTED_MAX", 1)
        plans = [(await standing.plans.make("mine", NOBODY, pod(f"p{n}", "1"), ME)).told.id for n in range(3)]
        for plan in plans:
            await standing.plans.commit("mine", plan, ME)
        (last,) = await made(standing)
        assert await kept(standing) == {max(plans), last}
        found = commits_of(standing.state.path, "mine", {})
        assert (len(found.found), found.plans) == (3, {max(plans)})
        steps = {each.subject: str(each.revision) for each in found.found}
        told_of = {plan: taken_by(standing.state.path, "mine", step) for plan, step in steps.items()}
        assert {plan for plan, words in told_of.items() if "plan" in words} == {max(plans)}

    run(story)


def test_a_key_whose_plan_is_gone_has_another_one(run, monkeypatch):
    async def story(standing):
        monkeypatch.setattr(module, "PLANS_MAX", 1)
        (first,) = await made(standing, key="deploy")
        await made(standing)
        (again,) = await made(standing, key="deploy")
        assert again != first
        assert await made(standing, key="deploy") == [again]

    run(story)


def test_a_key_whose_plan_was_committed_and_is_gone_promises_nothing_again(run):
    async def story(standing):
        (plan,) = await made(standing, key="deploy")
        done = await standing.plans.commit("mine", plan, ME)
        await standing.state.run(lambda connection: connection.execute("DELETE FROM plans"))
        with pytest.raises(Problem) as refused:
            await made(standing, key="deploy")
        assert (refused.value.status, refused.value.members["revision"]) == (410, done.outcome.revision)

    run(story)
