"""This host, and a machine with pods in control groups of both versions, as a kubelet makes them."""

import os
import time

import psutil
import pytest

from builders import cluster
from builders import node as a_node
from ullage.model.errors import InputError
from ullage.sources.host.machine import AbsentError
from ullage.sources.usage.host_samples import find_groups, parse_busy, read_host

CONTAINER, SIDE = "a" * 64, "b" * 64
POD = "0b5f4d52-94a8-4f6b-9c1f-6d0a3c1f2e11"
PASSED = 2.0
WORKED = 3 * os.sysconf("SC_CLK_TCK")
"""Three seconds of processors in two seconds."""


class FakeMachine:
    """Files by path; a folder is what files lie in. Each reading of a counter may be another text."""

    def __init__(self, files):
        self.files = files
        self.reads = {}

    def read_text(self, path):
        if path not in self.files:
            raise AbsentError("does not exist", where=path)
        texts = self.files[path]
        if isinstance(texts, str):
            return texts
        count = self.reads[path] = self.reads.get(path, 0) + 1
        return texts[min(count, len(texts)) - 1]

    def list_dir(self, path):
        inside = {each[len(path) + 1 :].split("/")[0] for each in self.files if each.startswith(f"{path}/")}
        if not inside:
            raise AbsentError("does not exist", where=path)
        return tuple(sorted(inside))

    def run(self, argv):
        raise AbsentError("does not exist", where=argv[0])


HOST = {
    "/proc/self/mountinfo": "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    "/proc/sys/kernel/hostname": "worker-1.example.com\n",
    "/proc/meminfo": "MemTotal: 1000 kB\nMemAvailable: 400 kB\n",
    "/proc/stat": ("cpu 100 0 100 500 50 0 0 7 30 0\n", f"cpu {100 + WORKED} 0 100 900 90 0 0 9 30 0\n"),
    "/proc/pressure/memory": "some avg10=1.25 avg60=0.50 avg300=0.10 total=12345\n",
    f"/var/log/containers/web-1_shop_app-{CONTAINER}.log": "",
    f"/var/log/containers/web-1_shop_side-{SIDE}.log": "",
}  # fmt: skip


def unified():
    """Version 2, named by systemd."""
    point = "/sys/fs/cgroup"
    pod = (
        f"{point}/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{POD.replace('-', '_')}.slice"
    )
    app, side = f"{pod}/cri-containerd-{CONTAINER}.scope", f"{pod}/cri-containerd-{SIDE}.scope"
    files = {"/proc/self/mountinfo": f"31 23 0:28 / {point} rw - cgroup2 cgroup2 rw\n"}
    for folder, share in ((app, 500_000), (side, 250_000)):
        files |= {
            f"{folder}/cpu.stat": ("usage_usec 0\nuser_usec 0\n", f"usage_usec {share}\nuser_usec 0\n"),
            f"{folder}/memory.current": "5000\n",
            f"{folder}/memory.stat": "anon 1\ninactive_file 1000\n",
        }
    return HOST | files


def separate():
    """Version 1, named by the kubelet itself; the processors are steered in a folder of their own."""
    files = {
        "/proc/self/mountinfo": "32 31 0:29 / /cpu rw - cgroup cgroup rw,cpuacct\n"
        "33 31 0:30 / /mem rw - cgroup cgroup rw,memory\n"
    }
    for name, share in ((CONTAINER, 500_000_000), (SIDE, 250_000_000)):
        inside = f"kubepods/burstable/pod{POD}/{name}"
        files |= {
            f"/cpu/{inside}/cpuacct.usage": ("0\n", f"{share}\n"),
            f"/mem/{inside}/memory.usage_in_bytes": "5000\n",
            f"/mem/{inside}/memory.stat": "inactive_file 7\ntotal_inactive_file 1000\n",
        }
    return HOST | files


def found(files, snapshot=None):
    clock = iter((10.0, 10.0 + PASSED))
    samples = read_host(
        snapshot,
        machine=FakeMachine(files),
        now=lambda: 1_700_000_000.9,
        clock=lambda: next(clock),
        sleep=lambda _: None,
    )
    points = {}
    for each in samples:
        assert set(each.at_seconds.tolist()) == {1_700_000_000}
        for number, amount in zip(each.numbers.tolist(), each.amounts.tolist(), strict=True):
            points[each.subjects[number], each.resource] = amount
    return points


@pytest.mark.parametrize("files", [unified, separate], ids=["v2", "v1"])
def test_containers_are_found_by_their_groups_and_pods_are_their_sums(files):
    assert found(files()) == {
        ("node/worker-1.example.com", "cpu"): 1500,
        ("node/worker-1.example.com", "memory"): 600 * 1024,
        ("node/worker-1.example.com", "ullage.dev/memory-pressure"): 125,
        ("container/shop/web-1/app", "cpu"): 250,
        ("container/shop/web-1/side", "cpu"): 125,
        ("pod/shop/web-1", "cpu"): 375,
        ("container/shop/web-1/app", "memory"): 4000,
        ("container/shop/web-1/side", "memory"): 4000,
        ("pod/shop/web-1", "memory"): 8000,
    }


def test_the_node_is_called_as_the_cluster_calls_it():
    assert ("node/worker-1", "memory") in found(HOST, cluster(a_node("worker-1"), a_node("worker-2")))


def test_a_host_without_pods_is_a_node_alone():
    assert {subject for subject, _ in found(HOST)} == {"node/worker-1.example.com"}


def test_a_container_that_ends_meanwhile_is_left_out():
    files = unified()
    gone = next(each for each in files if each.endswith(f"{SIDE}.scope/memory.current"))
    del files[gone]
    points = found(files)
    assert ("container/shop/web-1/side", "memory") not in points
    assert points["pod/shop/web-1", "memory"] == 4000


def test_groups_whose_logs_nobody_wrote_are_nobodys():
    files = {path: text for path, text in unified().items() if not path.startswith("/var/log")}
    assert list(find_groups(FakeMachine(files))) == []


def test_waiting_idle_and_stolen_time_is_no_work_and_guests_count_once():
    assert parse_busy("cpu 100 10 1 1000 1000 5 4 1000 100 100\n", 10) == 12.0
    with pytest.raises(InputError):
        parse_busy("intr 5\n", 10)


def test_what_this_host_says_is_what_psutil_sees():
    before = psutil.cpu_times()
    begun = time.monotonic()
    points = {
        (each.subjects[0], each.resource): int(each.amounts[0]) for each in read_host(between_seconds=0.5)
    }
    elapsed = time.monotonic() - begun
    after = psutil.cpu_times()
    (node,) = {subject for subject, _ in points}
    memory = psutil.virtual_memory()
    assert abs(points[node, "memory"] - (memory.total - memory.available)) < memory.total / 5
    work = sum(
        getattr(after, name) - getattr(before, name) for name in ("user", "nice", "system", "irq", "softirq")
    )
    cores = psutil.cpu_count()
    assert 0 <= points[node, "cpu"] <= 1000 * cores * 1.1
    assert points[node, "cpu"] * 0.5 / 1000 <= work + 0.1 * cores * elapsed + 0.1
