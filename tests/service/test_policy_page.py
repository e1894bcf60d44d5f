"""The pages of `policy`."""

from builders import BUILT_IN_TYPES, policy
from ullage.service.asked import Asked
from ullage.service.policy import check_policy_of, list_profiles, show_policy_of


def test_the_verdict_counts_what_is_set_and_what_is_not(asked):
    page = show_policy_of(policy(memory_ratio="2"), BUILT_IN_TYPES, None, "cluster", asked).page()
    assert page.verdict.text.startswith("policy test for cluster: 1 setting set, ")
    assert page.about == "layers, the nearest last: test"


def test_what_was_written_is_the_verdict():
    ours = Asked(policy="ours.yaml")
    page = show_policy_of(policy(), BUILT_IN_TYPES, None, "group/a", ours, written=["swap=1Gi"]).page()
    assert (page.verdict.text, page.verdict.tone) == ("wrote swap=1Gi for group/a to ours.yaml", "yes")
    assert page.next_command == "ullage policy check --policy ours.yaml"


def test_an_empty_value_can_be_seen_and_is_empty_in_csv(asked):
    page = show_policy_of(policy(), BUILT_IN_TYPES, None, "cluster", asked).page()
    row = next(row for row in page.main_table.rows if row[0].text == "admission-order")
    assert (row[1].text, row[1].exact) == ('""', "")


def test_profiles_lead_to_the_first_of_them():
    assert list_profiles().page().next_command == "ullage policy show --policy kubernetes"


def test_a_check_without_a_cluster_says_what_it_did_not_see(asked):
    good = check_policy_of(policy(), BUILT_IN_TYPES, None, Asked(policy="ours.yaml")).page()
    assert good.verdict.tone == "yes"
    assert good.not_simulated == ("names of groups and nodes (no cluster was named with -c)",)
    bad = check_policy_of(policy(colour="blue"), BUILT_IN_TYPES, None, asked).page()
    assert (bad.verdict.text, bad.verdict.tone) == ("policy test has 1 problem", "no")
    assert bad.not_simulated == ()
