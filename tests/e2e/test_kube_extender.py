"""kube-scheduler with our extender on a real control plane: quotas hold, and claim back what is theirs."""

import pytest

from kube_cluster import KubeCluster, elastic_quota, free_port_numbers, gpu_pod, pod, stays, until
from plane.plane import Plane
from plane.settings import KWOK, SCHEDULER

GPU_MEMORY = "nos.nebuly.com/gpu-memory"
KUBE_SCHEDULER = "default-scheduler"
LIMITS = {"a": 40, "b": 10, "c": 30}


def extenders(port: int) -> list[dict]:
    """What a KubeSchedulerConfiguration says of the extender."""
    return [
        {
            "urlPrefix": f"http://127.0.0.1:{port}",
            "filterVerb": "filter",
            "prioritizeVerb": "prioritize",
            "preemptVerb": "preempt",
            "bindVerb": "bind",
            "weight": 10,
            "nodeCacheCapable": True,
            "httpTimeout": "30s",
        }
    ]


class Extended(KubeCluster):
    """A cluster whose kube-scheduler asks our extender."""

    def __init__(self, program) -> None:
        super().__init__(program, (KWOK, SCHEDULER))
        (self.port,) = free_port_numbers(1)
        self.plane = Plane(program, (KWOK, SCHEDULER), scheduler={"extenders": extenders(self.port)})

    def start_extender(self, *arguments: str):
        return self.start(
            "extender", "--extender-host", "127.0.0.1", "--advertise-host", "127.0.0.1",
            "--extender-port", str(self.port), *arguments, ready="serves kube-scheduler",
        )  # fmt: skip


@pytest.fixture
def cluster(plane_program):
    with Extended(plane_program) as running:
        yield running


def of_b(cluster: KubeCluster) -> int:
    return sum(key.startswith("b/") for key in cluster.placed())


@pytest.mark.slow
def test_the_example_of_quotas_through_kube_scheduler(cluster):
    cluster.nodes(1, **{"nvidia.com/gpu": "8"})
    cluster.namespaces(*LIMITS)
    cluster.plane.create_many(
        [elastic_quota(f"{name}/q", **{GPU_MEMORY: str(amount)}) for name, amount in LIMITS.items()]
    )
    cluster.start_extender("--gpu-memory-gb", "10")
    for namespace in ("a", "b"):
        keys = [f"{namespace}/{namespace}{index}" for index in range(4)]
        cluster.plane.create_many([gpu_pod(key, KUBE_SCHEDULER) for key in keys])
        cluster.wait_until_placed(*keys)
    cluster.plane.create(gpu_pod("a/first", KUBE_SCHEDULER))
    cluster.wait_until_placed("a/first")
    assert of_b(cluster) == 3
    cluster.plane.create(gpu_pod("a/second", KUBE_SCHEDULER))
    until(
        lambda: any(
            reason == "NoRightToRoom" and name == "second" and "60 of" in note
            for reason, name, note in cluster.events("a")
        ),
        "A's second claim is refused",
    )
    stays(lambda: of_b(cluster) == 3, "nobody goes for a claim that is refused")


@pytest.mark.slow
def test_a_pod_beyond_the_max_of_its_quota_is_refused_with_our_reason(cluster):
    cluster.nodes(3)
    cluster.namespaces("team")
    quota = {
        "apiVersion": "ullage.dev/v1",
        "kind": "Quota",
        "metadata": {"name": "team"},
        "spec": {"namespaces": ["team"], "min": {"cpu": "1"}, "max": {"cpu": "2"}},
    }
    cluster.plane.create(quota)
    cluster.start_extender()
    cluster.plane.create(pod("team/small", KUBE_SCHEDULER, cpu="1500m"))
    cluster.wait_until_placed("team/small")
    cluster.plane.create(pod("team/large", KUBE_SCHEDULER, cpu="1"))
    told = cluster.wait_until_told("team/large", "quota team would use more than its max")
    assert told.startswith("0/3 nodes are available: 3 quota team would use more than its max, 500m of cpu")
    stays(lambda: "team/large" not in cluster.placed(), "it is not bound")
    cluster.plane.delete("/api/v1/namespaces/team/pods/small")
    cluster.wait_until_placed("team/large")
