"""Percentiles of many histograms are those of each, and of what several come to together."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage.book import Stream
from ullage.engine.usage.percentiles import Histograms, merged, percentiles
from ullage.engine.usage.summary import percentile
from usage_builders import book, every, joined

AMOUNTS = st.lists(st.one_of(st.none(), st.integers(0, 1 << 61)), min_size=1, max_size=30)
SHARES = st.fractions(0, 1)


@given(st.lists(st.tuples(AMOUNTS, st.integers(0, 3)), min_size=1, max_size=6), SHARES)
def test_percentiles_of_many_are_those_of_each_and_of_all_of_one_owner(drawn, share):
    whole = book({(f"pod/n/p{place}", "cpu"): every(60, each) for place, (each, _) in enumerate(drawn)})
    known = whole.of_streams(np.arange(len(drawn)))
    owners = np.array([owner for _, owner in drawn], np.int64)
    table = known.table
    rows = Histograms(table.points, table.low, table.high, table.owners, table.buckets, table.counts)
    each = merged(rows, known.owners, len(drawn))
    one_by_one = [whole.figures(Stream(f"pod/n/p{place}", "cpu")) for place in range(len(drawn))]
    assert percentiles(each, share).tolist() == [percentile(figures, share) for figures in one_by_one]
    together = [
        joined([figures for figures, own in zip(one_by_one, owners, strict=True) if own == owner])
        for owner in range(4)
    ]
    assert percentiles(merged(each, owners, 4), share).tolist() == [
        percentile(figures, share) for figures in together
    ]


def test_a_percentile_is_exact_however_fine_its_share_is():
    whole = book({("pod/n/p", "cpu"): every(1, range(100_000))})
    table = whole.of_streams(np.arange(1)).table
    rows = Histograms(table.points, table.low, table.high, table.owners, table.buckets, table.counts)
    share = Fraction(10**30 + 1, 2 * 10**30)
    assert percentiles(merged(rows, np.zeros(len(table.points), np.int64), 1), share).tolist() == [
        percentile(whole.figures(Stream("pod/n/p", "cpu")), share)
    ]
