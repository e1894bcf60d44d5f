"""Whatever goes wrong is told on the page: forms that fail say why, whether scripts run or not."""

import json
import re

import pytest

from page_browser import browser, until_read
from web_client import started

pytestmark = [pytest.mark.slow, pytest.mark.browser]
PROBLEM = {"type": "about:blank", "title": "too much to do", "status": 503, "detail": "ask again later"}
FORMS = (
    ("/balance", "button.first", {}),
    ("/what-if?waiting=1", "button.first", {}),
    ("/nodes", "input[name=q]", {"q": "n1"}),
    ("/quotas", "input[name=q]", {"q": "ml"}),
    ("/drives", "input[name=q]", {"q": "n3"}),
)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with started(tmp_path_factory.mktemp("data"), "-c", "demo", "--refresh", "0") as server:
        until_read(server)
        yield server


@pytest.fixture
def seen(served):
    with browser(served.address) as watched:
        yield watched


def asked_again(page, selector, fields):
    """Do what has a form ask without leaving the page."""
    if fields:
        page.fill(selector, next(iter(fields.values())))
    else:
        page.click(selector)


def by_script(answer):
    """Answer what scripts ask for in another way; the page itself is as it is."""
    return lambda route: answer(route) if "hx-request" in route.request.headers else route.continue_()


@pytest.mark.parametrize(("path", "selector", "fields"), FORMS)
def test_a_problem_is_told_where_it_was_asked_and_what_was_there_stays(seen, path, selector, fields):
    seen.go(path)
    page = seen.page
    before = page.inner_text("h1")
    problem = {"status": 503, "content_type": "application/problem+json", "body": json.dumps(PROBLEM)}
    page.route("**/*", by_script(lambda route: route.fulfill(**problem)))
    asked_again(page, selector, fields)
    alert = page.get_by_role("alert").filter(has_text="too much to do")
    alert.wait_for()
    assert "ask again later" in alert.inner_text()
    assert alert.evaluate("each => each.getBoundingClientRect().top") < page.viewport_size["height"]
    assert page.inner_text("h1") == before
    page.unroute("**/*")
    page.get_by_role("button", name="Close").click()
    page.wait_for_function("document.querySelector('[data-trouble]').textContent === ''")


def test_a_page_that_says_what_is_wrong_is_told_in_one_line(seen):
    seen.go("/balance")
    page = seen.page
    told = page.request.get(f"{seen.address}/nodes/nothing").text()
    answer = {"status": 422, "content_type": "text/html", "body": told}
    page.route("**/balance*", by_script(lambda route: route.fulfill(**answer)))
    page.click("button.first")
    page.get_by_role("alert").get_by_text("no node 'nothing'").wait_for()
    assert page.locator("h1").count() == 1


@pytest.mark.parametrize(("status", "body"), [(500, ""), (502, "<html>"), (504, "{"), (404, "no")])
def test_an_answer_that_nobody_understands_is_told_too(seen, status, body):
    seen.go("/balance")
    page = seen.page
    page.route("**/balance*", by_script(lambda route: route.fulfill(status=status, body=body)))
    page.click("button.first")
    page.get_by_role("alert").get_by_text(f"The server answers {status}").wait_for()


def test_a_server_that_is_gone_is_told_and_forgotten_once_it_answers(seen):
    seen.go("/balance")
    page = seen.page
    page.route("**/balance*", by_script(lambda route: route.abort()))
    page.click("button.first")
    page.get_by_role("alert").get_by_text("cannot be reached").wait_for()
    assert not page.locator("#busy").is_visible()
    page.unroute("**/balance*")
    with page.expect_response(re.compile("/balance")):
        page.click("button.first")
    page.locator("#answer .verdict").wait_for()
    assert page.locator("[data-trouble]").inner_text() == ""


def test_a_server_that_never_answers_is_told(seen):
    seen.go("/balance")
    page = seen.page
    page.evaluate("htmx.config.timeout = 300")
    page.route("**/balance*", by_script(lambda route: route.request.url))
    page.click("button.first")
    page.get_by_role("alert").get_by_text("takes too long").wait_for()


def test_who_is_signed_in_no_more_is_led_to_signing_in(seen):
    seen.go("/nodes")
    page = seen.page
    problem = {**PROBLEM, "title": "a token is needed", "status": 401}
    answer = {"status": 401, "content_type": "application/problem+json", "body": json.dumps(problem)}
    page.route("**/nodes*", by_script(lambda route: route.fulfill(**answer)))
    page.fill("input[name=q]", "n1")
    link = page.get_by_role("alert").get_by_role("link", name="Sign in")
    assert link.get_attribute("href") == "/login?next=%2Fnodes"


def test_a_theme_that_cannot_be_remembered_is_told(seen):
    seen.go("/")
    seen.page.route("**/theme", lambda route: route.abort())
    seen.page.keyboard.press("t")
    seen.page.get_by_role("alert").get_by_text("cannot be remembered").wait_for()


def test_an_empty_question_says_what_to_do(seen):
    seen.go("/what-if")
    seen.page.get_by_role("button", name="Does it fit?").click()
    seen.page.get_by_role("alert").get_by_text("paste a manifest").wait_for()


def test_without_scripts_problems_are_pages(served):
    with browser(served.address, java_script_enabled=False) as watched:
        page = watched.page
        assert page.goto(f"{served.address}/nothing/here").status == 404
        assert page.get_by_role("heading", name="Not found").count() == 1
        page.get_by_role("link", name="Overview").first.click()
        page.goto(f"{served.address}/what-if")
        page.get_by_label("Manifest").fill("a: 1\n  b: 2")
        page.get_by_role("button", name="Does it fit?").click()
        page.get_by_role("alert").get_by_text("the manifest, line 2").wait_for()
