"""A cluster that is held is asked about by its name: nothing is read again, and no answer is another one."""

import pytest

from builders import cluster, node, policy, workload
from ullage.model.cluster import Snapshot
from ullage.service.asked import Asked, read_cluster, read_to_hold, read_whole
from ullage.service.fit import FitQuestion, fit
from ullage.service.held import VARIANTS_MAX, Held, Span, bench_of, columns_of, held, holding
from ullage.sources.own_text import snapshot_text


@pytest.fixture
def file(tmp_path):
    snapshot = cluster(node("n1", cpu="8", memory="8Gi").holding(workload("a/b", cpu="2")), name="ours")
    path = tmp_path / "ours.json"
    path.write_bytes(snapshot_text(snapshot, "json"))
    return path


def test_a_name_means_the_cluster_that_is_held_as_long_as_it_is(file):
    kept = read_to_hold("production", Asked(str(file)))
    file.unlink()
    with holding([kept]):
        assert held("production") is kept
        assert read_cluster(Asked("production")).nodes.keys
        assert held("other") is None
    assert held("production") is None


def test_a_cluster_without_a_name_is_called_as_its_source(tmp_path):
    path = tmp_path / "unnamed.json"
    path.write_bytes(snapshot_text(cluster(node("n")), "json"))
    kept = read_to_hold("production", Asked(str(path)))
    with holding([kept]):
        assert read_whole(Asked("production")).name == read_whole(Asked(str(path))).name == "unnamed.json"


def test_the_policy_that_is_named_counts_and_each_is_made_once(file):
    with holding([read_to_hold("x", Asked(str(file)))]):
        own, other = read_whole(Asked("x")), read_whole(Asked("x", policy="zos"))
        assert (own.policy.name, other.policy.name) == ("kubernetes", "zos")
        assert read_whole(Asked("x")) is own
        assert read_whole(Asked("x", policy="zos")) is other


def test_a_policy_file_is_read_each_time(file, tmp_path):
    path = tmp_path / "policy.yaml"
    with holding([read_to_hold("x", Asked(str(file)))]):
        for ratio in ("1.5", "2"):
            path.write_text(f"apiVersion: ullage.dev/v1\nkind: Policy\ncluster: {{memory-ratio: {ratio}}}\n")
            found = read_whole(Asked("x", policy=str(path))).policy
            assert found.layers[-1].cluster["memory-ratio"] == ratio


def test_questions_share_a_bench_and_give_the_same_answers(file):
    questions = [FitQuestion(shape=f"cpu={cpu},memory=1Gi") for cpu in (1, 6, 7, 1)]
    read = [fit(Asked(str(file)), question).data() for question in questions]
    with holding([read_to_hold("x", Asked(str(file)))]):
        assert [fit(Asked("x"), question).data() for question in questions] == read
        snapshot = read_cluster(Asked("x"))
        assert bench_of(snapshot) is bench_of(snapshot)
        assert columns_of(snapshot) is bench_of(snapshot).columns


def test_what_is_not_held_has_a_bench_of_its_own(file):
    snapshot = cluster(node("n", cpu="1"))
    assert bench_of(snapshot) is not bench_of(snapshot)
    with holding([read_to_hold("x", Asked(str(file)))]):
        assert columns_of(snapshot).snapshot is snapshot


def test_a_state_like_one_that_is_held_has_a_bench_made_from_its(file):
    with holding([read_to_hold("x", Asked(str(file)))]):
        known = read_cluster(Asked("x"))
        other = cluster(*known.nodes, workload("a/c", cpu="8", node="n1"), policy=known.policy)
        assert bench_of(other, known).columns.snapshot is other


def test_few_variants_are_kept_the_last_ones():
    kept = Held("x", Snapshot(), "kubernetes")
    made = [kept.kept(number, lambda: Snapshot(policy=policy())) for number in range(VARIANTS_MAX)]
    assert kept.kept(0, Snapshot) is made[0]
    kept.kept("new", Snapshot)
    assert kept.variant(made[1]) is None
    assert kept.variant(made[0]) is not None


def test_a_variant_is_made_anew_when_its_time_is_over():
    kept = Held("x", Snapshot(), "kubernetes")
    times = [10, 19, 20, 9]
    found = [
        kept.kept("x", lambda: Snapshot(policy=policy()), at_seconds=at, span=lambda at=at: Span(at, 20))
        for at in times
    ]
    assert found[0] is found[1]
    assert len({id(each) for each in found}) == 3


@pytest.mark.parametrize(("at", "inside"), [(9, False), (10, True), (19, True), (20, False)])
def test_a_span_has_its_start_and_not_its_end(at, inside):
    assert Span(10, 20).has(at) is inside
    assert Span(10).has(at) is (at >= 10)
