"""Every question over HTTP is answered with the bytes that the command line prints."""

import urllib.parse
from pathlib import Path

import pytest

from question_cases import (
    CASES,
    COUNTERS,
    DUMP,
    GANETI,
    OBSERVED,
    PROMISED,
    SENT,
    TRACED,
    Case,
    dump,
    promise_twice,
)
from ullage.cli.main import run
from ullage.service.questions import QUESTIONS
from web_client import started, until_ready

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
NOW = "1795000000"
BESIDE = ("status", "status --by workload", "check", "explain node/n3", "explain pod/web/api-0")
NAMES = {"demo": "demo", "": "demo", GANETI: "machines", TRACED: "traced", DUMP: "dumped"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / DUMP).write_bytes(dump())
    return folder


def serving(folder, data):
    clusters = {**NAMES, DUMP: "dumped"}
    named = [f"{name}={folder / spec if spec == DUMP else spec}" for spec, name in clusters.items() if spec]
    return started(data, *(word for each in named for word in ("-c", each)), "--refresh", "0")


@pytest.fixture(scope="module")
def served(folder, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ULLAGE_NOW", NOW)
        with serving(folder, tmp_path_factory.mktemp("data")) as server:
            until_ready(server)
            yield server


@pytest.fixture(scope="module")
def promising(folder, tmp_path_factory):
    """A server whose demo cluster has promises in its ledger, and that ledger."""
    data = tmp_path_factory.mktemp("promises")
    ledger = data / "clusters" / "demo" / "ledger.db"
    ledger.parent.mkdir(parents=True)
    promise_twice(ledger)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ULLAGE_NOW", NOW)
        with serving(folder, data) as server:
            until_ready(server)
            yield server, ledger


@pytest.fixture
def printed(monkeypatch, folder, capsysbinary):
    """What the command line prints in the folder of the files, and whether its answer is yes."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("ULLAGE_NOW", NOW)
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
    for name in ("ULLAGE_CLUSTER", "ULLAGE_LEDGER", "XDG_DATA_HOME", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)

    def command_line(name, words):
        capsysbinary.readouterr()
        code = run([*name.split("/"), *words, "-o", "json", "-q"])
        out, err = capsysbinary.readouterr()
        assert code in {0, 2}, err
        return out, {0: "yes", 2: "no"}[code]

    return command_line


def asked(server, case: Case, body=b""):
    """The answer of a server, and whether it is yes."""
    pairs = [
        (name, str(each).lower() if isinstance(each, bool) else each)
        for name, value in case.values.items()
        for each in (value if isinstance(value, list) else [value])
    ]
    path = f"/v1/clusters/{NAMES[case.cluster]}/{case.name}?{urllib.parse.urlencode(pairs)}"
    method, headers = ("POST", {"Content-Type": "application/yaml"}) if body else ("GET", {})
    reply = server.ask(method, path, headers, body)
    assert reply.status == 200, reply.body
    return reply.body, reply.headers["ullage-answer"]


@pytest.mark.parametrize("case", CASES, ids=Case.line)
def test_a_question_is_answered_with_the_bytes_of_the_command_line(served, printed, case):
    named = ["-c", case.cluster] if case.cluster else []
    assert asked(served, case) == printed(case.name, [*named, *case.words.split()])


@pytest.mark.parametrize("case", [case for case in CASES if case.cluster], ids=Case.line)
def test_the_command_line_prints_the_same_of_a_server_and_of_what_the_server_was_given(served, printed, case):
    there = printed(
        case.name, ["-c", f"{served.address}/v1/clusters/{NAMES[case.cluster]}", *case.words.split()]
    )
    assert there == printed(case.name, ["-c", case.cluster, *case.words.split()])


@pytest.mark.parametrize("case", SENT, ids=Case.line)
def test_what_is_sent_is_what_files_are(served, printed, folder, case):
    for name, content in case.parts.items():
        (folder / name).write_bytes(content)
    named = [] if case.name == "snapshot/diff" else ["-c", case.cluster]
    wanted = printed(case.name, [*named, *case.words.split()])
    assert asked(served, case, b"---\n".join(case.parts.values())) == wanted


def test_a_policy_goes_by_its_name_and_one_without_by_that_of_its_file(served, printed, folder):
    named = b"apiVersion: ullage.dev/v1\nkind: Policy\nname: careful\ncluster: {cpu-ratio: 2}\n"
    for content, name in ((named, "careful"), (named.replace(b"name: careful\n", b""), "policy")):
        (folder / "pol.yaml").write_bytes(content)
        here = printed("status", ["-c", "demo", "--policy", "pol.yaml"])
        there = asked(served, Case("status", "demo"), content)
        called = name if name == "careful" else "pol"
        assert here == (
            there[0].replace(b'"policy": "%b"' % name.encode(), b'"policy": "%b"' % called.encode()),
            there[1],
        )
        assert b'"policy": "%b"' % name.encode() in there[0]


@pytest.mark.parametrize("case", PROMISED, ids=Case.line)
def test_the_ledger_of_a_cluster_counts(promising, printed, case):
    server, ledger = promising
    found, answer = printed(case.name, [*case.words.split(), "--ledger", str(ledger)])
    assert asked(server, case) == (
        found.replace(f'"ledger": "{ledger}"'.encode(), b'"ledger": "demo"'),
        answer,
    )


@pytest.mark.parametrize("case", PROMISED, ids=Case.line)
def test_promises_are_told_elsewhere_as_the_server_tells_them_which_never_says_where_it_keeps_them(
    promising, printed, case
):
    server, ledger = promising
    words = case.words.replace("-c demo", "").split()
    there = asked(server, case)
    assert there == printed(case.name, [*words, "-c", f"{server.address}/v1/clusters/demo"])
    assert str(ledger.parents[2]).encode() not in there[0]


@pytest.fixture(scope="module")
def observing(folder, tmp_path_factory):
    """A server whose demo cluster was sent observations, and the ledger that has them."""
    data = tmp_path_factory.mktemp("observations")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ULLAGE_NOW", NOW)
        with serving(folder, data) as server:
            until_ready(server)
            samples = (ROOT / "examples" / "usage.csv").read_bytes()
            path = "/v1/clusters/demo/usage/samples"
            sent = server.ask("POST", path, {"Content-Type": "text/csv"}, samples)
            assert sent.data["points"] == samples.count(b"\n") - 1
            yield server, data / "clusters" / "demo" / "ledger.db"


@pytest.mark.parametrize("case", OBSERVED, ids=Case.line)
def test_what_was_observed_counts_as_in_a_ledger_of_the_command_line(observing, printed, case):
    server, ledger = observing
    words = ["-c", "demo", *case.words.split(), "--ledger", str(ledger)]
    assert asked(server, case) == printed(case.name, words)


@pytest.mark.parametrize("case", OBSERVED, ids=Case.line)
def test_what_a_server_has_observed_is_answered_elsewhere_as_it_answers_it(observing, printed, case):
    server, _ = observing
    words = ["-c", f"{server.address}/v1/clusters/demo", *case.words.split()]
    assert printed(case.name, words) == asked(server, case)


@pytest.mark.parametrize("line", BESIDE)
def test_what_a_server_has_observed_stands_beside_other_answers_elsewhere(observing, printed, line):
    server, ledger = observing
    name, *words = line.split()
    there = printed(name, [*words, "-c", f"{server.address}/v1/clusters/demo", "--usage", "recorded"])
    with_ledger = [*words, "-c", "demo", "--ledger", str(ledger)]
    assert there == printed(name, [*with_ledger, "--usage", "recorded"])
    assert there != printed(name, with_ledger)


def test_balancing_by_load_follows_what_was_recorded(observing, printed, folder):
    """Where memory is over-committed, use counts; and what was recorded goes before what nodes report."""
    server, ledger = observing
    policy = b"apiVersion: ullage.dev/v1\nkind: Policy\nname: p\ncluster: {memory-ratio: 2}\n"
    (folder / "policy").write_bytes(policy)
    words = ["--by-load", "--policy", "policy"]
    case = Case("balance", "demo", {"byLoad": True, "usage": "recorded"})
    found = asked(server, case, policy)
    with_ledger = ["-c", "demo", *words, "--ledger", str(ledger)]
    assert found == printed("balance", [*with_ledger, "--usage", "recorded"])
    there = ["-c", f"{server.address}/v1/clusters/demo", *words, "--usage", "recorded"]
    assert found == printed("balance", there)
    assert found != printed("balance", with_ledger)


def test_what_counters_have_shown_is_reported_elsewhere_too(observing, printed, folder):
    server, ledger = observing
    (folder / "counters.csv").write_bytes(COUNTERS)
    printed("usage/meter", ["counters.csv", "--ledger", str(ledger)])
    case = Case("usage/report", "demo", {"period": "week"}, "--period week")
    found = printed(case.name, ["-c", f"{server.address}/v1/clusters/demo", *case.words.split()])
    assert found == asked(server, case)
    assert b'"network"' in found[0]


def test_no_question_is_left_out():
    assert {case.name for case in (*CASES, *SENT, *PROMISED, *OBSERVED)} == set(QUESTIONS)
