"""Quotas that are followed by deltas say at every step what counting the whole cluster anew says."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cluster, node, pod, policy, quota, resources, waiting
from ullage.engine.columns import Columns
from ullage.engine.quota import following
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.audit import CAPACITY_LABEL
from ullage.engine.quota.book import NO_QUOTA
from ullage.engine.quota.following import FollowedQuotas, Relabelled
from ullage.engine.quota.use import quota_use
from ullage.model.cluster import Workload
from ullage.model.delta import Delta
from ullage.model.resources import GPU_MEMORY

NODES = [
    node("n0", cpu="2", memory="4Gi", gpu=1).record,
    node("n1", cpu="1", memory="2Gi").with_gpus(1, memory="80Gi").record,
    node("n2", cpu="2", memory="1Gi").record,
    node("n3", cpu="8", memory="8Gi", gpu=4).cordoned().record,
]
LABELS = ({}, {CAPACITY_LABEL: "in-quota"}, {CAPACITY_LABEL: "over-quota"}, {"app": "web"})
KEYS = [f"{namespace}/p{number}" for namespace in ("a", "b", "free") for number in range(3)]
QUOTAS = [
    quota("a", {"cpu": "2", GPU_MEMORY: "40"}),
    quota("a", {"cpu": "6"}, {"cpu": "8"}),
    quota("b", {"memory": "2Gi"}),
    quota("b", {"cpu": "1", GPU_MEMORY: "32"}, kind="ElasticQuota"),
    quota("wide", {"cpu": "3"}, namespaces=("free",), kind="CompositeElasticQuota"),
]

amounts = st.fixed_dictionaries(
    {"cpu": st.sampled_from(("1", "2", "500m")), "memory": st.sampled_from(("1Gi", "3Gi"))},
    optional={"gpu": st.sampled_from((1, 2))},
)
fields = st.fixed_dictionaries(
    {"labels": st.sampled_from(LABELS), "created_seconds": st.integers(0, 3)},
    optional={
        "terminating": st.booleans(), "state": st.sampled_from(("ok", "deleted", "error")),
        "admitted": st.booleans(),
    },
)  # fmt: skip


@st.composite
def pods(draw) -> Workload:
    key, parts = draw(st.sampled_from(KEYS)), {**draw(amounts), **draw(fields)}
    where = draw(st.sampled_from(("", "n0", "n1", "n3")))
    if not where:
        return waiting(key, **{name: value for name, value in parts.items() if name != "state"})
    return pod(key, node=where, **parts)


changes = st.lists(
    st.one_of(
        pods().map(lambda row: Delta(workloads=(row,))),
        st.lists(pods(), max_size=4, unique_by=lambda row: row.key).map(
            lambda rows: Delta(workloads=tuple(rows))
        ),
        st.sampled_from(KEYS).map(lambda key: Delta(dropped={"workloads": (key,)})),
        st.sampled_from(QUOTAS).map(lambda row: Delta(quotas=(row,))),
        st.sampled_from(("a", "b", "wide")).map(lambda name: Delta(dropped={"quotas": (name,)})),
        st.sampled_from(NODES).map(lambda row: Delta(nodes=(row,))),
        st.tuples(st.sampled_from(NODES), st.sampled_from(("ready", "cordoned"))).map(
            lambda pair: Delta(nodes=(msgspec.structs.replace(pair[0], state=pair[1]),))
        ),
        st.sampled_from(("L4-24GB", "H100-80GB", "")).map(
            lambda model: Delta(nodes=(node_with_model(model),))
        ),
        st.just(Delta(dropped={"nodes": ("n2",)})),
        st.sampled_from(("16", "48")),
    ),
    max_size=12,
)


def node_with_model(model: str):
    return msgspec.structs.replace(NODES[0], labels={"nvidia.com/gpu.product": model} if model else {})


def expected_labels(columns: Columns) -> set[Relabelled]:
    """Compare every label with what the ledger of the whole cluster says."""
    accounts = Accounts(columns)
    members = {**accounts.running, **accounts.leaving}
    wanted = {
        key: (label, accounts.book.quotas[place].name)
        for place in range(len(accounts.book.quotas))
        for key, label in accounts.standing.labels(place).items()
    }
    found = set()
    for row in columns.snapshot.workloads:
        counted = row.key in members and members[row.key].quota != NO_QUOTA
        label, named = wanted[row.key] if counted else ("", "")
        if row.terminating or (counted and not row.node):
            continue
        if row.labels.get(CAPACITY_LABEL, "") != label:
            found.add(Relabelled(row.key, label, named))
    return found


def check_figures(followed: FollowedQuotas, columns: Columns) -> None:
    uses = quota_use(Columns(columns.snapshot))
    figures = followed.figures()
    assert [each.quota for each in figures] == [each.quota for each in uses]
    for figure, use in zip(figures, uses, strict=True):
        assert figure.used == use.used
        assert figure.borrowed == use.borrowed
        assert figure.entitlement == use.entitlement


def after(columns: Columns, change) -> tuple[Columns, Delta]:
    """Return the cluster after a change: of a policy, given as the size of its GPUs, or of rows."""
    if isinstance(change, Delta):
        return columns.advance(change), change
    changed = msgspec.structs.replace(columns.snapshot, policy=policy(gpu_memory=change))
    return Columns(changed), Delta()


@given(changes)
@settings(max_examples=80)
def test_after_any_changes_figures_and_labels_are_those_of_the_whole_cluster(steps):
    columns = Columns(cluster(*map(as_built, NODES), QUOTAS[0]))
    followed = FollowedQuotas(columns)
    written: dict[str, str] = {each.workload: each.label for each in followed.labels()}
    for step in steps:
        columns, delta = after(columns, step)
        followed.advance(columns, delta)
        check_figures(followed, columns)
        told = followed.labels()
        missing = expected_labels(columns) - set(told)
        # who was told of before need not be told again: its row still says what it said then
        assert all(written.get(each.workload) == each.label for each in missing)
        assert set(told) <= expected_labels(columns)
        written |= {each.workload: each.label for each in told}
        for row in delta.workloads:
            if row.key not in {each.workload for each in told}:
                written.pop(row.key, None)


def as_built(row):
    return node(row.name).with_(**{name: getattr(row, name) for name in row.__struct_fields__})


@given(changes)
@settings(max_examples=50)
def test_with_every_label_written_nothing_is_left_to_be_written(steps):
    columns = Columns(cluster(*map(as_built, NODES), QUOTAS[0]))
    followed = FollowedQuotas(columns)
    for step in steps:
        columns, delta = after(columns, step)
        followed.advance(columns, delta)
        rows = [labelled(columns.snapshot.workloads[each.workload], each) for each in followed.labels()]
        written = Delta(workloads=tuple(rows))
        columns = columns.advance(written)
        followed.advance(columns, written)
        assert followed.labels() == []
        assert expected_labels(columns) == set()


def labelled(row: Workload, wanted: Relabelled) -> Workload:
    labels = {name: text for name, text in row.labels.items() if name != CAPACITY_LABEL}
    labels |= {CAPACITY_LABEL: wanted.label} if wanted.label else {}
    return msgspec.structs.replace(row, labels=labels)


def followed_two() -> tuple[Columns, FollowedQuotas]:
    rows = [pod(f"a/p{number}", node="n0", cpu="2", created_seconds=number) for number in range(2)]
    columns = Columns(cluster(as_built(NODES[0]), *rows, quota("a", {"cpu": "2"})))
    return columns, FollowedQuotas(columns)


def test_a_label_that_could_not_be_written_is_told_again():
    _, followed = followed_two()
    first = followed.labels()
    assert first == [Relabelled("a/p0", "in-quota", "a"), Relabelled("a/p1", "over-quota", "a")]
    assert followed.labels() == []
    followed.look_again(["a/p1"])
    assert Relabelled("a/p1", "over-quota", "a") in followed.labels()


def test_a_label_that_could_not_be_taken_away_is_told_again():
    columns, followed = followed_two()
    followed.labels()
    stray = Delta(workloads=(pod("free/x", node="n0", cpu="1", labels={CAPACITY_LABEL: "in-quota"}),))
    columns = columns.advance(stray)
    assert followed.advance(columns, stray)
    assert followed.labels() == [Relabelled("free/x", "")]
    followed.look_again(["free/x"])
    assert followed.labels() == [Relabelled("free/x", "")]


def test_a_change_of_others_changes_nothing():
    columns, followed = followed_two()
    followed.labels()
    other = Delta(workloads=(pod("free/x", node="n0", cpu="1"),))
    assert not followed.advance(columns.advance(other), other)


def test_what_is_stated_of_the_use_of_a_quota_changes_nothing():
    columns, followed = followed_two()
    followed.labels()
    stated = Delta(quotas=(quota("a", {"cpu": "2"}, stated_used=resources(cpu="1")),))
    columns = columns.advance(stated)
    assert not followed.advance(columns, stated)
    assert followed.labels() == []
    lower = Delta(quotas=(quota("a", {"cpu": "1"}),))
    assert followed.advance(columns.advance(lower), lower)
    assert [each.label for each in followed.labels()] == ["over-quota", "over-quota"]


def test_many_changes_are_counted_anew_with_the_same_result(monkeypatch):
    monkeypatch.setattr(following, "CHANGES_MAX", 3)
    columns, followed = followed_two()
    for number in range(10):
        delta = Delta(workloads=(pod("a/p1", node="n0", cpu=str(number + 1), created_seconds=1),))
        columns = columns.advance(delta)
        followed.advance(columns, delta)
        check_figures(followed, columns)


def test_a_pod_without_a_quota_on_a_cordoned_node_moves_entitlements():
    """It holds room there that counts for as long as it runs."""
    snapshot = cluster(
        node("n1", cpu="4").holding(pod("b/p", cpu="4")),
        node("n2", cpu="4").holding(pod("free/p", cpu="2")).cordoned(),
        quota("b", {"cpu": "0"}), quota("a", {"cpu": "4"}), waiting("a/p", cpu="4"),
    )  # fmt: skip
    columns = Columns(snapshot)
    followed = FollowedQuotas(columns)
    delta = Delta(dropped={"workloads": ("free/p",)})
    columns = columns.advance(delta)
    assert followed.advance(columns, delta)
    assert [each.entitlement for each in followed.figures()] == [resources(cpu="4"), resources(cpu="0")]
