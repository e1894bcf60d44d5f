"""The first page says what needs attention, and how full the cluster is."""

from fractions import Fraction

import msgspec
import pytest

from ullage.service.asked import Asked, read_cluster
from ullage.service.status import status_report
from ullage.web.pages.overview import fullest_nodes, fullness_tone, measured_resources, verdict_of


@pytest.fixture(scope="module")
def report():
    return status_report(read_cluster(Asked("demo")))


def test_findings_come_first_and_lead_to_their_subjects(draws):
    page = draws("overview")
    assert "1 error, 3 warnings, 4 notes" in page.words
    assert page.html.index('id="findings"') < page.html.index("How full")
    assert "/nodes/s1" in page.links
    assert "wait to be placed → What if tells why" in page.words


def test_the_numbers_are_those_of_the_status(draws, report):
    words = draws("overview").words
    types = read_cluster(Asked("demo")).resource_types
    for name in ("cpu", "memory", "nvidia.com/gpu"):
        for term in ("reserve", "committed", "spare", "ullage", "blocked"):
            amount = getattr(report.total, term).of(name)
            assert f"{term} {types[name].readable(amount)}" in words


def test_every_domain_and_group_is_there_and_leads_to_its_nodes(draws):
    links = draws("overview").links
    assert {f"/nodes?domain=rack-{number}" for number in (1, 2, 3)} <= set(links)
    assert {"/nodes?group=gpu", "/nodes?group=general"} <= set(links)


def test_a_number_of_a_domain_leads_to_its_nodes_by_that_resource(draws):
    assert "/nodes?domain=rack-1&resource=nvidia.com/gpu" in draws("overview").links


def test_only_the_fullest_domains_are_shown_unless_all_are_wanted(draws):
    source = "synthetic:nodes=600,seed=3"
    some, every = draws("overview", source), draws("overview", source, domains="all")
    count = len([link for link in set(every.links) if link.startswith("/nodes?domain=")])
    assert len([link for link in set(some.links) if link.startswith("/nodes?domain=")]) < count
    assert "/?domains=all#domains" in some.links
    assert "/?domains=all#domains" not in every.links


def test_findings_of_one_kind_are_few_unless_all_are_wanted(draws):
    source = "synthetic:nodes=600,seed=3"
    some, every = draws("overview", source), draws("overview", source, findings="all")
    assert every.html.count('class="severity"') > some.html.count('class="severity"')
    assert "/?findings=all#findings" in some.links


@pytest.mark.parametrize(
    ("part", "whole", "tone"),
    [
        (1, 0, "bad"),
        (0, 0, "plain"),
        (89, 100, "plain"),
        (90, 100, "warn"),
        (100, 100, "warn"),
        (101, 100, "bad"),
    ],
)
def test_full_sounds_worse_the_fuller_it_is(part, whole, tone):
    assert fullness_tone(part, whole) == tone


def test_resources_that_are_plentiful_have_no_column(report):
    names = ["cpu", "memory", "nvidia.com/gpu", "ephemeral-storage", "pods"]
    assert measured_resources(report.total, names) == ("cpu", "memory", "nvidia.com/gpu")


def test_the_fullest_node_of_any_resource_comes_first(report):
    names = ("cpu", "memory")
    shares = [
        max(Fraction(node.committed.of(name), node.limit.of(name)) for name in names)
        for node in fullest_nodes(report.nodes, names)
    ]
    assert shares == sorted(shares, reverse=True)


def test_a_cluster_that_nothing_is_wrong_with_says_so(report):
    calm = verdict_of(msgspec.structs.replace(report, findings=()))
    assert (calm.text, calm.tone) == ("nothing needs attention", "yes")


def test_nothing_is_fetched_from_elsewhere_and_nothing_is_inline(draws):
    page = draws("overview")
    assert all(link.startswith(("/", "#")) for link in page.links)
    for tag, told in page.tags:
        assert "style" not in told
        assert not any(name.startswith("on") for name in told)
        assert tag != "style"
        if tag == "script":
            assert told["src"].startswith("/static/")
