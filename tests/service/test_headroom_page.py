"""How `headroom` reads."""

from builders import BUILT_IN_TYPES, batch, cluster, node, pod
from ullage.service.headroom import HeadroomQuestion, headroom_of
from ullage.service.wanted import Wanted


def answer(snapshot, asked, *batches, together=False):
    wanted = Wanted(batches, atomic=False, types=BUILT_IN_TYPES)
    return headroom_of(snapshot, wanted, asked, HeadroomQuestion(together=together))


def test_one_workload(small, asked, read):
    text = read(answer(small, asked, batch(1, pod("api/one", cpu="4"))))
    assert text.splitlines()[0] == "✓ 4 more api/one on 2 nodes"
    assert "cpu short on 2, cordoned on 1" in text
    assert text.splitlines()[-1] == "Next: ullage explain node/a1 -c small.json"


def test_none_and_why(small, asked, read):
    text = read(answer(small, asked, batch(1, pod("huge", cpu="99"))))
    assert text.startswith("✗ no huge fits: ")
    assert "By node" not in text


def test_several_and_those_that_are_not_named_in_the_first_line(small, asked, read):
    asked_for = [batch(1, pod(f"w{number}", cpu="1")) for number in range(8)]
    text = read(answer(small, asked, *asked_for), width=200)
    assert "w0, or " in text.splitlines()[0]
    assert "5 others" in text.splitlines()[0]
    assert "the first 6 of 8 workloads, -o json has all" in text


def test_sets(small, asked, read):
    asked_for = (batch(2, pod("one", cpu="2")), batch(1, pod("two", cpu="3")))
    text = read(answer(small, asked, *asked_for, together=True), width=200)
    assert text.startswith("✓ 2 sets of 2 x one + 1 x two; the next lacks a place for ")
    assert "per set" in text
    text = read(answer(small, asked, batch(1, pod("huge", cpu="99")), together=True), width=200)
    assert text.startswith("✗ no sets of 1 x huge; the next lacks a place for huge: ")


def test_what_has_no_bound_says_so(asked, read):
    empty = cluster(node("a", cpu="4"))
    text = read(answer(empty, asked, batch(1, pod("w"))))
    assert "at least 10000000 more w on 1 node" in text
    assert "counting was stopped" in text
    assert "at least" in read(answer(empty, asked, batch(1, pod("w")), together=True)).splitlines()[0]


def test_a_large_cluster_is_shortened(asked):
    large = cluster(*(node(f"n{number:03}", cpu="4") for number in range(60)))
    found = answer(large, asked, batch(1, pod("w", cpu="1")))
    assert len(found.page().blocks[1].rows) == 60
    assert len(found.shortened().blocks[1].rows) == 40
    assert found.shortened().blocks[1].caption == "the first 40 of 60, -o wide shows all"
