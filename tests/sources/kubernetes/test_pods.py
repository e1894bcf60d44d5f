"""Pods to workloads, field by field."""

import pytest

from sources.kubernetes.kube import container, dumped, node, only_pod, pod, refused, thing
from ullage.model.cluster import Volume

GIB = 1 << 30

# Each row: the pod's node, its phase, and its state.
STATES = {
    "bound pods hold what they ask for": ("n1", "Running", "ok"),
    "bound pods that have not started do too": ("n1", "Pending", "ok"),
    "pods without a node wait": (None, "Pending", "init"),
    "pods that succeeded are over": ("n1", "Succeeded", "deleted"),
    "pods that failed are over": ("n1", "Failed", "deleted"),
    "an unknown phase holds all the same": ("n1", "Unknown", "ok"),
}


@pytest.mark.parametrize("rule", STATES)
def test_the_state_of_a_pod(rule):
    name, phase, expected = STATES[rule]
    spec = {"nodeName": name} if name else {}
    found = only_pod(node(), pod("p", status={"phase": phase}, **spec))
    assert (found.state, found.holds_capacity) == (expected, expected == "ok")


def test_a_pod_is_known_by_namespace_and_name():
    assert only_pod(pod("p", namespace="team")).key == "team/p"
    assert only_pod({**pod(), "metadata": {"name": "p"}}).key == "default/p"
    assert only_pod({**pod(), "metadata": {"generateName": "job-"}}).key == "default/job"


def test_priority_scheduler_and_creation_are_read():
    metadata = {"creationTimestamp": "2026-01-02T03:04:05Z"}
    found = only_pod(pod("p", priority=-7, schedulerName="nos-scheduler", metadata=metadata))
    assert (found.priority, found.scheduler, found.created_seconds) == (-7, "nos-scheduler", 1767323045)
    assert only_pod(pod("p", metadata={"creationTimestamp": None})).created_seconds is None


def test_when_a_node_took_a_pod_is_read():
    assert only_pod(pod("p", status={"startTime": "2026-01-02T03:04:05Z"})).started_seconds == 1767323045
    assert only_pod(pod("p", status={"startTime": None})).started_seconds is None
    assert only_pod(pod("p")).started_seconds is None


def test_classes_and_preemption_are_read():
    found = only_pod(pod("p", priority=3, priorityClassName="gold", runtimeClassName="kata", overhead={}))
    assert (found.priority_class, found.runtime_class, found.preempts) == ("gold", "kata", True)
    assert not only_pod(pod("p", preemptionPolicy="Never")).preempts
    assert only_pod(pod("p", preemptionPolicy="PreemptLowerPriority")).preempts


COSCHEDULING = "scheduling.x-k8s.io/pod-group"
OLD_COSCHEDULING = "pod-group.scheduling.sigs.k8s.io"
KUEUE = "kueue.x-k8s.io/pod-group-name"
# Each row: labels, fields of the spec, and the gang.
GANGS = {
    "by the spec": ({COSCHEDULING: "b"}, {"schedulingGroup": {"podGroupName": "a"}}, "a"),
    "by the label of coscheduling": ({KUEUE: "c", OLD_COSCHEDULING: "b", COSCHEDULING: "a"}, {}, "a"),
    "by its older label": ({KUEUE: "b", OLD_COSCHEDULING: "a"}, {}, "a"),
    "by Kueue's label": ({KUEUE: "a", "app": "x"}, {}, "a"),
    "by a label where the spec names none": ({KUEUE: "a"}, {"schedulingGroup": {"podGroupName": None}}, "a"),
    "none": ({"app": "x"}, {"schedulingGroup": None}, ""),
}


@pytest.mark.parametrize("rule", GANGS)
def test_the_gang_of_a_pod(rule):
    labels, spec, expected = GANGS[rule]
    assert only_pod(pod("p", metadata={"labels": labels}, **spec)).gang == expected


def test_a_pod_that_is_being_deleted_is_terminating():
    assert only_pod(pod("p", metadata={"deletionTimestamp": "2026-01-02T03:04:05Z"})).terminating
    assert not only_pod(pod("p")).terminating


def test_the_owner_is_the_controller():
    references = [
        {"kind": "Node", "name": "n1"},
        {"kind": "ReplicaSet", "name": "web-1", "controller": True},
        {"kind": "Other", "name": "o", "controller": False},
    ]
    assert only_pod(pod("p", metadata={"ownerReferences": references})).owner == "ReplicaSet/web-1"
    assert only_pod(pod("p", metadata={"ownerReferences": references[:1]})).owner == ""


def test_labels_are_read_and_null_is_none():
    assert only_pod(pod("p", metadata={"labels": {"a": "b"}})).labels == {"a": "b"}
    assert only_pod(pod("p", metadata={"labels": None})).labels == {}


def test_nothing_that_a_pod_says_makes_it_a_promise():
    said = {"ullage.dev/promised": "held", "promised": "true"}
    metadata = {"labels": said, "annotations": said, "promised": True}
    found = only_pod(pod("p", metadata=metadata, promised=True))
    assert not found.promised


CLAIM_SPEC = {"storageClassName": "fast", "resources": {"requests": {"storage": "2Gi"}}}
GOLD = {"drive.csi-baremetal.dell.com/storage-group": "gold"}
# Each row: a volume, and what is read of it.
VOLUMES = {
    "a claim": ({"persistentVolumeClaim": {"claimName": "data"}}, (Volume("v", "data"),)),
    "a claim that lives with its pod": (
        {"ephemeral": {"volumeClaimTemplate": {"spec": CLAIM_SPEC}}},
        (Volume("v", "p-v", "fast", 2 * GIB, inline=True),),
    ),
    "a claim that lives with its pod, of a storage group": (
        {"ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": GOLD}, "spec": CLAIM_SPEC}}},
        (Volume("v", "p-v", "fast", 2 * GIB, inline=True, storage_group="gold"),),
    ),
    "an inline volume of csi-baremetal": (
        {"csi": {"driver": "csi-baremetal", "volumeAttributes": {"size": "1Gi", "storageType": "HDDLVG"}}},
        (Volume("v", "", "HDDLVG", GIB, inline=True, driver="csi-baremetal"),),
    ),
    "an inline volume without a size": ({"csi": {"driver": "secrets-store.csi.k8s.io"}}, ()),
    "configuration": ({"configMap": {"name": "c"}}, ()),
}


@pytest.mark.parametrize("case", VOLUMES)
def test_volumes_that_take_space(case):
    wire, expected = VOLUMES[case]
    assert only_pod(pod("p", volumes=[{"name": "v", **wire}])).volumes == expected


def test_a_volume_has_the_class_and_size_of_its_claim():
    claim = thing("v1", "PersistentVolumeClaim", "data", namespace="team", spec=CLAIM_SPEC)
    elsewhere = thing("v1", "PersistentVolumeClaim", "data", namespace="other", spec={})
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    found = only_pod(pod("p", volumes=[volume]), claim, elsewhere)
    assert found.volumes == (Volume("v", "data", "fast", 2 * GIB),)


@pytest.mark.parametrize(
    ("pod_uid", "owner", "where", "is_foreign"),
    [
        ("one", {"uid": "one", "controller": True}, {}, False),
        ("one", {"uid": "one"}, {}, True),
        ("one", {"uid": "before", "controller": True}, {}, True),
        ("one", None, {}, True),
        ("one", None, {"nodeName": "n1"}, False),
        (None, None, {}, False),
    ],
)
def test_a_claim_is_a_waiting_pod_s_own_only_if_it_was_made_for_this_very_pod(
    pod_uid, owner, where, is_foreign
):
    claim = thing("v1", "PersistentVolumeClaim", "p-v", namespace="team", spec=CLAIM_SPEC)
    claim["metadata"]["ownerReferences"] = None if owner is None else [owner]
    volumes = [
        {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM_SPEC}}},
        {"name": "w", "persistentVolumeClaim": {"claimName": "p-v"}},
    ]
    found = only_pod(node(), pod("p", metadata={"uid": pod_uid}, volumes=volumes, **where), claim)
    assert [each.foreign_claim for each in found.volumes] == [is_foreign, False]


# Each row: a change to a pod, and the message about it.
WRONG = {
    "no name": ({"metadata": {}}, "items[0].metadata: the object has no name; add metadata.name"),
    "labels of the wrong type": (
        {"metadata": {"name": "p", "labels": {"a": 1}}},
        "items[0].metadata.labels.a: expected text, found a number; put it in quotes",
    ),
    "a time that is none": (
        {"metadata": {"name": "p", "creationTimestamp": "yesterday"}},
        "items[0].metadata.creationTimestamp: Invalid RFC3339 encoded datetime; correct the value",
    ),
    "a time without a zone": (
        {"metadata": {"name": "p", "creationTimestamp": "0001-01-01T00:00:00"}},
        (
            "items[0].metadata.creationTimestamp: expected datetime with a timezone component; "
            "correct the value"
        ),
    ),
    "a priority that is none": (
        {"spec": {"containers": [container()], "priority": "high"}},
        "items[0].spec.priority: expected a whole number or null, found text; write a whole number or null",
    ),
    "a claim's size that is none": (
        {
            "spec": {
                "containers": [container()],
                "volumes": [
                    {
                        "name": "v",
                        "ephemeral": {
                            "volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1Q"}}}}
                        },
                    }
                ],
            }
        },
        (
            "items[0].spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests.storage: "
            "quantity '1Q': unknown suffix 'Q' at character 2; known are n, u, m, k, M, G, T, P, E, Ki, Mi, "
            "Gi, Ti, Pi, Ei or an exponent such as e3"
        ),
    ),
    "an inline size that is none": (
        {
            "spec": {
                "containers": [container()],
                "volumes": [{"name": "v", "csi": {"volumeAttributes": {"size": "-1"}}}],
            }
        },
        "items[0].spec.volumes[0].csi.volumeAttributes.size: storage is negative; use 0 or more",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_with_its_path(case):
    fields, expected = WRONG[case]
    assert refused({**pod("p"), **fields}) == f"standard input: {expected}"


def test_a_volume_that_is_a_folder_of_the_node_is_told_and_takes_no_space():
    folder = {"name": "v", "hostPath": {"path": "/data", "type": "Directory"}}
    with_folder, without = dumped(node(), pod("p", volumes=[folder]), pod("q")).workloads
    assert (with_folder.host_path, with_folder.volumes, without.host_path) == (True, (), False)


def test_names_of_nodes_and_owners_are_shared():
    metadata = {"ownerReferences": [{"kind": "Job", "name": "j", "controller": True}]}
    pods = [pod(f"p{n}", nodeName="n1", schedulerName="s-1", metadata=metadata) for n in (1, 2)]
    first, second = dumped(node(), *pods).workloads
    for field in ("node", "owner", "scheduler"):
        assert getattr(first, field) is getattr(second, field), field
