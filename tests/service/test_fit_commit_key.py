"""A key stands for one question."""

import pytest

from builders import BUILT_IN_TYPES, batch, volume, waiting
from ullage.model.constraints import Constraints
from ullage.model.delta import Delta
from ullage.model.errors import InputError
from ullage.model.ledger import Capacity, Hold, Reserve, Supply, Together
from ullage.model.resources import Resources
from ullage.model.storage import Claim
from ullage.service.asked import Asked
from ullage.service.fit import Commit, FitQuestion
from ullage.service.fit_commit_key import known_under, question_of
from ullage.service.ledger_file import submitted
from ullage.service.wanted import Wanted

ONE = waiting("web/a", cpu="1", volumes=(volume("v", "1Gi"),))
WANTED = Wanted((batch(2, ONE),), atomic=False, types=BUILT_IN_TYPES)
FROM_FILE = FitQuestion(("a.yaml",))


ONCE, HERE = Commit(60), Asked()


def digest(wanted=WANTED, question=FROM_FILE, commit=ONCE, asked=HERE):
    return question_of(asked, question, wanted, commit)


def of(workload, replicas=2, **changes):
    return WANTED._replace(batches=(batch(replicas, workload),), **changes)


OTHERS = {
    "more replicas": {"wanted": of(ONE, 3)},
    "more cpu": {"wanted": of(waiting("web/a", cpu="2", volumes=ONE.volumes))},
    "a larger volume": {"wanted": of(waiting("web/a", cpu="1", volumes=(volume("v", "2Gi"),)))},
    "another node": {
        "wanted": of(
            waiting("web/a", cpu="1", volumes=ONE.volumes, constraints=Constraints(node_selector={"z": "b"}))
        )
    },
    "a larger claim": {"wanted": of(ONE, objects=Delta(claims=(Claim("c", "web", size_bytes=5),)))},
    "all or none": {"wanted": of(ONE, atomic=True)},
    "another placement": {"question": FROM_FILE._replace(placement="pack")},
    "to wait": {"commit": Commit(60, waits=True)},
    "those that wait": {"question": FitQuestion()},
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_another_question_is_told_from_the_first(other):
    assert digest(**other) != digest()


def test_when_and_for_how_long_is_no_part_of_it():
    assert digest(commit=Commit(999, "k", extends=True)) == digest()
    assert digest(question=FROM_FILE._replace(paths=("b.yaml",))) == digest()


def test_those_that_wait_are_the_same_question_whoever_they_are():
    asked = {"question": FitQuestion()}
    assert digest(of(ONE, 3), **asked) == digest(**asked)
    assert digest(asked=Asked(namespace="web"), **asked) != digest(**asked)


def kept(tmp_path, **fields):
    supply = Supply((Capacity("node/n1", Resources({"cpu": 9})),))
    holds = (Hold("c", "node/n1", Resources({"cpu": 1})),)
    together = Together((supply, Reserve("r", "web/a", 99, holds=holds)), **fields)
    submitted(tmp_path / "ledger.db", together, at_seconds=1, key="k", create=True)
    return tmp_path / "ledger.db"


def test_the_answer_to_the_same_question_is_told_again(tmp_path):
    path = kept(tmp_path, question="one")
    assert known_under(path, "k", "one", WANTED).repeated
    assert known_under(path, "other", "one", WANTED) is None
    assert known_under(path, "", "one", WANTED) is None
    assert known_under(tmp_path / "none.db", "k", "one", WANTED) is None


def test_a_key_is_refused_for_another_question(tmp_path):
    path = kept(tmp_path, question="one")
    with pytest.raises(
        InputError, match="--key: the key k was used for another question at revision 1; use a new"
    ):
        known_under(path, "k", "two", WANTED)
    with pytest.raises(InputError, match="the key k was used for web/a at revision 1"):
        known_under(path, "k", "one", of(waiting("web/b", cpu="1")))


def test_a_step_that_kept_no_question_is_known_by_its_owners(tmp_path):
    assert known_under(kept(tmp_path), "k", "one", WANTED).repeated


def test_a_key_of_a_step_by_hand_is_refused(tmp_path):
    path = kept(tmp_path)
    submitted(path, Supply((Capacity("node/n2"),)), at_seconds=1, key="hand")
    with pytest.raises(InputError, match="the key hand was used for another question"):
        known_under(path, "hand", "one", WANTED)
