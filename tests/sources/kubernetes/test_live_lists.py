"""Lists in pages: limits, and what is no list. A real server's own pages are in test_live.py."""

import json
from contextlib import contextmanager

import pytest

from sources.kubernetes.small_server import serving
from ullage.model.errors import InputError
from ullage.sources.kubernetes import live_lists
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.kubeconfig import Access, ClusterEntry, UserEntry
from ullage.sources.kubernetes.live_discovery import Listed
from ullage.sources.kubernetes.live_lists import AbsentError, Lists, NotListedError, NotPermittedError
from ullage.sources.kubernetes.live_server import ApiServer
from ullage.sources.limits import DEFAULT_LIMITS, Limits

THINGS = Listed(Kind("example.com", "Thing"), "example.com/v1", "things", namespaced=True)


def page(*names: str, following: str = "", revision: str = "7") -> bytes:
    metadata = {"resourceVersion": revision, **({"continue": following} if following else {})}
    items = [{"metadata": {"name": name}} for name in names]
    return json.dumps({"kind": "ThingList", "metadata": metadata, "items": items}).encode()


@contextmanager
def lists_of(url: str, limits: Limits = DEFAULT_LIMITS):
    server = ApiServer(Access("here", ClusterEntry(server=url), UserEntry()), limits=limits)
    try:
        with Lists(server, page_items=2, limits=limits) as lists:
            yield lists
    finally:
        server.close()


def test_pages_follow_each_other_with_the_token_of_the_one_before():
    script = [(200, page("a", "b", following="x")), (200, page("c", following="y=")), (200, page("d"))]
    with serving(*script) as there, lists_of(there.url) as lists:
        found = list(lists.pages(THINGS, "my team", "!owned"))
    assert [(each.number, each.revision, each.is_later) for each in found] == [
        (1, 7, False),
        (2, 7, False),
        (3, 7, False),
    ]
    assert [bytes(each.data) for each in found] == [body for _, body in script]
    base = "/apis/example.com/v1/namespaces/my%20team/things?limit=2&labelSelector=%21owned"
    assert [path for path, _ in there.seen] == [base, f"{base}&continue=x", f"{base}&continue=y%3D"]


def test_the_first_page_of_a_list_that_was_begun_is_not_asked_for_again():
    with serving((200, page("a"))) as there, lists_of(there.url) as lists:
        lists.begin([(THINGS.path(), "")])
        assert len(list(lists.pages(THINGS))) == 1
        assert len(list(lists.pages(THINGS))) == 1
    assert len(there.seen) == 2


@pytest.mark.parametrize(
    ("status", "error", "said"),
    [(403, NotPermittedError, ""), (404, AbsentError, ""), (418, NotListedError, "HTTP status 418")],
)
def test_a_list_that_is_not_given_is_told_apart(status, error, said):
    with serving((status, b"")) as there, lists_of(there.url) as lists, pytest.raises(error) as raised:
        list(lists.pages(THINGS))
    assert str(raised.value) == said
    assert type(raised.value) is error


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ([(200, b"<html>")], "things.example.com: the answer is no list of objects"),
        ([(200, b'{"metadata": 3}')], "things.example.com: the answer is no list of objects"),
        ([(200, b"[" * 100_000)], "things.example.com: the answer is no list of objects"),
        ([(200, page("a", following="x")), (403, b"")], "things.example.com, page 2: HTTP status 403"),
        ([(200, page("a", following="x"))], "things.example.com: more than 3 pages"),
    ],
    ids=["html", "wrong metadata", "too deep", "breaks off", "endless"],
)
def test_what_is_no_list_is_one_line(monkeypatch, script, said):
    monkeypatch.setattr(live_lists, "PAGES_MAX", 3)
    with serving(*script) as there, lists_of(there.url) as lists, pytest.raises(InputError, match=said):
        list(lists.pages(THINGS))


def test_a_list_does_not_grow_without_a_bound():
    limits = Limits(file_bytes_max=250)
    endless = (200, page("a", following="x"))
    said = r"things\.example\.com: more than 250 bytes of text; use -n"
    with (
        serving(endless) as there,
        lists_of(there.url, limits) as lists,
        pytest.raises(InputError, match=said),
    ):
        list(lists.pages(THINGS))
    assert 2 < len(there.seen) < 6


@pytest.mark.parametrize(("version", "revision"), [("12", 12), ("", 0), ("a1", 0), ("9" * 30, 0)])
def test_a_revision_is_a_number_or_nothing(version, revision):
    with serving((200, page("a", revision=version))) as there, lists_of(there.url) as lists:
        (found,) = lists.pages(THINGS)
    assert found.revision == revision
