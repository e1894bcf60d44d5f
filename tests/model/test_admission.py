"""Records that admission looks up: their keys and what they say when nothing is stated."""

import pytest

from ullage.model.admission import (
    DisruptionBudget,
    LimitRange,
    LimitRangeItem,
    Namespace,
    PriorityClass,
    ResourceQuota,
    RuntimeClass,
)
from ullage.model.resources import NOTHING


@pytest.mark.parametrize(
    ("row", "key"),
    [
        (Namespace("ml"), "ml"),
        (LimitRange("limits", "ml"), "ml/limits"),
        (LimitRange("limits"), "limits"),
        (ResourceQuota("quota", "ml"), "ml/quota"),
        (ResourceQuota("quota"), "quota"),
        (PriorityClass("high"), "high"),
        (RuntimeClass("kata"), "kata"),
        (DisruptionBudget("web", "shop"), "shop/web"),
        (DisruptionBudget("web"), "web"),
    ],
)
def test_a_row_is_known_by(row, key):
    assert row.key == key


def test_what_nobody_states():
    assert LimitRangeItem("Pod") == LimitRangeItem("Pod", NOTHING, NOTHING, NOTHING, NOTHING, {})
    assert (ResourceQuota("q").used, ResourceQuota("q").hard) == (None, {})
    assert PriorityClass("p") == PriorityClass("p", 0, global_default=False, preempts=True)
    assert RuntimeClass("r") == RuntimeClass("r", NOTHING, {}, ())
    assert DisruptionBudget("b") == DisruptionBudget("b", "", None, "", "", None)
