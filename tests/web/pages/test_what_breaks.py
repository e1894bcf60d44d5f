"""What breaks when something fails."""

import pytest

from ullage.web.pages.what_breaks import DRIVES_SHOWN, LOST_MAX, NEAR_SHOWN, OFFERED


def test_a_rack_that_fails_shows_who_moves_where(draws):
    page = draws("what_breaks", lose="domain/rack-3")
    assert "Loss of domain rack-3 : 12 of 12 workloads placed anew" in page.words
    assert "Start again elsewhere: 12" in page.words
    assert "/explain/pod/platform/objects-0" in page.links
    assert page.html.count("cell lost") == 4


def test_what_fails_together_has_losers(draws):
    page = draws("what_breaks", lose="domain/rack-1\ndomain/rack-2")
    assert 'class="verdict bad"' in page.html
    assert "Left without a place" in page.words


def test_a_drive_that_fails_loses_its_volumes(draws):
    page = draws("what_breaks", lose="drive/n3-nvme-0")
    assert "pvc-report-0" in page.words


def test_any_node_may_fail(draws):
    assert "Loss of any 1 node" in draws("what_breaks", any="1").words


@pytest.mark.parametrize("lose", ["node/nothing", "moon/earth", "drive/x", "node/n1\ndrive/n3-nvme-0"])
def test_what_cannot_fail_is_told_in_one_line(draws, lose):
    page = draws("what_breaks", lose=lose)
    assert 'class="notice bad"' in page.html


def test_everything_that_can_fail_can_be_clicked(draws):
    links = draws("what_breaks").links
    for subject in ("domain%2Frack-1", "node%2Fn1", "drive%2Fs1-hdd-0"):
        assert f"/what-breaks?lose={subject}#answer" in links


def test_no_more_than_so_many_fail_together(draws):
    names = "\n".join(f"node/x{number}" for number in range(LOST_MAX * 3))
    assert draws("what_breaks", lose=names).html.count('name="lose" value="node/') == LOST_MAX


def test_of_many_nodes_domains_are_offered(draws):
    page = draws("what_breaks", "synthetic:nodes=600,seed=3")
    assert "/what-breaks?lose=domain%2Frack-0001#answer" in page.links
    assert 'class="cell' not in page.html


@pytest.mark.parametrize("named", ["node/{}", "{}", " {} "])
def test_any_node_can_be_named_however_many_there_are(draws, named):
    many = "synthetic:nodes=600,seed=3"
    name = "training-0575"
    page = draws("what_breaks", many, lose=named.format(name))
    assert f"Loss of node {name}" in page.words
    assert f"--lose node/{name}" in page.words


def test_a_part_of_a_name_offers_the_nodes_that_have_it(draws):
    page = draws("what_breaks", "synthetic:nodes=600,seed=3", lose="ing-05")
    assert "Which of these nodes?" in page.words
    assert "/what-breaks?lose=node%2Ftraining-0575#answer" in page.links
    assert 1 < sum("lose=node%2F" in link for link in page.links) <= NEAR_SHOWN
    assert "Loss of" not in page.words


def test_the_field_proposes_names_and_of_many_nodes_the_rest_is_found_elsewhere(draws):
    page = draws("what_breaks", "synthetic:nodes=600,seed=3")
    assert sum(tag == "option" and told["value"].startswith("node/") for tag, told in page.tags) == OFFERED
    assert "600 are too many to click here" in page.words
    assert "/nodes" in page.links
    assert "too many to click" not in draws("what_breaks").words


def test_of_many_drives_the_first_are_offered_and_the_rest_is_found_elsewhere(draws):
    page = draws("what_breaks", "synthetic:nodes=600,seed=3")
    assert sum("lose=drive" in link for link in page.links) == DRIVES_SHOWN
    assert "/drives#found" in page.links
    assert "/drives#found" not in draws("what_breaks").links
