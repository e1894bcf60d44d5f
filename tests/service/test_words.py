"""The words that all pages share."""

import pytest

from builders import BUILT_IN_TYPES, resources
from ullage.model.resources import Resources
from ullage.model.verdict import Finding
from ullage.service.words import (
    amount_or_nothing,
    canonical_map,
    findings_block,
    listed,
    plural,
    resources_in_order,
    several,
    share_cell,
)


def test_cpu_and_memory_come_first_and_pods_last():
    names = {"pods", "memory", "example.com/x", "nvidia.com/gpu", "cpu", "ephemeral-storage"}
    assert resources_in_order(names) == [
        "cpu", "memory", "nvidia.com/gpu", "example.com/x", "ephemeral-storage", "pods",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("part", "whole", "shown", "tone"),
    [
        (500, 2000, "500m (25%)", "plain"),
        (1799, 2000, "1.8 (90%)", "plain"),
        (1800, 2000, "1.8 (90%)", "warn"),
        (2000, 2000, "2 (100%)", "warn"),
        (2001, 2000, "2 (>100%)", "bad"),
        (0, 0, "0", "plain"),
        (1, 0, "1m", "bad"),
        (5000, None, "5", "plain"),
    ],
)
def test_a_share_warns_from_nine_tenths_and_is_bad_beyond_the_whole(part, whole, shown, tone):
    cell = share_cell(BUILT_IN_TYPES, "cpu", part, whole)
    assert (cell.shown, cell.tone) == (shown, tone)


def test_maps_lists_and_counts_read_as_people_say_them():
    assert listed(BUILT_IN_TYPES, resources(memory="16Gi", cpu="4")) == "4 cpu, 16Gi memory"
    assert listed(BUILT_IN_TYPES, Resources()) == "nothing"
    assert [plural(count, "node") for count in (0, 1, 2)] == ["0 nodes", "1 node", "2 nodes"]
    assert several(["a", "b"]) == "a, b"
    assert several(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_an_absent_amount_is_a_dash_for_people_and_empty_for_machines():
    cell = amount_or_nothing(BUILT_IN_TYPES, resources(cpu="1"), "memory")
    assert (cell.text, cell.exact) == ("-", "")


def finding(code, subject, message):
    return Finding(code, "warning", subject, message, "do something")


def test_a_subject_is_said_once():
    block = findings_block(
        "Findings",
        [
            finding("x", "node/a", "node a is full"),
            finding("y", "node/b", "full"),
            finding("z", "cluster", "full"),
        ],
    )
    assert [row.subject for row in block.rows] == ["", "node/b", ""]


def test_of_many_alike_only_some_are_shown_and_the_rest_is_counted():
    many = [finding("x", f"node/{number}", "full") for number in range(10)]
    block = findings_block("Findings", [*many, finding("y", "node/a", "other")], 3)
    assert [row.message for row in block.rows] == ["full"] * 3 + ["7 more of this kind (x)", "other"]
    assert len(findings_block("Findings", many, 10).rows) == 10
    assert len(findings_block("Findings", many).rows) == 10


def test_a_canonical_map_is_exact_and_a_shape():
    types = BUILT_IN_TYPES
    amounts = types.parse({"memory": "3000001Ki", "cpu": "1333m", "pods": "1", "nvidia.com/gpu": "0"})
    assert canonical_map(types, amounts) == "cpu=1333m,memory=3000001Ki,pods=1"
