"""The page of a replay: who won in one line, a bar for each quota and replay, times as people say them."""

from pathlib import Path

import msgspec
import pytest

from ullage.render.view import Bars, Table
from ullage.service.asked import Asked
from ullage.service.quota_replay import Choice, quota_replay
from ullage.service.quota_replay_page import time_text


@pytest.fixture
def files():
    return Path(__file__).parent.parent / "cli" / "files"


@pytest.fixture
def page(files):
    asked = Asked(str(files / "trace-cluster.yaml"))

    def of(namespace="", *, shortened=False, **choice):
        answer = quota_replay(
            msgspec.structs.replace(asked, namespace=namespace), Choice((str(files / "trace.csv"),), **choice)
        )
        return answer.shortened() if shortened else answer.page()

    return of


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (59, "59s"),
        (60, "1m"),
        (125, "2m 5s"),
        (3600, "1h"),
        (3605, "1h"),
        (12300, "3h 25m"),
        (90000, "1d 1h"),
        (86400 + 59, "1d"),
        (-61, "-1m 1s"),
    ],
)
def test_a_time_in_its_two_largest_units(seconds, text):
    assert time_text(seconds) == text


def test_the_verdict_names_who_won_and_who_lost(page, files):
    found = page(quotas=str(files / "trace-quotas.yaml"))
    assert found.verdict.text == (
        "team-b won; team-a, team-c lost; 1 eviction instead of 6; delay 47m 30s each instead of 1h 57m"
    )


def test_what_never_runs_is_part_of_the_verdict(files, tmp_path):
    trace = tmp_path / "trace.csv"
    head = (files / "trace.csv").read_text().splitlines()[0].split(",")
    row = {"name": "huge", "namespace": "team-a", "start": "0", "duration": "60", "gpu": "99"}
    trace.write_text("\n".join([",".join(head), ",".join(row.get(name, "") for name in head)]) + "\n")
    found = quota_replay(Asked(str(files / "trace-cluster.yaml")), Choice((str(trace),))).page()
    assert found.verdict.text.startswith("0 evictions, delay 0s each, 1 still waits at the end;")


def test_the_same_again_is_said_to_be_the_same(page):
    assert page(quota_mode="nos").verdict.text.startswith("nobody wins or loses; 6 evictions instead of 6")


def test_alone_it_has_no_now_and_then(page):
    found = page()
    assert "compares" in found.verdict.text
    assert not any(
        "then" in column.title
        for block in found.blocks
        if isinstance(block, Table)
        for column in block.columns
    )
    (bars,) = (block for block in found.blocks if isinstance(block, Bars))
    assert [row.label for row in bars.rows] == ["team-a", "team-b", "team-c"]


def test_bars_show_what_was_kept_borrowed_and_lost(page, files):
    (bars,) = (
        block for block in page(quotas=str(files / "trace-quotas.yaml")).blocks if isinstance(block, Bars)
    )
    row = next(row for row in bars.rows if row.label == "team-b now")
    assert [(part.word, part.text) for part in row.segments] == [
        ("in quota", "8"),
        ("borrowed", "18"),
        ("lost", "7.5"),
    ]
    assert (row.total, row.whole) == ("33.5", sum(part.part for part in row.segments))


def test_a_namespace_keeps_its_quotas(page):
    table = page("team-a", quota_mode="fair").blocks[0]
    assert [row[0].text for row in table.rows] == ["team-a", "in all"]


def test_shortened_it_shows_the_largest_differences(files, tmp_path):
    lines = "".join(f"b{number},team-b,0,600,1\n" for number in range(20))
    trace = tmp_path / "trace.csv"
    trace.write_text(f"name,namespace,start,duration,gpu\n{lines}a,team-a,60,60,4\n", encoding="utf-8")
    asked = Asked(str(files / "trace-cluster.yaml"))
    answer = quota_replay(asked, Choice((str(trace),), str(files / "trace-quotas.yaml")))
    whole, short = (each().blocks[-1] for each in (answer.page, answer.shortened))
    assert len(whole.rows) > len(short.rows) == 10
    assert short.caption.endswith(f"10 of {len(whole.rows)}, -o wide shows all")
