"""Drives: what is on every disk."""

import re
from itertools import pairwise

import pytest

from ullage.service.asked import Asked, read_cluster
from ullage.service.disks_list import disks_list_report
from ullage.web.pages.drives import SORTS, pieces_of, sorted_disks, totals_bars


@pytest.fixture(scope="module")
def report():
    return disks_list_report(read_cluster(Asked("demo")))


def test_the_pieces_of_a_disk_fill_it_one_after_the_other(report):
    for disk in report.disks:
        pieces = list(pieces_of(disk))
        ends = [(float(each.start), float(each.start) + float(each.width)) for each in pieces]
        assert ends[0][0] == 0
        assert ends[-1][1] == pytest.approx(100, abs=1)
        assert all(one[1] == pytest.approx(other[0], abs=1) for one, other in pairwise(ends))


def test_each_volume_is_a_piece_with_its_claim(report):
    [objects] = [disk for disk in report.disks if disk.name == "objects"]
    words = [each.words for each in pieces_of(objects)]
    assert words[0] == "volume pvc-objects-0 of platform/data-objects-0: 2.73Ti"
    assert words[-1].startswith("free: ")


def test_a_disk_that_offers_nothing_says_why(report):
    [bad] = [disk for disk in report.disks if disk.name == "s1-hdd-4"]
    assert [each.words for each in pieces_of(bad)] == ["SUSPECT: 3.64Ti"]


def test_the_sums_of_a_class_are_the_reports(report):
    for total, row in zip(report.totals, totals_bars(report.totals).rows, strict=True):
        assert {part.word: part.part for part in row.segments} == {
            "used": total.used_bytes,
            "promised": total.promised_bytes,
            "free": total.free_bytes,
            "closed": total.closed_bytes,
        }


def test_every_disk_can_be_failed_and_those_of_the_system_are_shown_on_demand(draws):
    page = draws("drives")
    assert "/what-breaks?lose=drive%2Fs1%2Fs1-hdd-5" in page.links
    assert "n1-system" not in page.words
    assert "n1-system" in draws("drives", system="1").words


FILTERS = [
    ({"q": "n3"}, ["n3-data"]),
    ({"class": "HDDLVG"}, ["objects", "backup"]),
    ({"standing": "failing"}, ["s1-hdd-4"]),
    ({"standing": "failing", "class": "HDD"}, ["s1-hdd-4"]),
    ({"standing": "closed", "q": "s1"}, ["s1-hdd-4"]),
]


@pytest.mark.parametrize(("filters", "names"), FILTERS)
def test_names_and_classes_filter(draws, filters, names):
    html = draws("drives", **filters).html
    assert re.findall(r"aria-label=\"fail (\S+) of", html) == names


def test_stranded_space_is_told(draws):
    assert "stranded" in draws("drives").words


def test_a_cluster_without_drives_says_so(draws):
    assert "has no drives" in draws("drives", "ganeti:examples/overcommitted.data").words


@pytest.mark.parametrize("key", SORTS)
def test_disks_are_sorted_by_a_figure_either_way(report, key):
    amounts = [
        [SORTS[key](each) for each in sorted_disks(list(report.disks), key, down=down)] for down in (0, 1)
    ]
    assert amounts[0] == sorted(amounts[0])
    assert amounts[1] == amounts[0][::-1]


def test_of_many_disks_every_one_is_on_one_page_and_its_class_has_all_of_its_sums(draws):
    source, names, number = "synthetic:nodes=60,seed=3", [], 0
    while True:
        number += 1
        page = draws("drives", source, page=str(number), system="1")
        names += re.findall(r"aria-label=\"fail (\S+ of \S+)\"", page.html)
        if f"/drives?system=1&page={number + 1}#found" not in page.links:
            break
    assert number > 1
    assert len(set(names)) == len(names)
    assert f"of {len(names)} " in page.words


def test_stranded_space_and_sums_of_a_class_lead_to_its_disks(draws):
    assert draws("drives").links.count("/drives?class=HDD#found") > 4
