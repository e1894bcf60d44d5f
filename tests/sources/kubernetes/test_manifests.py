"""Manifests to batches: what every kind asks for, and what is refused."""

import json

import pytest

from sources.kubernetes.kube import (
    TYPES,
    amounts,
    asked,
    container,
    dumped,
    listed,
    node,
    not_asked,
    pod,
    thing,
)
from ullage.model.admission import DisruptionBudget
from ullage.model.cluster import Batch, Quota, Volume, Workload
from ullage.model.constraints import Toleration
from ullage.model.delta import Delta
from ullage.model.storage import Claim
from ullage.sources.documents import documents_of
from ullage.sources.kubernetes.manifests import ManifestReader, Manifests, read_manifests
from ullage.sources.kubernetes.object_kinds import Known

GIB = 1 << 30
MAIN = container("main", {"cpu": "1"})
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [MAIN]}}


def deployment(name="web", kind="Deployment", api_version="apps/v1", **spec):
    return thing(api_version, kind, name, spec={"template": TEMPLATE, **spec})


def only_batch(*items, **options):
    (found,) = asked(*items, **options).batches
    return found


def test_a_deployment_is_one_workload_and_its_replicas():
    found = only_batch(deployment(replicas=3), namespace="team")
    assert found == Batch(
        Workload(
            "web", "team", "Deployment", state="init", requests=amounts(cpu="1", pods="1"),
            containers=found.workload.containers, owner="Deployment/web", labels={"app": "web"},
        ),
        replicas=3,
    )  # fmt: skip
    assert not found.atomic


def test_a_pod_is_one_workload():
    found = only_batch(pod("p", MAIN, namespace="team", priority=5))
    assert (found.key, found.workload.kind, found.workload.state, found.replicas) == (
        "team/p",
        "Pod",
        "init",
        1,
    )
    assert (found.workload.owner, found.workload.priority) == ("", 5)


def test_a_pod_as_a_cluster_shows_it_is_asked_for_anew():
    shown = pod(
        "p",
        MAIN,
        nodeName="n1",
        metadata={"creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        status={
            "phase": "Failed",
            "containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "9"}}],
        },
    )
    found = only_batch(shown).workload
    assert (found.state, found.created_seconds, found.terminating, found.node) == ("init", None, False, "n1")
    assert found.requests == amounts(cpu="1", pods="1")


@pytest.mark.parametrize(
    ("own", "option", "expected"),
    [("mine", "team", "mine"), (None, "team", "team"), (None, "", "default"), (None, None, "default")],
)
def test_the_namespace_is_the_objects_own_else_the_one_asked_for(own, option, expected):
    item = deployment()
    item["metadata"] |= {"namespace": own} if own else {}
    options = {} if option is None else {"namespace": option}
    assert only_batch(item, **options).workload.namespace == expected


def test_a_list_a_stream_and_a_folder_are_read_in_order(tmp_path):
    first, second = deployment("a"), deployment("b")
    for text in (json.dumps(listed(first, second)), json.dumps(first) + json.dumps(second)):
        assert [batch.key for batch in asked(text=text).batches] == ["default/a", "default/b"]
    (tmp_path / "2.json").write_text(json.dumps(first), encoding="utf-8")
    (tmp_path / "1.yaml").write_text(
        "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}]}\n", "utf-8"
    )
    found = read_manifests([str(tmp_path)])
    assert [batch.key for batch in found.batches] == ["default/p", "default/a"]


def test_kinds_of_one_name_get_names_of_their_own():
    found = asked(deployment("web"), deployment("web", kind="StatefulSet"))
    assert [batch.key for batch in found.batches] == ["default/web", "default/web-statefulset"]


def test_two_objects_of_one_kind_and_name_are_an_error():
    assert not_asked(deployment("web"), deployment("web")) == (
        "standard input: document 2: a second Deployment named default/web, the first is at standard input; "
        "keep one of them"
    )


def test_claims_are_read_and_give_volumes_their_size():
    spec = {"storageClassName": "fast", "resources": {"requests": {"storage": "2Gi"}}}
    claim = thing("v1", "PersistentVolumeClaim", "data", spec=spec)
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    found = asked(pod("p", MAIN, volumes=[volume], namespace="default"), claim)
    assert found.objects.claims == (Claim("data", "default", "fast", 2 * GIB),)
    assert found.batches[0].workload.volumes == (Volume("v", "data", "fast", 2 * GIB),)


def test_a_stateful_set_has_a_volume_of_each_claim_template():
    templates = [
        {
            "metadata": {"name": "data"},
            "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "2Gi"}}},
        },
        {"metadata": {"name": "log", "labels": {"drive.csi-baremetal.dell.com/storage-group": "gold"}}},
    ]
    found = only_batch(deployment("db", kind="StatefulSet", replicas=3, volumeClaimTemplates=templates))
    assert found.workload.volumes == (
        Volume("data", "data-db", "fast", 2 * GIB), Volume("log", "log-db", storage_group="gold"),
    )  # fmt: skip


class TestDaemonSets:
    DAEMON = deployment("agent", kind="DaemonSet")

    def count(self, *nodes, **spec):
        item = deployment("agent", kind="DaemonSet")
        item["spec"]["template"] = {"spec": {**TEMPLATE["spec"], **spec}}
        return only_batch(item, nodes=dumped(*nodes).nodes).replicas

    def test_one_pod_for_each_node(self):
        assert self.count(node("n1"), node("n2")) == 2
        assert self.count() == 0

    def test_only_on_nodes_that_match(self):
        nodes = [node("n1", labels={"gpu": "yes"}), node("n2")]
        assert self.count(*nodes, nodeSelector={"gpu": "yes"}) == 1

    def test_without_nodes_there_is_a_warning(self):
        found = asked(self.DAEMON)
        assert [batch.replicas for batch in found.batches] == [0]
        assert found.warnings == (
            "default/agent: a DaemonSet has a pod on each node it matches; no node is known",
        )
        assert asked(self.DAEMON, nodes=()).warnings == ()

    def test_its_controllers_tolerations_are_added(self):
        found = only_batch(self.DAEMON, nodes=()).workload.constraints.tolerations
        assert Toleration("node.kubernetes.io/unschedulable", "Exists", effect="NoSchedule") in found


class TestClasses:
    KATA = thing("node.k8s.io/v1", "RuntimeClass", "kata", overhead={"podFixed": {"cpu": "250m"}})

    def test_classes_of_the_same_files_are_used(self):
        gold = thing("scheduling.k8s.io/v1", "PriorityClass", "gold", value=9)
        found = only_batch(pod("p", MAIN, runtimeClassName="kata", priorityClassName="gold"), self.KATA, gold)
        assert (found.workload.requests.of("cpu"), found.workload.priority) == (1250, 9)

    def test_the_global_default_is_the_priority_of_pods_that_name_none(self):
        defaults = [
            thing("scheduling.k8s.io/v1", "PriorityClass", name, value=value, globalDefault=True)
            for name, value in (("a", 7), ("b", 5))
        ]
        for order in (defaults, defaults[::-1]):
            found = asked(pod("p", MAIN), pod("q", MAIN, priority=1), *order)
            assert [batch.workload.priority for batch in found.batches] == [5, 1]

    def test_unknown_classes_are_warned_about(self):
        found = asked(pod("p", MAIN, runtimeClassName="kata", priorityClassName="gold"))
        assert found.warnings == (
            "team/p: RuntimeClass kata is not known; it adds nothing",
            "team/p: PriorityClass gold is not known; it adds nothing",
        )


class TestMisfiled:
    def test_the_pod_of_the_elastic_quota_documentation_is_read_with_a_warning(self):
        text = """
apiVersion: apps/v1
kind: Pod
metadata:
  name: nginx-deployment
spec:
  schedulerName: nos-scheduler
  containers:
    - name: my-container
      image: my-image:0.0.1
      resources:
        limits:
          nvidia.com/mig-1g.10gb: 1
          nvidia.com/gpu: 1
"""
        found = asked(text=text)
        (batch,) = found.batches
        assert dict(batch.workload.requests) == {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.10gb": 1, "pods": 1}
        assert batch.workload.scheduler == "nos-scheduler"
        assert found.warnings == ("standard input: apiVersion apps/v1 has no kind Pod; read as v1 Pod",)

    def test_kinds_that_have_moved_are_read_with_a_warning(self):
        found = asked(deployment(api_version="extensions/v1beta1"))
        assert found.batches[0].workload.kind == "Deployment"
        assert found.warnings == (
            "standard input: apiVersion extensions/v1beta1 has no kind Deployment; read as apps Deployment",
        )


class TestOtherKinds:
    CUSTOM = thing(
        "example.com/v1",
        "Farm",
        "f",
        spec={"barns": [{"name": "a", "replicas": 2, "template": TEMPLATE}, {"template": TEMPLATE}]},
    )

    def test_an_unknown_kind_is_an_error_that_names_the_option(self):
        assert not_asked(self.CUSTOM) == (
            "standard input: nothing that asks for resources among objects of kinds that are not "
            "known: 1 Farm; name the path to their pod template: --pod-template spec.template"
        )
        assert asked(self.CUSTOM, deployment()).warnings == ("not read: 1 Farm",)

    def test_its_templates_are_found_by_their_path(self):
        found = asked(self.CUSTOM, pod_template="spec.barns[*].template").batches
        assert [(batch.key, batch.replicas) for batch in found] == [("default/f-a", 2), ("default/f-1", 1)]
        assert {batch.workload.owner for batch in found} == {"Farm/f"}

    def test_a_path_that_leads_nowhere_is_an_error(self):
        assert not_asked(self.CUSTOM, pod_template="spec.template").startswith("standard input: nothing that")

    def test_a_path_that_is_none_is_an_error(self):
        assert not_asked(self.CUSTOM, pod_template="spec..template") == (
            "--pod-template: 'spec..template' is no path to a pod template; write it as spec.template or "
            "spec.groups[*].template"
        )

    def test_kinds_without_pods_are_passed_over(self):
        others = [
            thing("v1", "Service"),
            thing("v1", "ConfigMap"),
            thing("networking.k8s.io/v1", "Ingress"),
            thing("rbac.authorization.k8s.io/v1", "Role"),
            thing("policy/v1", "PodDisruptionBudget"),
        ]
        budgets = (DisruptionBudget("x", "default"),)
        assert asked(*others) == Manifests((), Delta(disruption_budgets=budgets), ())
        assert len(asked(*others, self.CUSTOM, pod_template="spec.barns[*].template").batches) == 2

    def test_an_unknown_kind_of_the_core_group_is_an_error(self):
        assert "not known: 1 Pot;" in not_asked({**pod("p"), "kind": "Pot"})


class TestOwnDocuments:
    OWN = thing("ullage.dev/v1", "WorkloadSet", workloads=[])

    def test_documents_of_our_own_are_handed_over(self):
        seen = []

        def own(document):
            seen.append(document.index)
            return [Batch(Workload("mine"), 2)]

        found = asked(deployment(), self.OWN, own=own)
        assert (seen, [batch.key for batch in found.batches]) == ([1], ["default/web", "mine"])

    def test_they_have_no_place_where_nobody_reads_them(self):
        expected = (
            "kind WorkloadSet (ullage.dev/v1) among Kubernetes objects; put it into a document of its own"
        )
        assert not_asked(self.OWN) == f"standard input: {expected}"
        assert not_asked(listed(self.OWN), own=lambda _: []) == f"standard input: items[0]: {expected}"

    def test_two_workloads_of_one_name_are_an_error(self):
        twice = [Batch(Workload("mine"))] * 3
        assert not_asked(self.OWN, own=lambda _: twice) == (
            "standard input: mine is given twice; give each file once"
        )


# Each row: an object, and the message about it.
WRONG = {
    "replicas that are no number": (
        deployment(replicas="3"),
        "spec.replicas: replicas is no whole number; write a whole number, without quotes",
    ),
    "replicas that are a flag": (
        deployment(replicas=True),
        "spec.replicas: replicas is no whole number; write a whole number, without quotes",
    ),
    "negative replicas": (deployment(replicas=-1), "spec.replicas: replicas is -1; use 0 to 10000000"),
    "too many replicas": (
        deployment(replicas=10_000_001),
        "spec.replicas: replicas is 10000001; use 0 to 10000000",
    ),
    "absurdly many replicas": (
        deployment(replicas=10**30),
        "spec.replicas: replicas is too large; use 0 to 10000000",
    ),
    "too many pods in all": (
        thing(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            spec={
                "replicatedJobs": [
                    {"replicas": 4000, "template": {"spec": {"parallelism": 4000, "template": TEMPLATE}}}
                ]
            },
        ),
        "spec.replicatedJobs[0].template.spec.template: 16000000 pods in all; use at most 10000000",
    ),
    "no template": (
        thing("apps/v1", "Deployment", "web", spec={}),
        "Deployment web has no pod template; add it",
    ),
    "no name": ({**deployment(), "metadata": None}, "metadata: the object has no name; add metadata.name"),
    "a name that is none": (
        {**deployment(), "metadata": {"name": 3}},
        "metadata.name: expected text or null, found a number; write text or null",
    ),
    "a template of the wrong type": (
        deployment(template=[]),
        "spec.template: expected a mapping, found a list; write a mapping",
    ),
    "a container of the wrong type": (
        deployment(template={"spec": {"containers": [{"name": "a"}, {"name": 5}]}}),
        "spec.template.spec.containers[1].name: expected text, found a number; put it in quotes",
    ),
    "a template without containers": (
        deployment(template={"spec": {}}),
        "spec.template.spec: a pod without containers; add spec.containers",
    ),
    "a claim template of the wrong type": (
        deployment(kind="StatefulSet", volumeClaimTemplates={}),
        "spec.volumeClaimTemplates: expected a list or null, found a mapping; write a list or null",
    ),
    "a claim template's size that is none": (
        deployment(
            kind="StatefulSet",
            volumeClaimTemplates=[{"spec": {"resources": {"requests": {"storage": "-1"}}}}],
        ),
        "spec.volumeClaimTemplates[0].spec.resources.requests.storage: storage is negative; use 0 or more",
    ),
    "labels of a claim template that are none": (
        deployment(kind="StatefulSet", volumeClaimTemplates=[{"metadata": {"labels": ["gold"]}}]),
        (
            "spec.volumeClaimTemplates[0].metadata.labels: expected a mapping or null, found a list; "
            "write a mapping or null"
        ),
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_with_its_path(case):
    item, expected = WRONG[case]
    separator = ": "
    assert not_asked(item) == f"standard input{separator}{expected}"


def test_a_key_that_stands_twice_is_refused():
    text = json.dumps(deployment()).replace('"spec": {', '"spec": {"replicas": 1, "replicas": 2, ', 1)
    assert "is given twice" in not_asked(text=text)


def test_a_name_that_no_object_has_is_refused():
    assert not_asked(deployment("a\nb")) == (
        "standard input: workload: the name 'a\\nb' holds a control character; remove it"
    )


def test_yaml_is_refused_with_line_and_column():
    text = (
        "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: web}\nspec:\n  replicas: 2\n  template: {}\n"
    )
    assert not_asked(text=text).startswith(
        "standard input:6:13: spec.template.spec: a pod without containers"
    )


def test_documents_may_be_handed_over_one_by_one():
    reader = ManifestReader(TYPES)
    for name in ("a", "b"):
        for document in documents_of(json.dumps(deployment(name)).encode(), "f"):
            reader.take(document)
    assert [batch.key for batch in reader.manifests().batches] == ["default/a", "default/b"]


def elastic(name="q", namespace="a", kind="ElasticQuota", **spec):
    return thing("nos.nebuly.com/v1alpha1", kind, name, namespace=namespace, spec=spec)


class TestQuotas:
    def test_quotas_come_along(self):
        found = asked(pod("a"), elastic(min={"cpu": "2"}), thing("ullage.dev/v1", "Quota", "company"))
        assert [each.name for each in found.objects.quotas] == ["a/q", "company"]
        assert (len(found.batches), found.warnings) == (1, ())

    def test_an_elastic_quota_without_a_namespace_is_in_the_one_that_is_meant(self):
        found = asked(thing("nos.nebuly.com/v1alpha1", "ElasticQuota", "q"), pod("a"), namespace="team")
        assert found.objects.quotas == (Quota("team/q", "ElasticQuota", ("team",)),)

    def test_quotas_that_are_wrong_are_refused(self):
        text = not_asked(pod("a"), elastic(min={"cpu": "2"}, max={"cpu": "1"}))
        assert text == "standard input: quota a/q: cpu has min 2 above max 1; lower min or raise max"

    def test_so_are_those_that_do_not_go_with_the_cluster(self):
        there = Known(quotas=(Quota("a/there", "ElasticQuota", ("a",)), Quota("wrong", parent="gone")))
        asked(pod("a"), elastic(namespace="b"), known=there)
        text = not_asked(pod("a"), elastic(), known=there)
        assert "quota a/there: this ElasticQuota and ElasticQuota a/q both cover namespace a" in text
