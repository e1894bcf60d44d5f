"""What was just allowed counts for the next question, and nobody is refused because of what is not there."""

import asyncio

from builders import quota
from ullage.kube.operator.beside import ALLOWED_SECONDS, Beside, Change
from ullage.model.cluster import Quota
from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.api.connection import BrokenError

A = quota("a", namespaces=("team",))
B = quota("b", namespaces=("team",))
ABOVE = quota("above", {"cpu": "2"})
BELOW = quota("below", {"cpu": "2"}, parent="above")


class Server:
    """What a watch shows and what is stored, and a clock that waiting moves on."""

    def __init__(self, shown: tuple[Quota, ...] = (), stored: tuple[Quota, ...] | None = None) -> None:
        self.stored = shown if stored is None else stored
        self.answers = True
        self.lists = 0
        self.seconds = 0.0
        self.beside = Beside(
            ResourceTypes(), lambda: shown, self.listed, now=lambda: self.seconds, sleep=self.sleep
        )

    async def listed(self) -> tuple[Quota, ...]:
        self.lists += 1
        if not self.answers:
            raise BrokenError("away")
        return self.stored

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def refusal(self, row: Quota, *, goes: bool = False, counts: bool = True) -> str:
        return asyncio.run(self.beside.refusal(Change(row, goes), counts=counts))


def test_what_nobody_is_in_the_way_of_is_allowed_without_a_list():
    server = Server()
    assert server.refusal(A) == ""
    assert server.lists == 0


def test_what_was_allowed_is_in_the_way_as_soon_as_it_is_stored():
    server = Server()
    assert server.refusal(A) == ""
    server.stored = (A,)
    assert "both cover namespace team" in server.refusal(B)


def test_what_was_allowed_and_never_stored_is_forgotten_before_anybody_is_refused():
    server = Server()
    assert server.refusal(A) == ""
    assert server.refusal(B) == ""
    assert server.seconds >= ALLOWED_SECONDS


def test_what_is_only_tried_does_not_count():
    server = Server()
    assert server.refusal(A, counts=False) == ""
    assert server.refusal(B) == ""
    assert server.seconds == 0


def test_what_is_gone_and_still_shown_is_in_nobodys_way():
    assert Server(shown=(A,), stored=()).refusal(B) == ""


def test_a_parent_that_is_not_shown_yet_is_there():
    assert Server(shown=(), stored=(ABOVE,)).refusal(BELOW) == ""


def test_a_parent_that_was_allowed_to_go_is_waited_for():
    server = Server(shown=(ABOVE,), stored=(ABOVE,))
    assert server.refusal(ABOVE, goes=True) == ""
    server.stored = ()
    assert "parent 'above' is no quota" in server.refusal(BELOW)


def test_a_child_that_was_just_stored_keeps_its_parent():
    server = Server(shown=(ABOVE,))
    assert server.refusal(BELOW) == ""
    server.stored = (ABOVE, BELOW)
    assert "without quota above" in server.refusal(ABOVE, goes=True)


def test_without_an_answer_what_is_known_decides():
    server = Server(shown=(A,))
    server.answers = False
    assert "both cover namespace team" in server.refusal(B)


def test_two_kinds_of_one_name_are_two_quotas():
    one = quota("team/x", namespaces=("team",), kind="ElasticQuota")
    both = quota("team/x", namespaces=("team", "web"), kind="CompositeElasticQuota")
    assert "both cover namespace team" in Server(shown=(one,)).refusal(both)
    assert "both cover namespace team" in Server(shown=(both,)).refusal(one)
