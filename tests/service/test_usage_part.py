"""A part of what is recorded is what all of it says of the same subjects, whoever was observed as such."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import cluster, node, pod
from ullage.engine.usage.crowds import add_crowds
from ullage.engine.usage.homes import Homes
from ullage.service import usage_part
from ullage.service.usage_part import read_part
from ullage.stores.usage import Batch, Marks, append, read_book
from ullage.stores.usage_parts import looking
from usage_builders import DAY, book, every

SNAPSHOT = cluster(
    node("n1", cpu="4", memory="8Gi")
    .in_group("east")
    .holding(
        pod("shop/web-0", owner="StatefulSet/web", cpu="1", memory="1Gi"),
        pod("shop/db-0", owner="StatefulSet/db", cpu="500m"),
    ),
    node("n2", cpu="4", memory="8Gi")
    .in_group("east")
    .holding(
        pod("shop/web-1", owner="StatefulSet/web", cpu="1", memory="1Gi"),
        pod("bank/teller-0", owner="StatefulSet/teller", cpu="500m"),
    ),
)
MEMBERS = ("node/n1", "node/n2", "pod/shop/web-0", "pod/shop/web-1", "pod/shop/web-7", "pod/bank/teller-0")
CROWDS = (
    *("workload/shop/StatefulSet/web", "namespace/shop", "namespace/bank"),
    *("workload/bank/StatefulSet/teller", "group/east", "cluster"),
)
streams = st.dictionaries(
    st.tuples(st.sampled_from(MEMBERS + CROWDS), st.sampled_from(["cpu", "memory"])),
    st.builds(every, st.sampled_from([300, DAY]), st.lists(st.integers(0, 99), min_size=1, max_size=3)),
    max_size=9,
)


def recorded(path, observed):
    append(path, Batch("test", book(observed), Marks(0, {}), 30 * DAY))
    return path


def part_of(path, subjects, first_day=0):
    with looking(path) as connection:
        return read_part(connection, SNAPSHOT, subjects, first_day)


def content(found, subjects, first_day=0):
    return [
        (*row[:2], *row.figures[:7], row.figures.buckets.tolist(), row.figures.counts.tolist(),
         None if row.slots is None else row.slots.tolist())
        for row in found.rows()
        if row.stream.subject in subjects and row.day >= first_day
    ]  # fmt: skip


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(streams, st.sets(st.sampled_from(MEMBERS + CROWDS), max_size=3), st.sampled_from([0, 1]))
def test_a_part_is_what_all_of_it_says(tmp_path_factory, observed, subjects, first_day):
    path = recorded(tmp_path_factory.mktemp("ledger") / "ledger.db", observed)
    whole = read_book(path)
    add_crowds(whole, Homes(SNAPSHOT).of)
    part = part_of(path, subjects, first_day)
    assert content(part, subjects) == content(whole, subjects, first_day)


def test_of_whom_all_is_recorded_nobody_else_is_looked_at(tmp_path, monkeypatch):
    observed = {(each, "cpu"): every(300, [1, 2]) for each in (*MEMBERS, *CROWDS)}
    path = recorded(tmp_path / "ledger.db", observed)
    monkeypatch.setattr(usage_part, "Homes", None)
    assert part_of(path, CROWDS).streams() == sorted(book({
        (each, "cpu"): every(300, [1]) for each in CROWDS
    }).streams())  # fmt: skip


def test_only_who_is_missing_is_read(tmp_path, monkeypatch):
    observed = {(each, "cpu"): every(300, [1, 2]) for each in MEMBERS}
    path = recorded(tmp_path / "ledger.db", observed)
    read = []
    plain = usage_part.read_sums

    def noted(connection, subjects):
        read.append(set(subjects))
        return plain(connection, subjects)

    monkeypatch.setattr(usage_part, "read_sums", noted)
    part_of(path, ["workload/bank/StatefulSet/teller"])
    assert read == [{"pod/bank/teller-0"}]
    read.clear()
    part_of(path, ["cluster"])
    assert read == [{"node/n1", "node/n2"}]


def test_crowds_of_several_namespaces_have_each_their_own(tmp_path):
    observed = {(each, "cpu"): every(300, [1, 2]) for each in MEMBERS if each.startswith("pod/")}
    path = recorded(tmp_path / "ledger.db", observed)
    found = part_of(path, ["namespace/shop", "namespace/bank"])
    assert {each.subject: found.figures(each).high for each in found.streams()} == {
        "namespace/shop": 6,
        "namespace/bank": 2,
    }


@pytest.mark.parametrize("subject", ["pod/shop/web-0", "container/shop/web-0/main", "drives/ssd"])
def test_who_is_no_crowd_has_no_members(tmp_path, monkeypatch, subject):
    path = recorded(tmp_path / "ledger.db", {("node/n1", "cpu"): [(0, 1)]})
    monkeypatch.setattr(usage_part, "used_streams", None)
    assert len(part_of(path, [subject])) == 0
