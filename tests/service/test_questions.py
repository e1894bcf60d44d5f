"""A question is answered as on the command line, byte by byte, and reads nothing but what was sent."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import pytest

from ullage.cli.main import run
from ullage.model.errors import InputError
from ullage.model.ledger import Capacity, Hold, Reserve, Supply, Together
from ullage.model.resources import Resources
from ullage.render.json_text import to_json
from ullage.service.asked import Asked, read_to_hold
from ullage.service.held import Held, holding
from ullage.service.ledger_file import submitted
from ullage.service.questions import ask, parameters_of, question_of, values_of

ROOT = Path(__file__).resolve().parents[2]
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


@pytest.fixture(scope="module")
def clusters(tmp_path_factory) -> list[Held]:
    """Clusters under the names by which the command line knows them."""
    path = tmp_path_factory.mktemp("dump") / DUMP
    path.write_bytes(dump())
    held = [read_to_hold(spec, Asked(spec)) for spec in ("demo", GANETI, TRACED)]
    return [*held, read_to_hold(DUMP, Asked(str(path)))]


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
    *[Case("headroom", each, {"shapes": ["cpu=1"]}, "--shape cpu=1") for each in PLAIN],
    Case(
        "headroom",
        "demo",
        {"shapes": ["cpu=1", "cpu=2"], "together": True},
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
    Case("disks/fragmentation", "demo", {"sizes": ["100Gi"]}, "--size 100Gi"),
    Case("policy/show", "demo", {}, ""),
    Case("policy/show", "demo", {"wantsList": True}, "--list"),
    Case("policy/show", "demo", {"target": "node/g1", "policy": "zos"}, "node/g1 --policy zos"),
    Case("policy/check", "demo", {}, ""),
    *[Case("snapshot/show", each, {}, "") for each in PLAIN],
    Case("schema", "", {}, ""),
    Case("schema", "", {"kind": "WorkloadSet"}, "WorkloadSet"),
]


@pytest.fixture
def answered(monkeypatch, tmp_path, capsysbinary):
    """What the command line writes as JSON, and its exit code; files are in the folder that it runs in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / DUMP).write_bytes(dump())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ULLAGE_NOW", "1795000000")
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
    for name in ("ULLAGE_CLUSTER", "ULLAGE_LEDGER", "XDG_DATA_HOME", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)

    def command_line(name, words):
        capsysbinary.readouterr()
        code = run([*name.split("/"), *words, "-o", "json", "-q"])
        out, err = capsysbinary.readouterr()
        assert code in {0, 2}, err
        return out, code == 0

    return command_line


@pytest.mark.parametrize("case", CASES, ids=Case.line)
def test_an_answer_is_that_of_the_command_line_byte_by_byte(answered, clusters, case):
    wanted = answered(case.name, [*(["-c", case.cluster] if case.cluster else []), *case.words.split()])
    with holding(clusters):
        assert case.answer() == wanted


POLICY = b"apiVersion: ullage.dev/v1\nkind: Policy\ncluster: {memory-ratio: 1.5}\n"
TYPES = b"apiVersion: ullage.dev/v1\nkind: ResourceTypes\nresourceTypes: [{name: example.com/seats}]\n"
WORK = (EXAMPLES / "orders.yaml").read_bytes()
CATALOG = (EXAMPLES / "catalog.yaml").read_bytes()
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
        {"seconds": 2},
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
    Case("snapshot/diff", "demo", {}, "demo other", {"other": OTHER}),
]


@pytest.mark.parametrize("case", SENT, ids=Case.line)
def test_what_is_sent_along_is_what_files_are(answered, clusters, tmp_path, case):
    for name, content in case.parts.items():
        (tmp_path / name).write_bytes(content)
    named = [] if case.name == "snapshot/diff" else ["-c", case.cluster]
    wanted = answered(case.name, [*named, *case.words.split()])
    for path in tmp_path.iterdir():
        path.unlink()
    with holding(clusters):
        assert case.answer(body=b"---\n".join(case.parts.values())) == wanted


PROMISED = [
    Case("ledger/show", "demo"),
    Case(
        "ledger/show",
        "demo",
        {"owner": "team/x", "state": "reserved", "revision": 1},
        "--owner team/x --state reserved --at 1",
    ),
    Case("ledger/history", "demo"),
    Case("ledger/history", "demo", {"subject": "owner/team/x", "after": 1}, "owner/team/x --after 1"),
    Case("ledger/verify", "demo", {}, "-c demo"),
    Case("status", "demo", {}, "-c demo"),
    Case("fit", "demo", {"shape": "cpu=1"}, "-c demo --shape cpu=1"),
    Case("disks/list", "demo", {}, "-c demo"),
]


@pytest.mark.parametrize("case", PROMISED, ids=Case.line)
def test_the_ledger_is_asked_and_its_promises_count(answered, clusters, tmp_path, case):
    ledger = tmp_path / "ledger.db"
    for number in range(2):
        supply = Supply((Capacity("node/n1", Resources({"cpu": 8000})),))
        reserve = Reserve(
            f"r{number}", "team/x", 1795009999, (Hold("r1", "node/n1", Resources({"cpu": 500})),)
        )
        step = Together((supply, reserve))
        assert submitted(ledger, step, at_seconds=100, create=True).decision.accepted
    wanted = answered(case.name, [*case.words.split(), "--ledger", str(ledger)])
    with holding(clusters):
        assert case.answer(ledger=str(ledger)) == wanted


# What is refused


@pytest.mark.parametrize(
    ("name", "values", "body", "what"),
    [
        ("nothing", {}, b"", "no question 'nothing'"),
        ("status", {"colour": "red"}, b"", "unknown field `colour`"),
        ("fit", {"replicas": -1}, b"", ">= 0"),
        ("explain", {}, b"", "missing required field `subject`"),
        ("status", {"policy": "/etc/passwd"}, b"", "invalid enum value"),
        ("schema", {}, b"a: 1", "takes nothing with it"),
        ("ledger/show", {}, b"", "has no ledger"),
        ("buy", {"shape": "cpu=1"}, b"", "no catalog"),
        ("quota/replay", {}, b"", "no trace"),
        ("snapshot/diff", {}, b"", "nothing to compare"),
        ("fit", {}, b"apiVersion: ullage.dev/v1\nkind: Catalog\n", "a Catalog has no part in this question"),
        (
            "fit",
            {"policy": "zos"},
            b"apiVersion: ullage.dev/v1\nkind: Policy\n",
            "a policy is named, and one is sent",
        ),
        (
            "fit",
            {},
            b"apiVersion: ullage.dev/v1\nkind: Policy\ninherits: /etc/passwd\n",
            "neither a profile nor a file",
        ),
    ],
)
def test_what_cannot_be_asked_is_one_line(clusters, name, values, body, what):
    with holding(clusters), pytest.raises(InputError) as error:
        ask(name, values, cluster="demo", body=body)
    assert what in str(error.value)
    assert "\n" not in str(error.value)


def test_a_cluster_that_is_not_held_is_never_opened(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(b'{"apiVersion":"ullage.dev/v1","kind":"Snapshot","nodes":[{"name":"n"}]}')
    for name in (str(path), "kube", "demo"):
        with pytest.raises(InputError, match="was not sent along"):
            ask("status", {}, cluster=name)


def test_values_of_an_address_are_texts_and_some_come_more_than_once():
    question = question_of("headroom")
    pairs = [("shapes", "cpu=1"), ("shapes", "cpu=2"), ("together", "true"), ("podTemplate", "spec.x")]
    told = parameters_of(question, values_of(question, pairs))
    assert (told.shapes, told.together, told.pod_template) == (("cpu=1", "cpu=2"), True, "spec.x")
    assert parameters_of(question_of("fit"), {"replicas": "3"}).replicas == 3
    with pytest.raises(InputError, match="namespace is given twice"):
        values_of(question, [("namespace", "a"), ("namespace", "b")])


def test_who_only_knows_the_questions_loads_little():
    script = (
        "import sys, ullage.service.questions; print(*sorted({'numpy', 'yaml', 'rich'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""
