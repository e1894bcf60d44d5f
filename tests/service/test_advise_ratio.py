"""What `advise ratio` says: the ratio of each group, its risk and its gain, and when too little is known."""

from fractions import Fraction

import pytest

from builders import cluster, node, pod, policy
from ullage.model.errors import InputError
from ullage.render import render
from ullage.service.advise_ratio import RatioQuestion, advise_ratio, advise_ratio_of, ratio_report
from ullage.service.advise_ratio_page import percent
from ullage.service.asked import Asked
from usage_builders import DAY, book, every

GI = 1 << 30
START = 100 * DAY
PODS = [(at, f"n{at % 3}") for at in range(9)]


def three_nodes(**settings):
    """Three nodes of 12Gi, three pods of 4Gi on each."""
    own = {"memory": "4Gi", "namespace": "a", "owner": "StatefulSet/web"}
    return cluster(
        *(
            node(f"n{at}", memory="12Gi").holding(
                *(pod(f"web-{p}", **own) for p, on in PODS if on == f"n{at}")
            )
            for at in range(3)
        ),
        policy=policy(**settings),
    )


def used(gib, days=14):
    """Every pod uses the same, but for one hour of each day in which it uses a quarter more."""
    hours = [int(gib * GI * (1.25 if hour % 24 == 12 else 1)) for hour in range(24 * days)]
    return book({(f"pod/a/web-{at}", "memory"): every(3600, hours, START) for at, _ in PODS})


def advice(gib, days=14, risk=0.001, **settings):
    (group,) = ratio_report(three_nodes(**settings), used(gib, days), RatioQuestion(risk=risk)).groups
    return group


def test_half_used_at_the_peak_may_be_promised_nearly_twice():
    found = advice(1.6)
    assert found.ratio == "1.9"
    assert (found.current_ratio, found.parts, found.days, found.known) == ("1", "workloads", 14, 1.0)
    assert found.risk <= 0.001 < found.next_risk
    assert found.next_ratio == "1.95"


def test_the_gain_is_what_more_can_be_promised_and_of_what_size():
    found = advice(1.6)
    assert found.allocatable.value == 36 * GI
    assert found.gain.value == sum(int(Fraction(9, 10) * 12 * GI) for _ in range(3))
    assert (found.typical.value, found.more) == (4 * GI, 6)


def test_a_ratio_of_now_that_is_too_high_is_a_no():
    report = ratio_report(three_nodes(memory_ratio="2.5"), used(1.6), RatioQuestion())
    assert report.groups[0].is_too_high
    assert report.groups[0].gain.value < 0
    assert not report.within


def test_where_nothing_bounds_promises_the_answer_is_no():
    report = ratio_report(three_nodes(memory_ratio="unlimited"), used(1.6), RatioQuestion())
    assert (report.groups[0].current_ratio, report.groups[0].current_risk) == (None, None)
    assert not report.within


def test_less_than_a_week_advises_1_and_says_so():
    found = advice(0.5, days=6)
    assert (found.ratio, found.lacking) == ("1", "6 days were observed for the most part, 7 are needed")


def test_the_worst_moment_and_who_was_there():
    found = advice(1.6)
    assert found.worst_at.endswith("T12:00Z")
    assert [(each.name, each.used.value) for each in found.peaked] == [("a/StatefulSet/web", 9 * int(2 * GI))]


def test_the_page_names_the_command_that_sets_it():
    answer = advise_ratio_of(three_nodes(), used(1.6), Asked(), RatioQuestion())
    text = render(answer.page(), None, "table", width=120, color=False, unicode=False)
    assert "memory-ratio 1.9" in text
    assert "ullage policy set group/default memory-ratio=1.9 --policy FILE" in text
    assert "Risk by ratio" in text
    html = render(answer.page(), None, "html")
    assert "chart-line" in html


@pytest.mark.parametrize("risk", [0.0, 1.0, -1.0])
def test_a_risk_is_a_share(risk):
    with pytest.raises(InputError, match="is none"):
        advise_ratio(Asked("demo"), RatioQuestion(risk=risk))


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.0, "0%"), (1e-9, "<0.0001%"), (0.00123, "0.12%"), (0.5, "50%"), (1.0, "100%"), (0.012, "1.2%")],
)
def test_probabilities_are_told_in_two_digits(share, expected):
    assert percent(share) == expected
