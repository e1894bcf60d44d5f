"""A claim that several workloads name is one volume: each of them holds it, and it is counted once."""

import msgspec
import pytest

from builders import batch, claim, cluster, node, waiting
from engine.ledger.ledgers import Ledger, reserve
from engine.ledger.test_of_plan import asked, commit, planned
from ullage.engine.ledger.audit import audit
from ullage.engine.ledger.promises import with_promises
from ullage.engine.ledger.replay import differences, replay
from ullage.engine.ledger.shared_volumes import claim_of
from ullage.engine.ledger.state import LedgerState
from ullage.model.cluster import Volume
from ullage.model.drives import PlacedVolume
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE, Bind, Expire, Hold, Release
from ullage.model.resources import Resources

GIB = 1 << 30
DISK = "drive/n1/d1"


def data(size=10, claim="data", storage_class="HDDLVG"):
    return Volume("v", claim, storage_class, size * GIB)


def wants(name, *volumes, kind="Pod", replicas=1):
    return batch(replicas, waiting(f"shop/{name}", cpu="1", kind=kind, volumes=volumes or (data(),)))


def machines(**drives):
    return cluster(
        node("n1", cpu="4").with_drive("d1", "HDD", "20Gi", **drives),
        node("n2", cpu="4").with_drive("d1", "HDD", "20Gi"),
    )


def on_disks(ledger):
    """Return what each reservation has of which disk, in gibibytes."""
    return {
        each.reservation: (each.capacity, each.resources.of(VOLUME_SPACE) / GIB)
        for each in ledger.state.entries
        if each.claim
    }


A, B = "Pod/shop/a/1", "Pod/shop/b/1"
BOTH = {A: (DISK, 10), B: (DISK, 0)}


def sound(ledger):
    assert audit(ledger.state) == ()
    assert replay(ledger.rows) == ledger.state
    assert list(differences(ledger.rows)) == []


@pytest.mark.parametrize("questions", [[["a"], ["b"]], [["a", "b"]]], ids=["one by one", "together"])
def test_who_names_a_claim_that_is_promised_goes_to_its_disk_and_takes_no_bytes(questions):
    ledger, there = Ledger(), machines()
    for names in questions:
        assert commit(ledger, there, *map(wants, names)).accepted
    assert on_disks(ledger) == BOTH
    for names in (["a"], ["b"], ["a", "b"]):
        assert planned(ledger, there, *map(wants, names)).command is None
    sound(ledger)


@pytest.mark.parametrize("ends", [Release(A), Expire()])
def test_when_the_first_goes_the_second_still_has_its_volume(ends):
    ledger, there = Ledger(), machines()
    commit(ledger, there, wants("a"))
    ledger.at_seconds += 100
    commit(ledger, there, wants("b"))
    ledger.do(ends, ledger.at_seconds + 3550)
    assert on_disks(ledger) == {B: (DISK, 10)}
    assert asked(ledger, there, wants("c", data(15, "other"))).outcomes[0].nodes == (("n2", 1),)
    sound(ledger)


def test_the_replicas_of_a_set_share_the_claim_as_it_grows_and_shrinks():
    ledger, there = Ledger(), machines()
    names = [f"Deployment/shop/w/{number}" for number in (1, 2, 3)]
    for replicas in (2, 3, 1):
        assert commit(ledger, there, wants("w", kind="Deployment", replicas=replicas)).accepted
        expected = {name: (DISK, 10 if name == names[0] else 0) for name in names[:replicas]}
        assert on_disks(ledger) == expected
        assert planned(ledger, there, wants("w", kind="Deployment", replicas=replicas)).command is None
    sound(ledger)


def test_asked_for_in_another_size_it_grows_for_all_or_is_refused():
    ledger, there = Ledger(), machines()
    commit(ledger, there, wants("a"), wants("b"))
    assert commit(ledger, there, wants("b", data(15))).accepted
    assert on_disks(ledger) == {A: (DISK, 15), B: (DISK, 0)}
    for name in ("a", "b"):
        refused = asked(ledger, there, wants(name, data(25))).outcomes[0].refusal
        assert "data cannot grow by 10Gi: d1 has 5Gi free" in refused.reason
    refused = asked(ledger, there, wants("b", data(15, storage_class="HDD"))).outcomes[0].refusal
    assert "data is promised on d1 as HDDLVG: it cannot be HDD" in refused.reason
    sound(ledger)


def test_a_whole_drive_that_is_promised_does_not_become_larger():
    ledger, there = Ledger(), machines()
    commit(ledger, there, wants("a", data(10, storage_class="HDD")))
    assert commit(ledger, there, wants("b", data(12, storage_class="ANY"))).accepted
    assert ledger.state.held(DISK)[WHOLE_DRIVE] == 1
    refused = asked(ledger, there, wants("b", data(30, storage_class="HDD"))).outcomes[0].refusal
    assert "data is promised on drive d1, which is smaller" in refused.reason


def test_who_names_a_claim_no_longer_gives_it_back():
    ledger, there = Ledger(), machines()
    commit(ledger, there, wants("a"), wants("b"))
    assert commit(ledger, there, wants("a", data(5, "mine"))).accepted
    assert on_disks(ledger)[B] == (DISK, 10)
    assert {each.claim for each in ledger.state.entries_of(A)} == {"", "shop/mine"}
    sound(ledger)


def test_who_was_promised_a_claim_before_others_could_share_it_holds_it_from_now_on():
    ledger, there = Ledger(), machines()
    commit(ledger, there, wants("a"), wants("b"))
    ledger.do(Release(B, ("data",)))
    assert commit(ledger, there, wants("b")).accepted
    assert on_disks(ledger) == BOTH


def with_volume(size=10, claim="shop/data"):
    """Return the machine with the volume of the claim, in a group on its drive."""
    made = PlacedVolume("pvc-1", "vg", size * GIB, claim)
    machine = node("n1", cpu="8").with_drive("d1", "HDD", "20Gi", clean=False)
    machine = machine.with_volume_group("vg", "HDD", "20Gi", f"{20 - size}Gi", drives=("d1",))
    return cluster(machine.with_(placed_volumes=(made,)))


STEPS = {"as it is": (), "bound": (Bind(A),), "the other bound": (Bind(B),), "one is left": (Release(A),)}


@pytest.mark.parametrize("names", ["ab", "ba"])
@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_a_shared_volume_that_exists_is_counted_once_also_when_nobody_holds_it_any_more(steps, names):
    ledger, there = Ledger(), with_volume()
    for name in names:
        commit(ledger, machines(), wants(name))
    for step in steps:
        ledger.do(step)

    def has_room(size):
        return asked(ledger, there, wants("c", data(size, "other"))).outcomes[0].placed == 1

    assert (has_room(10), has_room(11)) == (True, False)
    assert commit(ledger, there, wants("c", data(1, "other"))).accepted
    for name in {each.reservation for each in ledger.state.entries} - {"Pod/shop/c/1"}:
        ledger.do(Release(name))
        assert "short by 1Gi" in ledger.refuses(reserve("x", space(10), expires=9999))
    assert (has_room(10), has_room(11)) == (True, False)
    assert ledger.do(reserve("x", space(9), expires=9999)).accepted
    sound(ledger)


def test_who_leaves_a_shared_volume_that_exists_leaves_it_to_the_others():
    ledger, there = Ledger(), with_volume()
    commit(ledger, machines(), wants("a"), wants("b"))
    assert commit(ledger, there, wants("a", data(1, "mine"))).accepted
    assert "short by 1Gi" in ledger.refuses(reserve("x", space(10), expires=9999))
    assert ledger.do(reserve("x", space(9), expires=9999)).accepted
    sound(ledger)


def test_a_claim_is_held_under_the_name_that_its_disk_had_when_it_was_promised():
    ledger, there = Ledger(), with_volume(1, "shop/of-others")
    commit(ledger, machines(), wants("a"))
    assert commit(ledger, there, wants("b")).accepted
    assert on_disks(ledger) == BOTH
    sound(ledger)


def test_a_replica_that_was_promised_before_claims_were_named_holds_it_from_now_on():
    ledger, there = Ledger(), machines()
    two = wants("w", kind="Deployment", replicas=2)
    commit(ledger, there, two)
    ledger.do(Release("Deployment/shop/w/2", ("data",)))
    assert commit(ledger, there, two).accepted
    assert on_disks(ledger) == {"Deployment/shop/w/1": (DISK, 10), "Deployment/shop/w/2": (DISK, 0)}
    sound(ledger)


def space(size):
    return Hold("x", "group/n1/vg", Resources({VOLUME_SPACE: size * GIB}))


def test_the_claims_of_a_stateful_set_are_those_of_its_pods():
    ledger, there = Ledger(), machines()
    template = Volume("data", "data-s", "HDDLVG", 10 * GIB)
    two = batch(2, waiting("shop/s", cpu="1", kind="StatefulSet", owner="StatefulSet/s", volumes=(template,)))
    assert commit(ledger, there, two).accepted
    claims = {each.reservation: each.claim for each in ledger.state.entries if each.claim}
    assert claims == {f"StatefulSet/shop/s/{number + 1}": f"shop/data-s-{number}" for number in (0, 1)}
    assert planned(ledger, there, two).command is None
    assert commit(ledger, there, wants("reader", data(10, "data-s-1"))).accepted
    places = {each.claim: each.capacity for each in ledger.state.entries if each.claim and not each.refers}
    (reader,) = [each for each in ledger.state.entries_of("Pod/shop/reader/1") if each.claim]
    assert (reader.capacity, reader.refers) == (places["shop/data-s-1"], True)
    sound(ledger)


CLAIMS = {
    "a claim": ("Pod", data(), "data", "shop/data"),
    "another name": ("Pod", data(), "other", ""),
    "what goes with a pod": ("Pod", Volume("v", "a-v", "HDD", 1, inline=True), "a-v", ""),
    "a template": ("StatefulSet", Volume("data", "data-a", "HDD", 1), "data-a-3", "shop/data-a-3"),
    "the template itself": ("StatefulSet", Volume("data", "data-a", "HDD", 1), "data-a", ""),
}


@pytest.mark.parametrize(("kind", "volume", "request_name", "claim"), CLAIMS.values(), ids=CLAIMS)
def test_a_request_is_for(kind, volume, request_name, claim):
    asks = waiting("shop/a", kind=kind, owner=f"{kind}/a", volumes=(volume,))
    assert claim_of(asks, request_name) == claim


def test_what_refers_to_another_takes_no_room_in_the_cluster():
    ledger, there = Ledger(), machines()
    commit(ledger, there, wants("a"), wants("b"))
    reserved = with_promises(there, ledger.state.entries).reservations
    assert sum(each.resources.of(VOLUME_SPACE) for each in reserved) == 10 * GIB


def template(name="q", size=10):
    volume = Volume("data", f"data-{name}", "HDDLVG", size * GIB)
    return batch(
        2,
        waiting(f"shop/{name}", cpu="1", kind="StatefulSet", volumes=(volume,), owner=f"StatefulSet/{name}"),
    )


def apart(ledger):
    return {each.reservation: each.capacity for each in ledger.state.entries if each.request == "compute"}


QUESTIONS = {
    "the pod first": [["r"], ["q"]],
    "the set first": [["q"], ["r"]],
    "together": [["q", "r"]],
    "together, the pod first": [["r", "q"]],
}


@pytest.mark.parametrize("questions", QUESTIONS.values(), ids=QUESTIONS)
def test_the_replica_of_a_set_goes_to_the_node_of_its_claim_whoever_names_that_too(questions):
    known = [claim("shop/data-q-0", "10Gi", storage_class="HDDLVG")]
    there = cluster(*machines().nodes, node("n3", cpu="9").with_drive("d1", "HDD", "90Gi"), *known)
    asks = {"q": template(), "r": wants("r", data(claim="data-q-0"))}
    ledger = Ledger()
    for names in questions:
        assert commit(ledger, there, *(asks[name] for name in names)).accepted
    on = apart(ledger)
    assert on["Pod/shop/r/1"] == on["StatefulSet/shop/q/1"]
    assert len(on) == 3
    sound(ledger)


def failing(kind):
    """Return the machines with the disk of the claim no longer good for anything."""
    first = node("n1", cpu="4")
    first = first.with_drive("d1", "HDD", "20Gi", health="BAD") if kind == "BAD" else first
    return cluster(first, node("n2", cpu="4").with_drive("d1", "HDD", "20Gi"))


@pytest.mark.parametrize("kind", ["BAD", "gone"])
@pytest.mark.parametrize("who", ["a", "c"])
def test_nobody_is_promised_a_claim_on_a_disk_that_gives_nothing(kind, who):
    ledger = Ledger()
    commit(ledger, machines(), wants("a"), wants("b"))
    refusal = asked(ledger, failing(kind), wants(who)).outcomes[0].refusal
    assert refusal.reason == f"claim shop/data is promised on {DISK}, which gives nothing to new volumes now"
    assert refusal.remedy == f"release {A}, {B} first, or ask for all who share the claim together"


@pytest.mark.parametrize("kind", ["BAD", "gone"])
@pytest.mark.parametrize("names", ["ab", "abc", "cab"])
def test_asked_for_together_by_all_who_share_it_a_claim_moves_to_a_good_disk(kind, names):
    ledger = Ledger()
    commit(ledger, machines(), wants("a"), wants("b"))
    assert commit(ledger, failing(kind), *map(wants, names)).accepted
    assert {place for place, _ in on_disks(ledger).values()} == {"drive/n2/d1"}
    assert sum(size for _, size in on_disks(ledger).values()) == 10
    assert set(apart(ledger).values()) == {"node/n2"}
    assert audit(ledger.state) == ()


def test_on_its_own_node_too():
    ledger = Ledger()
    commit(ledger, machines(), wants("a"), wants("b"))
    there = cluster(
        node("n1", cpu="4").with_drive("d1", "HDD", "20Gi", health="BAD").with_drive("d2", "HDD", "20Gi")
    )
    assert commit(ledger, there, wants("a"), wants("b")).accepted
    assert on_disks(ledger) == {A: ("drive/n1/d2", 10), B: ("drive/n1/d2", 0)}


@pytest.mark.parametrize("owner", ["Pod/shop/a/1", "StatefulSet/shop/q/1"])
def test_a_promise_of_before_claims_were_written_down_holds_its_claim(owner):
    ledger, there = Ledger(), machines()
    kind, _, name = owner.rpartition("/")[0].partition("/")
    name = f"data-{name.partition('/')[2]}-0" if kind == "StatefulSet" else "data"
    first = template() if kind == "StatefulSet" else wants("a")
    commit(ledger, there, first)
    old = [msgspec.structs.replace(each, claim="") for each in ledger.state.entries]
    ledger.state = LedgerState(ledger.state.capacities, old, revision=ledger.state.revision)
    assert commit(ledger, there, wants("b", data(claim=name))).accepted
    assert on_disks(ledger) == {owner: (DISK, 10), B: (DISK, 0)}
    ledger.do(Release(owner))
    assert on_disks(ledger) == {B: (DISK, 10)}
    assert audit(ledger.state) == ()
