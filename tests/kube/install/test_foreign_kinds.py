import msgspec
import pytest

from ullage.kube.install.foreign_kinds import FOREIGN, foreign_definitions
from ullage.sources.kubernetes.baremetal import CapacitySpec, DriveSpec, GroupSpec
from ullage.sources.kubernetes.baremetal_volumes import ReservationSpec

BY_KIND = {each["spec"]["names"]["kind"]: each for each in foreign_definitions()}


def spec_of(kind):
    (version,) = BY_KIND[kind]["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]["properties"]["spec"]


@pytest.mark.parametrize(
    ("kind", "record"),
    [
        ("AvailableCapacity", CapacitySpec),
        ("AvailableCapacityReservation", ReservationSpec),
        ("Drive", DriveSpec),
        ("LogicalVolumeGroup", GroupSpec),
    ],
)
def test_a_kind_of_the_driver_has_what_is_read_of_it_and_keeps_the_rest(kind, record):
    spec = spec_of(kind)
    assert set(spec["properties"]) == {field.encode_name for field in msgspec.structs.fields(record)}
    assert spec["x-kubernetes-preserve-unknown-fields"] is True
    assert BY_KIND[kind]["spec"]["scope"] == "Cluster"


def test_quotas_of_nos_are_as_nos_has_them():
    assert set(spec_of("ElasticQuota")["properties"]) == {"min", "max"}
    assert set(spec_of("CompositeElasticQuota")["properties"]) == {"min", "max", "namespaces"}
    assert "required" not in spec_of("CompositeElasticQuota"), "the webhook says it in its own words"
    for kind in ("ElasticQuota", "CompositeElasticQuota"):
        assert BY_KIND[kind]["spec"]["scope"] == "Namespaced"
        assert [each["name"] for each in BY_KIND[kind]["spec"]["versions"]] == ["v1alpha1"]


def test_every_kind_of_others_is_known_by_its_name():
    assert [each.definition for each in FOREIGN] == [each["metadata"]["name"] for each in BY_KIND.values()]
