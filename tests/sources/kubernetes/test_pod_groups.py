"""How many pods of a gang are enough, as PodGroups of either API say it."""

import pytest

from sources.kubernetes.kube import asked, container, dumped, node, not_asked, pod, refused, thing
from ullage.sources.kubernetes.object_kinds import known_of

LABEL = "scheduling.x-k8s.io/pod-group"
OLD = "scheduling.x-k8s.io/v1alpha1"
NEW = "scheduling.k8s.io/v1alpha2"
THREE = {"minMember": 3}


def group(api_version=OLD, **spec):
    return thing(api_version, "PodGroup", "g", namespace="team", spec=spec)


def gang(count):
    return group(NEW, schedulingPolicy={"gang": {"minCount": count}})


def labelled(name="p", **spec):
    return pod(name, metadata={"labels": {LABEL: "g"}}, **spec)


# Each row: PodGroups, and the gang of a pod that names them with how many of it are enough.
SAID = {
    "nothing: all of them": ((), ("g", 0)),
    "so many members": ((group(minMember=3),), ("g", 3)),
    "so many pods": ((gang(3),), ("g", 3)),
    "one, which is no gang": ((group(minMember=1),), ("", 0)),
    "no number, which is no gang": ((group(),), ("", 0)),
    "no gang at all": ((group(NEW, schedulingPolicy={"basic": {}}),), ("", 0)),
    "something of another namespace": ((thing(OLD, "PodGroup", "g", namespace="x", spec=THREE),), ("g", 0)),
    "something of another gang": ((thing(OLD, "PodGroup", "h", namespace="team", spec=THREE),), ("g", 0)),
}


@pytest.mark.parametrize("case", SAID)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_group_says_how_many_are_enough(case, is_first):
    groups, expected = SAID[case]
    for member in (labelled(), pod("p", schedulingGroup={"podGroupName": "g"})):
        items = (*groups, member) if is_first else (member, *groups)
        (batch,) = asked(*items).batches
        for found in (dumped(node(), *items).workloads["team/p"], batch.workload):
            assert (found.gang, found.gang_min) == expected


def test_pods_that_a_set_asks_for_and_pods_that_run_are_of_the_gang():
    template = {"metadata": {"labels": {LABEL: "g"}}, "spec": {"containers": [container()]}}
    job = thing("batch/v1", "Job", "j", namespace="team", spec={"parallelism": 2, "template": template})
    found = dumped(node("n1"), job, labelled("r", nodeName="n1"), group(minMember=2)).workloads
    assert {(each.key, each.gang, each.gang_min) for each in found} == {
        ("team/j-0", "g", 2), ("team/j-1", "g", 2), ("team/r", "g", 2),
    }  # fmt: skip
    (batch,) = asked(job, group(minMember=2)).batches
    assert (batch.replicas, batch.workload.gang_min) == (2, 2)


class TestOfTheCluster:
    """Manifests that name a group of the cluster, which a snapshot keeps."""

    @staticmethod
    def said(*groups, beside=()):
        snapshot = dumped(node(), *groups)
        (batch,) = asked(labelled(), *beside, known=known_of(snapshot)).batches
        return batch.workload.gang, batch.workload.gang_min

    @pytest.mark.parametrize("case", SAID)
    def test_says_the_same_as_one_that_manifests_bring_along(self, case):
        groups, expected = SAID[case]
        assert self.said(*groups) == expected

    def test_counts_where_manifests_bring_none_of_its_name(self):
        other = thing(OLD, "PodGroup", "h", namespace="team", spec={"minMember": 2})
        assert self.said(group(minMember=3), beside=[other]) == ("g", 3)
        assert self.said(group(minMember=3), beside=[group(minMember=4)]) == ("g", 4)
        assert self.said(group(minMember=3), beside=[group(minMember=1)]) == ("", 0)


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (group(minMember=-1), "spec.minMember: minMember is -1; use 0 to 10000000"),
        (gang(10_000_001), "spec.schedulingPolicy.gang.minCount: minCount is 10000001; use 0 to 10000000"),
    ],
)
def test_a_number_that_nobody_can_mean_is_refused_with_its_path(item, said):
    assert refused(item) == f"standard input: items[0].{said}"
    assert not_asked(item) == f"standard input: {said}"


def test_a_second_group_of_one_name_among_manifests_is_refused():
    assert not_asked(labelled(), group(minMember=2), group(minMember=3)) == (
        "standard input: document 3: a second PodGroup of scheduling.x-k8s.io named team/g, "
        "the first is at standard input: document 2; keep one of them"
    )
