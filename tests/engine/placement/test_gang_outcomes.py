"""What is told beside a gang of which some are enough."""

from builders import batch, waiting
from ullage.engine.placement.gang_outcomes import naming, of_gang, with_enough_of_gangs
from ullage.engine.placement.gangs import Gang
from ullage.engine.placement.outcome import Outcome
from ullage.engine.placement.remedies import NOTHING_HELPS
from ullage.model.plan import Refusal, Remedy

GANG = {("a", "g"): Gang("g", 3, 0, 4)}


def refused(*remedies: Remedy) -> Outcome:
    refusal = naming(Refusal("a/w", 2, "no room"), remedies)
    return Outcome("a/w", "Pod", 4, 2, "error", (), refusal=refusal)


def advice(*replicas: int) -> list[Remedy]:
    return [Remedy("replicas", f"ask for {number}", replicas=number) for number in replicas]


def told(outcome: Outcome) -> Outcome:
    (found,) = with_enough_of_gangs([batch(4, waiting("a/w", gang="g", gang_min=3))], [outcome], GANG)
    return found


def test_advice_to_ask_for_fewer_than_are_enough_is_not_given():
    refusal = told(refused(*advice(2, 3))).refusal
    assert [each.replicas for each in refusal.remedies] == [3]
    assert refusal.remedy == "ask for 3"


def test_where_only_such_advice_is_left_room_for_the_rest_is_named():
    refusal = told(refused(*advice(2))).refusal
    assert refusal.remedies == ()
    assert refusal.remedy == "make room for 1 more: its gang g needs 3 and 2 have a place"


def test_a_refusal_without_remedies_says_that_none_helps():
    assert refused().refusal.remedy == NOTHING_HELPS


def test_a_proof_that_not_all_fit_is_none_beside_a_gang_of_which_some_are_enough():
    proven = refused()._replace(certificate="impossible", certificate_note="searched")
    assert of_gang(proven, GANG).certificate == "unknown"
    assert of_gang(proven, {}).certificate == "impossible"
