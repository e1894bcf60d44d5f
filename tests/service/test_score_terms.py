"""The terms of the score in words, and weights that users give them."""

import pytest

from ullage.engine.balance.score import TERMS
from ullage.model.errors import InputError
from ullage.service.score_terms import BY_HTOOLS_NAME, WORDS, weights_of


def test_every_term_has_words_of_its_own():
    assert [each.htools_name for each in WORDS] == [term.name for term in TERMS]
    assert len({each.name for each in WORDS}) == len({each.meaning for each in WORDS}) == len(TERMS)
    assert BY_HTOOLS_NAME["n1_cnt"].name == "not-redundant"


def test_weights_by_either_name_and_the_last_counts():
    assert weights_of(("cpu=2", "n1_cnt=0", "cpu=0.5")) == {"vcpu_ratio_cv": 0.5, "n1_cnt": 0.0}
    assert weights_of(()) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cpu", "--weight: 'cpu' is no weight; use TERM=NUMBER"),
        ("tea=1", "--weight: no term 'tea'; use one of free-memory, free-disk"),
        (
            "memory-load=1",
            "--weight: nothing tells memory-load: it is 0 everywhere; weigh what is promised: ",
        ),
        ("net_load_cv=1", "--weight: nothing tells net_load_cv: "),
        ("cpu=", "weight '' of cpu is no such number; use a number from 0 to 1000000"),
        ("cpu=-1", "weight '-1' of cpu"),
        ("cpu=nan", "weight 'nan' of cpu"),
        ("cpu=inf", "weight 'inf' of cpu"),
        ("cpu=1e7", "weight '1e7' of cpu"),
    ],
)
def test_a_weight_that_is_none_is_one_line(text, message):
    with pytest.raises(InputError) as refused:
        weights_of((text,))
    assert message in str(refused.value)
