"""The page of a forecast: what it says first, what stands in its tables, and its pictures."""

import pytest

from ullage.render import render
from ullage.render.view import Chart, Findings, Table
from ullage.service.asked import Asked
from ullage.service.forecast import ForecastQuestion, forecast

GROWTH = "examples/growth.csv"


@pytest.fixture(scope="module")
def answer(request):
    usage = str(request.config.rootpath / GROWTH)
    return lambda **asked: forecast(Asked("demo"), ForecastQuestion(usage, **asked))


def test_the_first_line_is_what_runs_out_first(answer):
    page = answer().page()
    assert page.verdict.text.startswith("nvidia.com/gpu committed is likely to run out on 2026-02-22 (90%: ")
    assert page.verdict.tone == "yes"
    assert answer(within_days=60).page().verdict.tone == "no"


def grown(tmp_path, amounts):
    path = tmp_path / "grown.csv"
    rows = [f"cluster,cpu,{1767225600 + 3600 * hour},{amount:.3f},committed" for hour, amount in amounts]
    path.write_text("\n".join(["subject,resource,time,value,measure", *rows]), encoding="utf-8")
    return forecast(Asked("demo"), ForecastQuestion(str(path))).page()


def test_what_compounds_is_said_to(tmp_path):
    page = grown(tmp_path, [(hour, 120 * 1.02 ** (hour / 24 - 28)) for hour in range(28 * 24)])
    assert page.verdict.text.endswith("growing by 17.84 (+14.9%) a week, compounding")
    assert "2026-03-11 (90%: 2026-03-1" in page.verdict.text


def test_intervals_that_did_not_hold_are_told_in_the_first_line_and_as_a_warning(tmp_path):
    page = grown(tmp_path, [(hour, 60 + (hour / 24) ** 3 / 300) for hour in range(28 * 24)])
    assert "; such intervals held only " in page.verdict.text
    (told,) = [each for each in page.blocks if isinstance(each, Findings) and each.title == "Doubtful"]
    assert [each.severity for each in told.rows] == ["warning"]


def test_nothing_that_runs_out_names_what_might(answer):
    text = answer(by="drives", horizon_days=90).page().verdict.text
    assert text == "nothing is likely to run out within 90 days"
    text = answer(by="quota", horizon_days=40).page().verdict.text
    assert text.startswith(
        "nothing is likely to run out within 40 days; nvidia.com/gpu committed of quota ml might"
    )


def test_promises_and_use_of_the_same_stand_beside_each_other(answer):
    table = answer().page().main_table
    rows = [(row[0].text, row[1].text, row[2].text) for row in table.rows]
    assert rows[:2] == [("cluster", "cpu", "committed"), ("cluster", "cpu", "usage")]


def test_tables_say_when_and_how_good(answer):
    page = answer().page()
    dates, quality = [block for block in page.blocks if isinstance(block, Table)]
    assert {"earliest", "likely", "latest", "a week"} <= {column.title for column in dates.columns}
    assert "90% were to be" in quality.caption


def test_a_soft_bound_that_is_passed_is_no_alarm(answer):
    table = answer(by="quota").page().main_table
    names = [column.title for column in table.columns]
    row = dict(zip(names, next(row for row in table.rows if row[3].exact == "min"), strict=True))
    assert {cell.tone for cell in row.values()} == {"plain"}
    assert (row["bound"].text, row["likely"].text) == ("min 10", "now")


def test_a_growth_that_was_given_is_named(answer):
    assert "growth is taken to be 5%/month" in answer(growth="5%/month").page().main_table.caption


def test_unknown_series_are_told_with_the_reason_once(answer):
    page = answer().page()
    (unknown,) = [block for block in page.blocks if isinstance(block, Findings)]
    assert [row.remedy for row in unknown.rows if "quota batch" in row.message] == [
        "record it for 3 more days (`ullage usage observe`)"
    ]


def test_charts_hold_history_band_and_bounds(answer):
    charts = [block for block in answer().page().blocks if isinstance(block, Chart)]
    assert charts
    for chart in charts:
        assert chart.history[-1][0] < chart.band[0][0]
        assert chart.marks
        assert all(low <= likely <= high for _, low, likely, high in chart.band)


def test_a_long_answer_is_shortened_for_a_terminal(answer, monkeypatch):
    monkeypatch.setattr("ullage.service.forecast_page.ROWS_SHOWN", 3)
    table = answer().shortened().main_table
    assert len(table.rows) == 3
    assert "the first 3 of " in table.caption


@pytest.mark.parametrize("output", ["table", "wide", "csv", "md", "html", "svg"])
def test_every_format_draws_it(answer, output):
    text = render(answer().page(), None, output)
    assert "nvidia.com/gpu" in text
    if output in {"html", "svg"}:
        assert 'class="chart-band"' in text
