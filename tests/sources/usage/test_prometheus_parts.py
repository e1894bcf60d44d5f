"""Windows, and what is asked for at once: never too much, never anything twice, nothing left out."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.errors import InputError
from ullage.sources.usage import prometheus_parts
from ullage.sources.usage.prometheus_answers import Labels, Series
from ullage.sources.usage.prometheus_parts import Part, Window, answers, parts_of, window_of
from ullage.sources.usage.prometheus_queries import CONTAINERS, NODES, QUERIES, Query, chosen
from ullage.sources.usage.prometheus_server import TooMuchError

DAY = 86_400
QUERY = Query(CONTAINERS, "memory", "usage", ("m",), 'm{pod!=""@}', 'm{pod!=""@}')
NOTHING = Series([], np.empty(0, np.int64), np.empty(0), np.empty(0))


class Named:
    name = "p"


def test_a_window_lies_on_whole_steps_so_that_reading_it_again_gives_the_same_points():
    assert Window(1, 1000, 300).aligned() == Window(300, 900, 300)
    assert Window(300, 900, 300).aligned() == Window(300, 900, 300)


@pytest.mark.parametrize(
    "window", [Window(1, 299, 300), Window(0, 10, 4), Window(0, 10**9, 5), Window(9, 0), Window(0, 10, 0)]
)
def test_a_window_without_points_or_with_too_many_is_refused(window):
    with pytest.raises(InputError):
        window.aligned()


def test_a_window_may_be_said_in_words():
    assert window_of("match=cluster=a%26b&window=1d", 5 * DAY).matches == ("cluster=a&b",)
    assert window_of("", 100 * DAY) == Window(86 * DAY, 100 * DAY, 300)
    assert window_of("window=2d&step=1m", 100 * DAY) == Window(98 * DAY, 100 * DAY, 60)
    assert window_of("step=1h", 5 * DAY) == Window(0, 5 * DAY, 3600)
    assert window_of("window=1w", 100 * DAY).first_seconds == 93 * DAY


@pytest.mark.parametrize("said", ["window=2", "width=2d", "window", "step=-5m", "window=2d;step=5m"])
def test_what_says_nothing_of_a_window_is_refused(said):
    with pytest.raises(InputError, match="write \\?window=14d&step=5m"):
        window_of(said, DAY)


def test_names_are_matched_literally():
    assert Part("namespace", ("a",)).matchers == 'namespace="a"'
    assert Part("pod", ("a.b", 'c"|x'), 'namespace="n"').matchers == (
        'pod=~"a\\\\.b|c\\"\\\\|x",namespace="n"'
    )
    assert Part().matchers == ""


def asking(monkeypatch, counts, pods=None, refuses=lambda *_: False):
    """Have a server with so many series by namespace; return what is asked of it, as it is asked."""
    asked = []

    def ask_range(_, text, first, last, step):
        if text.startswith("count"):
            labels = [Labels(namespace=name) for name in counts]
            values = np.array(list(counts.values()), float)
            return Series(labels, np.arange(len(counts)), np.zeros(len(counts)), values)
        if refuses(text, first, last):
            raise TooMuchError("too many samples")
        asked.append((text, first, last, step))
        return NOTHING

    def ask_values(_, label, matcher, *__):
        return [*sorted(counts), "unseen"] if label == "namespace" else pods[matcher]

    monkeypatch.setattr(prometheus_parts, "ask_range", ask_range)
    monkeypatch.setattr(prometheus_parts, "ask_values", ask_values)
    return asked


def named(text, label):
    """The names of a label that a text asks for."""
    found = re.search(rf'{label}=~?"([^"]+)"', text)
    return found[1].split("|") if found else []


def read(window):
    for part in parts_of(Named(), QUERY, window):
        list(answers(Named(), QUERY, part, window))


def test_a_small_cluster_is_asked_at_once(monkeypatch):
    asked = asking(monkeypatch, {"a": 10, "b": 20})
    read(Window(0, 100 * 300, 300))
    assert asked == [('m{pod!=""}', 0, 100 * 300, 300)]


def test_namespaces_are_asked_together_while_they_are_few_enough_and_large_ones_by_pods(monkeypatch):
    pods = [f"p{number}" for number in range(700)]
    counts = {"a": 1500, "b": 600, "c": 100, "large": 3000}
    asked = asking(monkeypatch, counts, {'m{pod!="",namespace="large"}': pods})
    read(Window(0, 3000, 300))
    texts = [text for text, *_ in asked]
    assert 'm{pod!="",namespace="a"}' in texts
    assert 'm{pod!="",namespace=~"b|c|unseen"}' in texts
    of_pods = [text for text in texts if 'namespace="large"' in text]
    assert len(of_pods) == 3
    assert sorted(itertools.chain.from_iterable(named(text, "pod") for text in of_pods)) == sorted(pods)


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=4), st.integers(1, 3000), max_size=8),
    st.integers(1, 400),
)
def test_no_answer_has_too_many_samples_and_every_point_is_asked_for_once(counts, points):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prometheus_parts, "SERIES_PER_QUERY", 3000)
        patch.setattr(prometheus_parts, "SAMPLES_PER_QUERY", 20_000)
        asked = asking(patch, counts)
        window = Window(0, (points - 1) * 300, 300)
        read(window)
    covered = {}
    for text, first, last, step in asked:
        here = sum(counts.get(name, 1) for name in named(text, "namespace") or counts)
        assert here * ((last - first) // step + 1) <= max(20_000, here)
        covered.setdefault(text, []).extend(range(first, last + 1, step))
    for moments in covered.values():
        assert moments == list(range(0, points * 300, 300))


def test_where_it_is_too_much_names_are_halved_and_then_time(monkeypatch):
    def refuses(text, first, last):
        return "|" in text or last - first > 600

    asked = asking(monkeypatch, {"a": 1500, "b": 400}, refuses=refuses)
    part = Part("namespace", ("a", "b"), series=10)
    list(answers(Named(), QUERY, part, Window(0, 3000, 300)))
    for name in "ab":
        moments = [range(first, last + 1, 300) for text, first, last, _ in asked if f'"{name}"' in text]
        assert list(itertools.chain.from_iterable(moments)) == list(range(0, 3001, 300))


def test_what_cannot_be_halved_any_more_is_told(monkeypatch):
    asking(monkeypatch, {"a": 1}, refuses=lambda *_: True)
    with pytest.raises(InputError, match="it refuses even memory of one moment: too many samples; raise"):
        read(Window(0, 3000, 300))


def test_of_several_ways_to_know_the_same_the_first_that_is_there_counts_and_of_nodes_each_is_asked():
    everything = frozenset(name for ways in QUERIES for way in ways for name in way.needs)
    assert chosen(everything) == [
        way for ways in QUERIES for way in (ways if ways[0].what == NODES else ways[:1])
    ]
    (only,) = chosen(frozenset({"container_oom_events_total"}))
    assert only.resource == "ullage.dev/oom-kills"
    assert {each.needs for each in chosen(frozenset({"container_memory_rss"}))} == {("container_memory_rss",)}
    assert chosen(frozenset()) == []
