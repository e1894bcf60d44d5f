"""Subjects and percentiles of usage."""

from fractions import Fraction

import pytest

from ullage.model.usage import KINDS, PERCENTILES, UsageSummary, fraction_of, kind_of


def test_every_summary_has_the_percentiles_of_the_specification():
    assert PERCENTILES == ("10", "50", "90", "95", "99", "99.5", "99.9")


@pytest.mark.parametrize(
    ("percentile", "share"),
    [("10", Fraction(1, 10)), ("99.5", Fraction(199, 200)), ("99.9", Fraction(999, 1000))],
)
def test_a_percentile_is_an_exact_share(percentile, share):
    assert fraction_of(percentile) == share


@pytest.mark.parametrize(
    ("subject", "kind"),
    [
        ("cluster", "cluster"),
        ("node/n1", "node"),
        ("container/shop/web-1/main", "container"),
        ("workload/shop/Deployment/web", "workload"),
    ],
)
def test_the_kind_of_a_subject_is_its_first_word(subject, kind):
    assert kind_of(subject) == kind
    assert kind in KINDS


def test_every_part_of_a_summary_is_optional():
    empty = UsageSummary()
    assert empty.mean is empty.max is empty.min is empty.count is empty.confidence is None
    assert not empty.percentiles
