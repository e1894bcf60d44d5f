"""Use at a glance: the lines and findings that all that is recorded gives, from a part of it."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import cluster, node, pod
from ullage.engine.columns import Columns
from ullage.engine.usage.crowds import add_crowds
from ullage.engine.usage.hollow import usage_findings
from ullage.engine.usage.homes import Homes
from ullage.engine.usage.summary import percentile
from ullage.model.resources import Resources, ResourceTypes
from ullage.model.usage import fraction_of
from ullage.service import usage_overview
from ullage.service.asked import Asked
from ullage.service.usage_overview import LASTING, least_lasting, overview
from ullage.service.usage_show import ShowQuestion, usage_report
from ullage.service.usage_subject import subject_report
from ullage.stores.usage import Batch, Marks, append, read_book
from ullage.stores.usage_parts import Extent, looking
from ullage.web.pages.usage import at_risk, wasted
from usage_builders import DAY, book, every

TYPES = ResourceTypes()
NAMES = tuple(f"{owner}-{number}" for owner in "abcdefgh" for number in (0, 1))
MEMORY = 1 << 20


def workload(name):
    size = ord(name[0]) - ord("a") + 1
    limits = Resources({"memory": size * MEMORY + 40}) if size % 2 else Resources()
    owner = f"StatefulSet/{name[0]}"
    return pod(f"shop/{name}", owner=owner, cpu=f"{size}m", memory=f"{size}Mi", limits=limits)


SNAPSHOT = cluster(
    node("n1", cpu="4", memory="40Mi").holding(*(workload(name) for name in NAMES[::2])),
    node("n2", cpu="4", memory="40Mi").holding(*(workload(name) for name in NAMES[1::2])),
)
SUBJECTS = (
    *(f"pod/shop/{name}" for name in NAMES),
    *(f"container/shop/{name}/main" for name in NAMES),
    *(f"workload/shop/StatefulSet/{owner}" for owner in "abcdefghz"),
    *("node/n1", "node/n2", "cluster", "pod/shop/a-7"),
)
AMOUNTS = {"cpu": st.integers(0, 20), "memory": st.integers(0, 12 * MEMORY)}


@st.composite
def streams(draw):
    found = {}
    for subject in draw(st.lists(st.sampled_from(SUBJECTS), unique=True, max_size=14)):
        for resource, amounts in AMOUNTS.items():
            points = draw(st.lists(amounts | st.none(), max_size=4))
            seconds, start = draw(st.sampled_from([300, DAY, 6 * DAY])), draw(st.integers(0, 20)) * DAY
            if points:
                found[subject, resource] = every(seconds, points, start)
    return found


def recorded(path, observed):
    append(path, Batch("test", book(observed), Marks(0, {}), 60 * DAY))
    whole = read_book(path)
    add_crowds(whole, Homes(SNAPSHOT).of)
    return whole


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(streams(), st.sampled_from([1, 2, 6]))
def test_lists_and_findings_are_those_of_all_that_is_recorded(tmp_path_factory, observed, lines_max):
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    whole = recorded(path, observed)
    with looking(path) as connection:
        found = overview(connection, SNAPSHOT, lines_max)
    report = usage_report(SNAPSHOT, whole, ShowQuestion("", "", "workload"), Asked())
    for resource in ("memory", "cpu"):
        first = [[each for each in wasted(rows, TYPES) if each.resource == resource][:lines_max]
                 for rows in (found.workloads, report.subjects)]  # fmt: skip
        assert first[0] == first[1]
    assert at_risk(found.workloads, TYPES)[:lines_max] == at_risk(report.subjects, TYPES)[:lines_max]
    assert found.findings == usage_findings(Columns(SNAPSHOT), whole)
    of_all = usage_report(SNAPSHOT, whole, ShowQuestion("", "", "cluster"), Asked())
    assert ([] if found.whole is None else [found.whole]) == list(of_all.subjects)


def test_who_seems_to_waste_much_and_does_not_keeps_nobody_out(tmp_path):
    path = tmp_path / "ledger.db"
    spiky = [0] * 18 + [13 * MEMORY] * 2
    used = {"h": [1] * 20, "g": spiky, "f": [1] * 20}
    recorded(path, {(f"workload/shop/StatefulSet/{name}", "memory"): every(60, used[name]) for name in used})
    with looking(path) as connection:
        found = overview(connection, SNAPSHOT, 2)
    first = [each.subject[-1] for each in wasted(found.workloads, TYPES)]
    assert first[:2] == ["h", "f"]


def test_a_node_that_only_its_pods_tell_of_has_findings(tmp_path):
    path = tmp_path / "ledger.db"
    recorded(path, {(f"pod/shop/{name}", "memory"): every(300, [5 * MEMORY]) for name in NAMES[::2]})
    with looking(path) as connection:
        found = overview(connection, SNAPSHOT, 2)
    assert "node/n1" in {each.subject for each in found.findings}


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(streams())
def test_of_one_subject_the_same_is_told_as_where_all_is_read(tmp_path_factory, observed):
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    whole = recorded(path, observed)
    for subject in {each.subject for each in whole.streams()}:
        wanted = usage_report(SNAPSHOT, whole, ShowQuestion("", subject), Asked())
        if wanted.subjects:
            assert subject_report(path, SNAPSHOT, subject)[0] == wanted


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=60), st.integers(1, 400))
def test_what_is_used_as_a_rule_is_never_less_than_sums_and_extremes_tell(amounts, times):
    found = book({("node/n1", "cpu"): every(1, amounts * times)})
    (stream,) = found.streams()
    figures = found.figures(stream)
    least = least_lasting(Extent(*figures[:4], 0))
    assert least <= percentile(figures, fraction_of(LASTING))


def test_buckets_may_tell_less_than_sums_do():
    low, high = 64 << 14, (65 << 14) - 1  # of one bucket
    found = book({("node/n1", "cpu"): every(1, [high] * 39 + [low + 8000])})
    figures = found.figures(found.streams()[0])
    assert least_lasting(Extent(*figures[:4], 0)) <= percentile(figures, fraction_of(LASTING)) < high - 300


def test_what_is_used_evenly_is_known_nearly_without_a_histogram():
    amounts = np.random.default_rng(5).integers(9_000, 10_000, 2000).tolist()
    found = book({("node/n1", "cpu"): every(1, amounts)})
    figures = found.figures(found.streams()[0])
    assert least_lasting(Extent(*figures[:4], 0)) > 9_300


def test_histograms_are_read_of_those_alone_who_may_be_in_the_lists(tmp_path, monkeypatch):
    path = tmp_path / "ledger.db"
    observed = {
        (f"workload/shop/StatefulSet/{owner}", "memory"): every(300, [5, 6, 7]) for owner in "abcdefgh"
    }
    recorded(path, {**observed, ("cluster", "memory"): every(300, [50])})
    read = []
    plain = usage_overview.read_subjects

    def noted(connection, subjects):
        read.extend(subjects)
        return plain(connection, subjects)

    monkeypatch.setattr(usage_overview, "read_subjects", noted)
    with looking(path) as connection:
        found = overview(connection, SNAPSHOT, 2)
    assert {each.status.subject[-1] for each in found.workloads} == {"h", "g"}
    assert set(read) == {"cluster", "workload/shop/StatefulSet/h", "workload/shop/StatefulSet/g"}


@pytest.mark.parametrize(
    ("limit", "most", "risk"), [(None, 11, 1.1), (20, 18, 0.9), (20, 17, None), (None, 9, None)]
)
def test_who_is_near_its_limit_or_above_its_request_is_at_risk(limit, most, risk):
    promised = usage_overview.Promised(
        Resources({"memory": 10 if limit is None else 18}),
        Resources({} if limit is None else {"memory": limit}),
    )
    assert usage_overview.risk_of(promised, "memory", most) == risk
