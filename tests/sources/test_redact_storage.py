"""Disk space with pseudonyms: claims, volumes and classes still find each other."""

import pytest

from ullage.model.constraints import LabelSelector, NodeSelector, NodeSelectorTerm, Requirement
from ullage.model.storage import (
    Claim,
    PersistentVolume,
    StorageCapacity,
    StorageClass,
    StorageDriver,
    TopologyTerm,
)
from ullage.sources.redact_constraints import ConstraintRedactor
from ullage.sources.redact_names import Pseudonyms
from ullage.sources.redact_storage import StorageRedactor

NAMES = Pseudonyms("s")
HOST = Requirement("kubernetes.io/hostname", "In", ("n1",))


@pytest.fixture
def redactor():
    return StorageRedactor(ConstraintRedactor(NAMES, frozenset()))


def test_a_claim_and_its_volume_name_each_other(redactor):
    claim = redactor.claim(Claim("data", "ml", "fast", 5, volume="pv-1", selected_node="n1", controller="a1"))
    volume = redactor.volume(PersistentVolume("pv-1", "fast", 5, claim="ml/data"))
    assert (claim.volume, volume.claim) == (volume.name, claim.key)
    assert claim.storage_class == volume.storage_class == redactor.storage_class(StorageClass("fast")).name
    assert claim.selected_node == NAMES.of("node", "n1")
    assert claim.controller == NAMES.of("uid", "a1")
    assert (claim.size_bytes, volume.size_bytes) == (5, 5)


def test_a_volume_of_nobody_stays_so(redactor):
    assert redactor.volume(PersistentVolume("pv-1")).claim == ""
    assert redactor.claim_key("data") == NAMES.of("claim", "data")


def test_a_driver_has_one_name_everywhere(redactor):
    names = {
        redactor.driver(StorageDriver("csi.example.com")).name,
        redactor.storage_class(StorageClass("fast", "csi.example.com")).provisioner,
        redactor.volume(PersistentVolume("pv", driver="csi.example.com")).driver,
        *redactor.attach_limits({"csi.example.com": 3}),
    }
    assert names == {NAMES.of("driver", "csi.example.com")}
    assert redactor.attach_limits({"csi.example.com": 3}).popitem()[1] == 3


def test_names_that_mean_something_stay(redactor):
    local = redactor.storage_class(StorageClass("HDDLVG", "kubernetes.io/no-provisioner"))
    assert (local.name, local.provisioner) == ("HDDLVG", "kubernetes.io/no-provisioner")


def test_selectors_choose_the_same_nodes(redactor):
    there = Requirement("kubernetes.io/hostname", "In", (NAMES.of("node", "n1"),))
    nodes = NodeSelector((NodeSelectorTerm((HOST,)),))
    assert redactor.volume(PersistentVolume("v", node_affinity=nodes)).node_affinity == NodeSelector(
        (NodeSelectorTerm((there,)),)
    )
    allowed = redactor.storage_class(StorageClass("c", allowed_topologies=(TopologyTerm((HOST,)),)))
    assert allowed.allowed_topologies == (TopologyTerm((there,)),)
    capacity = redactor.capacity(StorageCapacity("c", "sys", "fast", LabelSelector({}, (HOST,)), 7, 8))
    assert capacity == StorageCapacity(
        NAMES.of("capacity", "c"),
        NAMES.of("namespace", "sys"),
        NAMES.of("class", "fast"),
        LabelSelector({}, (there,)),
        7,
        8,
    )


def test_no_selector_and_an_empty_one_stay_apart(redactor):
    assert redactor.capacity(StorageCapacity("c")).topology is None
    assert redactor.capacity(StorageCapacity("c", topology=LabelSelector())).topology == LabelSelector()
