"""The resource model's form of usage: read as it is written down, and the same after any round trip."""

from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.errors import InputError
from ullage.model.resources import NOTHING, Amount, Resources, ResourceTypes
from ullage.model.usage import PERCENTILES, Promised, ResourceStatus, UsageSummary
from ullage.render.json_text import to_json, to_yaml
from ullage.sources.documents import documents_of
from ullage.sources.usage_documents import status_document, status_list, statuses_of

TYPES = ResourceTypes()
SEED = """
resourceStatus: [
  usage:     [ cpu: { mean: 1500m, max: 4, min: 100m, count: 84,
                      percentiles: [ "10": 200m, "50": 1400m, "99.9": 3900m ] },
               memory: { mean: 2Gi } ],
  maxusage:  [ memory: { max: 12Gi } ],
  predicted: [ kubernetes.io/cpu: { percentiles: { "95": 3 } } ],
]
"""


def read(text, types=TYPES):
    return [
        each for document in documents_of(text.encode(), "test.yaml") for each in statuses_of(document, types)
    ]


def test_the_form_of_the_resource_model_is_read():
    ((status, taken_seconds, promised),) = read(SEED)
    assert (taken_seconds, promised) == (None, None)
    assert status == ResourceStatus(
        "",
        {
            "cpu": UsageSummary(
                Amount("cpu", 1500),
                Amount("cpu", 4000),
                Amount("cpu", 100),
                84,
                {"10": Amount("cpu", 200), "50": Amount("cpu", 1400), "99.9": Amount("cpu", 3900)},
            ),
            "memory": UsageSummary(Amount("memory", 2 << 30)),
        },
        {"memory": UsageSummary(max=Amount("memory", 12 << 30))},
        {"cpu": UsageSummary(percentiles={"95": Amount("cpu", 3000)})},
    )


def amounts(resource):
    return st.integers(0, (1 << 62) - 1).map(lambda value: Amount(resource, value))


def possible(summary):
    """A summary whose amounts rise as they must."""
    percentiles = sorted(summary.percentiles, key=Fraction)
    every = (summary.min, summary.mean, summary.max, *summary.percentiles.values())
    rising = sorted((each for each in every if each is not None), key=lambda each: each.value)
    least = rising.pop(0) if summary.min is not None else None
    most = rising.pop() if summary.max is not None else None
    mean = rising.pop() if summary.mean is not None else None
    ranked = dict(zip(percentiles, rising, strict=True))
    return msgspec.structs.replace(summary, min=least, max=most, mean=mean, percentiles=ranked)


def summaries(resource):
    amount = st.one_of(st.none(), amounts(resource))
    count = st.one_of(st.none(), st.integers(0, 1 << 32))
    return st.builds(
        UsageSummary,
        amount,
        amount,
        amount,
        count,
        st.dictionaries(st.sampled_from(PERCENTILES), amounts(resource)),
        count,
        count,
        st.one_of(st.none(), st.fractions(0, 1)),
    ).map(possible)


RESOURCES = ("cpu", "memory", "example.com/licences", "ephemeral-storage", "nvidia.com/gpu")
PART = st.fixed_dictionaries({}, optional={name: summaries(name) for name in RESOURCES})
STATUSES = st.builds(
    ResourceStatus,
    st.sampled_from(("node/n1", "cluster", "pod/no/1e3", "workload/ns/Deployment/null", "node/\u00fc")),
    PART,
    PART,
    PART,
)


AMOUNTS = st.dictionaries(st.sampled_from(["cpu", "memory"]), st.integers(0, 1 << 50), min_size=1).map(
    Resources
)
PROMISED = st.builds(
    Promised, AMOUNTS, st.one_of(st.just(NOTHING), AMOUNTS), st.integers(1, 9), st.integers(10, 99)
)


@given(STATUSES, st.one_of(st.none(), st.integers(0, 1 << 33)), st.one_of(st.none(), PROMISED))
def test_a_status_is_the_same_after_json_and_after_yaml(status, taken_seconds, promised):
    document = status_document(status, TYPES, taken_seconds, promised)
    for write in (to_json, to_yaml):
        text = write(document)
        assert read(text) == [(status, taken_seconds, promised)]
        ((again, *rest),) = read(text)
        assert write(status_document(again, TYPES, *rest)) == text


@given(st.lists(STATUSES, max_size=3))
def test_many_statuses_are_one_document(statuses):
    whole = status_list([status_document(each, TYPES) for each in statuses], cluster="demo")
    for write in (to_json, to_yaml):
        assert [status for status, _, _ in read(write(whole))] == statuses


def test_what_is_not_known_is_left_out():
    document = status_document(ResourceStatus("cluster", {"cpu": UsageSummary(count=0)}), TYPES)
    assert document["resourceStatus"] == [{"usage": [{"cpu": {"count": 0}}]}]


def test_an_exact_share_is_written_exactly():
    summary = UsageSummary(confidence=Fraction(1, 3))
    document = status_document(ResourceStatus("cluster", {"cpu": summary}), TYPES)
    assert document["resourceStatus"][0]["usage"][0]["cpu"]["confidence"] == "1/3"


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("kind: Snapshot\napiVersion: ullage.dev/v1\n", "kind 'Snapshot'"),
        ("resourceStatus: 5\n", "resourceStatus is no map"),
        ("resourceStatus: [used: [cpu: {}]]\n", "no part 'used'.*use usage, maxusage, predicted"),
        ("resourceStatus: [usage: [cpu: {median: 5}]]\n", "cpu: no field 'median'"),
        ("resourceStatus: [usage: [cpu: {mean: 5x}]]\n", "cpu"),
        ("resourceStatus: [usage: [cpu: {mean: -5}]]\n", "below 0"),
        ("resourceStatus: [usage: [cpu: {}, cpu: {}]]\n", "cpu is named twice"),
        ("resourceStatus: [usage: [cpu: {count: many}]]\n", "count is no count"),
        ("resourceStatus: [usage: [cpu: {count: true}]]\n", "count is no count"),
        ("resourceStatus: [usage: [cpu: {count: 4294967297}]]\n", "count is 4294967297; write at most 429"),
        (
            "resourceStatus: [usage: [cpu: {droppedPoints: 9223372036854775807}]]\n",
            "write at most 4294967296",
        ),
        ("takenSeconds: 11324620800\nresourceStatus: []\n", "takenSeconds is 11324620800; write at most"),
        ("resourceStatus: [usage: [cpu: {confidence: 2}]]\n", "confidence 2 is not from 0 to 1"),
        ("resourceStatus: [usage: [cpu: {min: 3, max: 2}]]\n", "cpu: max is below min; no observations"),
        ("resourceStatus: [usage: [cpu: {mean: 3, max: 2}]]\n", "mean is above max"),
        ("resourceStatus: [usage: [cpu: {mean: 1, min: 2}]]\n", "mean is below min"),
        ('resourceStatus: [usage: [cpu: {mean: 3, percentiles: ["100": 2]}]]\n', "mean is above percentile"),
        (
            'resourceStatus: [predicted: [cpu: {percentiles: ["95": 3, "50": 4]}]]\n',
            "cpu: percentile 95 is below percentile 50",
        ),
        ('resourceStatus: [maxusage: [cpu: {max: 2, percentiles: ["50": 4]}]]\n', "max is below percentile"),
        ('resourceStatus: [usage: [cpu: {percentiles: ["101": 1]}]]\n', "'101' is no percentile"),
        ('resourceStatus: [usage: [cpu: {percentiles: ["p50": 1]}]]\n', "'p50' is no percentile"),
        ("apiVersion: ullage.dev/v1\nkind: ResourceStatusList\nitems: 5\n", "no list of items"),
        ("apiVersion: ullage.dev/v1\nkind: ResourceStatusList\nitems: [5]\n", "items.*a status is no map"),
        ("subject: 5\nresourceStatus: {}\n", "subject is no text"),
        ("resourceStatus: {}\nrequests: {cpu: -1}\n", "requests has an amount below 0"),
        ("resourceStatus: {}\nlimits: 5\n", "limits is no map"),
        ("resourceStatus: {}\nlimits: {cpu: 1}\npods: many\n", "pods is no count"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_its_place(text, refusal):
    with pytest.raises(InputError, match=refusal) as refused:
        read(text)
    assert "test.yaml" in str(refused.value)
    assert "\n" not in str(refused.value)
