"""One object states one resource; what is wrong with it is told with its path."""

import json

import pytest
from msgspec import Raw

from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.type_objects import with_type

LICENCES = "example.com/licences"
SEATS = {"name": LICENCES, "internalScaleExponent": 3}


def stated(spec: object, types: ResourceTypes | None = None) -> ResourceTypes:
    return with_type(types or ResourceTypes(), Raw(json.dumps(spec).encode()))


@pytest.mark.parametrize("asked", [2, "2"])
def test_a_default_may_be_a_number_or_text(asked):
    assert stated({**SEATS, "defaultRequest": asked})[LICENCES].default_amount() == 2000


def test_what_is_built_in_adds_nothing_and_the_same_again_neither():
    once = stated(SEATS)
    assert stated({"name": "cpu"}, once) == stated(SEATS, once) == once


WRONG = {
    "no name": ({"units": "seat"}, "spec: no resource is named; add spec.name"),
    "nothing": (None, "spec: no resource is named; add spec.name"),
    "no mapping": ([], "spec: expected a mapping or null, found a list; write a mapping or null"),
    "built in": (
        {"name": "cpu", "internalScaleExponent": 0},
        "spec: resource type cpu is built in; give your own type a domain of your own",
    ),
    "otherwise than another": (
        {"name": LICENCES},
        f"spec: resource type {LICENCES} is defined twice; keep one",
    ),
    "a default that is no amount": (
        {"name": "example.com/tapes", "defaultRequest": True},
        "spec.defaultRequest: expected text or null, found a boolean; write text or null",
    ),
}


@pytest.mark.parametrize(("spec", "text"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_with_its_path(spec, text):
    with pytest.raises(Fault) as told:
        stated(spec, stated(SEATS))
    assert str(told.value.alone()) == text
