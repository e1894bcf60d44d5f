"""Charts: everything is inside the box, whatever the amounts, and text shows the same course."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.render.chart import HEIGHT, WIDTH, chart_lines, plotted, spark
from ullage.render.view import Chart, Mark, respelled

AMOUNTS = st.integers(0, 1 << 62)


@st.composite
def charts(draw):
    was = draw(st.lists(AMOUNTS, max_size=9))
    comes = draw(st.lists(st.tuples(AMOUNTS, AMOUNTS, AMOUNTS), max_size=9))
    history = tuple((at, amount) for at, amount in enumerate(was))
    band = tuple((len(was) + at, *sorted(each)) for at, each in enumerate(comes))
    marks = tuple(Mark(f"limit {amount}", amount) for amount in draw(st.lists(AMOUNTS, max_size=3)))
    return Chart("a <chart>", history, band, marks, (Mark("then", 0),), "at most", "said below")


@given(charts())
def test_everything_is_inside_the_box(chart):
    plot = plotted(chart)
    for path in (plot.area, plot.rule, *(path for path, _ in plot.lines)):
        for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", path):
            assert 0 <= float(x) <= WIDTH
            assert 0 <= float(y) <= HEIGHT


@given(charts(), st.integers(8, 80), st.booleans())
def test_a_spark_is_never_longer_than_asked(chart, size, unicode):
    line = spark(chart, size, unicode=unicode)
    assert len(line) <= size
    assert unicode or line.isascii()


def test_a_spark_rises_as_the_amounts_do():
    chart = Chart("", ((0, 0), (1, 50)), ((2, 60, 75, 90), (3, 80, 100, 120)), (Mark("limit", 100),))
    assert spark(chart, 9) == "▁▅│▇█"
    assert spark(chart, 9, unicode=False) == "_+|#@"


def test_marks_stand_behind_a_spark_or_below_it():
    chart = Chart("", ((0, 1),), ((1, 1, 1, 1),), (Mark("limit 20", 1), Mark("min 10", 1)))
    (wide,) = chart_lines(chart, 80, unicode=True)
    assert wide[-1].text == "limit 20, min 10"
    assert len(chart_lines(chart, 12, unicode=True)) == 2


def test_names_of_lines_that_lie_together_stand_apart():
    chart = Chart("", ((0, 5),), (), (Mark("max 18", 18), Mark("entitlement 18", 18), Mark("min 17", 17)))
    heights = [float(label.y) for label in plotted(chart).labels]
    assert len(set(heights)) == 3
    assert min(abs(one - other) for one in heights for other in heights if one != other) >= 10


@pytest.mark.parametrize("chart", [Chart("", (), ()), Chart("", ((5, 0),), ())])
def test_nothing_to_draw_is_drawn_as_nothing(chart):
    assert plotted(chart).area == ""
    assert isinstance(spark(chart, 10), str)
    assert respelled(chart).span == chart.span
