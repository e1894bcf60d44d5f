"""Devices that only dynamic resource allocation offers are counted and named."""

import pytest

from sources.kubernetes.kube import dumped, node, pod, thing

DRA = "resource.k8s.io/v1"
SHARED = {"allNodes": True}


def devices(name, count, node_name="", *, driver="gpu.nvidia.com", pool="", generation=1, **spec):
    offered = [{"name": f"gpu-{index}", "attributes": {}} for index in range(count)]
    where = {"nodeName": node_name} if node_name else SHARED
    return thing(
        DRA,
        "ResourceSlice",
        name,
        spec={
            "driver": driver,
            "pool": {"name": pool or node_name, "generation": generation, "resourceSliceCount": 1},
            "devices": offered,
            **where,
            **spec,
        },
    )


COUNTED = node("n1", {"cpu": "8", "nvidia.com/gpu": "8"})

# Each row: objects, and what is said.
SAID = {
    "devices that nothing else counts": (
        [node("n1"), devices("a", 8, "n1")],
        ["8 devices on node n1 that only DRA offers"],
    ),
    "devices of many nodes": (
        [devices(f"s{n}", 2, f"n{n}") for n in range(5)],
        ["10 devices on nodes n0, n1, n2 and 2 more that only DRA offers"],
    ),
    "devices that the node counts as well": ([COUNTED, devices("a", 8, "n1")], []),
    "devices of another vendor than those that are counted": (
        [COUNTED, devices("a", 4, "n1", driver="gpu.example.com")],
        ["4 devices on node n1 that only DRA offers"],
    ),
    "devices that are no node's own": (
        [devices("a", 3, pool="rack")],
        ["3 devices of several nodes that only DRA offers"],
    ),
    "a pool of two slices": (
        [devices("a", 3, "n1"), devices("b", 2, "n1")],
        ["5 devices on node n1 that only DRA offers"],
    ),
    "a pool that was published again, before and behind": (
        [devices("b", 2, "n1", generation=2), devices("a", 3, "n1"), devices("c", 9, "n2"),
         devices("d", 1, "n2", generation=3)],
        ["3 devices on nodes n1, n2 that only DRA offers"],
    ),
    "a slice without devices": ([devices("a", 0, "n1"), thing(DRA, "ResourceSlice", "b")], []),
    "claims": (
        [
            thing(DRA, "ResourceClaim", "a", namespace="ml", status={"allocation": {"devices": {}}}),
            thing(DRA, "ResourceClaim", "b", namespace="ml"),
            thing(DRA, "ResourceClaim", "a", namespace="web", status={}),
        ],
        ["3 ResourceClaims, 1 of them allocated"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SAID)
def test_what_is_said_of(case):
    items, expected = SAID[case]
    assert list(dumped(*items).unknowns) == expected


def test_pods_that_wait_for_such_devices_are_named():
    asking = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}]}
    found = dumped(node("n1"), pod("waits", **asking), pod("runs", nodeName="n1", **asking), pod("plain"))
    assert found.unknowns == ("devices that waiting pods ask for by ResourceClaim: team/waits",)
