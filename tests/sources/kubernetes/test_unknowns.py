"""What is said about a dump, once and in a fixed order."""

import itertools
import json

import pytest

from sources.kubernetes.kube import listed, pod, read_text
from ullage.sources.kubernetes.items import Kind, Page
from ullage.sources.kubernetes.unknowns import Unknowns

POD = Kind("", "Pod")
LAST = Page(POD, "f: document 3", continues=False, remaining=None)
FIRST = Page(POD, "f", continues=True, remaining=9)
MIDDLE = Page(POD, "f: document 2", continues=True, remaining=4)


def lines(*pages):
    unknowns = Unknowns()
    for page in pages:
        unknowns.page(page)
    return unknowns.lines()


@pytest.mark.parametrize("pages", [*itertools.permutations((FIRST, MIDDLE, LAST))])
def test_pages_up_to_the_last_are_complete(pages):
    assert lines(*pages) == ()


@pytest.mark.parametrize("pages", [*itertools.permutations((FIRST, MIDDLE))])
def test_pages_without_the_last_are_incomplete(pages):
    assert lines(*pages) == (
        "incomplete: f: document 2 says that 4 more Pod objects follow, on a page that is not there",
    )


def test_the_last_page_of_one_kind_does_not_complete_another():
    assert lines(FIRST, LAST._replace(kind=Kind("", "Node"))) == (
        "incomplete: f says that 9 more Pod objects follow, on a page that is not there",
    )
    assert lines(Page(Kind("", ""), "f", continues=True, remaining=None)) == (
        "incomplete: f says that more objects follow, on a page that is not there",
    )


def test_pages_of_a_dump_add_up_to_one_list():
    pages = [
        listed(pod("a"), kind="PodList", metadata={"continue": "x", "remainingItemCount": 1}),
        listed(pod("b"), kind="PodList", metadata={"continue": ""}),
    ]
    whole = read_text("".join(map(json.dumps, pages)))
    assert (list(whole.workloads.keys()), whole.unknowns) == (["team/a", "team/b"], ())
    assert read_text(json.dumps(pages[0])).unknowns == (
        "incomplete: standard input says that 1 more Pod objects follow, on a page that is not there",
    )


def test_lines_are_said_once_and_sorted():
    unknowns = Unknowns()
    for kind in ("Secret", "ConfigMap", "Secret"):
        unknowns.not_read(Kind("", kind))
    unknowns.say("b")
    unknowns.say("a")
    unknowns.say("b")
    unknowns.examples("c", [])
    unknowns.examples("d", ["4", "3\n", "2", "1"])
    assert unknowns.lines() == (
        "a",
        "b",
        "d: 1, 2, 3\\n and 1 more",
        "not read: 1 ConfigMap",
        "not read: 2 Secret",
    )
