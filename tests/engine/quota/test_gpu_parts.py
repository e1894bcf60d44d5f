"""Where GPUs differ in size, what is decided is true for the node that is chosen."""

from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import batch, cluster, container, node, pod, policy, quota, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.gpu_parts import counted_as, on_nodes, parts_of
from ullage.engine.trial import Trial
from ullage.model.delta import Delta, apply
from ullage.model.resources import GPU_MEMORY

GPU = "nvidia.com/gpu"
MIG = "nvidia.com/mig-1g.10gb"


def machine(name, count, gigabytes):
    return node(name, cpu="9").with_gpus(count, memory=f"{gigabytes}Gi")


def parts(snapshot, asked):
    columns = Columns(snapshot)
    trial = Trial(columns)
    found = parts_of(trial, Accounts(columns), asked, trial.shape_of(asked))
    return [
        (
            part.workload.requests.of(GPU_MEMORY),
            [trial.nodes[row].name for row in trial.feasible(part.shape).nonzero()[0]],
        )
        for part in found
    ]


TWO = (machine("small", 2, 16), machine("large", 2, 80))
SHARE = quota("a", {GPU_MEMORY: "64"}, {GPU_MEMORY: "64"})


def test_there_is_a_part_for_each_size_the_smallest_first():
    assert parts(cluster(*TWO, node("plain", cpu="1"), SHARE), waiting("a/p", gpu=1)) == [
        (16, ["small"]),
        (80, ["large"]),
    ]


def test_nodes_of_one_size_are_one_part():
    machines = (machine("n1", 2, 80), machine("n2", 2, 80), node("plain", cpu="1"))
    assert parts(cluster(*machines, SHARE), waiting("a/p", gpu=1)) == [(80, ["n1", "n2"])]


@pytest.mark.parametrize(
    ("share", "asked"),
    [
        (quota("a", {"cpu": "1"}), waiting("a/p", gpu=1)),
        (SHARE, waiting("a/p", {MIG: "1"})),
        (SHARE, waiting("a/p", {GPU_MEMORY: "5"}, gpu=1)),
    ],
)
def test_what_does_not_depend_on_the_node_is_left_as_it_is(share, asked):
    columns = Columns(cluster(*TWO, share))
    trial = Trial(columns)
    (part,) = parts_of(trial, Accounts(columns), asked, trial.shape_of(asked))
    assert part.workload is asked
    assert on_nodes(Accounts(columns), asked, [("small", 1), ("large", 2)]) == [(asked, 3)]


def test_replicas_count_by_their_nodes():
    accounts = Accounts(Columns(cluster(*TWO, SHARE)))
    asked = waiting("a/p", gpu=1)
    found = on_nodes(accounts, asked, [("large", 2), ("small", 1)])
    assert [(each.requests.of(GPU_MEMORY), count) for each, count in found] == [(16, 1), (80, 2)]


def test_memory_is_added_to_each_container_before_they_are_summed():
    first, then = container("i", "init", more={MIG: "3"}), container("m", more={GPU: "1"})
    asked = waiting("a/p", {GPU: "1", MIG: "3"}, containers=(first, then))
    assert [counted_as(asked, size).requests.of(GPU_MEMORY) for size in (16, 80)] == [30, 80]


def judged(snapshot, asked, replicas=1):
    return fit(Columns(snapshot), [batch(replicas, asked)]).outcomes[0]


def test_a_newcomer_counts_by_the_gpus_of_its_node():
    alone = cluster(
        node("n1", {GPU: "8"}),
        quota("a", {GPU_MEMORY: "64"}, {GPU_MEMORY: "64"}, kind="ElasticQuota"),
        quota("b", {GPU_MEMORY: "576"}, kind="ElasticQuota"),
        policy=policy(nodes={"n1": {"gpu-memory": "80"}}),
    )
    outcome = judged(alone, waiting("a/p", gpu=1))
    assert outcome.refusal.reason.startswith(
        "quota a would use more than its max, 16 of nos.nebuly.com/gpu-memory"
    )
    assert [each.bounds[GPU_MEMORY] for each in outcome.refusal.remedies] == [80]


def test_it_goes_where_its_quota_has_enough():
    asked = waiting("a/p", gpu=1)
    assert dict(judged(cluster(*TWO, SHARE), asked).nodes) == {"small": 1}
    assert dict(judged(cluster(*TWO, SHARE), asked, 4).nodes) == {"small": 2}
    wide = quota("a", {GPU_MEMORY: "64"}, {GPU_MEMORY: "112"})
    assert dict(judged(cluster(*TWO, wide), asked, 4).nodes) == {"small": 2, "large": 1}


def test_the_part_where_fewer_go_is_chosen():
    held = [pod(f"b/{number}", gpu=1, created_seconds=number) for number in range(2)]
    large = pod("b/large", gpu=2)
    snapshot = cluster(
        machine("small", 2, 16).holding(*held),
        machine("large", 2, 80).holding(large),
        quota("a", {GPU_MEMORY: "160"}),
        quota("b", {GPU_MEMORY: "0"}),
    )
    outcome = judged(snapshot, waiting("a/p", gpu=2))
    assert (dict(outcome.nodes), [each.workload for each in outcome.evicted]) == ({"large": 1}, ["b/large"])


@pytest.mark.parametrize("closed", [False, True])
def test_it_asks_for_what_it_counts_on_the_nodes_that_are_looked_at(closed):
    """Were it to ask for 80 GB, b would be above its share; it asks for 16, which are there, if not free."""
    snapshot = cluster(
        machine("n0", 3, 16).holding(*(pod(f"b/{number}", gpu=1) for number in range(3))),
        machine("n1", 1, 80).with_(state="cordoned" if closed else "ready").holding(pod("c/0", gpu=1)),
        machine("n2", 2, 16).tainted("kept"),
        *(
            quota(name, {GPU_MEMORY: least}, weight=1)
            for name, least in (("a", "0"), ("b", "0"), ("c", "80"))
        ),
    )
    outcome = judged(snapshot, waiting("a/p", gpu=1))
    assert (outcome.placed, outcome.evicted) == (0, ())


def test_replicas_that_stay_count_by_their_nodes():
    held = [pod(f"a/web-{number}", gpu=1, owner="Deployment/web") for number in range(2)]
    snapshot = cluster(
        machine("small", 4, 16).holding(*held), machine("large", 1, 80), quota("a", {}, {GPU_MEMORY: "48"})
    )
    assert judged(snapshot, waiting("a/web", kind="Deployment", gpu=1), 4).placed == 3


def crowd(seed):
    """Three quotas over GPU memory on nodes with GPUs of two sizes, nearly full."""
    random = Random(seed)  # noqa: S311 - nothing secret
    kind = random.choice(("ElasticQuota", "Quota"))
    held = [
        pod(
            f"{random.choice('abc')}/{number}",
            gpu=random.randint(1, 2),
            node=random.choice(("n0", "n1")),
            created_seconds=number,
        )
        for number in range(random.randint(1, 5))
    ]
    quotas = [
        quota(
            name,
            {GPU_MEMORY: str(random.choice((0, 16, 40, 80, 160)))},
            {GPU_MEMORY: "160"} if random.random() < 0.3 else {},
            kind=kind,
        )
        for name in "abc"
    ]
    machines = [
        machine(
            name, sum(each.requests[GPU] for each in held if each.node == name) + random.randint(0, 1), size
        )
        for name, size in (("n0", 16), ("n1", 80))
    ]
    return (
        cluster(*machines, *held, *quotas),
        waiting("a/new", gpu=random.randint(1, 2)),
        random.randint(1, 3),
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_what_is_decided_is_true_for_the_nodes_that_are_chosen(seed):
    snapshot, asked, replicas = crowd(seed)
    outcome = judged(snapshot, asked, replicas)
    nodes = [name for name, count in outcome.nodes for _ in range(count)]
    placed = tuple(
        msgspec.structs.replace(asked, name=f"new-{number}", node=name, state="ok", created_seconds=99)
        for number, name in enumerate(nodes)
    )
    gone = tuple(each.workload for each in outcome.evicted)
    before = Accounts(Columns(snapshot))
    after = Accounts(Columns(apply(snapshot, Delta(workloads=placed, dropped={"workloads": gone}))))
    place = after.book.index["a"]
    if placed:
        refusals = after.rules.refusals(place, [0] * len(after.book.resources))
        over = [each for each in refusals if each.short > 0 and not before.rules.refusals(place, [0])]
        assert not over
        labels = after.standing.labels(place)
        new = [labels[each.key] for each in placed]
        assert new.count("over-quota") == outcome.over_quota
