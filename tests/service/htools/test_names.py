"""Names in requests mean one thing or are refused."""

import pytest

from ganeti_builders import ganeti_cluster, ganeti_group, ganeti_node, instance
from ullage.model.errors import InputError
from ullage.model.ganeti import GanetiGroup
from ullage.service.htools.names import Names

NAMES = Names(
    ganeti_cluster(
        [ganeti_node("a.example.org"), ganeti_node("b.example.org")],
        instance("i.example.org", "a.example.org"),
        groups=[ganeti_group("g"), GanetiGroup("h", "uuid-h")],
    )
)


def test_nodes_and_instances_are_meant_with_and_without_their_common_domain():
    assert NAMES.nodes(["b", "a.example.org"]) == [1, 0]
    assert NAMES.instances(["i", "i.example.org"]) == [0, 0]


def test_groups_are_meant_by_name_and_by_uuid():
    assert NAMES.groups(["uuid-h", "h", "g"]) == [1, 1, 0]


def test_one_instance_is_meant_by_its_whole_name():
    assert NAMES.instance("i.example.org") == 0
    with pytest.raises(InputError, match="Unknown instance 'i'"):
        NAMES.instance("i")


def test_a_name_that_means_nothing_is_refused():
    with pytest.raises(InputError, match="Wrong number of elems found with name c"):
        NAMES.nodes(["c"])
