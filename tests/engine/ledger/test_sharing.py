"""The bytes of a claim are counted once while anybody holds it, and those of a volume while it exists."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.ledger.ledgers import MIB, Ledger, capacity, drive, group, reserve, volume
from ullage.engine.ledger.audit import audit
from ullage.engine.ledger.replay import differences, replay
from ullage.engine.ledger.sharing import carrier, survivors
from ullage.model.ledger import (
    VOLUME_SPACE,
    WHOLE_DRIVE,
    Bind,
    Capacity,
    Expire,
    Hold,
    MadeVolume,
    Release,
    Reserve,
    Resize,
    Supply,
    Together,
)
from ullage.model.resources import Resources

GROUP = "group/a/vg"
CLAIM = "shop/data"


def on_group(size: int, claim: str = CLAIM, request: str = "data", at: str = GROUP) -> Hold:
    return Hold(request, at, Resources({VOLUME_SPACE: size * MIB}), claim)


def one(size: int = 40) -> Ledger:
    return Ledger(group("a", "vg", size * MIB), capacity("node/a", cpu=8))


def held(ledger: Ledger, name: str = GROUP) -> int:
    return ledger.state.held_amount(name, VOLUME_SPACE) // MIB


def sizes(ledger: Ledger) -> dict[str, int]:
    return {each.reservation: each.resources.of(VOLUME_SPACE) // MIB for each in ledger.state.entries}


def test_who_shares_a_claim_takes_nothing_more_of_the_disk():
    ledger = one(12)
    assert ledger.do(reserve("r1", on_group(12))).accepted
    assert ledger.do(reserve("r2", on_group(12), owner="other")).accepted
    assert (held(ledger), sizes(ledger)) == (12, {"r1": 12, "r2": 0})
    assert audit(ledger.state) == ()


ENDS = {
    "released": Release("r1"),
    "a part of it is": Release("r1", ("data",)),
    "in use and released by hand": Together((Bind("r1"), Release("r1", volumes_stay=True))),
    "its time has come": Expire(),
}


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
def test_when_the_first_ends_the_second_has_the_bytes_in_the_same_step(ends):
    ledger = one(12)
    ledger.do(reserve("r1", on_group(12), expires=50))
    ledger.do(reserve("r2", on_group(12), owner="other", expires=90))
    decision = ledger.do(ends, 60)
    assert {each.reservation for each in decision.changed} == {"r1", "r2"}
    assert (held(ledger), sizes(ledger)) == (12, {"r2": 12})
    assert "short by" in ledger.refuses(reserve("r3", on_group(4, claim=""), expires=90))
    assert ledger.do(Release("r2")).accepted
    assert held(ledger) == 0


def test_those_who_end_together_leave_nothing():
    ledger = one()
    for name in ("r1", "r2"):
        ledger.do(reserve(name, on_group(12), expires=50))
    ledger.do(Expire(), 60)
    assert (held(ledger), ledger.state.entries) == (0, ())


def test_who_is_in_use_has_the_bytes_before_others():
    ledger = one()
    for name in ("r1", "r2", "r3"):
        ledger.do(reserve(name, on_group(12)))
    ledger.do(Bind("r3"))
    ledger.do(Release("r1"))
    assert sizes(ledger) == {"r2": 0, "r3": 12}


def test_a_claim_is_where_it_is_promised():
    ledger = Ledger(group("a", "vg", 40 * MIB), group("a", "other", 40 * MIB))
    ledger.do(reserve("r1", on_group(12)))
    why = ledger.refuses(reserve("r2", on_group(12, at="group/a/other")))
    assert why.startswith(f"claim {CLAIM} is promised on {GROUP} to r1; ask for it there")


def test_who_asks_for_more_of_a_claim_makes_it_larger_for_all():
    ledger = one()
    ledger.do(reserve("r1", on_group(12)))
    assert ledger.do(reserve("r2", on_group(20))).accepted
    assert sizes(ledger) == {"r1": 20, "r2": 0}
    assert "short by 4Mi" in ledger.refuses(reserve("r3", on_group(44)))
    assert ledger.do(Resize("r2", "data", GROUP, Resources({VOLUME_SPACE: 32 * MIB}))).accepted
    assert sizes(ledger) == {"r1": 32, "r2": 0}
    assert "cannot be of no size" in ledger.refuses(Resize("r2", "data", GROUP, Resources()))


def test_a_whole_drive_is_shared_too():
    ledger = Ledger(drive("a", "d1", 64 * MIB))
    whole = Hold("data", "drive/a/d1", Resources({WHOLE_DRIVE: 1, VOLUME_SPACE: 60 * MIB}), CLAIM)
    assert ledger.do(reserve("r1", whole)).accepted
    assert ledger.do(reserve("r2", whole)).accepted
    ledger.do(Release("r1"))
    assert ledger.state.held("drive/a/d1") == {WHOLE_DRIVE: 1, VOLUME_SPACE: 60 * MIB}


def wants(name: str, *nodes: str, size: int = 12, **more) -> Reserve:
    asked = msgspec.structs.replace(volume("data", "HDDLVG", size * MIB), claim=CLAIM)
    return Reserve(name, "team", 100, nodes=nodes, volumes=(asked,), requests=Resources({"cpu": 1}), **more)


def test_a_volume_that_is_planned_goes_where_its_claim_is_promised():
    ledger = Ledger(
        group("a", "vg", 40 * MIB),
        group("b", "vg", 12 * MIB),
        capacity("node/a", cpu=8),
        capacity("node/b", cpu=8),
    )
    ledger.do(wants("r1", "b"))
    assert ledger.do(wants("r2", "a", "b")).accepted
    assert {each.capacity for each in ledger.state.entries} == {"group/b/vg", "node/b"}
    assert held(ledger, "group/b/vg") == 12
    assert "promised on group/b/vg to r1" in ledger.refuses(wants("r3", "a"))
    assert ledger.do(wants("r2", "a", "b")).reason == "reservation r2 stands already"


def test_who_waits_for_a_node_shares_the_claim_when_there_is_room():
    ledger = Ledger(group("a", "vg", 12 * MIB), capacity("node/a", cpu=1))
    ledger.do(wants("r1", "a"))
    assert ledger.do(wants("r2", "a", waits=True)).waiting is not None
    ledger.do(Release("r1", ("compute",)))
    assert ledger.state.waiting == ()
    assert held(ledger) == 12
    since = {each.reservation: each.created_seconds for each in ledger.state.entries}
    assert since == {"r1": 10, "r2": 10}


FLAWS = {
    "names a claim twice": reserve("r", on_group(4, request="x"), on_group(4, request="y")),
    "has no bytes of a disk": reserve("r", on_group(4, at="node/a")),
    "name a drive or group, and how much": reserve("r", on_group(0)),
    "is on one node, and 2 are asked for": wants("r", "a", "b", copies=2),
}


@pytest.mark.parametrize(("why", "command"), FLAWS.items(), ids=FLAWS)
def test_a_claim_that_cannot_be_held_once_is_refused(why, command):
    assert why in one().refuses(command)


def test_a_claim_that_is_counted_twice_or_not_at_all_is_found():
    ledger = one()
    ledger.do(reserve("r1", on_group(12)))
    ledger.do(reserve("r2", on_group(12)))
    first, second = ledger.state.entries
    for resources, times in ((first.resources, 2), (Resources(), 0)):
        state = ledger.state.copy()
        state.put(msgspec.structs.replace(second, resources=first.resources if times else Resources()))
        state.put(msgspec.structs.replace(first, resources=resources))
        (found,) = audit(state)
        assert found.code == "ledger-claim-wrong"
        assert f"counted {times} times, not once" in found.message
    state = ledger.state.copy()
    state.put(msgspec.structs.replace(second, capacity="group/a/other"))
    assert "not on one disk" in audit(state)[0].message


def test_what_survives_is_what_the_ledger_says():
    ledger = one()
    for name in ("r1", "r2", "r3"):
        ledger.do(reserve(name, on_group(12)))
    told = survivors(ledger.state.entries, lambda each: each.reservation == "r1")
    ledger.do(Release("r1"))
    assert told == list(ledger.state.entries)


# Volumes that exist


def offering(free: int, *made: tuple[str, int]) -> Capacity:
    volumes = tuple(
        MadeVolume(name, "data", GROUP, Resources({VOLUME_SPACE: size * MIB})) for name, size in made
    )
    whole = group("a", "vg", (free + sum(size for _, size in made)) * MIB)
    return msgspec.structs.replace(whole, made=volumes)


def free(ledger: Ledger) -> int:
    offers = ledger.state.capacity(GROUP).offers.of(VOLUME_SPACE)
    return offers // MIB - held(ledger)


@pytest.mark.parametrize("ends", [Release("r1"), Expire()])
@pytest.mark.parametrize(("exists", "then"), [(0, 40), (8, 32), (12, 28)])
def test_a_volume_that_exists_keeps_its_bytes_when_its_promise_ends_unbound(ends, exists, then):
    ledger = one()
    ledger.do(reserve("r1", on_group(12, claim=""), expires=50))
    ledger.do(Supply((offering(40 - exists, *([("r1", exists)] if exists else [])),)))
    assert free(ledger) == 28
    ledger.do(ends, 60)
    assert free(ledger) == then
    assert ledger.state.capacity(GROUP).made == ()


def test_what_a_supply_says_first_is_not_taken_off_again():
    ledger = one()
    ledger.do(reserve("r1", on_group(12, claim="")))
    ledger.do(Supply((offering(28, ("r1", 12)),)))
    ledger.do(Together((Supply((offering(28),)), Release("r1"))))
    assert free(ledger) == 28


def test_the_volume_of_a_claim_is_that_of_whoever_has_the_bytes():
    ledger = one()
    ledger.do(reserve("r1", on_group(12)))
    ledger.do(reserve("r2", on_group(12)))
    ledger.do(Supply((offering(28, ("r1", 12)),)))
    ledger.do(Release("r1"))
    assert free(ledger) == 28
    assert [each.reservation for each in ledger.state.capacity(GROUP).made] == ["r2"]
    ledger.do(Release("r2"))
    assert free(ledger) == 28


def test_who_follows_on_a_volume_in_use_leaves_it_there():
    ledger = one()
    ledger.do(reserve("r1", on_group(12)))
    ledger.do(reserve("r2", on_group(12), expires=50))
    ledger.do(Bind("r1"))
    ledger.do(Release("r1", volumes_stay=True))
    assert free(ledger) == 28
    ledger.do(Expire(), 60)
    assert free(ledger) == 28


def test_nobody_in_line_has_the_room_of_a_volume_that_exists():
    ledger = one(12)
    ledger.do(reserve("r1", on_group(12, claim=""), expires=50))
    ledger.do(reserve("r2", on_group(12, claim=""), expires=90, waits=True))
    ledger.do(Supply((offering(0, ("r1", 12)),)))
    ledger.do(Expire(), 60)
    assert [each.reservation for each in ledger.state.waiting] == ["r2"]


# Any sequence

claims = st.sampled_from(("shop/a", "shop/b", "shop/c"))
names = st.sampled_from(tuple(f"r{number}" for number in range(6)))
steps = st.one_of(
    st.tuples(st.just("reserve"), names, claims, st.integers(1, 5), st.integers(1, 6)),
    st.tuples(st.just("bind"), names),
    st.tuples(st.just("release"), names),
    st.tuples(st.just("release by hand"), names),
    st.tuples(st.just("expire")),
)


class Model:
    """Claims with those who hold them, in bytes that are added up by nobody else."""

    def __init__(self) -> None:
        self.owners: dict[str, dict[str, int | None]] = {}
        self.size: dict[str, int] = {}

    def end(self, is_over) -> None:
        for claim, owners in list(self.owners.items()):
            self.owners[claim] = {name: until for name, until in owners.items() if not is_over(name, until)}
            if not self.owners[claim]:
                del self.owners[claim], self.size[claim]

    def take(self, step, now: int) -> None:
        kind, *rest = step
        if kind == "reserve":
            name, claim, extents, seconds = rest
            self.owners.setdefault(claim, {})[name] = now + seconds
            self.size[claim] = max(self.size.get(claim, 0), 4 * extents)
        elif kind == "bind":
            for owners in self.owners.values():
                owners.update((name, None) for name in owners if name == rest[0])
        elif kind == "expire":
            self.end(lambda _, until: until is not None and until <= now)
        else:
            self.end(lambda name, _: name == rest[0])


def command_of(step, now: int):
    kind, *rest = step
    if kind == "reserve":
        name, claim, extents, seconds = rest
        return reserve(name, on_group(4 * extents, claim), owner=f"o-{name}", expires=now + seconds)
    if kind == "expire":
        return Expire()
    return {
        "bind": Bind(rest[0]),
        "release": Release(rest[0]),
        "release by hand": Release(rest[0], volumes_stay=True),
    }[kind]


@settings(max_examples=150)
@given(st.lists(steps, max_size=25))
def test_whatever_happens_a_claim_is_counted_once_while_anybody_holds_it(asked):
    ledger, model = one(400), Model()
    for step in asked:
        now = ledger.at_seconds + 1
        if ledger.do(command_of(step, now), now).accepted and not (
            step[0] == "reserve" and step[1] in {name for each in model.owners.values() for name in each}
        ):
            model.take(step, now)
        assert audit(ledger.state) == ()
        assert held(ledger) == sum(model.size.values())
        for claim, owners in model.owners.items():
            assert {each.reservation for each in ledger.state.sharing(claim)} == set(owners)
            assert carrier(ledger.state, claim).resources == Resources(
                {VOLUME_SPACE: model.size[claim] * MIB}
            )
    assert replay(ledger.rows) == ledger.state
    assert list(differences(ledger.rows)) == []


def test_who_adopts_a_claim_that_was_not_written_down_shares_it_from_then_on():
    ledger = one(12)
    ledger.do(reserve("r1", on_group(10, claim="")))
    refused = ledger.do(reserve("r2", on_group(12), owner="other"))
    assert not refused.accepted
    adopting = msgspec.structs.replace(on_group(12), adopts="r1")
    assert ledger.do(reserve("r2", adopting, owner="other")).accepted
    assert (held(ledger), sizes(ledger)) == (12, {"r1": 12, "r2": 0})
    assert {each.claim for each in ledger.state.entries} == {CLAIM}
    ledger.do(Release("r1"))
    assert sizes(ledger) == {"r2": 12}
    assert list(differences(ledger.rows)) == []
