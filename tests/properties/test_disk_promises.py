"""Whatever happens to disks, what the ledger has promised of them can be had, once and by those it is for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from properties.disk_world import EXTENT, PODS, DiskWorld
from ullage.engine.ledger.audit import audit
from ullage.model.ledger import VOLUME_SPACE

names = st.sampled_from(PODS)
SHARE = st.sampled_from(["HDDLVG", "HDDLVG", "HDD"])
STEPS = st.one_of(
    st.tuples(st.just("ask"), names, SHARE, st.integers(1, 20)),
    st.tuples(st.just("ask and make"), names, SHARE, st.integers(1, 9)),
    st.tuples(st.sampled_from(["make", "bind", "run", "delete", "forget", "release", "part"]), names),
    st.tuples(st.just("group"), st.sampled_from([("d0",), ("d1",)])),
    st.tuples(st.just("ungroup"), st.integers(0, 9)),
)


def step(world, what, *how):
    if what.startswith("ask"):
        world.ask(*how)
        if what == "ask and make":
            world.make(how[0])
    elif what == "make":
        world.make(*how)
    elif what == "bind":
        world.bind(*how)
    elif what == "run" and how[0] in world.made:
        world.running.add(how[0])
    elif what in {"delete", "forget"}:
        world.delete(*how, tells=what == "delete")
    elif what == "release":
        world.release(*how)
    elif what == "part":
        world.release(how[0], f"data-{how[0]}")
    elif what == "ungroup":
        world.ungroup(f"vg{how[0]}")
    elif what == "group":
        taken_up = {drive for drives in world.groups.values() for drive in drives}
        taken_up |= {each.place for each in world.made.values()}
        wholly = [entry for entry in map(world.entry, PODS) if entry and len(entry.resources) > 1]
        taken_up |= {place for entry in wholly for place in world.places(entry)}
        if not taken_up.intersection(how[0]):
            world.group(*how[0])


@settings(max_examples=80, deadline=None)
@given(st.lists(STEPS, max_size=14))
def test_what_is_promised_can_be_made_and_fit_and_commit_agree(steps):
    world = DiskWorld(12, 18)
    for each in steps:
        step(world, *each)
        world.check()
    assert [each for each in audit(world.ledger.state) if each.severity == "error"] == []


ASKED = st.tuples(st.sampled_from(["HDDLVG", "HDD"]), st.integers(1, 20))


@settings(max_examples=30, deadline=None)
@given(st.lists(STEPS, max_size=6), ASKED, ASKED, st.lists(STEPS, max_size=3), st.booleans())
def test_of_two_plans_one_before_and_one_after_a_change_no_byte_is_promised_twice(
    steps, first, second, between, late_first
):
    """The disks change between the two plans; the ledger does not, but for the other one of them."""
    world = DiskWorld(12, 18)
    for each in steps:
        step(world, *each)
    world.release("b")
    world.release("c")
    plans = [world.plan("b", *first)]
    for each in between:
        if each[0] in {"group", "ungroup", "run"}:
            step(world, *each)
    plans.append(world.plan("c", *second))
    for plan in reversed(plans) if late_first else plans:
        if plan.command is not None:
            world.ledger.do(plan.command)
    world.check()


@pytest.mark.parametrize("late_first", [False, True])
@pytest.mark.parametrize(("first", "second"), [("HDDLVG", "HDDLVG"), ("HDD", "HDDLVG")])
def test_one_who_saw_the_drive_and_one_who_saw_the_group_do_not_both_have_it(first, second, late_first):
    world = DiskWorld(12)
    plans = [world.plan("b", first, 8)]
    world.group("d0")
    plans.append(world.plan("c", second, 8))
    order = plans[::-1] if late_first else plans
    assert [world.ledger.do(each.command).accepted for each in order] == [True, False]


BESIDE = ("ask", "b", "HDDLVG", 5)


@pytest.mark.parametrize(
    ("steps", "held"),
    [
        ([("ask", "a", "HDDLVG", 2), ("ask", "a", "HDDLVG", 9)], {"a": 9}),
        ([("ask", "a", "HDDLVG", 9), ("ask", "a", "HDDLVG", 2)], {"a": 2}),
        ([("ask", "a", "HDDLVG", 2), ("ask", "a", "HDDLVG", 90)], {"a": 2}),
        ([("ask", "a", "HDDLVG", 2), ("ask", "a", "HDD", 2)], {"a": 11}),
        ([("ask", "a", "HDDLVG", 2), ("part", "a"), ("ask", "a", "HDDLVG", 2)], {"a": 2}),
        ([("ask", "a", "HDDLVG", 2), ("make", "a"), ("ask", "a", "HDDLVG", 9)], {"a": 9}),
        ([("ask", "a", "HDDLVG", 2), ("make", "a"), ("ask", "a", "HDDLVG", 90)], {"a": 2}),
        ([("ask", "a", "HDDLVG", 2), ("make", "a"), ("ask", "a", "HDD", 2)], {"a": 2}),
        ([("ask", "a", "HDDLVG", 8), ("ask", "b", "HDDLVG", 8)], {"a": 8}),
        ([("ask", "a", "HDDLVG", 8), ("make", "a"), ("ask", "b", "HDDLVG", 8)], {"a": 8}),
        ([("group", ("d0",)), ("ask", "a", "HDDLVG", 8), ("ungroup", 0), ("ask", "b", "HDD", 5)], {"a": 8}),
        ([("ask", "a", "HDDLVG", 8), ("bind", "a"), ("ask", "b", "HDDLVG", 8)], {"a": 8}),
        ([("ask", "a", "HDDLVG", 8), ("make", "a"), ("ask", "b", "HDDLVG", 3)], {"a": 8, "b": 3}),
        ([("ask", "a", "HDDLVG", 2), ("make", "a"), ("ask", "a", "HDDLVG", 9), BESIDE], {"a": 9}),
    ],
    ids=[
        "a hold grows",
        "a hold shrinks",
        "a hold that finds no room stays as it was",
        "a hold becomes one of a whole drive",
        "what was given back is held again",
        "a volume grows",
        "a volume that finds no room stays as it is",
        "a volume does not change its class",
        "a promise is in the way of others",
        "a volume is in the way of others",
        "a group becomes a drive again",
        "a bound promise without its volume",
        "what is left beside a volume",
        "a volume that is to grow",
    ],
)
def test_on_one_drive(steps, held):
    world = DiskWorld(12)
    for each in steps:
        step(world, *each)
        world.check()
    entries = {name: world.entry(name) for name in PODS}
    assert {
        name: entry.resources.of(VOLUME_SPACE) // EXTENT for name, entry in entries.items() if entry
    } == held
