"""What gangs without a place are told would let all of them run, not one member alone."""

import msgspec

from builders import cluster, node, quota, waiting, workload
from ullage.engine.columns import Columns
from ullage.engine.placement.gang_remedies import NOTHING_HELPS
from ullage.engine.placement.gangs import HELD_BACK
from ullage.engine.placement.scheduling import explain, schedule
from ullage.model.cluster import Workload
from ullage.model.resources import Resources


def members(*sizes: int, least: int | None = None, **fields: object) -> list[Workload]:
    """Return the members of a gang that ask for so many cores each; those of one size are alike."""
    known: dict[int, Workload] = {}
    found = []
    for index, size in enumerate(sizes):
        enough = len(sizes) if least is None else least
        alike = known.setdefault(size, waiting("g", cpu=size, gang="g", gang_min=enough, **fields))
        found.append(msgspec.structs.replace(alike, name=f"g{index}"))
    return found


def told(parts: list, gang: list[Workload]) -> dict[str, str]:
    found = explain(Columns(cluster(*parts, *gang)), gang, 5)
    assert {key: each.subject for key, each in found.items() if each} == {each.key: each.key for each in gang}
    return {key: each.remedy for key, each in found.items() if each}


def test_members_that_are_alike_are_told_what_lets_all_of_them_run():
    full = node("n0", cpu=1).holding(workload("full", cpu=1))
    remedies = set(told([full], members(1, 1, 1)).values())
    assert remedies == {"add 3 nodes with 1 of cpu each: all 3 then fit"}


def test_only_as_many_as_are_enough_must_have_room():
    remedies = set(told([node("n0", cpu=1)], members(1, 1, 1, 1, least=3)).values())
    assert all("add 2 nodes with 1 of cpu each: all 3 then fit" in each for each in remedies)


def test_who_runs_already_is_not_counted():
    runs = workload("r", cpu=1, gang="g", gang_min=3)
    remedies = set(told([node("n0", cpu=1).holding(runs)], members(1, 1, least=3)).values())
    assert remedies == {"add 2 nodes with 1 of cpu each: all 2 then fit"}


def test_who_is_missing_though_its_gang_runs_is_told_what_helps_itself():
    runs = [workload(f"r{index}", cpu=1, gang="g", gang_min=2) for index in range(2)]
    remedies = set(told([node("n0", cpu=2).holding(*runs)], members(1, 1, least=2)).values())
    assert all("add a node with 2 of cpu: it then fits" in each for each in remedies)


def test_members_that_differ_are_told_what_lets_all_of_them_run_together():
    parts = [
        node("n0", cpu=1).holding(workload("full", cpu=1)),
        node("n1", cpu=3).holding(workload("more", cpu=3)),
    ]
    (remedy,) = set(told(parts, members(1, 2)).values())
    assert "evict full and evict more: all 2 of its gang then fit" in remedy
    assert "it then fits" not in remedy


def test_labels_alone_make_no_difference():
    gang = [msgspec.structs.replace(each, labels={"index": each.name}) for each in members(1, 1, 1)]
    (remedy,) = set(told([node("n0", cpu=1)], gang).values())
    assert "add 2 nodes with 1 of cpu each: all 3 then fit" in remedy


def test_those_with_room_are_told_who_has_none_and_the_same_remedy():
    gang = members(1, 5)
    found = explain(Columns(cluster(node("n0", cpu=2), *gang)), gang, 5)
    assert found["g0"].reason.startswith(f"{HELD_BACK}: g1: 0/1 nodes")
    assert found["g1"].reason.startswith("0/1 nodes")
    assert found["g0"].remedy == found["g1"].remedy


def test_a_part_that_has_room_is_told():
    gang = members(2, 2, 2)
    found = explain(Columns(cluster(node("n0", cpu=2), node("n1", cpu=3), *gang)), gang, 5)
    assert all(each.reason.startswith("2 of 3 like it in its gang have a place, ") for each in found.values())
    assert all("add a node with 2 of cpu: all 3 then fit" in each.remedy for each in found.values())


def test_where_a_part_would_have_room_by_priority_it_is_told_what_the_others_lack():
    full = [node(f"n{each}", cpu=4).holding(workload(f"w{each}", cpu=4)) for each in range(2)]
    remedies = set(told(full, members(4, 4, 4, priority=9)).values())
    assert remedies == {"add a node with 4 of cpu: all 3 of its gang then fit"}


def test_changes_come_fewest_first_and_none_that_holds_another():
    full = [node(f"n{each}", cpu=4).holding(workload(f"w{each}", cpu=4)) for each in range(2)]
    (remedy,) = set(told(full, members(4, 4, 3, priority=9)).values())
    ways = [each.partition(":")[0].split(" and ") for each in remedy.split("; or ")]
    assert [len(way) for way in ways] == sorted(len(way) for way in ways)
    assert not any(set(one) < set(other) for one in ways for other in ways)


def test_a_gang_that_is_not_complete_yet_waits_for_its_others_and_needs_no_change():
    gang = members(1, 2, least=3)
    columns = Columns(cluster(node("n0", cpu=8), *gang))
    found = explain(columns, gang, 5)
    assert {each.reason for each in found.values()} == {
        "its gang g waits for its other members: 2 of 3 are there"
    }
    assert {each.remedy for each in found.values()} == {""}
    assert {each.workload: each.refusal for each in schedule(columns, gang).unplaced} == found


def test_a_gang_that_has_room_by_itself_is_told_nothing():
    gang = members(1, 2)
    assert explain(Columns(cluster(node("n0", cpu=8), *gang)), gang, 5) == {"g0": None, "g1": None}


def test_whose_request_is_to_be_lowered_is_told_where_members_differ():
    (remedy,) = set(told([node("n0", cpu=4)], members(1, 5)).values())
    assert "lower the request of cpu to 3 (g1): all 2 of its gang then fit" in remedy
    (remedy,) = set(told([node("n0", cpu=4)], members(1, 5, 5)).values())
    assert "lower the request of cpu to 1.5 (g1 and 1 like it): all 3 of its gang then fit" in remedy


def test_where_nothing_that_was_tried_lets_all_run_that_is_told(monkeypatch):
    monkeypatch.setattr("ullage.engine.placement.gang_remedies.STEPS_MAX", 1)
    (remedy,) = set(told([node("n0", cpu=1).holding(workload("full", cpu=1))], members(3, 2)).values())
    assert remedy == NOTHING_HELPS


def test_a_gang_that_its_quota_does_not_let_in_is_told_how_much_less_each_could_ask_for():
    above = quota("all", {"cpu": "3"}, {"cpu": "3"}, namespaces=())
    team = quota("team", {"cpu": "3"}, {"cpu": "3"}, parent="all")
    parts = [*(node(f"n{number}", cpu=2) for number in range(5)), above, team]
    (remedy,) = set(told(parts, members(1, 1, 1, 1, namespace="team")).values())
    assert remedy == "lower the request of cpu to 750m: all 4 then fit"
    less = [
        msgspec.structs.replace(each, requests=Resources({**each.requests, "cpu": 750}))
        for each in members(1, 1, 1, 1, namespace="team")
    ]
    assert len(schedule(Columns(cluster(*parts, *less)), less).bound) == 4
