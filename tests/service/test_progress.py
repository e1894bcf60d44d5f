"""Every long question tells how far it is, and answers the same whether or not anybody listens."""

import pytest

from question_cases import (
    CATALOG,
    DUMP,
    EXAMPLES,
    GANETI,
    QUOTAS,
    TRACE,
    TRACED,
    WORK,
    Case,
    dump,
    promise_twice,
)
from ullage.cli.main import run
from ullage.service.asked import Asked, read_to_hold
from ullage.service.held import holding
from ullage.service.progress import listener, stepping, words_of
from ullage.service.questions import QUESTIONS

MANY = {"shape": "cpu=6", "replicas": 4, "nodesLost": 1}
DRIVES = (EXAMPLES / "drives-catalog.yaml").read_bytes()
VOLUMES = (EXAMPLES / "volumes.yaml").read_bytes()
MACHINE = "node1.example.com"
LONG = {name for name, question in QUESTIONS.items() if question.is_long}
LEDGERS = {"ledger/verify", "forecast", "advise/ratio", "advise/requests"}
TOLD = [
    (Case("check", "demo", {"nodesLost": 1}, "--nodes-lost 1"), {"losses tried"}),
    (Case("check", "demo", {"nodesLost": 2}, "--nodes-lost 2"), {"losses tried", "losses looked at exactly"}),
    (Case("check", "demo", {"lose": ["node/n1"]}, "--lose"), {"workloads placed anew"}),
    (Case("check", "demo", {"lose": ["drive/n1-nvme-0"]}, "--lose drive"), {"losses tried"}),
    (Case("check", GANETI, {"lose": [f"node/{MACHINE}"]}, "--lose"), {"instances failed over"}),
    (Case("check", GANETI, {"nodesLost": 1}, "--nodes-lost 1"), {"losses tried", "moves at most"}),
    (Case("balance", "demo"), {"losses tried", "moves at most"}),
    (Case("balance", GANETI), {"moves at most"}),
    (Case("balance", "demo", {"drain": ["n2"]}, "--drain"), {"workloads moved"}),
    (Case("balance", GANETI, {"drain": [MACHINE]}, "--drain"), {"instances moved", "standbys moved"}),
    (Case("balance", "demo", {"squeeze": True}, "--squeeze"), {"nodes tried", "workloads moved"}),
    (Case("balance", GANETI, {"squeeze": True}, "--squeeze"), {"nodes tried"}),
    (Case("balance", "demo", {"rolling": True}, "--rolling"), {"nodes given a turn"}),
    (Case("balance", GANETI, {"rolling": True}, "--rolling"), {"turns made"}),
    (
        Case("buy", DUMP, MANY, "--nodes-lost 1", {"catalog": CATALOG}),
        {"rounds of prices at most", "additions at most", "cheaper mixes tried at most"},
    ),
    (Case("buy", "demo", {}, "", {"catalog": DRIVES, "workloads": VOLUMES}), {"mixes tried at most"}),
    (Case("quota/replay", TRACED, {}, "", {"quotas": QUOTAS, "trace": TRACE}), {"workloads have come"}),
    (Case("ledger/verify", "demo"), {"steps decided again"}),
    (Case("forecast", "demo", {"by": "workload"}), {"series read", "series forecast", "series told"}),
    (Case("advise/ratio", "demo", {"group": ["general"]}), {"nodes composed"}),
    (Case("advise/requests", "demo"), {"workloads looked at"}),
    (Case("fit", "demo"), {"workloads judged"}),
    (Case("fit", "demo", {}, "-f", {"workloads": WORK}), {"workloads judged"}),
    (Case("headroom", "demo", {}, "-f", {"workloads": WORK}), {"workloads counted"}),
]


@pytest.fixture(scope="module")
def clusters(tmp_path_factory):
    path = tmp_path_factory.mktemp("dump") / DUMP
    path.write_bytes(dump())
    held = [read_to_hold(spec, Asked(spec)) for spec in ("demo", GANETI, TRACED)]
    return [*held, read_to_hold(DUMP, Asked(str(path)))]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """A ledger with promises, and with what the demo cluster used."""
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    promise_twice(path)
    words = ["usage", "observe", str(EXAMPLES / "usage.csv"), "-c", "demo", "--ledger", str(path), "-q"]
    assert run(words) == 0
    return str(path)


@pytest.mark.parametrize(("case", "counted"), TOLD, ids=[case.line() for case, _ in TOLD])
def test_a_long_question_tells_its_steps_and_answers_as_without(clusters, ledger, monkeypatch, case, counted):
    monkeypatch.setenv("ULLAGE_NOW", "1795000000")
    told = []
    sent = {"body": b"---\n".join(case.parts.values()), "ledger": ledger if case.name in LEDGERS else ""}
    with holding(clusters):
        wanted = case.answer(**sent)
        with stepping(lambda *step: told.append(step)):
            assert case.answer(**sent) == wanted
    assert {what for what, _, _ in told} >= counted
    assert all(0 <= done <= total for _, done, total in told)
    assert all(total > 0 for _, _, total in told)


def test_no_long_question_is_silent():
    assert {case.name for case, _ in TOLD} >= LONG


def test_who_listens_does_so_until_the_end_of_the_context_and_no_longer():
    assert listener() is None
    with stepping(print):
        assert listener() is print
        with stepping(None):
            assert listener() is None
        assert listener() is print
    assert listener() is None


def test_steps_are_told_in_words():
    assert words_of("losses tried", 12, 40) == "12 of 40 losses tried"
