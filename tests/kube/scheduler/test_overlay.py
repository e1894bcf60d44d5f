"""A row says what is taken for granted until it says so by itself, or the last who wanted it lets go."""

import msgspec
import pytest

from builders import claim
from ullage.kube.scheduler.overlay import Overlay
from ullage.model.storage import Claim

OPEN = claim("web/a", "1Gi")


def chosen(row: Claim, node: str = "n1") -> Claim:
    return msgspec.structs.replace(row, selected_node=node)


@pytest.fixture
def overlay() -> Overlay[Claim]:
    return Overlay(lambda row: bool(row.selected_node))


def test_a_row_says_it_at_once_and_after_each_update(overlay):
    assert overlay.put("p", "web/a", OPEN, selected_node="n1") == chosen(OPEN)
    newer = msgspec.structs.replace(OPEN, size_bytes=7)
    assert overlay.applied([newer], ()) == (chosen(newer),)


def test_a_row_that_says_it_by_itself_is_left_alone_from_then_on(overlay):
    overlay.put("p", "web/a", OPEN, selected_node="n1")
    assert overlay.applied([chosen(OPEN)], ()) == (chosen(OPEN),)
    assert overlay.applied([OPEN], ()) == (OPEN,)
    assert not len(overlay)
    assert overlay.put("p", "web/a", chosen(OPEN, "n2"), selected_node="n1") is None


def test_a_row_that_comes_later_says_it_when_it_comes(overlay):
    assert overlay.put("p", "web/a", None, selected_node="n1") is None
    assert overlay.applied([OPEN], ()) == (chosen(OPEN),)


def test_what_is_let_go_of_is_as_it_was_seen_last(overlay):
    overlay.put("p", "web/a", OPEN, selected_node="n1")
    newer = msgspec.structs.replace(OPEN, size_bytes=7)
    overlay.applied([newer], ())
    overlay.let_go("p")
    assert overlay.applied([], ()) == (newer,)
    assert overlay.applied([], ()) == ()
    assert not len(overlay)


def test_those_who_share_a_row_let_go_of_it_together(overlay):
    for owner in "pq":
        overlay.put(owner, "web/a", OPEN, selected_node="n1")
    overlay.let_go("p")
    assert overlay.applied([OPEN], ()) == (chosen(OPEN),)
    overlay.let_go("q")
    assert overlay.applied([], ()) == (OPEN,)


@pytest.mark.parametrize("lets_go", [False, True])
def test_a_row_that_is_gone_does_not_come_back(overlay, lets_go):
    overlay.put("p", "web/a", OPEN, selected_node="n1")
    if lets_go:
        overlay.let_go("p")
    assert overlay.applied([], ["web/a"]) == ()


def test_others_pass_unchanged(overlay):
    overlay.put("p", "web/a", OPEN, selected_node="n1")
    other = claim("web/b", "1Gi")
    overlay.let_go("q")
    assert overlay.applied([other], ()) == (other,)
