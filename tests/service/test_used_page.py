"""How use reads beside request and limit."""

from builders import BUILT_IN_TYPES, cluster, node, pod, resources
from ullage.engine.columns import Columns
from ullage.render import view
from ullage.render.text import render
from ullage.service.used import contention_on, usage_of
from ullage.service.used_page import contention_blocks, pod_use_blocks, used_cell, used_table
from usage_builders import book, every

USED = book({("pod/n/a", "cpu"): every(60, [500] * 99 + [3000])})


def cells(request, limit):
    rows = [
        (
            "a",
            resources(cpu=request),
            resources(cpu=limit) if limit else resources(),
            usage_of(USED, "pod/n/a"),
        )
    ]
    table = used_table("Use", "pod", rows, BUILT_IN_TYPES)
    titles = [each.title for each in table.columns]
    return dict(zip(titles, table.rows[0], strict=True))


def test_use_above_the_request_and_above_the_limit_is_marked():
    assert (cells("1", "2")["most"].tone, cells("1", "")["most"].tone, cells("4", "")["most"].tone) == (
        "bad",
        "warn",
        "plain",
    )
    assert cells("1", "2")["95 %"].tone == "plain"


def test_no_limit_is_no_number():
    assert cells("1", "")["limit"].text == "-"


def test_a_cell_is_what_is_enough_95_per_cent_of_the_time():
    summary = usage_of(USED, "pod/n/a")["cpu"]
    assert used_cell(BUILT_IN_TYPES, summary, 1000).shown == "501m (50%)"
    assert used_cell(BUILT_IN_TYPES, None, 1000).text == "-"


def test_where_usage_was_not_asked_for_there_is_nothing():
    assert pod_use_blocks((), BUILT_IN_TYPES) == []


def blocks(*pods):
    columns = Columns(cluster(node("n1", cpu="2").holding(*pods)))
    found = contention_blocks(contention_on(columns, USED, 0), BUILT_IN_TYPES)
    page = view.Page("t", view.Verdict("v"), tuple(found))
    return render(page, width=120, color=False, unicode=True) if found else ""


def test_contention_is_a_table_where_it_is_short_and_a_line_where_it_is_not():
    wanting = pod("a", namespace="n", requests=resources(cpu="1"))
    text = blocks(wanting)
    assert "Who gets what if all want the most cpu they used" in text
    assert "3 would be wanted of 2" in text
    lone = book({("pod/n/a", "cpu"): [(0, 500)]})
    columns = Columns(cluster(node("n1", cpu="2").holding(wanting)))
    (line,) = contention_blocks(contention_on(columns, lone, 0), BUILT_IN_TYPES)
    assert line.paragraphs == ("cpu: 1 workload would want 500m of 2, enough for all",)
