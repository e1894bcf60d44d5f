"""A question is answered as on the command line, byte by byte, and reads nothing but what was sent."""

import subprocess
import sys

import pytest

from question_cases import CASES, DUMP, GANETI, PROMISED, SENT, TRACED, Case, dump, promise_twice
from ullage.cli.main import run
from ullage.model.errors import InputError
from ullage.service.asked import Asked, read_to_hold
from ullage.service.held import Held, holding
from ullage.service.questions import ask, parameters_of, question_of, values_of


@pytest.fixture(scope="module")
def clusters(tmp_path_factory) -> list[Held]:
    """Clusters under the names by which the command line knows them."""
    path = tmp_path_factory.mktemp("dump") / DUMP
    path.write_bytes(dump())
    held = [read_to_hold(spec, Asked(spec)) for spec in ("demo", GANETI, TRACED)]
    return [*held, read_to_hold(DUMP, Asked(str(path)))]


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


@pytest.mark.parametrize("case", PROMISED, ids=Case.line)
def test_the_ledger_is_asked_and_its_promises_count(answered, clusters, tmp_path, case):
    ledger = tmp_path / "ledger.db"
    promise_twice(ledger)
    written, yes = answered(case.name, [*case.words.split(), "--ledger", str(ledger)])
    wanted = written.replace(b'"ledger": "~/ledger.db"', b'"ledger": "demo"'), yes
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
    pairs = [("shape", "cpu=1"), ("shape", "cpu=2"), ("together", "true"), ("podTemplate", "spec.x")]
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
