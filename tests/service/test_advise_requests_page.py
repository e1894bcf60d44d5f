"""How `advise requests` reads."""

import pytest

from builders import BUILT_IN_TYPES, cluster, node, pod, resources
from ullage.engine.requests import effective_request
from ullage.engine.usage.advice import advise
from ullage.model.admission import Autoscaler
from ullage.model.cluster import Container
from ullage.render import render
from ullage.service.advise_requests import RequestsQuestion, requests_report
from ullage.service.advise_requests_page import requests_page
from usage_builders import DAY, book, every

GIB = 1 << 30
START = 98 * DAY


def web(name, *containers, owner="StatefulSet/web"):
    parts = containers or (Container("c", requests=resources(cpu="1", memory="4Gi")),)
    return pod(name, namespace="n", owner=owner, containers=parts, requests=effective_request(parts))


@pytest.fixture
def page(asked):
    def text(gib, *pods, others=(), memory="64Gi", question=None, shortened=False, days=14):
        question = question or RequestsQuestion("use.csv")
        snapshot = cluster(node("n1", cpu="64", memory=memory).holding(*(pods or (web("w"),))), *others)
        streams = {
            (f"container/n/{each.name}/c", "memory"): every(3600, [gib * GIB] * (24 * days), START)
            for each in snapshot.workloads
        }
        advice = advise(snapshot, book(streams), question.rules())
        report = requests_report(snapshot, advice, question)
        found = requests_page(report, BUILT_IN_TYPES, asked, question, shortened=shortened)
        return render(found, None, "table", width=200, color=False, unicode=True)

    return text


def test_the_first_line_has_the_saving_and_whether_all_still_fits(page):
    first = page(1).splitlines()[0]
    assert (
        first
        == "✓ 1 of 1 workload can be right-sized; 2.84Gi memory less is asked for then; everything still fits"
    )


def test_what_must_grow_is_told_apart(page):
    assert "1.75Gi memory more where it must grow" in page(5).splitlines()[0]


def test_who_finds_no_place_is_in_the_first_line(page):
    text = page(5, memory="5Gi")
    assert text.splitlines()[0].startswith("✗ ")
    assert "n/w would find no place" in text.splitlines()[0]
    assert "add room before its request is raised" in text


def test_nothing_to_advise_says_why(page):
    text = page(1, days=5)
    assert text.splitlines()[0] == "✓ none of 1 workload is advised to change"
    assert "observed for 5 days, 7 are needed (--min-days)" in text
    assert "Room when it is followed" not in text


def test_the_container_is_named_where_there_are_several(page):
    both = web(
        "w",
        Container("c", requests=resources(memory="4Gi")),
        Container("side", "sidecar", resources(memory="1Gi")),
    )
    assert "container" in page(1, both)
    assert "container" not in page(1).split("Left as it is")[0]


def test_notes_come_before_one_follows(page):
    scaled = Autoscaler("h", "n", target="StatefulSet/web", resources=("memory",))
    assert "HorizontalPodAutoscaler h scales by memory" in page(1, others=(scaled,))


def test_many_changes_are_shortened(page):
    pods = [web(f"w{number}", owner=f"StatefulSet/w{number}") for number in range(50)]
    text = page(1, *pods, memory="1Ti", shortened=True)
    assert "the first 40 of 50, -o wide shows all" in text


def test_the_next_command_prints_the_patches(page):
    assert page(1).splitlines()[-1] == "Next: ullage advise requests --usage use.csv --patch -c small.json"
