"""The pages of `snapshot`."""

from builders import cluster, node, pod, policy
from ullage.service.snapshot import SaveQuestion, diff_of, save_of, show_of


def test_a_snapshot_says_what_it_holds(small, asked, read):
    page = show_of(small, asked).page()
    assert page.verdict.text == "3 nodes, 4 workloads, 2 quotas at revision 0"
    assert page.not_simulated == ("the price of tea",)
    text = read(show_of(small, asked))
    assert "rack-1, rack-2" in text
    assert "default, gpu" in text


def test_what_was_saved_leads_to_its_status(small, tmp_path):
    path = tmp_path / "x.json"
    page = save_of(small, SaveQuestion(str(path)), "json").page()
    assert page.verdict.text == f"saved small to {path} (json form)"
    assert page.next_command == f"ullage status -c {path}"


def test_the_same_is_a_yes_without_rows(small):
    page = diff_of(small, small, "a", "b").page()
    assert (page.verdict.text, page.verdict.tone) == ("a and b hold the same cluster", "yes")
    assert page.main_table.rows == ()


def test_a_difference_counts_and_names_fields():
    old = cluster(node("a", cpu="4"), node("b").holding(pod("p")), policy=policy())
    page = diff_of(old, cluster(node("a", cpu="8"), node("c"), policy=policy()), "a", "b").page()
    assert page.verdict.text == "a and b differ: 1 added, 1 changed, 2 removed"
    texts = {row[1].text: row[3].text for row in page.main_table.rows}
    assert texts["a"] == "capacity.cpu 4 → 8"


def test_a_field_that_appears_or_goes_is_called_nothing():
    old = cluster(node("a", cpu="4"), policy=policy())
    page = diff_of(old, cluster(node("a", memory="1Gi"), policy=policy()), "a", "b").page()
    assert page.main_table.rows[0][3].text == "capacity.cpu 4 → nothing; capacity.memory nothing → 1Gi"


def test_many_fields_are_counted():
    old = cluster(node("a", cpu="4"), policy=policy())
    labels = {f"label-{number}": "x" for number in range(10)}
    page = diff_of(old, cluster(node("a", cpu="4").labelled(labels), policy=policy()), "a", "b").page()
    assert page.main_table.rows[0][3].text.endswith(" and 4 more")
