"""The smallest change of a quota that lets a workload run: each that is named was tried, and holds."""

from itertools import product
from random import Random

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders import batch, cluster, node, pod, quota, resources, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.quota import changes
from ullage.engine.quota.validation import findings
from ullage.model.cluster import Snapshot
from ullage.model.delta import Delta, apply
from ullage.model.plan import Remedy


def judged(snapshot: Snapshot, asked, replicas: int = 1, *, atomic: bool = False):
    (outcome,) = fit(Columns(snapshot), [batch(replicas, asked, atomic=atomic)]).outcomes
    return outcome


def remedies(snapshot: Snapshot, asked, replicas: int = 1) -> tuple[Remedy, ...]:
    return judged(snapshot, asked, replicas).refusal.remedies


def texts(snapshot: Snapshot, asked, replicas: int = 1) -> list[str]:
    return [each.text for each in remedies(snapshot, asked, replicas)]


def changed(snapshot: Snapshot, remedy: Remedy, less: int = 0) -> Snapshot:
    quota_before = snapshot.quotas.get(remedy.quota)
    bounds = {name: amount - less for name, amount in remedy.bounds.items()}
    bound = {**getattr(quota_before, remedy.bound), **bounds}
    after = msgspec.structs.replace(quota_before, **{remedy.bound: type(remedy.bounds)(bound)})
    return apply(snapshot, Delta(quotas=(after,)))


CASES = {
    "max": (
        cluster(node("n1", cpu="9"), quota("a", {"cpu": "1"}, {"cpu": "3"})),
        waiting("a/p", cpu="4"),
        "raise the max of quota a: cpu to 4",
        [],
    ),
    "the sum of the mins": (
        cluster(
            node("n1", cpu="9").holding(pod("b/p", cpu="4")),
            quota("a", {"cpu": "1"}, kind="ElasticQuota"),
            quota("b", {"cpu": "4"}, kind="ElasticQuota"),
        ),
        waiting("a/p", cpu="4"),
        "raise the min of quota a: cpu to 4",
        [],
    ),
    "who is evicted then is said": (
        cluster(
            node("n1", cpu="4").holding(pod("b/p", cpu="4")),
            quota("a", {"cpu": "1"}, kind="ElasticQuota"),
            quota("b", {"cpu": "1"}, kind="ElasticQuota"),
        ),
        waiting("a/p", cpu="4"),
        "raise the min of quota a: cpu to 3 (then b/p would be evicted for it)",
        ["b/p"],
    ),
}


@pytest.mark.parametrize(("snapshot", "asked", "text", "evicted"), CASES.values(), ids=CASES)
def test_a_change_that_is_named_helps(snapshot, asked, text, evicted):
    (remedy,) = remedies(snapshot, asked)
    assert (remedy.text, list(remedy.evicted)) == (text, evicted)
    (outcome,) = fit(Columns(changed(snapshot, remedy)), [batch(1, asked)]).outcomes
    assert outcome.placed == 1
    assert [each.workload for each in outcome.evicted] == evicted


def test_a_change_that_does_not_help_is_not_named():
    snapshot = cluster(node("n1", cpu="2"), quota("a", {"cpu": "1"}, {"cpu": "3"}))
    assert not [each for each in remedies(snapshot, waiting("a/p", cpu="4")) if each.kind == "quota"]


def gpus(count: int) -> dict[str, str]:
    return {"nvidia.com/gpu": str(count)}


def used(name: str, *sizes: int):
    return [pod(f"{name}/{number}", gpus(size)) for number, size in enumerate(sizes)]


@pytest.mark.parametrize("above", [40, 38])
def test_a_borrowing_limit_or_the_min_is_raised_where_these_bind(above):
    snapshot = cluster(
        node("n1", gpus(80)).holding(*used("a", 15), *used("b", 10)),
        quota("root", gpus(above)),
        quota("a", gpus(10), parent="root", borrowing_limit=resources(gpus(5))),
        quota("b", gpus(20), parent="root"),
    )
    assert texts(snapshot, waiting("a/p", gpus(5))) == [
        "raise the borrowingLimit of quota a: nvidia.com/gpu to 10",
        "raise the min of quota a: nvidia.com/gpu to 15",
    ]


def test_no_more_is_raised_than_is_needed():
    snapshot = cluster(
        node("n1", gpus(80)).holding(*used("a", 10, 10), *used("b", 10)),
        quota("a", gpus(10), kind="ElasticQuota"),
        quota("b", gpus(20), kind="ElasticQuota"),
    )
    assert texts(snapshot, waiting("a/p", gpus(5))) == ["raise the min of quota a: nvidia.com/gpu to 15"]


def test_it_is_raised_for_all_replicas():
    snapshot = cluster(
        node("n0", gpus(20)).holding(*used("a", 2)), quota("a", gpus(2), gpus(2)), quota("b", gpus(18))
    )
    assert texts(snapshot, waiting("a/p", gpus(1)), 3) == ["raise the max of quota a: nvidia.com/gpu to 5"]


def test_a_bound_of_one_above_is_raised():
    top, below = quota("top", {}, gpus(2)), quota("a", {}, parent="top")
    snapshot = cluster(node("n", gpus(9)), top, below)
    assert texts(snapshot, waiting("a/p", gpus(4))) == ["raise the max of quota top: nvidia.com/gpu to 4"]


def test_only_what_stands_in_the_way_is_raised():
    small = quota("a", {}, {"cpu": "3", "memory": "9Gi"})
    snapshot = cluster(node("n", cpu="9", memory="9Gi"), small)
    asked = waiting("a/p", cpu="4", memory="1Gi")
    assert texts(snapshot, asked) == ["raise the max of quota a: cpu to 4"]


def test_a_workload_that_grows_is_told_too():
    snapshot = cluster(node("n", cpu="9").holding(pod("a/p", cpu="2")), quota("a", {}, {"cpu": "3"}))
    (remedy,) = remedies(snapshot, pod("a/p", cpu="5"))
    assert remedy.text == "raise the max of quota a: cpu to 5"
    assert judged(changed(snapshot, remedy), pod("a/p", cpu="5")).placed == 1


def test_a_min_is_not_raised_beyond_its_max_or_its_parent():
    held = used("b", 8)
    for bounds in ({"maximum": gpus(3)}, {"parent": "top"}):
        snapshot = cluster(
            node("n", gpus(8)).holding(*held),
            quota("a", gpus(2), kind="ElasticQuota", **bounds),
            quota("b", gpus(1), kind="ElasticQuota"),
            quota("top", gpus(3), kind="ElasticQuota"),
        )
        assert not [each for each in remedies(snapshot, waiting("a/p", gpus(6))) if each.quota == "a"]


def test_those_who_went_before_do_not_go_again():
    held = [pod(f"b/{number}", gpus(1), created_seconds=number) for number in range(4)]
    snapshot = cluster(
        node("n", gpus(4)).holding(*held),
        quota("a", gpus(1)),
        quota("b", gpus(1)),
        quota("c", gpus(0), gpus(0), weight=9),
    )
    batches = [batch(1, waiting("a/p", gpus(1))), batch(1, waiting("c/p", gpus(1)))]
    first, second = fit(Columns(snapshot), batches).outcomes
    assert [each.workload for each in first.evicted] == ["b/3"]
    (remedy,) = second.refusal.remedies
    assert (remedy.bounds, remedy.evicted) == (resources(gpus(1)), ("b/2",))
    _, then = fit(Columns(changed(snapshot, remedy)), batches).outcomes
    assert [each.workload for each in then.evicted] == ["b/2"]


def test_tries_are_limited(monkeypatch):
    snapshot = cluster(node("n1", cpu="9"), quota("a", {"cpu": "1"}, {"cpu": "3"}))
    monkeypatch.setattr(changes, "TRIES_MAX", 0)
    assert remedies(snapshot, waiting("a/p", cpu="4")) == ()
    monkeypatch.setattr(changes, "TRIES_MAX", 1)
    assert [each.bounds["cpu"] for each in remedies(snapshot, waiting("a/p", cpu="4"))] == [4000]
    monkeypatch.setattr(changes, "REFUSALS_MAX", 0)
    assert remedies(snapshot, waiting("a/p", cpu="4")) == ()


def crowd(seed: int):
    """Flat quotas in mode nos, or a tree in mode fair, on two nodes; and some replicas that are asked for."""
    random = Random(seed)  # noqa: S311 - nothing secret
    kind = random.choice(("ElasticQuota", "Quota"))

    held = [
        pod(
            f"{random.choice('abc')}/{number}",
            gpus(random.randint(1, 3)),
            node=random.choice(("n0", "n1")),
            priority=random.choice((0, 5)),
            created_seconds=number,
        )
        for number in range(random.randint(0, 6))
    ]
    quotas = []
    total = 0
    for name in "abc":
        least = random.randint(0, 5)
        total += least if name != "c" else 0
        fields = {"parent": "top" if name != "c" else ""} if kind == "Quota" else {}
        if kind == "Quota" and random.random() < 0.4:
            fields["borrowing_limit"] = resources(gpus(random.randint(0, 3)))
        most = gpus(least + random.randint(0, 4)) if random.random() < 0.5 else {}
        quotas.append(quota(name, gpus(least), most, kind=kind, **fields))
    if kind == "Quota":
        least = total + random.randint(0, 2)
        quotas.append(quota("top", gpus(least), gpus(least + random.randint(0, 5)), kind=kind))
    nodes = [
        node(
            name,
            gpus(
                sum(each.requests["nvidia.com/gpu"] for each in held if each.node == name)
                + random.randint(0, 4)
            ),
        )
        for name in ("n0", "n1")
    ]
    asked = waiting("a/new", gpus(random.randint(1, 2)), priority=random.choice((0, 9)))
    return cluster(*nodes, *held, *quotas), asked, random.randint(1, 3), random.random() < 0.3


def check(seed: int) -> int:
    """Check every remedy of a world and return how many there are."""
    snapshot, asked, replicas, atomic = crowd(seed)
    outcome = judged(snapshot, asked, replicas, atomic=atomic)
    found = [each for each in (outcome.refusal.remedies if outcome.refusal else ()) if each.kind == "quota"]
    for remedy in found:
        after = changed(snapshot, remedy)
        assert not [each for each in findings(after.quotas, None) if each.severity == "error"]
        then = judged(after, asked, replicas, atomic=atomic)
        assert then.placed == replicas, remedy.text
        assert tuple(each.workload for each in then.evicted) == remedy.evicted, remedy.text
        assert judged(changed(snapshot, remedy, 1), asked, replicas, atomic=atomic).placed < replicas, (
            remedy.text
        )
    return len(found)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
@example(2098)
@example(2259)
def test_what_a_change_is_said_to_do_happens_and_less_is_not_enough(seed):
    check(seed)


def test_a_change_comes_out_the_same_whatever_was_tried():
    snapshot, asked, replicas, atomic = next(world for world in map(crowd, range(500)) if remedies_of(world))
    first = judged(snapshot, asked, replicas, atomic=atomic)
    assert judged(snapshot, asked, replicas, atomic=atomic) == first


TWO = ("amd.com/gpu", "nvidia.com/gpu")


def both(first: int, second: int) -> dict[str, str]:
    return dict(zip(TWO, (str(first), str(second)), strict=True))


def crowd_of_two(seed: int):
    """A small world in which quotas bound two resources; and some replicas that are asked for."""
    random = Random(seed)  # noqa: S311 - nothing secret
    kind = random.choice(("ElasticQuota", "Quota"))
    some = random.randint
    held = [
        pod(f"{random.choice('ab')}/{number}", both(some(0, 1), some(0, 2)), node="n", created_seconds=number)
        for number in range(some(0, 3))
    ]
    quotas = []
    for name in "ab":
        least = (some(0, 2), some(0, 2))
        most = both(*(amount + some(0, 2) for amount in least)) if random.random() < 0.5 else {}
        quotas.append(quota(name, both(*least), most, kind=kind))
    room = both(*(sum(each.requests.of(name) for each in held) + some(0, 3) for name in TWO))
    return cluster(node("n", room), *held, *quotas), waiting("a/new", both(some(0, 2), some(1, 2)))


def least_by_trying_all(snapshot: Snapshot, asked, bound: str) -> dict[str, int] | None:
    """Return the first raise of a bound of quota a in the stated order with which the workload runs."""
    before = getattr(snapshot.quotas["a"], bound) or {}
    names = sorted(before)
    box = product(*(range(before[name], max(before[name], 8) + 1) for name in names))

    def order(values):
        return sum(value > before[name] for name, value in zip(names, values, strict=True)), values

    for values in sorted(box, key=order):
        bounds = resources({name: str(value) for name, value in zip(names, values, strict=True)})
        after = changed(snapshot, Remedy("quota", "", quota="a", bound=bound, bounds=bounds))
        legal = not [each for each in findings(after.quotas, None) if each.severity == "error"]
        if legal and fit(Columns(after), [batch(1, asked)], names_remedies=False).fits:
            return {name: amount for name, amount in bounds.items() if amount > before[name]}
    return None


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
@example(121984)
def test_of_two_resources_the_smallest_change_is_named(seed):
    snapshot, asked = crowd_of_two(seed)
    refusal = judged(snapshot, asked).refusal
    if refusal is None or not refusal.reason.startswith(("quota", "all quotas")):
        return
    found = {each.bound: each for each in refusal.remedies if each.kind == "quota"}
    assert all(each.least_proven for each in found.values())
    for bound in ("max", "min"):
        told = dict(found[bound].bounds) if bound in found else None
        assert told == least_by_trying_all(snapshot, asked, bound), bound


def test_where_not_all_was_tried_it_is_said():
    snapshot = cluster(
        node("n", memory="100").holding(pod("b/p", memory="97")),
        quota("a", {"memory": "11"}, kind="ElasticQuota"),
        quota("b", {"memory": "13"}, kind="ElasticQuota"),
    )
    (few,) = remedies(snapshot, waiting("a/p", memory="61"))
    assert few.least_proven
    large = cluster(
        node("n", memory="100001").holding(pod("b/p", memory="97001")),
        quota("a", {"memory": "11003"}, kind="ElasticQuota"),
        quota("b", {"memory": "13007"}, kind="ElasticQuota"),
    )
    (many,) = remedies(large, waiting("a/p", memory="61001"))
    assert not many.least_proven
    assert many.text.endswith("; less may be enough)")


def remedies_of(world):
    snapshot, asked, replicas, atomic = world
    refusal = judged(snapshot, asked, replicas, atomic=atomic).refusal
    return refusal is not None and refusal.remedies


def test_two_quotas_that_bind_are_no_single_change():
    top, below = quota("top", {}, {"cpu": "2"}), quota("a", {}, {"cpu": "3"}, parent="top")
    snapshot = cluster(node("n1", cpu="9"), top, below)
    (outcome,) = fit(Columns(snapshot), [batch(1, waiting("a/p", cpu="4"))]).outcomes
    assert outcome.refusal.remedies == ()
    assert "no single change of a quota" in outcome.refusal.remedy
