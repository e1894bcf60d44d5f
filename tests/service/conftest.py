"""A small cluster for the services, and pages as text."""

import pytest

from builders import cluster, node, pod, policy, quota, waiting
from ullage.render import render
from ullage.service.asked import Asked


@pytest.fixture(scope="session")
def asked() -> Asked:
    return Asked("small.json")


@pytest.fixture(scope="session")
def small():
    """Two general nodes, one with GPUs and drives, one cordoned; a quota; something that waits."""
    return cluster(
        node("a1", cpu="8", memory="32Gi", pods=10)
        .reserving(memory="2Gi")
        .in_domain("rack-1")
        .labelled({"zone": "x"})
        .holding(
            pod("web/front", cpu="2", memory="20Gi", pods=1), pod("ml/job", cpu="1", memory="4Gi", pods=1)
        ),
        node("a2", cpu="8", memory="32Gi", pods=10).in_domain("rack-2").cordoned().using(memory="30Gi"),
        node("g1", cpu="16", memory="64Gi", pods=10)
        .in_group("gpu")
        .in_domain("rack-2")
        .labelled({"zone": "y", "gpu": "yes"})
        .with_gpus(4, "L4")
        .with_drive("d1", "SSD", "1Ti", system=True)
        .with_drive("d2", "HDD", "4Ti")
        .with_drive("d3", "HDD", "4Ti", health="BAD")
        .holding(pod("ml/train", cpu="4", memory="16Gi", gpu=3, pods=1)),
        waiting("web/later", cpu="1", memory="1Gi"),
        quota("ml", {"cpu": "4", "nvidia.com/gpu": "2"}, {"cpu": "8"}),
        quota("web", {"memory": "10Gi"}, {"memory": "15Gi"}),
        name="small",
        policy=policy(name="ours", memory_ratio="1.5", nodes={"a1": {"memory-ratio": "1"}}),
        unknowns=("the price of tea",),
    )


@pytest.fixture(scope="session")
def read():
    """An answer as text."""

    def text(answer, width=100, output="table"):
        return render(answer.page(), answer.data(), output, width=width)

    return text
