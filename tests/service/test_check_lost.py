"""What --lose means, and what cannot be lost."""

import pytest

from builders import cluster, node
from ullage.model.errors import InputError
from ullage.service.check_lost import lost_drives, lost_nodes

SNAPSHOT = cluster(
    node("a").in_domain("one").with_drive("d1", "HDD", "1Ti").with_drive("twin", "HDD", "1Ti"),
    node("b").in_domain("one").with_drive("d2", "HDD", "1Ti").with_drive("twin", "HDD", "1Ti"),
    node("c").in_domain("two").with_drive("x/y", "SSD", "1Ti"),
)


def test_a_domain_is_all_its_nodes_and_losses_add_up():
    assert lost_nodes(SNAPSHOT, ("domain/one",)) == ("a", "b")
    assert lost_nodes(SNAPSHOT, ("node/c", "domain/one", "node/a")) == ("a", "b", "c")


@pytest.mark.parametrize(
    ("lose", "drives"),
    [
        (("drive/d1",), [("a", "d1")]),
        (("drive/d2", "drive/d1", "drive/a/d1"), [("a", "d1"), ("b", "d2")]),
        (("drive/b/twin",), [("b", "twin")]),
        (("drive/x/y",), [("c", "x/y")]),
        (("node/a", "domain/one"), []),
        ((), []),
    ],
)
def test_a_drive_is_found_by_its_name_and_by_its_node_where_two_have_it(lose, drives):
    assert lost_drives(SNAPSHOT, lose) == drives


@pytest.mark.parametrize(
    ("lose", "message"),
    [
        (("a",), "'a' is nothing that can be lost; use node/NAME, domain/NAME or drive/UUID"),
        (("disk/d1",), "'disk/d1' is nothing that can be lost"),
        (("node/",), "'node/' is nothing that can be lost"),
        (("node/z",), "no node 'z'"),
        (("domain/on",), "no domain 'on'; did you mean one"),
        (("drive/d3",), "no drive 'd3'; did you mean d"),
        (("drive/c/d1",), "no drive 'c/d1'"),
        (("drive/twin",), r"drive twin is on several nodes \(a, b\); write drive/a/twin"),
        (
            ("drive/d1", "node/b"),
            "drives cannot be lost together with nodes or domains; ask about them in two",
        ),
    ],
)
def test_what_cannot_be_lost(lose, message):
    with pytest.raises(InputError, match=message):
        lost_drives(SNAPSHOT, lose) or lost_nodes(SNAPSHOT, lose)
