"""Scores of all places at once are those of the plain code, to the last bit."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fleet_strategies import rare_kinds, seeds, views
from ganeti_clusters import random_cluster
from ullage.engine.balance.allocation import Allocation, allocable, on_single
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.score import TERMS, statistics, value_of
from ullage.engine.balance.space_columns import Columns
from ullage.engine.balance.space_scores import SingleScores, known_of, unchanged
from ullage.engine.balance.tiered import NewSize
from ullage.model.ganeti import MIB

SIZE = NewSize(300 * MIB, 1024 * MIB, 1000)


@given(seeds, rare_kinds, views, st.sampled_from(("ext", "plain")))
@settings(max_examples=40)
def test_scores_of_hosts_are_those_of_the_plain_code(seed, kind, view, template):
    fleet = Fleet(random_cluster(seed, kind), view)
    machine = SIZE._replace(template=template).machine()
    columns = Columns(fleet, allocable(fleet, range(kind.groups)))
    tried = [on_single(fleet, machine, number) for number in columns.numbers]
    expected = {at: found.score for at, found in enumerate(tried) if isinstance(found, Allocation)}
    assume(expected)
    assert SingleScores(columns, machine).scores(columns, np.array(list(expected))).tolist() == list(
        expected.values()
    )


@given(seeds, rare_kinds, views)
@settings(max_examples=25)
def test_what_is_known_of_terms_is_what_the_score_is_made_of(seed, kind, view):
    fleet = Fleet(random_cluster(seed, kind), view)
    columns = Columns(fleet, ())
    assume(columns.numbers)
    known = known_of(columns)
    plain = statistics(fleet.hosts, fleet.states)
    for at, term in enumerate(TERMS):
        assert unchanged(known, at) == value_of(term, plain[at])
