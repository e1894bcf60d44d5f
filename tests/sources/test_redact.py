from collections import Counter

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import claim, cluster, entry, node, pod, quota, tolerating, volume
from strategies import parts, snapshots
from ullage.model.admission import (
    DisruptionBudget,
    LimitRange,
    Namespace,
    PodGroup,
    PriorityClass,
    ResourceQuota,
    RuntimeClass,
)
from ullage.model.checks import check_snapshot, unique
from ullage.model.cluster import Group, Node, Snapshot, Workload
from ullage.model.constraints import (
    Constraints,
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    Requirement,
    Toleration,
)
from ullage.model.delta import TABLES
from ullage.model.drives import Drive, PlacedVolume, VolumeGroup
from ullage.model.ganeti import GanetiGroup, GanetiNode, Instance
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.policy import Layer, Policy
from ullage.model.resources import NOTHING
from ullage.model.settings import rules_for
from ullage.model.storage import (
    Claim,
    PersistentVolume,
    StorageCapacity,
    StorageClass,
    StorageDriver,
    TopologyTerm,
)
from ullage.sources.own_text import snapshot_text
from ullage.sources.redact import redact
from ullage.sources.redact_names import Pseudonyms
from ullage.sources.snapshot_file import snapshot_bytes

# Letters that no pseudonym and no word of the format is made of, so that a name is found where it is left.
secrets = st.text("ghjkqvwxyzGHJKQXYZ", min_size=4, max_size=9)
secret_labels = st.dictionaries(secrets, secrets, max_size=2)


def secret_objects(draw):
    """One row of each table of storage and admission, with secrets wherever a name can stand."""
    name = lambda: draw(secrets)  # noqa: E731 - a name for what each field draws
    selector = LabelSelector(draw(secret_labels), (Requirement(name(), "In", (name(),)),))
    nodes = NodeSelector((NodeSelectorTerm(selector.match_expressions),))
    tolerations = (Toleration(name(), "Equal", name()),)
    priorities = (Requirement("PriorityClass", "In", (name(),)),)
    used = {f"{name()}.storageclass.storage.k8s.io/requests.storage": "1Gi"}
    rows = {
        "claims": Claim(
            name(), name(), name(), volume=name(), selector=selector, selected_node=name(),
            storage_group=name(),
        ),
        "volumes": PersistentVolume(
            name(), name(), node_affinity=nodes, labels=draw(secret_labels), claim=f"{name()}/{name()}",
            driver=name(),
        ),
        "storage_classes": StorageClass(
            name(), name(), allowed_topologies=(TopologyTerm(selector.match_expressions),),
            parameters=draw(secret_labels),
        ),
        "reservations": LedgerEntry(
            name(), name(), f"drive/{name()}/{name()}", name(), blocked_by=name(), reason=name()
        ),
        "storage_capacities": StorageCapacity(name(), name(), name(), selector),
        "storage_drivers": StorageDriver(name()),
        "namespaces": Namespace(name(), draw(secret_labels)),
        "limit_ranges": LimitRange(name(), name()),
        "resource_quotas": ResourceQuota(name(), name(), used, used, scope_selector=priorities),
        "priority_classes": PriorityClass(name()),
        "runtime_classes": RuntimeClass(name(), NOTHING, draw(secret_labels), tolerations),
        "disruption_budgets": DisruptionBudget(name(), name(), selector),
        "pod_groups": PodGroup(name(), name(), 3),
    }  # fmt: skip
    return {table: unique([row], table) for table, row in rows.items()}


def secret_group(draw):
    tags, networks = (f"{draw(secrets)}:{draw(secrets)}",), (draw(secrets),)
    return GanetiGroup(draw(secrets), draw(secrets), tags=tags, networks=networks)


@st.composite
def secret_snapshots(draw):
    nodes = {
        name: Node(
            name,
            draw(parts),
            group=draw(secrets),
            domain=draw(secrets),
            labels={**draw(secret_labels), "kubernetes.io/hostname": name},
            drives=(Drive(draw(secrets), "HDD", 9, path=draw(secrets), storage_group=draw(secrets)),),
            volume_groups=(VolumeGroup(name, "HDD", 9, 1, storage_group=draw(secrets)),),
            placed_volumes=(PlacedVolume(draw(secrets), name, 5, draw(secrets), draw(secrets)),),
            attach_limits=dict.fromkeys(draw(st.sets(secrets, max_size=2)), 3),
            qualities=draw(secret_labels),
            host=GanetiNode(name, draw(secrets), tags=(draw(secrets),), hypervisor=draw(secrets)),
        )
        for name in draw(st.sets(secrets, min_size=1, max_size=3))
    }
    workloads = [
        Workload(
            name,
            draw(secrets),
            node=draw(st.sampled_from(sorted(nodes))),
            requests=draw(parts),
            owner=draw(secrets),
            labels=draw(secret_labels),
            constraints=Constraints(
                node_selector=draw(st.sampled_from([each.labels for each in nodes.values()]))
            ),
            volumes=(
                volume(
                    draw(secrets),
                    "1Gi",
                    claim=draw(secrets),
                    storage_class=draw(secrets),
                    driver=draw(secrets),
                    storage_group=draw(secrets),
                ),
            ),
            scheduler=draw(secrets),
            gang=draw(secrets),
            priority_class=draw(secrets),
            runtime_class=draw(secrets),
            instance=Instance(
                name, 1, (), 1, draw(secrets), draw(secrets), tags=(draw(secrets),), networks=(draw(secrets),)
            ),
        )
        for name in draw(st.sets(secrets, max_size=3))
    ]
    spaces = sorted({workload.namespace for workload in workloads})
    return check_snapshot(
        Snapshot(
            name=draw(secrets),
            policy=Policy(
                draw(secrets), (Layer(draw(secrets), nodes={name: {"swap": "1Gi"} for name in nodes}),)
            ),
            nodes=unique(nodes.values(), "node"),
            groups=unique(
                [Group(each, ganeti=secret_group(draw)) for each in draw(st.sets(secrets))], "group"
            ),
            workloads=unique(workloads, "workload"),
            tags=(f"htools:iextags:{draw(secrets)}",),
            quotas=unique([quota(f"{space}q", namespaces=(space,)) for space in spaces], "quota"),
            **secret_objects(draw),
            unknowns=tuple(draw(st.lists(secrets, max_size=2))),
        )
    )


def texts_in(value):
    """Every text in plain values, the keys of maps that users fill included."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner)
    elif isinstance(value, str):
        yield value


@settings(max_examples=30)
@given(secret_snapshots())
def test_no_name_of_more_than_three_characters_is_left(snapshot):
    letters = set("ghjkqvwxyzGHJKQXYZ")
    before = msgspec.json.decode(snapshot_text(snapshot, "json"))
    names = {text for text in texts_in(before) if set(text) <= letters and len(text) > 3}
    redacted = redact(snapshot, "seed")
    for data in (snapshot_text(redacted, "json"), snapshot_text(redacted, "yaml")):
        assert [name for name in names if name.encode() in data] == []


def numbers(snapshot):
    """What answers are made of: sizes, sums on nodes and of quotas, rules, and which nodes are selected."""
    held = dict.fromkeys(snapshot.nodes.keys(), NOTHING)
    used = Counter()
    selected = []
    for workload in snapshot.workloads:
        if workload.node:
            held[workload.node] += workload.requests
        for each in snapshot.quotas:
            used[each.name] += (workload.namespace in each.namespaces) * workload.requests.of("cpu")
        wanted = workload.constraints.node_selector.items()
        selected.append(sum(wanted <= each.labels.items() for each in snapshot.nodes))
    rows = [
        (
            sorted(each.capacity.items()),
            sorted(held[each.name].items()),
            each.state,
            len(each.labels),
            rules_for(snapshot.policy, snapshot.resource_types, each.group, each.name).swap_bytes,
        )
        for each in snapshot.nodes
    ]
    groups = Counter(each.group for each in snapshot.nodes)
    return sorted(map(str, rows)), sorted(used.values()), sorted(selected), sorted(groups.values())


@settings(max_examples=20)
@given(secret_snapshots())
def test_every_number_is_unchanged(snapshot):
    assert numbers(redact(snapshot, "seed")) == numbers(snapshot)


@settings(max_examples=10)
@given(snapshots())
def test_any_snapshot_keeps_its_rows_and_sizes(snapshot):
    redacted = redact(snapshot, "seed")
    for table in TABLES:
        assert len(getattr(redacted, table)) == len(getattr(snapshot, table))
    sums = [sorted(str(each.requests) for each in one.workloads) for one in (snapshot, redacted)]
    assert sums[0] == sums[1]
    assert snapshot_bytes(redact(snapshot, "seed")) == snapshot_bytes(redacted)


def test_references_follow_their_names():
    original = cluster(
        node("gpu-1")
        .in_group("training")
        .tainted("acme.example/team", "ml")
        .with_drive("disk-7", "HDD", "1Ti", path="/dev/disk/by-id/serial-123")
        .with_volume_group("data", "HDD", "1Gi", drives=("disk-7",))
        .holding(
            pod(
                "ml/train-0",
                standby="gpu-1",
                constraints=tolerating("acme.example/team"),
                labels={"kueue.x-k8s.io/queue-name": "main"},
                volumes=(volume("scratch", "1Gi", claim="train-data"),),
            )
        ),
        quota("research", parent="company", namespaces=("ml",), queues=("ml/main",)),
        quota("company"),
        claim("ml/train-data", "1Gi"),
        entry("r1", "node/gpu-1", blocked_by="r1", reason="waits for train-0"),
        entry("r2", "drive/gpu-1/disk-7"),
        entry("r3", "group/gpu-1/data"),
    )
    names = Pseudonyms("seed")
    redacted = redact(original, "seed")
    (machine,) = redacted.nodes
    (workload,) = redacted.workloads
    assert machine.name == workload.node == workload.standby == names.of("node", "gpu-1")
    assert list(redacted.groups.keys()) == [machine.group]
    assert machine.taints[0].key == workload.constraints.tolerations[0].key
    assert machine.drives[0].uuid == machine.volume_groups[0].drives[0]
    assert machine.drives[0].path == ""
    (kept,) = redacted.claims
    assert workload.volumes[0].claim == kept.name
    assert kept.namespace == workload.namespace
    child = redacted.quotas[names.of("quota", "research")]
    assert child.parent in redacted.quotas
    assert child.namespaces == (workload.namespace,)
    assert child.queues == (f"{workload.namespace}/{workload.labels['kueue.x-k8s.io/queue-name']}",)
    assert "main" not in child.queues[0]
    by_name = {each.reservation: each for each in redacted.reservations}
    first = by_name[names.of("reservation", "r1")]
    assert first.capacity == f"node/{machine.name}"
    assert (first.blocked_by, first.reason) == (first.reservation, "redacted")
    assert by_name[names.of("reservation", "r2")].capacity.endswith(f"/{machine.drives[0].uuid}")
    assert by_name[names.of("reservation", "r3")].capacity.endswith(f"/{machine.volume_groups[0].name}")


def test_what_describes_the_machine_stays():
    zone = {"topology.kubernetes.io/zone": "eu-1"}
    original = cluster(
        node("n1").labelled(zone).in_domain("eu-1").with_gpus(1, "A100"),
        node("n2").in_domain("cellar"),
        pod("p", scheduler="default-scheduler", volumes=(volume("v", "1", storage_class="SSDLVG"),)),
        policy=Policy("zos", (Layer("profile zos", built_in=True, cluster={"committed": "actual"}),)),
    )
    redacted = redact(original, "seed")
    domains = {each.domain for each in redacted.nodes}
    assert domains == {"eu-1", Pseudonyms("seed").of("domain", "cellar")}
    assert {device.model for each in redacted.nodes for device in each.devices} == {"A100"}
    assert redacted.policy == original.policy
    (workload,) = redacted.workloads
    assert (workload.scheduler, workload.volumes[0].storage_class) == ("default-scheduler", "SSDLVG")


def test_notes_in_which_names_may_hide_are_counted_and_left_out():
    redacted = redact(cluster(unknowns=("pod secret-1 has no node", "b")), "seed")
    assert redacted.unknowns == ("2 notes of the source were left out by the redaction",)
    assert redact(cluster(Group("g")), "seed").unknowns == ()


def test_a_cluster_whose_quotas_are_wrong_is_redacted_all_the_same():
    wrong = cluster(quota("a", {"cpu": "2"}, {"cpu": "1"}, parent="gone"))
    (found,) = redact(wrong, "seed").quotas
    assert (found.min, found.parent[:6]) == (wrong.quotas["a"].min, "quota-")
