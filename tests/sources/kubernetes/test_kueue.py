"""Kueue's queues and cohorts as quotas."""

from fractions import Fraction
from pathlib import Path

import msgspec
import pytest

from builders import waiting
from sources.kubernetes.kube import amounts, asked, dumped, pod, refused, thing
from ullage.engine.quota.book import Book
from ullage.engine.quota.validation import findings
from ullage.model.cluster import Quota
from ullage.service.wanted import with_objects
from ullage.sources.kubernetes.dump import read_dump
from ullage.sources.kubernetes.kueue import queue_of, with_queue
from ullage.sources.kubernetes.object_kinds import Known, known_of

FIXTURE = Path(__file__).parent / "files" / "kueue.yaml"
GPU = "nvidia.com/gpu"


@pytest.fixture(scope="module")
def snapshot():
    return read_dump(str(FIXTURE))


def share(name="q", kind="ClusterQueue", version="v1beta2", *bounds, **spec):
    """A queue or cohort; each of `bounds` is a flavor with its resources by name."""
    flavors = [
        {"name": f"f{index}", "resources": [{"name": key, **said} for key, said in flavor.items()]}
        for index, flavor in enumerate(bounds)
    ]
    groups = {"resourceGroups": [{"coveredResources": [], "flavors": flavors}]} if flavors else {}
    return thing(f"kueue.x-k8s.io/{version}", kind, name, spec={**groups, **spec})


def local(name, namespace, cluster_queue, **spec):
    return thing(
        "kueue.x-k8s.io/v1beta1", "LocalQueue", name, namespace=namespace,
        spec={"clusterQueue": cluster_queue, **spec},
    )  # fmt: skip


def quotas(*items):
    return {each.name: each for each in dumped(*items).quotas}


def test_a_whole_cluster(snapshot):
    both = amounts(cpu="23", memory="40Gi") + amounts(**{GPU: "4"})
    nothing = both * 0
    assert {each.name: each for each in snapshot.quotas} == {
        "research": Quota(
            "research",
            min=amounts(cpu="12", memory="40Gi") + amounts(**{GPU: "4"}),
            parent="cohort/science",
            weight=Fraction(3, 2),
            lending_limit=amounts(cpu="5"),
            borrowing_limit=amounts(cpu="5") + amounts(**{GPU: "2"}),
            queues=("guests/main", "research/main"),
            evicts_own="Never",
        ),
        "teaching": Quota(
            "teaching", min=amounts(cpu="6"), parent="cohort/science", weight=Fraction(1),
            queues=("guests/lessons",), evicts_own="Never", evicts_others="Never",
        ),
        "alone": Quota(
            "alone", min=amounts(cpu="2"), lending_limit=amounts(cpu="0"), borrowing_limit=amounts(cpu="0"),
            queues=("guests/held",), evicts_own="Never", evicts_others="Never", stopped=("guests/held",),
        ),
        "cohort/science": Quota(
            "cohort/science", min=both, parent="cohort/company", weight=Fraction(3),
            borrowing_limit=amounts(cpu="7"),
        ),
        "cohort/company": Quota(
            "cohort/company", min=both, lending_limit=nothing, borrowing_limit=nothing
        ),
    }  # fmt: skip
    assert [each for each in findings(snapshot.quotas, None) if each.severity == "error"] == []


def test_what_is_not_modelled_is_said(snapshot):
    assert set(snapshot.unknowns) >= {
        "flavors are not told apart, their quotas are summed up: research",
        "queues that are stopped and take nothing in: alone",
        "not found: ClusterQueues that LocalQueues name: gone",
        "LocalQueues from whose namespaces their ClusterQueue takes nothing in: guests/main",
        "admission checks and uncovered resources of ClusterQueues",
    }


NEWER = "newer workloads of equal priority evicted inside their ClusterQueue: only lower priorities go: q"
BORROWS = "evictions for claims that borrow (borrowWithinCohort): q"
LENDS = "lending limits where nobody is evicted; what is idle is lent all the same: q"
BORROWING = {"policy": "LowerPriority", "maxPriorityThreshold": 5}

# Each row: what a queue says, whom it evicts of its own and of others, and what is told.
EVICTS = {
    "nothing": ({}, "Never", "Never", set()),
    "null": ({"preemption": None}, "Never", "Never", set()),
    "never": (
        {"preemption": {"reclaimWithinCohort": "Never", "withinClusterQueue": "Never"}},
        "Never", "Never", set(),
    ),
    "any of others": ({"preemption": {"reclaimWithinCohort": "Any"}}, "Never", "Any", set()),
    "lower ones of others": (
        {"preemption": {"reclaimWithinCohort": "LowerPriority"}}, "Never", "LowerPriority", set(),
    ),
    "its own": ({"preemption": {"withinClusterQueue": "LowerPriority"}}, "LowerPriority", "Never", set()),
    "its newer own": (
        {"preemption": {"withinClusterQueue": "LowerOrNewerEqualPriority"}},
        "LowerPriority", "Never", {NEWER},
    ),
    "while it borrows": ({"preemption": {"borrowWithinCohort": BORROWING}}, "Never", "Never", {BORROWS}),
    "while it does not": (
        {"preemption": {"borrowWithinCohort": {"policy": "Never"}}}, "Never", "Never", set(),
    ),
    "in a cohort": ({"cohort": "c"}, "Never", "Never", {LENDS}),
}  # fmt: skip


@pytest.mark.parametrize("case", EVICTS)
def test_whom_a_queue_evicts_and_what_it_does_otherwise_in_kueue(case):
    spec, own, others, told = EVICTS[case]
    queue = share("q", "ClusterQueue", "v1beta1", {"cpu": {"nominalQuota": "2", "lendingLimit": "0"}}, **spec)
    found = dumped(queue)
    assert (found.quotas["q"].evicts_own, found.quotas["q"].evicts_others) == (own, others)
    assert set(found.unknowns) & {NEWER, BORROWS, LENDS} == told


@pytest.mark.parametrize(
    ("version", "queue", "cohort"),
    [("v1beta1", {"cohort": "c"}, {"parent": "p"}), ("v1beta2", {"cohortName": "c"}, {"parentName": "p"})],
)
def test_both_versions_name_the_parent(version, queue, cohort):
    found = quotas(share("q", "ClusterQueue", version, **queue), share("c", "Cohort", version, **cohort))
    assert (found["q"].parent, found["cohort/c"].parent) == ("cohort/c", "cohort/p")
    assert found["cohort/p"] == Quota("cohort/p")


HELD = {"stopPolicy": "Hold"}


@pytest.mark.parametrize(
    ("of_queue", "of_local", "stopped"),
    [({}, {}, ()), (HELD, {}, ("a/one", "a/two")), ({}, HELD, ("a/two",)), ({"stopPolicy": "None"}, {}, ())],
)
def test_queues_that_take_nothing_in_are_named(of_queue, of_local, stopped):
    objects = (
        share("q", "ClusterQueue", "v1beta1", {"cpu": {"nominalQuota": "2"}}, **of_queue),
        local("one", "a", "q"),
        local("two", "a", "q", **of_local),
    )
    assert quotas(*objects)["q"].stopped == stopped


@pytest.mark.parametrize(
    ("before", "item", "stopped"),
    [
        ((), share("q", "ClusterQueue", "v1beta1", **HELD), ("a/one", "a/two")),
        (("a/one", "a/two"), share("q", "ClusterQueue", "v1beta1"), ()),
        (("a/one", "a/two"), local("three", "a", "q"), ("a/one", "a/three", "a/two")),
        (("a/two",), local("three", "a", "q"), ("a/two",)),
        (("a/two",), local("two", "a", "q"), ()),
        ((), local("two", "a", "q", **HELD), ("a/two",)),
    ],
)
def test_objects_that_come_stop_queues_and_let_them_go_on(before, item, stopped):
    there = Quota("q", min=amounts(cpu="2"), queues=("a/one", "a/two"), stopped=before)
    brought = asked(item, pod("p"), known=Known(quotas=(there,))).objects
    assert {each.name: each for each in brought.quotas}.get("q", there).stopped == stopped


def test_a_cohort_that_is_only_named_shares_what_its_queues_have():
    found = quotas(
        share("a", "ClusterQueue", "v1beta1", {"cpu": {"nominalQuota": "2"}}, cohort="c"),
        share("b", "ClusterQueue", "v1beta1", {"cpu": {"nominalQuota": "3"}}, cohort="c"),
    )
    assert found["cohort/c"].min == amounts(cpu="5")
    assert found["cohort/c"].borrowing_limit == found["cohort/c"].lending_limit == amounts(cpu="0")


# Each row: the flavors of a queue, and what it may lend and borrow of the resource in all.
LIMITS = {
    "stated by no flavor": (({"nominalQuota": "4"}, {"nominalQuota": "2"}), None, None),
    "stated by all": (
        (
            {"nominalQuota": "4", "borrowingLimit": "1", "lendingLimit": "0"},
            {"nominalQuota": "2", "borrowingLimit": "0", "lendingLimit": "1"},
        ), "1", "1",
    ),
    "one flavor borrows without limit, and lends all it has": (
        ({"nominalQuota": "4", "borrowingLimit": "1", "lendingLimit": "1"}, {"nominalQuota": "2"}), "3", None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LIMITS)
def test_limits_of_several_flavors(case):
    flavors, lent, borrowed = LIMITS[case]
    found = quotas(
        share("q", "ClusterQueue", "v1beta2", *({"cpu": flavor} for flavor in flavors), cohortName="c")
    )
    assert found["q"].lending_limit == (None if lent is None else amounts(cpu=lent))
    assert found["q"].borrowing_limit == (None if borrowed is None else amounts(cpu=borrowed))


def test_what_a_queue_says_is_used():
    usage = [
        {"name": "f0", "resources": [{"name": "cpu", "total": "2", "borrowed": "0"}]},
        {"name": "f1", "resources": [{"name": "cpu", "total": "500m"}, {"name": "memory"}]},
    ]
    queue = {**share("q"), "status": {"flavorsUsage": usage, "admittedWorkloads": 3}}
    assert quotas(queue)["q"].stated_used == amounts(cpu="2500m")
    assert quotas({**queue, "status": {"flavorsUsage": []}})["q"].stated_used is None
    usage[0]["resources"][0]["total"] = "x"
    assert "status.flavorsUsage[0].resources[0].total: quantity" in refused(queue)


def test_cohorts_in_a_circle_are_read_and_found():
    found = quotas(
        share("q", "ClusterQueue", "v1beta2", {"cpu": {"nominalQuota": "2"}}, cohortName="a"),
        share("a", "Cohort", "v1beta2", {"cpu": {"nominalQuota": "1"}}, parentName="b"),
        share("b", "Cohort", "v1beta2", parentName="a"),
    )
    assert found["cohort/a"].min == found["cohort/b"].min == amounts(cpu="3")
    assert [each.code for each in findings(found.values(), None)] == ["quota-circle"]


def test_a_queue_and_a_cohort_of_one_name_are_two_and_give_way_to_a_quota_of_ours():
    queue = share("x", "ClusterQueue", "v1beta2", cohortName="x")
    assert set(quotas(queue)) == {"x", "cohort/x"}
    assert set(quotas(queue, thing("ullage.dev/v1", "Quota", "x"))) == {"x", "clusterqueue/x", "cohort/x"}


QUOTA_OF_2 = {"cpu": {"nominalQuota": "2"}}
THERE = (
    share("a", "ClusterQueue", "v1beta1", QUOTA_OF_2, cohort="c"),
    share("b", "ClusterQueue", "v1beta1", {"cpu": {"nominalQuota": "3"}}, cohort="c"),
    share("c", "Cohort", "v1beta1", {"cpu": {"nominalQuota": "4"}}, parent="p"),
    local("main", "team", "a"),
)

# Each row: what is brought to a cluster that has THERE.
BROUGHT = {
    "a queue of its own": (share("n", "ClusterQueue", "v1beta1", QUOTA_OF_2), local("new", "team", "n")),
    "a queue for a cohort": (share("n", "ClusterQueue", "v1beta1", QUOTA_OF_2, cohort="c"),),
    "a queue with a new resource": (
        share("n", "ClusterQueue", "v1beta1", {GPU: {"nominalQuota": 2}}, cohort="c"),
    ),
    "a queue for a cohort that is only named": (
        share("n", "ClusterQueue", "v1beta1", QUOTA_OF_2, cohort="new"),
    ),
    "a larger queue": (share("a", "ClusterQueue", "v1beta1", {"cpu": {"nominalQuota": "9"}}, cohort="c"),),
    "a queue that leaves its cohort": (share("a", "ClusterQueue", "v1beta1", QUOTA_OF_2),),
    "a larger cohort": (share("c", "Cohort", "v1beta1", {"cpu": {"nominalQuota": "9"}}, parent="p"),),
    "a cohort that leaves its parent": (share("c", "Cohort", "v1beta1"),),
    "a parent that gets quota": (share("p", "Cohort", "v1beta1", QUOTA_OF_2),),
    "a queue for another namespace": (local("new", "other", "b"),),
    "a queue that moves": (local("main", "team", "b"),),
}


@pytest.mark.parametrize("case", BROUGHT)
def test_quotas_that_are_brought_along_are_as_if_they_had_been_there(case):
    """Queues that come with workloads make the cluster that one reads after they were applied."""
    items = BROUGHT[case]
    before = dumped(*THERE)
    brought = asked(*items, pod("p"), known=known_of(before)).objects
    after = {each.name: each for each in with_objects(before, brought).quotas}
    expected = quotas(*THERE, *items)
    assert {name: each for name, each in after.items() if name in expected} == expected
    assert brought.quotas
    left = after.keys() - expected.keys()
    assert not any(any(after[name].min.values()) for name in left), "a cohort that nobody names"


def test_a_queue_gives_way_to_an_elastic_quota_of_its_name():
    elastic = Quota("team/x", kind="ElasticQuota", namespaces=("team",))
    found = asked(share("team/x"), pod("p"), known=Known(quotas=(elastic,)))
    assert [each.name for each in found.objects.quotas] == ["clusterqueue/team/x"]


def test_what_is_not_modelled_of_queues_that_are_brought_along_is_said():
    found = asked(share("q", preemption={"borrowWithinCohort": BORROWING}), local("m", "t", "gone"), pod("p"))
    assert set(found.warnings) >= {BORROWS, "not found: ClusterQueues that LocalQueues name: gone"}
    assert not asked(pod("p")).warnings


def test_of_two_of_one_name_the_later_counts():
    first = share("q", "ClusterQueue", "v1beta2", {"cpu": {"nominalQuota": "2"}})
    later = share("q", "ClusterQueue", "v1beta2", {"cpu": {"nominalQuota": "3"}})
    assert quotas(first, later)["q"].min == amounts(cpu="3")


# Each row: a queue, and where its fault is.
WRONG = {
    "a quantity": (
        share(
            "q", "ClusterQueue", "v1beta1", {"cpu": {"nominalQuota": "1"}, "memory": {"nominalQuota": "x"}}
        ),
        "spec.resourceGroups[0].flavors[0].resources[1].nominalQuota: quantity 'x'",
    ),
    "a limit": (
        share("q", "ClusterQueue", "v1beta1", {"cpu": {"borrowingLimit": [1]}}),
        "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: ",
    ),
    "a weight": (share(fairSharing={"weight": "much"}), "spec.fairSharing.weight: quantity 'much'"),
    "a weight that is a list": (share(fairSharing={"weight": []}), "spec.fairSharing.weight: "),
    "a cohort": (share(cohortName=1), "spec.cohortName: "),
    "a queue": (local("l", "a", 1), "spec.clusterQueue: "),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_with_its_path(case):
    wire, text = WRONG[case]
    assert refused(wire).startswith(f"standard input: items[0].{text}")


def test_a_pod_counts_where_its_queue_does(snapshot):
    book = Book(snapshot.quotas)
    train = snapshot.workloads["research/train-x7k2p"]
    assert book.quotas[book.place_of(train.namespace, train.labels)].name == "research"


# Each row: the objects beside a LocalQueue `team/l` of ClusterQueue `q`, and whether it takes anything in.
SELECTED = {
    "all namespaces": ({"namespaceSelector": {}}, True),
    "none": ({}, False),
    "by a label that is there": ({"namespaceSelector": {"matchLabels": {"a": "b"}}}, True),
    "by a label that is not": ({"namespaceSelector": {"matchLabels": {"a": "c"}}}, False),
    "by name": (
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "team"}}}, True,
    ),
    "by what is absent": (
        {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}}, False,
    ),
}  # fmt: skip
SHUT_OUT = "LocalQueues from whose namespaces their ClusterQueue takes nothing in: team/l"


@pytest.mark.parametrize("case", SELECTED)
def test_namespaces_that_a_queue_selects(case):
    spec, selected = SELECTED[case]
    namespace = thing("v1", "Namespace", "team")
    namespace["metadata"]["labels"] = {"a": "b"}
    found = dumped(namespace, share("q", "ClusterQueue", "v1beta2", **spec), local("l", "team", "q"))
    assert (SHUT_OUT in found.unknowns) is not selected


def test_a_namespace_of_which_nothing_is_known_is_not_judged():
    by_label = share("q", "ClusterQueue", "v1beta2", namespaceSelector={"matchLabels": {"a": "b"}})
    assert SHUT_OUT not in dumped(by_label, local("l", "team", "q")).unknowns


def test_the_queue_of_a_job_is_that_of_its_pods():
    job = thing(
        "batch/v1", "Job", "j", namespace="team",
        spec={"template": {"spec": {"containers": [{"name": "c"}]}}},
    )  # fmt: skip
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "main"}
    (batch,) = asked(job).batches
    assert batch.workload.labels == {"kueue.x-k8s.io/queue-name": "main"}
    (batch,) = asked(pod("p", metadata={"labels": {"kueue.x-k8s.io/queue-name": "own"}})).batches
    assert batch.workload.labels == {"kueue.x-k8s.io/queue-name": "own"}


def test_a_queue_that_a_workload_names_itself_counts():
    own = waiting("team/a", labels={"kueue.x-k8s.io/queue-name": "own"})
    assert with_queue(own, "other") is own
    bare = msgspec.structs.replace(own, labels={"x": "y"})
    assert with_queue(bare, "").labels == {"x": "y"}
    assert with_queue(bare, "q").labels == {"x": "y", "kueue.x-k8s.io/queue-name": "q"}


@pytest.mark.parametrize(
    "value", [{}, {"metadata": None}, {"metadata": {"labels": []}}, {"metadata": {"labels": {}}}]
)
def test_no_queue(value):
    assert queue_of(value) == ""
