"""The page of what was: who may see who committed, and how far back."""

import re

import pytest

from ullage.web.api import history_pages as module
from ullage.web.api.history_pages import commits_of, history, taken_by
from ullage.web.http import Principal, Request
from ullage.web.settings import Settings
from ullage.web.state import Audited
from web.standing import told


def noted(number, action="reserve"):
    return Audited(number, "somebody", "demo", action, f"r{number}", "accepted", number)


async def page(client, scope, *query):
    request = Request("GET", "/history", {}, Principal("me", scope), query=query)
    answer = await history(client, request)
    assert answer.status == 200
    return answer.body.decode()


@pytest.fixture
def run(tmp_path):
    def running(story):
        async def with_settings(client):
            client.settings = Settings(tmp_path)
            return await story(client)

        return told(tmp_path, (), with_settings)

    return running


@pytest.mark.parametrize(("scope", "sees"), [("read", False), ("plan", False), ("commit", True)])
def test_the_audit_log_is_shown_to_those_alone_who_may_commit(run, scope, sees):
    async def story(client):
        await client.state.note(noted(1))
        html = await page(client, scope)
        assert ("somebody" in html, "sign in with a token of scope commit" in html) == (sees, not sees)

    run(story)


def test_commits_are_read_page_by_page_the_latest_first(run, monkeypatch):
    monkeypatch.setattr(module, "COMMITS_SHOWN", 2)

    async def story(client):
        for number in range(1, 6):
            await client.state.note(noted(number))
        await client.state.note(noted(6)._replace(cluster="other"))
        seen, query = [], {}
        while True:
            found = commits_of(client.state.path, "demo", query)
            seen.append([each.subject for each in found.found])
            if not found.older:
                break
            query = {"before": str(found.older)}
        assert seen == [["r5", "r4"], ["r3", "r2"], ["r1"]]
        html = await page(client, "commit")
        (older,) = re.findall(r'href="/history\?([^"]*)#commits">Older commits', html)
        assert older == "span=day&amp;before=4"
        last = await page(client, "commit", ("before", "2"))
        assert "Latest commits" in last
        assert "Older commits" not in last

    run(story)


def test_commits_of_plans_are_not_pushed_out_by_steps_of_the_ledger(run, monkeypatch):
    monkeypatch.setattr(module, "COMMITS_SHOWN", 2)

    async def story(client):
        await client.state.note(noted(1, "commit plan"))
        for number in range(2, 6):
            await client.state.note(noted(number))
        for kind, subjects in (("plans", ["r1"]), ("ledger", ["r5", "r4"]), ("nonsense", ["r5", "r4"])):
            found = commits_of(client.state.path, "demo", {"of": kind})
            assert [each.subject for each in found.found] == subjects
        html = await page(client, "commit", ("of", "plans"))
        assert ("r1" in html, "/plans/r1" in html) == (True, False)  # it is not kept

    run(story)


def test_plans_have_pages_too(run, monkeypatch):
    monkeypatch.setattr(module, "PLANS_SHOWN", 2)
    pod = b"{kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}"

    async def story(client):
        made = [await client.plans.make("demo", {}, pod, Principal("me", "plan")) for _ in range(3)]
        first, second, third = [each.told.id for each in made]
        html = await page(client, "read")
        assert (first in html, third in html, f"plansBefore={second}#plans" in html) == (False, True, True)
        html = await page(client, "read", ("plansBefore", second))
        assert (first in html, third in html, "Older plans" in html) == (True, False, False)

    run(story)


def test_the_revision_of_every_step_leads_to_what_it_was(run):
    async def story(client):
        await client.state.note(noted(7))
        await client.state.note(noted(8, "commit plan"))
        await client.state.note(noted(9, "upload")._replace(revision=0))
        html = await page(client, "commit")
        assert re.findall(r'href="(/history/steps/[^"]*)"', html) == ["/history/steps/8", "/history/steps/7"]

    run(story)


def test_who_took_a_step_is_found_by_its_cluster_and_revision(run):
    async def story(client):
        await client.state.note(noted(7))
        await client.state.note(noted(7)._replace(who="later", outcome="repeated"))
        await client.state.note(noted(8)._replace(cluster="other"))
        path = client.state.path
        assert taken_by(path, "demo", "7") == {"who": "somebody", "action": "reserve", "of": "r7"}
        assert [taken_by(path, "demo", each) for each in ("8", "x", "", "9" * 30)] == [{}, {}, {}, {}]

    run(story)
