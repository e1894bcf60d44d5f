"""Steps and states as objects, and back."""

import json

import pytest

from ullage.model.errors import InputError
from ullage.stores.codec import GENESIS, chained
from ullage.stores.kubernetes_objects import (
    OBJECT_BYTES_MAX,
    Part,
    Step,
    document_of,
    read_object,
    step_name,
)
from ullage.stores.protocol import StoreUnavailableError

ROW = (42, 7, "k", '{"command":"expire"}', '{"accepted":true}')
STEP = Step(*ROW, chained(GENESIS, ROW), "me")
PART = Part(42, 7, STEP.hash, 0, 2, "abc", "0f" * 32)


def content(made, **changed):
    document = document_of(made)
    document["spec"] = {
        name: value for name, value in (document["spec"] | changed).items() if value is not None
    }
    return json.dumps(document).encode()


@pytest.mark.parametrize("made", [STEP, STEP._replace(key=""), PART])
def test_what_is_written_is_read(made):
    assert read_object(content(made)) == made


def test_a_step_is_called_by_its_revision_so_that_names_are_in_order():
    names = [step_name(revision) for revision in (1, 9, 10, 99, 10**15)]
    assert names == sorted(names)
    assert document_of(STEP)["metadata"]["name"] == "step-0000000000000042"


def test_a_step_follows_the_one_it_was_written_after_and_no_other():
    assert STEP.follows(GENESIS)
    assert not STEP.follows(STEP.hash)
    assert not STEP._replace(decision='{"accepted":false}').follows(GENESIS)


def test_parts_that_were_made_otherwise_have_other_names():
    assert PART.name != PART._replace(digest="1f" * 32).name
    assert PART.name != PART._replace(part=1).name


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"revision": 41}, "step-0000000000000042 is not what its name says"),
        ({"hash": "00"}, "is not what its name says"),
        ({"hash": "x"}, "an object cannot be read"),
        ({"revision": "41"}, "an object cannot be read"),
        ({"decision": None}, "is neither a step nor a state"),
    ],
)
def test_what_nobody_here_wrote_is_refused(changed, said):
    with pytest.raises(StoreUnavailableError, match=said):
        read_object(content(STEP, **changed))


def test_a_step_that_one_object_cannot_hold_is_refused_before_it_is_written():
    with pytest.raises(InputError, match="commit fewer workloads at a time"):
        document_of(STEP._replace(command="x" * OBJECT_BYTES_MAX))
    with pytest.raises(InputError, match="commit fewer workloads at a time"):
        document_of(STEP._replace(command='"' * (OBJECT_BYTES_MAX // 2)))
