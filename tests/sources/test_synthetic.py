import hashlib
from collections import Counter
from fractions import Fraction

import pytest

from ullage.model.errors import InputError
from ullage.model.resources import NOTHING
from ullage.sources.own_text import snapshot_text
from ullage.sources.snapshot_file import snapshot_bytes
from ullage.sources.synthetic import GPU, POD_SLOTS, Options, parse_options, synthetic_snapshot

MIDDLE = synthetic_snapshot(Options(nodes=300, seed=7))


def committed(snapshot):
    sums = dict.fromkeys(snapshot.nodes.keys(), NOTHING)
    for workload in snapshot.workloads:
        if workload.node:
            sums[workload.node] += workload.requests
    return sums


def test_a_seed_gives_the_same_cluster_everywhere():
    """The checksum was written down once: another one means that recorded seeds no longer mean the same."""
    small = synthetic_snapshot(Options(nodes=20, seed=3))
    digest = hashlib.sha256(snapshot_text(small, "json")).hexdigest()
    assert digest[:16] == "f453a6d1611ea60b"
    assert snapshot_bytes(small) == snapshot_bytes(synthetic_snapshot(Options(nodes=20, seed=3)))


def test_another_seed_gives_another_cluster():
    one, two = (synthetic_snapshot(Options(nodes=20, seed=seed)) for seed in (1, 2))
    assert one.workloads != two.workloads


@pytest.mark.parametrize("nodes", [1, 10, 300])
@pytest.mark.parametrize("fill", ["0", "0.3", "1"])
def test_no_node_holds_more_than_it_has(nodes, fill):
    snapshot = synthetic_snapshot(Options(nodes=nodes, fill=Fraction(fill)))
    assert len(snapshot.nodes) == nodes
    for name, held in committed(snapshot).items():
        node = snapshot.nodes[name]
        usable = node.capacity - node.reserve
        assert all(amount <= usable.of(resource) for resource, amount in held.items())
        assert held.of("pods") <= POD_SLOTS


@pytest.mark.parametrize("fill", [Fraction(3, 10), Fraction(7, 10)])
def test_nodes_are_about_as_full_as_asked(fill):
    snapshot = synthetic_snapshot(Options(nodes=300, fill=fill))
    sums = committed(snapshot)
    shares = []
    for node in snapshot.nodes:
        if node.group == "general":
            usable = node.capacity - node.reserve
            shares.append(max(Fraction(sums[node.name].of(name), usable[name]) for name in ("cpu", "memory")))
    mean = sum(shares) / len(shares)
    assert fill * Fraction(85, 100) < mean <= fill * Fraction(105, 100)


def test_it_looks_like_a_real_cluster():
    classes = {node.labels["node.kubernetes.io/instance-type"] for node in MIDDLE.nodes}
    assert {"general", "training", "inference"} <= classes
    assert {node.labels["topology.kubernetes.io/zone"] for node in MIDDLE.nodes} == {
        "zone-a",
        "zone-b",
        "zone-c",
    }
    assert len({node.domain for node in MIDDLE.nodes}) == 13
    assert list(MIDDLE.groups.keys()) == ["general", "gpu"]
    assert len(MIDDLE.quotas) >= 8
    assert any(workload.state == "init" and not workload.node for workload in MIDDLE.workloads)
    for node in MIDDLE.nodes:
        assert len(node.devices) == node.capacity.of(GPU)


def test_a_few_deployments_have_most_of_the_replicas():
    replicas = sorted(Counter(workload.owner for workload in MIDDLE.workloads).values(), reverse=True)
    assert sum(replicas[: len(replicas) // 10]) > sum(replicas) // 3
    assert replicas[len(replicas) // 2] < replicas[0] / 10


def test_replicas_of_a_deployment_share_their_maps():
    by_owner = {}
    for workload in MIDDLE.workloads:
        first = by_owner.setdefault(workload.owner, workload)
        assert workload.requests is first.requests
        assert workload.labels is first.labels


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Options()),
        ("nodes=1000,seed=7,fill=0.7", Options(1000, 7, Fraction(7, 10))),
        (" fill=1/3 , nodes=1", Options(1, 1, Fraction(1, 3))),
        ("nodes=100000", Options(100_000)),
        ("fill=0", Options(fill=Fraction(0))),
    ],
)
def test_options_are_read(text, expected):
    assert parse_options(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nodes", "'nodes' is no option"),
        ("pods=3", "'pods=3' is no option"),
        ("nodes=0", "is not a whole number from 1 to 100000"),
        ("nodes=100001", "is not a whole number from 1 to 100000"),
        ("nodes=1e3", "is not a whole number"),
        ("nodes=²", "is not a whole number"),
        ("seed=-1", "is not a whole number from 0 to 4294967295"),
        ("seed=1,seed=2", "is given twice"),
        ("fill=1.1", "is not a share from 0 to 1"),
        ("fill=lots", "is not a share from 0 to 1"),
    ],
)
def test_bad_options_are_refused(text, said):
    with pytest.raises(InputError) as raised:
        parse_options(text)
    assert said in str(raised.value)
    assert "write synthetic:nodes=1000,seed=7,fill=0.7" in str(raised.value)
