"""Every question with words of the command line that ask the same: for all faces that answer questions."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from ullage.model.ledger import Capacity, Hold, Reserve, Supply, Together
from ullage.model.resources import Resources
from ullage.render.json_text import to_json
from ullage.service.ledger_file import submitted
from ullage.service.questions import ask

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
FILES = ROOT / "tests" / "cli" / "files"
DUMP = "dump.json"
GANETI = f"ganeti:{FILES / 'ganeti.data'}"
TRACED = str(FILES / "trace-cluster.yaml")
PLAIN = ("demo", DUMP, GANETI)


class Case(NamedTuple):
    """A question, and the words with which the command line asks it."""

    name: str
    cluster: str = ""
    values: Mapping[str, Any] = MappingProxyType({})
    words: str = ""
    parts: Mapping[str, bytes] = MappingProxyType({})

    def line(self):
        """What is asked, for people."""
        return f"{self.name} {Path(self.cluster).name} {self.words}".strip()

    def answer(self, **sent):
        """The answer as it is sent, and whether it is yes."""
        found = ask(self.name, self.values, cluster=self.cluster, **sent)
        return to_json(found.data()).encode(), found.yes


def dumped(kind, name, namespace="", **parts):
    """An object as kubectl writes it."""
    api = "nos.nebuly.com/v1alpha1" if kind == "ElasticQuota" else "v1"
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **parts}


def pod(name, node, cpu, namespace="team-a"):
    """A pod on a node; without one it waits."""
    container = {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    spec = {"containers": [container], **({"nodeName": node} if node else {})}
    status = {"phase": "Running" if node else "Pending"}
    return dumped("Pod", name, namespace, spec=spec, status=status)


def dump():
    """Two nodes, a quota, pods that run and one that waits, as `kubectl get -o json` writes them."""
    sizes = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    status = {"capacity": sizes, "allocatable": sizes, "conditions": [{"type": "Ready", "status": "True"}]}
    items = [dumped("Node", name, spec={}, status=status) for name in ("a", "b")]
    items += [pod(f"p{number}", "ab"[number % 2], "1500m") for number in range(5)]
    items += [pod("big", "", "6"), pod("other", "b", "1", "team-b")]
    items += [dumped("ElasticQuota", "q", "team-a", spec={"min": {"cpu": "4"}, "max": {"cpu": "12"}})]
    return msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items})


CASES = [
    *[Case("status", each, {}, "") for each in [*PLAIN, TRACED]],
    Case("status", "demo", {"by": "workload"}, "--by workload"),
    Case("status", "demo", {"policy": "zos", "namespace": "web"}, "--policy zos -n web"),
    Case("fit", "demo", {}, ""),
    *[Case("fit", each, {"shape": "cpu=2,memory=4Gi"}, "--shape cpu=2,memory=4Gi") for each in PLAIN],
    *[Case("fit", "demo", {"shape": f"cpu={n}"}, f"--shape cpu={n}") for n in (1, 64, 1, 3)],
    Case(
        "fit",
        "demo",
        {"shape": "cpu=1", "replicas": 500, "atomic": True},
        "--shape cpu=1 --replicas 500 --atomic",
    ),
    Case(
        "fit",
        "demo",
        {"shape": "cpu=1", "placement": "pack", "seed": 3},
        "--shape cpu=1 --placement pack --seed 3",
    ),
    Case("fit", "demo", {"runMinSeconds": 60, "exactSeconds": 0}, "--run-min 60 --exact 0"),
    *[Case("headroom", each, {"shape": ["cpu=1"]}, "--shape cpu=1") for each in PLAIN],
    Case(
        "headroom",
        "demo",
        {"shape": ["cpu=1", "cpu=2"], "together": True},
        "--shape cpu=1 --shape cpu=2 --together",
    ),
    Case("headroom", GANETI, {"tiered": True}, "--tiered"),
    *[Case("check", each, {}, "") for each in PLAIN],
    Case("check", "demo", {"nodesLost": 1, "exactSeconds": 0}, "--nodes-lost 1 --exact 0"),
    Case(
        "check",
        "demo",
        {"lose": ["node/g1"], "placement": "spread"},
        "--lose node/g1 --placement spread",
    ),
    Case("check", GANETI, {"noBalance": True}, "--no-balance"),
    *[Case("balance", each, {}, "") for each in PLAIN],
    Case("balance", "demo", {"drain": ["g1"]}, "--drain g1"),
    Case("balance", "demo", {"squeeze": True}, "--squeeze"),
    Case("balance", GANETI, {"rolling": True}, "--rolling"),
    Case(
        "balance",
        GANETI,
        {"noDiskMoves": True, "movesMax": 3, "gainMin": 0.5},
        "--no-disk-moves --moves-max 3 --gain-min 0.5",
    ),
    Case("explain", "demo", {"subject": "node/g1"}, "node/g1"),
    Case("explain", "demo", {"subject": "node/g1", "resource": "cpu"}, "node/g1 --resource cpu"),
    Case("explain", "demo", {"subject": "resource/memory"}, "resource/memory"),
    *[Case("quota/list", each, {}, "") for each in ("demo", TRACED)],
    Case("quota/risk", "demo", {}, ""),
    Case("quota/audit", "demo", {}, ""),
    *[Case("disks/list", "demo", {"subject": each}, each) for each in ("",)],
    Case("disks/fragmentation", "demo", {}, ""),
    Case("disks/fragmentation", "demo", {"size": ["100Gi"]}, "--size 100Gi"),
    Case("policy/show", "demo", {}, ""),
    Case("policy/show", "demo", {"list": True}, "--list"),
    Case("policy/show", "demo", {"target": "node/g1", "policy": "zos"}, "node/g1 --policy zos"),
    Case("policy/check", "demo", {}, ""),
    *[Case("snapshot/show", each, {}, "") for each in PLAIN],
    Case("schema", "", {}, ""),
    Case("schema", "", {"kind": "WorkloadSet"}, "WorkloadSet"),
]


POLICY = b"apiVersion: ullage.dev/v1\nkind: Policy\ncluster: {memory-ratio: 1.5}\n"
TYPES = b"apiVersion: ullage.dev/v1\nkind: ResourceTypes\nresourceTypes: [{name: example.com/seats}]\n"
WORK = (EXAMPLES / "orders.yaml").read_bytes()
CATALOG = (EXAMPLES / "catalog.yaml").read_bytes()
COUNTERS = (EXAMPLES / "counters.csv").read_bytes()
PRICES = (EXAMPLES / "prices.yaml").read_bytes()
QUOTAS = (FILES / "trace-quotas.yaml").read_bytes()
TRACE = b"""apiVersion: ullage.dev/v1
kind: Trace
workloads:
- {name: t, namespace: team-a, requests: {nvidia.com/gpu: 4}, startSeconds: 0, durationSeconds: 60}
"""
OTHER = b'{"apiVersion": "ullage.dev/v1", "kind": "Snapshot", "nodes": [{"name": "n"}]}'
SENT = [
    Case("fit", "demo", {}, "-f workloads", {"workloads": WORK}),
    Case("fit", DUMP, {}, "-f workloads", {"workloads": msgspec.json.encode(pod("new", "", "3"))}),
    Case(
        "fit",
        "demo",
        {"replicas": 2},
        "-f workloads --replicas 2 --policy policy",
        {"policy": POLICY, "workloads": WORK},
    ),
    Case(
        "fit",
        "demo",
        {"shape": "example.com/seats=1"},
        "--shape example.com/seats=1 --types types",
        {"types": TYPES},
    ),
    Case("headroom", "demo", {}, "-f workloads", {"workloads": WORK}),
    Case("status", "demo", {}, "--policy policy --types types", {"types": TYPES, "policy": POLICY}),
    Case("policy/check", "demo", {}, "--policy policy", {"policy": POLICY}),
    Case("policy/show", DUMP, {"target": "node/a"}, "node/a --policy policy", {"policy": POLICY}),
    Case(
        "buy",
        "demo",
        {"exactSeconds": 2},
        "--catalog catalog -f workloads --exact 2",
        {"catalog": CATALOG, "workloads": WORK},
    ),
    Case(
        "buy",
        "demo",
        {"shape": "cpu=64", "nodesLost": 1},
        "--catalog catalog --shape cpu=64 --nodes-lost 1",
        {"catalog": CATALOG},
    ),
    Case(
        "quota/replay",
        TRACED,
        {"quotaMode": "fair"},
        "trace --quota-mode fair",
        {"trace": (FILES / "trace.csv").read_bytes()},
    ),
    Case(
        "quota/replay",
        TRACED,
        {"everySeconds": 9},
        "trace --quotas quotas --every 9",
        {"quotas": QUOTAS, "trace": TRACE},
    ),
    Case(
        "quota/replay",
        TRACED,
        {},
        "trace --quotas quotas --policy policy",
        {
            "policy": POLICY,
            "quotas": (EXAMPLES / "trace-quotas.yaml").read_bytes(),
            "trace": (EXAMPLES / "trace.csv").read_bytes(),
        },
    ),
    Case(
        "quota/replay",
        TRACED,
        {},
        "trace --quotas quotas",
        {
            "trace": (EXAMPLES / "trace.csv").read_bytes(),
            "quotas": (EXAMPLES / "trace-quotas.yaml").read_bytes(),
        },
    ),
    Case("snapshot/diff", "demo", {}, "demo other", {"other": OTHER}),
    Case(
        "usage/report",
        "demo",
        {"period": "week", "from": "2026-01-02", "billingUnits": True},
        "--counters counters --period week --from 2026-01-02 --billing-units",
        {"counters": COUNTERS},
    ),
    Case(
        "usage/report",
        "demo",
        {"by": "quota", "gapSeconds": 7200},
        "--counters counters --prices prices --by quota --gap 7200",
        {"prices": PRICES, "counters": COUNTERS},
    ),
]


PROMISED = [
    Case("ledger/show", "demo"),
    Case(
        "ledger/show",
        "demo",
        {"owner": "team/x", "state": "reserved", "at": 1},
        "--owner team/x --state reserved --at 1",
    ),
    Case("ledger/history", "demo"),
    Case("ledger/history", "demo", {"subject": "owner/team/x", "after": 1}, "owner/team/x --after 1"),
    Case("ledger/explain", "demo", {"revision": 1}, "1"),
    Case("ledger/verify", "demo", {}, "-c demo"),
    Case("status", "demo", {}, "-c demo"),
    Case("fit", "demo", {"shape": "cpu=1"}, "-c demo --shape cpu=1"),
    Case("disks/list", "demo", {}, "-c demo"),
]

OBSERVED = [
    Case("status", "demo", {"usage": "recorded"}, "--usage recorded"),
    Case("check", "demo", {"usage": "recorded", "exactSeconds": 0}, "--usage recorded --exact 0"),
    Case("explain", "demo", {"subject": "node/g1", "usage": "recorded"}, "node/g1 --usage recorded"),
    Case("usage/show", "demo"),
    Case("usage/show", "demo", {"by": "pod", "namespace": "web"}, "--by pod -n web"),
    Case("usage/show", "demo", {"subject": "node/n3"}, "node/n3"),
    Case("usage/report", "demo", {"period": "week"}, "--period week"),
    Case("forecast", "demo", {"horizonDays": 30, "by": "quota"}, "--horizon 30 --by quota"),
    Case("advise/ratio", "demo", {"group": ["general"]}, "--group general"),
    Case("advise/requests", "demo", {"namespace": "web"}, "-n web"),
]
"""What needs observations: those of a ledger."""


def promise_twice(ledger):
    """Make a ledger in which two things are promised to one owner."""
    for number in range(2):
        supply = Supply((Capacity("node/n1", Resources({"cpu": 8000})),))
        hold = Hold("r1", "node/n1", Resources({"cpu": 500}))
        reserve = Reserve(f"r{number}", "team/x", 1795009999, (hold,))
        assert submitted(ledger, Together((supply, reserve)), at_seconds=100, create=True).decision.accepted
