import pytest
from hypothesis import given, settings

from builders import GPU, resources
from strategies import TYPES, workloads
from ullage.model.cluster import Batch, Container, Workload
from ullage.model.errors import InputError
from ullage.model.resources import NOTHING, Resources, ResourceType, ResourceTypes
from ullage.sources.documents import documents_of
from ullage.sources.own_format import read_own
from ullage.sources.own_records import WorkloadEntry, WorkloadSet
from ullage.sources.own_text import workload_set_text
from ullage.sources.own_workloads import batch_of, completed

HEAD = "apiVersion: ullage.dev/v1\nkind: WorkloadSet\n"


def read(text):
    (document,) = documents_of((HEAD + text).encode(), "w.yaml")
    return read_own(document)


def test_a_set_names_how_many_of_each_and_whether_all_or_none():
    found = read(
        "name: shop\natomic: true\nworkloads:\n"
        "- {name: web, namespace: shop, replicas: 3, atomic: true, requests: {cpu: 500m}}\n"
        "- {name: db, requests: {cpu: 2, memory: 4Gi}, priority: 10}\n"
    )
    assert (found.name, found.atomic) == ("shop", True)
    web, database = found.batches
    assert (web.replicas, web.atomic, web.workload.key, web.workload.state) == (3, True, "shop/web", "init")
    assert (database.replicas, database.atomic, database.workload.priority) == (1, False, 10)
    assert database.workload.requests == resources(cpu=2, memory="4Gi")


CONTAINERS = "containers: [{name: a, requests: {cpu: 1}}, {name: b, limits: {cpu: 2, memory: 1Gi}}]"
REQUESTS = {
    "containers alone are added up, a request from its limit": (CONTAINERS, resources(cpu=3, memory="1Gi")),
    "overhead is added to them": (
        f"{CONTAINERS}, overhead: {{cpu: 250m}}",
        resources(cpu="3250m", memory="1Gi"),
    ),
    "its own requests count where they are named": (
        f"{CONTAINERS}, requests: {{cpu: 4}}",
        resources(cpu=4, memory="1Gi"),
    ),
    "its own requests include the overhead": (
        f"{CONTAINERS}, overhead: {{cpu: 250m}}, requests: {{cpu: 3250m}}",
        resources(cpu="3250m", memory="1Gi"),
    ),
    "the largest step of the start counts": (
        "containers: [{name: i, role: init, requests: {cpu: 5}}, {name: a, requests: {cpu: 1}}]",
        resources(cpu=5),
    ),
    "a limit stands for a request that is not given": (
        "limits: {memory: 2Gi}, requests: {cpu: 1}",
        resources(cpu=1, memory="2Gi"),
    ),
    "limits alone are the request": ("limits: {memory: 2Gi}", resources(memory="2Gi")),
    "a request rounds up to the smallest step": (
        "requests: {hugepages-2Mi: 3Mi}",
        resources({"hugepages-2Mi": "4Mi"}),
    ),
    "the resource model's own form": (
        "resourceRequirementSpec: [request: [cpu: 2.5], limit: [cpu: 4]]",
        resources(cpu="2.5"),
    ),
    "a written empty map asks for nothing": ("requests: {}", Resources()),
}


@pytest.mark.parametrize(("text", "expected"), REQUESTS.values(), ids=REQUESTS)
def test_what_a_workload_asks_for(text, expected):
    (batch,) = read(f"workloads: [{{name: w, {text}}}]").batches
    assert batch.workload.requests == expected


def test_limits_of_containers_are_those_of_the_whole_where_all_have_one():
    (batch,) = read(f"workloads: [{{name: w, {CONTAINERS}}}]").batches
    assert batch.workload.limits == NOTHING
    bounded = "containers: [{name: a, limits: {cpu: 1}}, {name: b, limits: {cpu: 2}}]"
    (batch,) = read(f"workloads: [{{name: w, {bounded}}}]").batches
    assert batch.workload.limits == resources(cpu=3)


def test_a_types_default_is_asked_for_where_nothing_is_named():
    types = "resourceTypes: [{name: example.com/slot, units: slot, defaultRequest: '2'}]\n"
    found = read(
        f"{types}workloads: [{{name: a}}, {{name: b, requests: {{cpu: 1}}}}, {{name: c, {CONTAINERS}}}]"
    )
    slots = [batch.workload.requests["example.com/slot"] for batch in found.batches]
    assert slots == [2, 2, 4]


BAD = {
    "a request below the sum of its containers": (
        f"{{name: w, {CONTAINERS}, requests: {{cpu: 2}}}}",
        "w.yaml:3:13: workloads[0]: requests: cpu 2 is below the 3 of its containers; raise it or",
    ),
    "a limit below the request": (
        "{name: w, requests: {memory: 2Gi}, limits: {memory: 1Gi}}",
        "limits: memory has limit 1Gi below the 2Gi requested; raise the limit or lower the request",
    ),
    "a limit below the sum of the containers": (
        f"{{name: w, {CONTAINERS}, limits: {{cpu: 2}}}}",
        "limits: cpu has limit 2 below the 3 requested",
    ),
    "a container's limit below its request": (
        "{name: w, containers: [{name: a, requests: {cpu: 2}, limits: {cpu: 1}}]}",
        "containers: a: cpu has limit 1 below the 2 requested",
    ),
    "a negative number of replicas": ("{name: w, replicas: -1}", "replicas is -1; use 0 to 10000000"),
    "replicas without end": (f"{{name: w, replicas: {10**30}}}", "replicas: replicas is too large"),
    "no name": ("{requests: {cpu: 1}}", 'the field "name" is missing'),
    "an empty name": ("{name: ''}", "workload: the name is empty"),
    "a negative request": ("{name: w, requests: {cpu: -1}}", "workload w: requests: cpu is -1"),
    "a promise that nobody made": (
        "{name: w, promised: true}",
        "promised: only a ledger says what is promised",
    ),
    "requests given twice": (
        "{name: w, requests: {cpu: 1}, resourceRequirementSpec: [request: [cpu: 1]]}",
        "requests are given twice; keep requests or resourceRequirementSpec",
    ),
}


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=BAD)
def test_a_bad_workload_is_refused_with_its_place(text, said):
    with pytest.raises(InputError) as raised:
        read(f"workloads: [{text}]")
    assert said in str(raised.value)


def entries():
    def entry(workload):
        largest = Resources(
            {name: max(amount, workload.requests.of(name)) for name, amount in workload.limits.items()}
        )
        fields = {name: getattr(workload, name) for name in type(workload).__struct_fields__}
        return WorkloadEntry(
            **{**fields, "limits": largest, "containers": (), "requests": Resources(workload.requests)}
        )

    return workloads().map(entry)


@settings(max_examples=20)
@given(entries())
def test_a_set_comes_back_exactly(entry):
    try:
        batch = batch_of(entry, TYPES)
    except InputError:
        return  # rounding up to the smallest step passed the limit
    asked = WorkloadSet(name="s", batches=(batch,), resource_types=TYPES)
    for form in ("yaml", "json"):
        (document,) = documents_of(workload_set_text(asked, form), "written")
        assert read_own(document) == asked


def test_a_set_with_containers_comes_back_exactly():
    found = read(f"workloads: [{{name: w, replicas: 4, {CONTAINERS}, overhead: {{cpu: 250m}}}}]")
    (document,) = documents_of(workload_set_text(found), "written")
    assert read_own(document) == found


def test_only_workloads_without_requests_are_completed():
    asks = WorkloadEntry(name="a", requests=resources(gpu=1))
    silent = WorkloadEntry(name="b", limits=resources(gpu=2))
    (only,) = completed([asks, silent], ResourceTypes())
    assert (only.name, only.requests[GPU]) == ("b", 2)


def test_a_batch_keeps_what_the_entry_says():
    types = ResourceTypes((ResourceType("example.com/slot", "slot"),))
    entry = WorkloadEntry(name="a", replicas=2, atomic=True, requests=resources(cpu=1), owner="team")
    batch = batch_of(entry, types)
    assert batch == Batch(batch.workload, 2, atomic=True)
    assert (batch.workload.owner, batch.workload.requests) == ("team", resources(cpu=1))


def test_a_snapshot_rounds_requests_up_and_refuses_those_below_their_containers():
    types = ResourceTypes([ResourceType("example.com/x", quantization=5)])
    three = Resources({"example.com/x": 3})
    (found,) = completed([Workload("a", requests=three)], types)
    assert dict(found.requests) == {"example.com/x": 5}
    below = Workload(
        "a", requests=Resources({"cpu": 1}), containers=(Container("c", requests=Resources({"cpu": 2})),)
    )
    with pytest.raises(InputError, match="workload a: requests: cpu 1m is below the 2m of its containers"):
        completed([below], types)
