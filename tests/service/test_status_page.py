"""The page of `status`."""

import pytest

from builders import cluster, node, pod, waiting
from ullage.render.view import Bars, Findings, Table
from ullage.service.asked import Asked
from ullage.service.status import status_of
from ullage.service.status_page import ROWS_SHOWN


def titles(page):
    return [block.title for block in page.blocks]


def test_findings_come_first_then_bars_then_tables(small, asked):
    page = status_of(small, asked).page()
    assert titles(page) == [
        "Findings",
        "How full",
        "Nodes",
        "Groups",
        "Domains",
        "Quotas",
        "Devices",
        "Drives",
    ]
    assert isinstance(page.blocks[0], Findings)
    assert isinstance(page.blocks[1], Bars)


def test_the_verdict_says_how_many_are_ready_and_what_is_left(small, asked):
    verdict = status_of(small, asked).page().verdict.text
    assert verdict.startswith("2 of 3 nodes ready; cpu 22% promised, 17 can still be promised; memory ")
    assert verdict.endswith("; 1 workload waiting")


def test_csv_holds_the_nodes(small, asked):
    table = status_of(small, asked).page().main_table
    assert table is not None
    assert table.title == "Nodes"


@pytest.mark.parametrize(
    ("part", "shown"), [("node", ["Nodes"]), ("quota", ["Quotas"]), ("resource", ["How full", "Terms"])]
)
def test_one_part_alone(small, asked, part, shown):
    assert titles(status_of(small, asked, part).page()) == shown


def test_on_a_terminal_the_bars_are_enough(small, asked):
    assert titles(status_of(small, asked, "resource").shortened()) == ["How full"]


def test_a_part_that_the_cluster_does_not_have_is_said_so(asked):
    page = status_of(cluster(node("a", cpu="1")), asked, "quota").page()
    assert page.blocks[0].paragraphs == ("there are no quotas here",)


def test_system_drives_are_counted_but_not_listed(small, asked):
    (table,) = status_of(small, asked, "drive").page().blocks
    assert [row[1].text for row in table.rows] == ["HDD"]
    assert "1 system drive not shown" in table.caption


def test_the_next_command_looks_at_the_worst_node(asked):
    over = cluster(
        node("a", cpu="1").holding(pod("p", cpu="1")), node("b", cpu="1").holding(pod("q", cpu="2"))
    )
    assert status_of(over, asked).page().next_command == "ullage explain node/b -c small.json"
    calm = cluster(node("a", cpu="4").holding(pod("p", cpu="1")), node("b", cpu="4"))
    assert status_of(calm, asked).page().next_command == "ullage explain node/a -c small.json"
    assert status_of(cluster(), asked).page().next_command == "ullage snapshot show -c small.json"


def test_a_large_cluster_shows_its_fullest_nodes_where_shortened():
    large = cluster(
        *(
            node(f"n{number:03}", cpu="10").holding(pod(f"p{number}", cpu=str(number % 10)))
            for number in range(60)
        )
    )
    answer = status_of(large, Asked("large"))
    tables = {block.title: block for block in answer.shortened().blocks if isinstance(block, Table)}
    shown = [row[0].text for row in tables["Nodes"].rows]
    assert len(shown) == ROWS_SHOWN
    assert shown[:6] == ["n009", "n019", "n029", "n039", "n049", "n059"]
    assert len(answer.page().main_table.rows) == 60


def test_long_tables_are_shortened_too():
    large = cluster(*(node(f"n{number:03}", cpu="1").in_domain(f"rack-{number:03}") for number in range(60)))
    answer = status_of(large, Asked("large"))
    tables = {block.title: block for block in answer.shortened().blocks if isinstance(block, Table)}
    assert len(tables["Domains"].rows) == ROWS_SHOWN
    assert tables["Domains"].caption.endswith("the first 40 of 60, --by domain shows all")
    whole = {block.title: block for block in answer.page().blocks if isinstance(block, Table)}
    assert len(whole["Domains"].rows) == 60


def test_all_workloads_are_listed_with_their_namespaces(small, asked):
    (table,) = status_of(small, asked, "workload").page().blocks
    assert table.title == "Workloads"
    assert sorted(row[0].text for row in table.rows) == ["ml/job", "ml/train", "web/front", "web/later"]


def test_many_workloads_are_shortened_even_where_they_are_asked_for():
    crowd = cluster(node("a", cpu="100").holding(*(pod(f"p{number:02}", cpu="1") for number in range(60))))
    answer = status_of(crowd, Asked("crowd"), "workload")
    (short,) = answer.shortened().blocks
    assert len(short.rows) == ROWS_SHOWN
    assert short.caption.endswith("the first 40 of 60, -o wide shows all")
    assert len(answer.page().main_table.rows) == 60


def test_what_waits_leads_to_fit_unless_a_node_is_in_trouble(asked):
    calm = cluster(node("a", cpu="4").holding(pod("p", cpu="1")), waiting("later", cpu="1"))
    assert status_of(calm, asked).page().next_command == "ullage fit -c small.json"
