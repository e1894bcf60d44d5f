"""Quotas: shares, marks and risk."""

import re

import pytest

from ullage.model.resources import NOTHING, Resources, ResourceTypes
from ullage.service.asked import Asked, read_cluster
from ullage.service.quota_list import QuotaFigures
from ullage.web.pages.quotas import PAGE_QUOTAS, SORTS, STANDINGS, kept_quotas, marks_of, sorted_quotas


def figures(**amounts):
    told = {name: Resources({"cpu": amount}) for name, amount in amounts.items()}
    parts = {
        name: told.get(name, NOTHING)
        for name in ("min", "max", "used", "borrowed", "lent", "entitlement", "claimable")
    }
    return QuotaFigures("q", "Quota", "fair", "", 0, (), (), **parts, workloads=0, over_quota=())


def test_what_is_used_beyond_min_is_borrowed_and_marks_are_to_scale():
    marks = marks_of(figures(min=10_000, used=15_000, max=20_000, entitlement=12_000), "cpu", ResourceTypes())
    assert (marks.within, marks.borrowed_at, marks.borrowed) == ("50.00", "50.00", "25.00")
    assert (marks.least, marks.entitled, marks.most) == ("50.00", "60.00", "100.00")
    assert (marks.percent, marks.is_over) == ("150%", False)


def test_what_is_above_max_is_told():
    assert marks_of(figures(used=3, max=2), "cpu", ResourceTypes()).is_over


def test_a_mark_that_is_not_there_is_not_drawn():
    marks = marks_of(figures(used=0), "cpu", ResourceTypes())
    assert (marks.least, marks.entitled, marks.most) == (None, None, None)


def test_every_quota_is_there_with_those_above_it_and_their_risk(draws):
    page = draws("quotas")
    assert {f"/explain/quota/{name}" for name in ("batch", "ml", "platform", "web")} <= set(page.links)
    assert "/explain/pod/ml/inference-0" in page.links
    assert "Who goes, in order" in page.words


def test_a_name_filters_the_tree(draws):
    shares = draws("quotas", q="PLAT").html.partition('id="found"')[2].partition("</table>")[0]
    assert set(re.findall(r"/explain/quota/(\w+)", shares)) == {"platform"}


def test_risk_of_many_is_told_only_when_it_is_asked_for(draws):
    page = draws("quotas", "synthetic:nodes=600,seed=3")
    assert "Look who goes first" in page.words
    assert "Who goes, in order" not in page.words


def test_a_cluster_without_quotas_says_so(draws):
    page = draws("quotas", "ganeti:examples/ganeti.data")
    assert "has no quotas" in page.words


LARGE = "synthetic:nodes=600,seed=3"


def shown(page):
    """The quotas of the table, in its order."""
    table = page.html.partition('id="found"')[2].partition("</table>")[0]
    return list(dict.fromkeys(re.findall(r'href="/explain/quota/([^"#?]+)"', table)))


def test_many_quotas_are_shown_in_parts_each_of_them_once(draws):
    names, number = [], 0
    while True:
        number += 1
        page = draws("quotas", LARGE, page=str(number))
        assert len(shown(page)) <= PAGE_QUOTAS
        names += shown(page)
        if f"/quotas?page={number + 1}#found" not in page.links:
            break
    assert number > 1
    assert len(set(names)) == len(names)
    assert f"of {len(names)} " in page.words


@pytest.mark.parametrize("standing", STANDINGS)
def test_a_standing_leaves_only_quotas_that_stand_so(draws, standing):
    first = shown(draws("quotas", standing=standing))
    assert set(first) <= {"batch", "ml", "platform", "web"}
    quotas = kept_quotas(read_cluster(Asked("demo"))).quotas
    assert first == [each.name for each in quotas if STANDINGS[standing](each)]


@pytest.mark.parametrize("key", SORTS)
def test_quotas_are_sorted_by_a_figure_either_way(key):
    quotas = list(kept_quotas(read_cluster(Asked("demo"))).quotas)
    up, down = (sorted_quotas(quotas, key, down=down) for down in (False, True))
    assert [SORTS[key](each) for each in up] == sorted(SORTS[key](each) for each in quotas)
    assert [SORTS[key](each) for each in down] == [SORTS[key](each) for each in up][::-1]


def test_each_amount_of_a_quota_leads_to_that_term_of_its_explanation(draws):
    links = draws("quotas").links
    for term in ("used", "min", "borrowed", "entitlement", "workloads", "over-quota"):
        assert f"/explain/quota/ml#{term}" in links


def test_what_no_quota_is_like_says_so_and_leads_back(draws):
    assert "No quota is like that" in draws("quotas", q="nothing").words
