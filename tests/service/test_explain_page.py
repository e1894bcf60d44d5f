"""The pages of `explain`."""

import pytest

from builders import cluster, node, pod, policy
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.service.explain import explain_node, explain_resource
from ullage.sources.ganeti.snapshot import snapshot_of


def lines_of(page, title):
    block = next(block for block in page.blocks if block.title == title)
    return [(term.operator, term.name, term.amount) for term in (*block.lines, block.result)]


def notes_of(page, title):
    block = next(block for block in page.blocks if block.title == title)
    return {term.name: term.explanation for term in (*block.lines, block.result)}


def test_the_sum_goes_from_capacity_to_free(small, asked):
    page = explain_node(small, "g1", asked).page()
    assert lines_of(page, "memory") == [
        ("", "capacity", "64Gi"),
        ("-", "reserve", "0"),
        ("=", "allocatable", "64Gi"),
        ("x", "ratio", "1.5"),
        ("=", "limit", "96Gi"),
        ("-", "committed", "16Gi"),
        ("=", "free", "80Gi"),
    ]


def test_each_term_says_where_it_comes_from(small, asked):
    notes = notes_of(explain_node(small, "a1", asked).page(), "memory")
    assert notes["reserve"] == "stated by the source"
    assert notes["ratio"] == "memory-ratio=1 (ours, node a1)"
    assert notes["committed"] == "promised to 2 workloads"


def test_disks_that_are_kept_for_a_standby_are_called_so(asked):
    pair = [ganeti_node("n1", memory=8192), ganeti_node("n2", memory=8192)]
    snapshot = snapshot_of(ganeti_cluster(pair, instance("a", "n1", "n2", memory=1024)))
    notes = notes_of(explain_node(snapshot, "n2", asked).page(), "storage-space")
    assert notes["reserve"] == "copies of disks it is the standby for, and what else is in use"


def test_actual_use_that_counts_is_told_from_promises(asked):
    def noted(committed, in_use):
        whole = cluster(
            node("n", memory="32Gi").using(memory=in_use).holding(pod("p", memory="4Gi")),
            policy=policy(committed=committed, memory_reserve="2Gi"),
        )
        return notes_of(explain_node(whole, "n", asked).page(), "memory")["committed"]

    assert noted("promised", "20Gi") == "promised to 1 workload; 20Gi really in use"
    assert noted("actual", "20Gi") == "20Gi really in use, less the reserve; only 4Gi promised to 1 workload"
    assert noted("actual", "3Gi") == "promised to 1 workload; 3Gi really in use is less"


def test_a_reserve_of_the_policy_names_its_setting(asked):
    whole = cluster(node("n", memory="32Gi"), policy=policy(memory_reserve="2Gi"))
    assert (
        notes_of(explain_node(whole, "n", asked).page(), "memory")["reserve"] == "memory-reserve=2Gi (test)"
    )


def test_more_than_the_limit_is_said_so(asked):
    whole = cluster(node("n", cpu="1").holding(pod("p", cpu="1500m")), policy=policy())
    assert notes_of(explain_node(whole, "n", asked).page(), "cpu")["free"] == "over-committed by 500m"


def test_without_a_bound_there_is_no_limit(asked):
    whole = cluster(node("n", cpu="1"), policy=policy(cpu_ratio="unlimited"))
    page = explain_node(whole, "n", asked).page()
    assert ("=", "free", "no bound") in lines_of(page, "cpu")


def test_facts_say_what_is_not_known(small, asked):
    facts = {row[0].text: row[1].text for row in explain_node(small, "g1", asked).page().blocks[0].rows}
    assert facts["swap"] == "unknown: neither the source nor the policy tells"
    assert facts["devices"] == "4 (L4)"
    assert facts["drives"] == "1Ti SSD (system), 4Ti HDD, 4Ti HDD BAD"


@pytest.mark.parametrize(
    ("stated", "settings", "shown"),
    [
        (None, {"swap": "8Gi"}, "8Gi, swap=8Gi (test)"),
        (None, {"swap": "unknown"}, "unknown: neither the source nor the policy tells"),
        (4 << 30, {"swap": "8Gi"}, "4Gi, stated by the source"),
        (0, {}, "0, stated by the source"),
    ],
)
def test_swap_is_what_the_source_tells_else_what_the_policy_sets(stated, settings, shown, asked):
    whole = cluster(node("n", cpu="1", memory="8Gi").with_(swap_bytes=stated), policy=policy(**settings))
    facts = {row[0].text: row[1].text for row in explain_node(whole, "n", asked).page().blocks[0].rows}
    assert facts["swap"] == shown


def test_a_resource_shows_its_fullest_nodes_and_largest_holders(small, asked):
    page = explain_resource(small, "memory", asked).page()
    tables = {block.title: block for block in page.blocks}
    assert [row[0].text for row in tables["Nodes, the fullest first"].rows] == ["a1", "g1", "a2"]
    assert [row[0].text for row in tables["Who holds most"].rows] == ["web/front", "ml/train", "ml/job"]
    facts = {row[0].text: row[1].text for row in tables["What it is"].rows}
    assert facts["also written"] == "kubernetes.io/memory"
    assert facts["units"] == "byte"


def test_qualities_are_shown_and_in_the_data(asked):
    runs = pod("p", cpu="1", qualities={"phase": "Running"})
    answer = explain_node(
        cluster(node("n", cpu="4", pods=9).with_(qualities={"kernel": "6.1"}).holding(runs)), "n", asked
    )
    page, data = answer.page(), answer.data()
    assert {row[0].text: row[1].text for row in page.blocks[0].rows}["qualities"] == "kernel=6.1"
    assert page.main_table.columns[-1].title == "qualities"
    assert page.main_table.rows[0][-1].text == "phase=Running"
    assert data["node"]["qualities"] == {"kernel": "6.1"}
    assert data["workloads"][0]["qualities"] == {"phase": "Running"}
