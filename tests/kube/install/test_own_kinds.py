"""What readers read and what the API server takes are the same fields."""

import json

import msgspec
import pytest

from ullage.kube.install.own_kinds import OWN, own_definitions
from ullage.model.policy import PROFILE_NAMES
from ullage.model.resources import ResourceType
from ullage.model.settings import default_settings
from ullage.sources.kubernetes import wire
from ullage.sources.kubernetes.capacity_policies import _Spec as PolicySpec
from ullage.sources.own_records import PolicyDocument, QuotaSpec

BY_KIND = {each["spec"]["names"]["kind"]: each for each in own_definitions()}


def spec_of(kind):
    (version,) = BY_KIND[kind]["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]["properties"]["spec"]


def written(record):
    return {field.encode_name for field in msgspec.structs.fields(record)}


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        ("Quota", written(wire.QuotaSpec)),
        ("CapacityPolicy", written(PolicyDocument) - {"apiVersion", "kind", "name"}),
        ("ResourceType", written(ResourceType)),
    ],
)
def test_the_fields_of_a_kind_are_those_that_its_reader_knows(kind, read):
    assert set(spec_of(kind)["properties"]) == read


def test_a_file_of_a_quota_has_only_fields_that_the_server_takes():
    assert written(QuotaSpec) <= set(spec_of("Quota")["properties"])


def test_the_operator_reads_only_fields_that_a_policy_has():
    assert written(PolicySpec) <= set(spec_of("CapacityPolicy")["properties"])


def test_a_policy_says_which_profiles_there_are_to_inherit():
    text = spec_of("CapacityPolicy")["properties"]["inherits"]["description"]
    assert text.endswith(f": {', '.join(PROFILE_NAMES)}.")


def test_what_the_webhook_judges_in_the_words_of_the_command_line_is_left_to_it():
    written = json.dumps([spec_of(kind) for kind in ("Quota", "CapacityPolicy", "ResourceType")])
    for each in ("enum", "pattern", "minimum", "maximum", "minItems", "minLength", "required"):
        assert f'"{each}":' not in written, each


def test_what_only_the_server_can_judge_is_judged_by_it():
    """A file does not say what was there before."""
    judged = {
        name
        for name, schema in spec_of("ResourceType")["properties"].items()
        if "x-kubernetes-validations" in schema
    }
    assert judged == {"name", "internalScaleExponent"}
    for kind in ("Quota", "CapacityPolicy"):
        assert "x-kubernetes-validations" not in json.dumps(spec_of(kind)), kind


def test_a_policy_has_room_for_every_setting():
    most = spec_of("CapacityPolicy")["properties"]["cluster"]["maxProperties"]
    assert most > 2 * len(default_settings())


def test_our_kinds_belong_to_no_namespace():
    assert [each.kind for each in OWN] == list(BY_KIND)
    assert {each["spec"]["scope"] for each in BY_KIND.values()} == {"Cluster"}
    assert {each["spec"]["group"] for each in BY_KIND.values()} == {"ullage.dev"}
