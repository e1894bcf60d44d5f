"""Queries as records."""

from typing import Annotated, Literal

import msgspec
import pytest

from ullage.web.http import Principal, Problem, Request
from ullage.web.parameters import query_of


class Wanted(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    name: str = ""
    nodes_lost: Annotated[int, msgspec.Meta(ge=0, le=3)] | None = None
    shapes: tuple[str, ...] = ()
    is_atomic: bool = False
    by: Literal["node", "quota"] | None = None
    seed: int = 0


def read(*query):
    return query_of(Wanted, Request("GET", "/", {}, Principal("a", "read"), query=query))


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ((), Wanted()),
        ((("name", "null"),), Wanted(name="null")),
        ((("nodesLost", "2"), ("isAtomic", "true")), Wanted(nodes_lost=2, is_atomic=True)),
        ((("shapes", "a"), ("by", "node"), ("shapes", "b")), Wanted(shapes=("a", "b"), by="node")),
    ],
)
def test_text_becomes_what_it_means(query, wanted):
    assert read(*query) == wanted


@pytest.mark.parametrize(
    "query",
    [
        (("nodesLost", "4"),),
        (("nodesLost", "null"),),
        (("nodesLost", "x"),),
        (("nodesLost", ""),),
        (("nodes_lost", "1"),),
        (("name", "a"), ("name", "b")),
        (("isAtomic", "perhaps"),),
        (("by", "drive"),),
        (("seed", "9" * 19),),
        (("seed", "1" * 400),),
    ],
)
def test_what_means_nothing_is_refused(query):
    with pytest.raises(Problem) as caught:
        read(*query)
    assert caught.value.status == 400
