"""A message about a text that is not allowed names those that are, wherever it stands."""

from typing import Annotated, Literal

import msgspec
import pytest

from ullage.sources.allowed_values import NAMED_MAX, use_one_of

Mode = Literal["a", "b"]


class Inner(msgspec.Struct, rename="camel"):
    some_mode: Mode | None = None
    only: Literal["x"] = "x"
    text: str = ""
    many: Literal[tuple(f"v{number}" for number in range(NAMED_MAX + 1))] = "v0"  # type: ignore[valid-type]


class Outer(msgspec.Struct):
    rows: list[Inner] = []
    named: dict[str, Inner] = {}
    modes: tuple[Mode, ...] = ()
    strict: Annotated[Mode, msgspec.Meta(description="one of two")] = "a"


@pytest.mark.parametrize(
    ("path", "remedy"),
    [
        (("rows", 3, "someMode"), "use one of a, b"),
        (("rows", 0, "only"), "use x"),
        (("named", "n", "someMode"), "use one of a, b"),
        (("modes", 1), "use one of a, b"),
        (("strict",), "use one of a, b"),
        (("rows", 0, "text"), "use one that is"),
        (("rows", 0, "many"), "use one that is"),
        (("nowhere",), "use one that is"),
        ((), "use one that is"),
    ],
)
def test_the_remedy_names_what_is_allowed(path, remedy):
    assert use_one_of(Outer, path) == remedy
    assert use_one_of(Outer | None, path) == remedy


def test_of_a_type_that_nobody_knows_nothing_is_named():
    assert use_one_of(object(), ("a",)) == "use one that is"
