"""The command line against a server: the answers of its source, and promises in the ledger of the server."""

import contextlib
import io
import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from ullage import __version__
from ullage.cli.main import run
from ullage.service.questions import QUESTIONS
from web_client import started, until_ready

NOW = "1795000000"
QUESTIONS_ASKED = {
    "status": ("status",),
    "fit": ("fit", "-f", "{files}/shop.yaml"),
    "headroom": ("headroom", "--shape", "cpu=2,memory=4Gi"),
    "check": ("check", "--lose", "node/n3"),
    "balance": ("balance", "--drain", "n5"),
    "buy": ("buy", "--catalog", "{files}/catalog.yaml", "-f", "{files}/training.yaml"),
    "advise/ratio": ("advise", "ratio", "--usage", "{files}/usage.csv"),
    "advise/requests": ("advise", "requests", "--usage", "{files}/usage.csv"),
    "forecast": ("forecast", "--usage", "{files}/usage.csv"),
    "usage/show": ("usage", "show", "--usage", "{files}/usage.csv"),
    "usage/report": ("usage", "report", "--usage", "{files}/usage.csv"),
    "explain": ("explain", "node/n3"),
    "quota/list": ("quota", "list"),
    "quota/risk": ("quota", "risk"),
    "quota/replay": ("quota", "replay", "{files}/trace.csv", "--quotas", "{files}/trace-quotas.yaml"),
    "quota/audit": ("quota", "audit"),
    "disks/list": ("disks", "list"),
    "disks/fragmentation": ("disks", "fragmentation"),
    "policy/show": ("policy", "show", "node/n3"),
    "policy/check": ("policy", "check"),
    "snapshot/show": ("snapshot", "show"),
}
FILES = Path(__file__).parent / "files"
CHOICE = "add /v1/clusters/NAME to the address, with one of demo, room"
POD = """
apiVersion: v1
kind: Pod
metadata: {name: one}
spec: {containers: [{name: main, resources: {requests: {cpu: 1m}}}]}
"""
OF_ONE_CLUSTER = {name for name in QUESTIONS if not name.startswith("ledger/")} - {"schema", "snapshot/diff"}


class Served(NamedTuple):
    address: str
    demo: str
    room: str
    tokens: dict[str, str]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server of two clusters that lets nobody in without a token."""
    folder = tmp_path_factory.mktemp("served")
    tokens = {scope: token(folder, scope) for scope in ("read", "commit")}
    words = ("-c", "demo", "-c", f"room={FILES / 'room.yaml'}", "--require-token", "--workers", "1")
    with started(folder, *words, ULLAGE_NOW=NOW) as server:
        until_ready(server)
        path = f"{server.address}/v1/clusters"
        yield Served(server.address, f"{path}/demo", f"{path}/room", tokens)


def token(folder, scope):
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())) as out:
        assert run(["token", "add", scope, "--scope", scope, "--data", str(folder)]) == 0
    out.seek(0)
    return out.read().split()[-1]


@pytest.fixture
def ask_as(ask, monkeypatch, served):
    def asked(scope, *words):
        monkeypatch.setenv("ULLAGE_TOKEN", served.tokens[scope])
        return ask(*words)

    return asked


def test_every_question_about_a_cluster_is_asked_here():
    assert set(QUESTIONS_ASKED) == OF_ONE_CLUSTER


@pytest.mark.parametrize("name", QUESTIONS_ASKED)
def test_an_answer_is_the_same_as_on_the_source_of_the_server(ask, ask_as, served, files, name):
    words = [word.format(files=files) for word in QUESTIONS_ASKED[name]]
    for output in ("json", "table"):
        there = ask_as("read", *words, "-c", served.demo, "-o", output, "--width", "1000")
        here = ask(*words, "-c", "demo", "-o", output, "--width", "1000")
        assert here.code in {0, 2}, here.err
        assert there._replace(out=there.out.replace(served.demo, "demo")) == here


def test_two_clusters_are_compared_wherever_they_are(ask_as, served, files):
    assert ask_as("read", "snapshot", "diff", served.demo, "demo").code == 0
    assert ask_as("read", "snapshot", "diff", files / "room.yaml", served.demo).code == 2


def test_a_policy_of_ones_own_lies_over_that_of_the_server(ask, ask_as, served):
    words = ("status", "--policy", "zos", "-o", "json")
    assert ask_as("read", *words, "-c", served.demo) == ask(*words, "-c", "demo")


def test_what_is_held_at_a_server_is_seen_by_every_command(ask, ask_as, served, monkeypatch, tmp_path):
    room = FILES / "room.yaml"
    commit = ("fit", "-f", FILES / "orders.yaml", "--commit", "--hold", "900", "--key", "ärger", "-o", "json")
    there = ask_as("commit", *commit, "-c", served.room)
    here = ask(*commit, "-c", room, "--ledger", tmp_path / "ledger.db")
    local, named = tmp_path / "ledger.db", ('"ledger": "room"', '"ledger": "~/ledger.db"')
    assert there._replace(out=there.out.replace(*named)) == here
    assert there.code == 0
    again = json.loads(ask_as("commit", *commit, "-c", served.room).out)["commit"]
    assert (again["repeated"], again["revision"]) == (True, 1)
    for words in (("show",), ("show", "--at", "0"), ("history",), ("history", "owner/search/index")):
        told = ask_as("read", "ledger", *words, "-o", "json", "-c", served.room)
        assert told.out.replace(*named) == ask("ledger", *words, "-o", "json", "--ledger", local).out
    monkeypatch.setenv("ULLAGE_CLUSTER", served.room)
    assert json.loads(ask_as("read", "ledger", "verify", "-o", "json").out)["sound"]
    assert ask_as("read", "ledger", "verify", "-c", served.room).code == 0
    fuller = ask_as("read", "status", "-o", "json")
    assert fuller == ask("status", "-c", room, "--ledger", local, "-o", "json")
    assert fuller.out != ask("status", "-c", room, "-o", "json").out
    for words in (
        ("extend", "Pod/search/index/1", "--hold", "3600"),
        ("bind", "Pod/search/index/1"),
        ("pause", "Pod/search/index/1"),
        ("release", "Pod/search/index/1"),
        ("expire", "--orphans"),
    ):
        done = json.loads(ask_as("commit", "ledger", *words, "-o", "json").out)
        assert (done["ledger"], done["accepted"]) == ("room", True)
    there = "do it there: --ledger DIR/clusters/NAME/ledger.db"
    line = f"a backup is of files, and {served.room} is a server; {there}"
    assert ask_as("read", "ledger", "backup", "copy.db") == (1, "", f"ullage: error: {line}\n")


@pytest.mark.parametrize(
    "words",
    [
        ("usage", "show"),
        ("usage", "report"),
        ("forecast",),
        ("advise", "ratio"),
        ("advise", "requests"),
        ("status", "--usage", "recorded"),
    ],
    ids=" ".join,
)
def test_where_a_server_has_recorded_nothing_it_is_said_how_to_have_it_recorded(ask_as, served, words):
    told = (
        f"{served.demo}: nothing was observed; start the server with --usage SOURCE, "
        "or send samples: POST /v1/clusters/NAME/usage/samples"
    )
    assert ask_as("read", *words, "-c", served.demo) == (1, "", f"ullage: error: {told}\n")


def test_who_may_only_look_holds_nothing(ask_as, served, tmp_path):
    (tmp_path / "pod.yaml").write_text(POD, encoding="utf-8")
    result = ask_as("read", "fit", "-f", tmp_path / "pod.yaml", "--commit", "-c", served.demo)
    told = f"{served.address}: the token read may not commit; it is for read: make one with ullage token add"
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"ullage: error: {told}")


def test_the_next_command_reaches_the_server_too(ask, served, tmp_path):
    (tmp_path / "token").write_text(f"{served.tokens['read']}\n", encoding="ascii")
    out = ask("status", "-c", served.demo, "--token-file", tmp_path / "token", "--width", "1000").out
    following = re.findall("Next: ullage (.*)", out)[0].split()
    assert following[-4:] == ["-c", served.demo, "--token-file", str(tmp_path / "token")]
    assert ask(*following).code == 0
    assert served.tokens["read"] not in out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ("status", "-c", "{address}"),
            "{address}: it has 2 clusters, and none is named; {choice}",
        ),
        (
            ("status", "-c", "{address}/v1/clusters/lab"),
            "{address}: there is no cluster 'lab'; {choice}",
        ),
        (
            ("ledger", "show", "-c", "demo"),
            "-c names a server here, whose ledger is meant; name any other with --ledger; see {help}",
        ),
        (
            ("ledger", "show", "--at", "99", "-c", "{address}/v1/clusters/demo"),
            "there is no revision 99; use 0 to 0",
        ),
    ],
)
def test_what_is_not_there_is_told_in_one_line(ask_as, served, words, line):
    told = line.format(address=served.address, choice=CHOICE, help="`ullage ledger show --help`")
    result = ask_as("read", *(word.format(address=served.address) for word in words))
    assert result == (1, "", f"ullage: error: {told}\n")


def test_nobody_is_let_in_without_a_token_or_with_another(ask, monkeypatch, served, tmp_path):
    wants = f"{served.address}: it wants a token; give a token in $ULLAGE_TOKEN or with --token-file FILE"
    assert ask("status", "-c", served.demo) == (1, "", f"ullage: error: {wants}\n")
    monkeypatch.setenv("ULLAGE_TOKEN", "another")
    ended = "the token is not known there, or has ended; have another one made: ullage token add"
    assert ask("status", "-c", served.demo) == (1, "", f"ullage: error: {served.address}: {ended}\n")
    missing = (
        f"--token-file {tmp_path}/none: cannot be read: No such file or directory; name the file of a token"
    )
    words = ("status", "-c", served.demo, "--token-file", tmp_path / "none")
    assert ask(*words) == (1, "", f"ullage: error: {missing}\n")


def test_a_server_of_another_version_is_told(ask_as, monkeypatch, served):
    monkeypatch.setattr("ullage.sources.server_client.__version__", "9.9.9")
    monkeypatch.setattr("ullage.sources.snapshot_file.VERSION", 9)
    what = "its snapshot cannot be read: compact snapshot of version 1, known is 9"
    told = f"it is ullage {__version__}, and this is 9.9.9: {what}; use the same version on both sides"
    result = ask_as("read", "status", "-c", served.demo)
    assert result == (1, "", f"ullage: error: {served.address}: {told}\n")
