"""What surrounds every page."""

import pytest

from ullage.web.pages.shell import PAGES, Shell, draw, shell_of, terminal


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/", "/"),
        ("/nodes", "/nodes"),
        ("/nodes/n1", "/nodes"),
        ("/plans/1", "/history"),
        ("/explain/quota/q", ""),
        ("/docs", ""),
    ],
)
def test_a_page_belongs_to_the_entry_of_the_menu_that_its_path_begins_with(path, page):
    assert Shell(path=path).page == page


def test_an_address_names_the_cluster_only_where_there_are_several():
    one, two = Shell(cluster="a", clusters=("a",)), Shell(cluster="a", clusters=("a", "b"))
    assert one.address("/nodes") == "/nodes"
    assert two.address("/nodes", domain="r 1") == "/nodes?domain=r+1&cluster=a"


def test_a_name_in_a_path_is_encoded_and_an_empty_parameter_left_out():
    assert Shell().address("/nodes/a?b#c", q="") == "/nodes/a%3Fb%23c"


def test_the_switch_goes_through_all_themes():
    seen, theme = [], ""
    for _ in range(3):
        theme = Shell(theme=theme).next_theme.replace("system", "")
        seen.append(theme)
    assert seen == ["light", "dark", ""]


@pytest.mark.parametrize(
    ("scope", "plans", "commits"),
    [("read", False, False), ("plan", True, False), ("commit", True, True)],
)
def test_who_may_do_more_may_do_less_too(scope, plans, commits):
    shell = Shell(scope=scope)
    assert (shell.may_plan, shell.may_commit) == (plans, commits)


def test_letters_that_lead_to_pages_differ():
    assert len({letter for _, _, letter in PAGES}) == len(PAGES)


def test_without_a_shell_there_is_an_empty_one():
    assert shell_of({}) == Shell()


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("big", "ullage status -c http://localhost:8480/v1/clusters/big"),
        ("a b", "ullage status -c http://localhost:8480/v1/clusters/a%20b"),
    ],
)
def test_a_command_asks_this_server_wherever_it_reads_the_cluster_from(name, command):
    assert terminal(Shell(cluster=name, origin="http://localhost:8480"), "status") == command


def test_what_a_shell_is_told_is_escaped():
    html = draw("problem", Shell(cluster="<em>", who="<i>"), heading="h", title="<u>", detail="", again=False)
    assert not any(tag in html for tag in (b"<em>", b"<i>", b"<u>"))
    assert b"&lt;u&gt;" in html


@pytest.mark.parametrize(
    ("shell", "hears"),
    [
        (Shell(cluster="c", after="r-1"), True),
        (Shell(cluster="c", after="r-1", is_inside=False), False),
        (Shell(after="r-1"), False),
        (Shell(cluster="c"), False),
    ],
)
def test_a_page_about_a_cluster_hears_of_news_after_it_was_drawn(shell, hears):
    html = draw("problem", shell, heading="h", title="t", detail="", again=False)
    assert (b'aria-live="polite" data-news="r-1"></div>' in html) == hears


def test_the_theme_that_was_chosen_is_on_the_page_and_otherwise_none():
    def page(theme):
        return draw("problem", Shell(theme=theme), heading="h", title="t", detail="", again=False)

    assert b'<html lang="en" data-theme="dark">' in page("dark")
    assert b'<html lang="en">' in page("")
