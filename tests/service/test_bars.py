"""Bars: every part of what a set of nodes has."""

import msgspec
import pytest

from builders import cluster, node, pod, policy
from ullage.service.bars import resource_bars
from ullage.service.status import status_report


@pytest.fixture(scope="module")
def whole():
    return cluster(
        node("a", cpu="8").reserving(cpu="1").holding(pod("p", cpu="2")),
        node("b", cpu="8"),
        node("c", cpu="8").cordoned(),
        policy=policy(spare_nodes="1", memory_ratio="1"),
    )


def test_the_segments_add_up_to_the_whole(whole):
    (row,) = resource_bars("t", status_report(whole).total, ["cpu"], whole.resource_types).rows
    assert {part.word: part.part for part in row.segments} == {
        "reserve": 1000, "committed": 2000, "spare": 8000, "ullage": 5000, "blocked": 8000,
    }  # fmt: skip
    assert sum(part.part for part in row.segments) == row.whole == 24000
    assert row.total == "24"


def test_without_spare_nodes_there_is_no_such_segment(whole):
    plain = msgspec.structs.replace(whole, policy=policy())
    (row,) = resource_bars("t", status_report(plain).total, ["cpu"], plain.resource_types).rows
    assert [part.word for part in row.segments] == ["reserve", "committed", "ullage", "blocked"]


def test_what_is_held_for_failover_and_spare_nodes_are_told_apart():
    snapshot = cluster(
        node("a", memory="8").holding(pod("p", memory="2", standby="b")),
        node("b", memory="8"),
        policy=policy(spare_nodes="1"),
    )
    bars = resource_bars("t", status_report(snapshot).total, ["memory"], snapshot.resource_types)
    assert len(bars.legend) == len({tone for _, tone in bars.legend}) == len(bars.rows[0].segments)
    assert {"standby", "spare"} <= {word for word, _ in bars.legend}


def test_a_resource_without_a_bound_has_no_bar(whole):
    unlimited = msgspec.structs.replace(whole, policy=policy(cpu_ratio="unlimited"))
    assert not resource_bars("t", status_report(unlimited).total, ["cpu"], unlimited.resource_types).rows
