"""The page of `fit`."""

import msgspec
import pytest

from builders import BUILT_IN_TYPES, batch, cluster, node, pod, policy
from ullage.engine.columns import Columns
from ullage.engine.placement.bench import Bench
from ullage.engine.placement.fit import fit
from ullage.service.fit import fit_of, fit_report
from ullage.service.fit_page import REFUSALS_SHOWN, ROWS_SHOWN, SUMS_MAX, fit_page
from ullage.service.wanted import Wanted


@pytest.fixture(scope="module")
def roomy():
    return cluster(
        *(node(f"n{number}", cpu="4", memory="8Gi").reserving(memory="1Gi") for number in range(6)),
        name="roomy",
        policy=policy(memory_ratio="1.5"),
    )


@pytest.fixture
def page_of(roomy, asked):
    def build(*batches, atomic=False, snapshot=roomy):
        return fit_of(snapshot, Wanted(batches, atomic, BUILT_IN_TYPES), asked).page()

    return build


@pytest.mark.parametrize(
    ("batches", "atomic", "verdict"),
    [
        ((batch(6, pod("a", cpu="1")),), False, "a fits: 6 replicas on 6 nodes"),
        (
            (batch(1, pod("a", cpu="1")), batch(1, pod("b", cpu="1"))),
            False,
            "all 2 workloads fit: 2 replicas on 2 nodes",
        ),
        ((batch(9, pod("a", cpu="4")),), False, "a does not fit: 6 of 9 placed"),
        (
            (batch(1, pod("a", cpu="5")), batch(1, pod("b", cpu="1"))),
            False,
            "1 of 2 workloads do not fit: 1 of 2 placed",
        ),
        (
            (batch(1, pod("a", cpu="5")), batch(1, pod("b", cpu="1"))),
            True,
            "1 of 2 workloads do not fit: 0 of 2 placed, because all or none was asked for",
        ),
    ],
)
def test_the_verdict_counts(page_of, batches, atomic, verdict):
    assert page_of(*batches, atomic=atomic).verdict.text == verdict


def test_reasons_come_before_the_table_and_the_arithmetic_after_it(page_of):
    page = page_of(batch(1, pod("huge", cpu="5")), batch(1, pod("small", memory="1Gi")))
    assert [block.title for block in page.blocks] == [
        "Why not",
        "Workloads",
        "huge on node n0, the nearest",
        "small on node n0, the first choice",
    ]
    assert page.main_table.title == "Workloads"


def test_the_sum_of_a_row_is_right(page_of):
    page = page_of(batch(1, pod("small", memory="1Gi")))
    (row,) = page.blocks[-1].rows
    assert [cell.text for cell in row] == [
        "memory",
        "8Gi",
        "1Gi",
        "1.5",
        "10.5Gi",
        "0",
        "10.5Gi",
        "1Gi",
        "9.5Gi",
    ]


def test_a_resize_shows_what_is_held(page_of):
    full = cluster(node("n", cpu="4").holding(pod("p", cpu="3")), policy=policy())
    page = page_of(batch(1, pod("p", cpu="4")), snapshot=full)
    table = page.blocks[-1]
    assert [column.title for column in table.columns][-3:] == ["held", "asked", "left"]
    assert [cell.text for cell in table.rows[0]][-4:] == ["1", "3", "4", "0"]
    assert table.caption.endswith("left = free + held - asked")


def test_a_resource_that_no_node_has_shows_as_zero(page_of):
    page = page_of(batch(1, pod("g", gpu=1)))
    (row,) = page.blocks[-1].rows
    assert [cell.text for cell in row] == ["nvidia.com/gpu", "0", "0", "0", "0", "0", "1", "-1"]


def test_a_resource_without_a_bound_says_so(page_of):
    unlimited = cluster(node("n", cpu="4"), policy=policy(cpu_ratio="unlimited"))
    page = page_of(batch(1, pod("p", cpu="1")), snapshot=unlimited)
    assert [cell.text for cell in page.blocks[-1].rows[0]][3:] == [
        "unlimited",
        "no bound",
        "0",
        "no bound",
        "1",
        "no bound",
    ]


def test_only_some_workloads_have_their_arithmetic_shown(page_of):
    page = page_of(*(batch(1, pod(f"p{number}", cpu="1")) for number in range(10)))
    assert len(page.blocks) == 1 + SUMS_MAX


def test_the_next_command_looks_at_the_nearest_node(page_of):
    assert page_of(batch(1, pod("huge", cpu="5"))).next_command == "ullage explain node/n0 -c small.json"
    assert page_of(batch(0, pod("none", cpu="5"))).next_command == "ullage status -c small.json"


def test_promises_and_actual_use_are_shown_where_they_make_a_difference(page_of):
    busy = cluster(
        node("n", memory="32Gi").using(memory="20Gi").holding(pod("p", memory="4Gi")),
        policy=policy(committed="actual", memory_reserve="2Gi"),
    )
    for asked_for in ("1Gi", "100Gi"):
        table = page_of(batch(1, pod("q", memory=asked_for)), snapshot=busy).blocks[-1]
        titles = [column.title for column in table.columns]
        shown = dict(zip(titles, (cell.text for cell in table.rows[0]), strict=True))
        assert (shown["promised"], shown["actual"], shown["committed"]) == ("4Gi", "20Gi", "18Gi")
        assert "committed = promised, or actual - reserve where that is more" in table.caption
    calm = page_of(batch(1, pod("q", memory="1Gi"))).blocks[-1]
    assert "promised" not in [column.title for column in calm.columns]


def test_a_refusal_shows_every_term_of_the_nearest_node(page_of):
    table = page_of(batch(1, pod("huge", cpu="5", memory="1Gi"))).blocks[-1]
    left = {row[0].text: (row[-1].text, row[-1].tone) for row in table.rows}
    assert left == {"cpu": ("-1", "bad"), "memory": ("9.5Gi", "plain")}


def test_a_refusal_without_a_verdict_shows_what_is_short(roomy, asked):
    columns = Columns(roomy)
    wanted = Wanted((batch(1, pod("huge", cpu="5", memory="1Gi")),), atomic=False, types=BUILT_IN_TYPES)
    report = fit_report(Bench(columns), fit(columns, wanted.batches), wanted)
    bare = tuple(msgspec.structs.replace(each, verdict=None) for each in report.outcomes)
    page = fit_page(msgspec.structs.replace(report, outcomes=bare), columns, asked)
    assert [[row[0].text, row[-1].text] for row in page.blocks[-1].rows] == [["cpu", "-1"]]


def test_many_refusals_are_shortened_on_a_terminal(roomy, asked):
    many = tuple(batch(1, pod(f"p{number:02}", cpu="5")) for number in range(60))
    answer = fit_of(roomy, Wanted(many, atomic=False, types=BUILT_IN_TYPES), asked)
    reasons, table = answer.shortened().blocks[:2]
    assert (len(reasons.rows), len(table.rows)) == (REFUSALS_SHOWN + 1, ROWS_SHOWN)
    assert reasons.rows[-1].message == "50 more do not fit"
    assert table.caption == "the first 40 of 60, -o wide shows all"
    assert [len(block.rows) for block in answer.page().blocks[:2]] == [60, 60]
