import pytest

from ullage.kube.following import FOLLOWED, FOR_PLACING
from ullage.kube.install.choices import COMPONENTS, EXTENDER, OPERATOR, SCHEDULER
from ullage.kube.install.rights import CLUSTER_READING, cluster_rights, namespace_rights, rights
from ullage.kube.node_capacities import NODE_CAPACITY
from ullage.kube.operator.running import KINDS

PLURALS = {
    "AvailableCapacity": "availablecapacities",
    "CSIStorageCapacity": "csistoragecapacities",
    "CapacityPolicy": "capacitypolicies",
    "NodeCapacity": "nodecapacities",
    "StorageClass": "storageclasses",
}
FOLLOWED_BY = {OPERATOR: KINDS, SCHEDULER: FOLLOWED, EXTENDER: FOLLOWED}
WRITES = {"create", "update", "patch", "delete", "deletecollection"}


@pytest.mark.parametrize("component", COMPONENTS)
def test_what_a_process_follows_it_may_watch_and_nothing_else(component):
    reading = CLUSTER_READING[component]
    watched = {(each.group, resource) for each in reading for resource in each.resources}
    followed = {
        (kind.group, PLURALS.get(kind.name, f"{kind.name.lower()}s")) for kind in FOLLOWED_BY[component]
    }
    assert watched == followed
    assert {each.verbs for each in reading} == {("list", "watch")}


def test_only_who_chooses_nodes_reads_what_nodes_are_chosen_by():
    assert {*KINDS} == {*FOLLOWED} - FOR_PLACING | {NODE_CAPACITY}
    assert {*FOLLOWED} > FOR_PLACING


@pytest.mark.parametrize("component", COMPONENTS)
def test_no_right_goes_further_than_it_says(component):
    for right in (*cluster_rights(component), *namespace_rights(component)):
        assert "*" not in {right.group, *right.resources, *right.verbs}
        assert right.purpose
        assert not {"escalate", "bind", "impersonate", "deletecollection"} & set(right.verbs)


@pytest.mark.parametrize("component", COMPONENTS)
def test_secrets_and_leases_are_those_of_the_namespace_by_name(component):
    anywhere = {resource for right in cluster_rights(component) for resource in right.resources}
    assert not {"secrets", "leases", "configmaps"} & anywhere
    for right in namespace_rights(component):
        assert right.names or right.verbs == ("create",)


def test_what_a_process_writes():
    written = {
        component: sorted(
            f"{verb} {resource}"
            for right in cluster_rights(component)
            for resource in right.resources
            for verb in right.verbs
            if verb in WRITES
        )
        for component in COMPONENTS
    }
    assert "create pods/eviction" in written["scheduler"]
    assert "create pods/eviction" in written["extender"]
    assert "create pods/eviction" not in written["operator"]
    assert "patch pods" in written["operator"]
    assert "patch pods" not in written["scheduler"] + written["extender"]
    assert not any("nodes" in each or " pods/status" in each for each in written["operator"])


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_role_is_bound_to_the_account_of_its_process(component):
    made = rights(component, "here")
    bindings = [each for each in made if each["kind"].endswith("Binding")]
    roles = [each for each in made if each["kind"] in {"Role", "ClusterRole"}]
    assert {(each["roleRef"]["kind"], each["roleRef"]["name"]) for each in bindings} == {
        (each["kind"], each["metadata"]["name"]) for each in roles
    }
    for each in bindings:
        assert each["subjects"] == [
            {"kind": "ServiceAccount", "name": f"ullage-{component}", "namespace": "here"}
        ]
    (account,) = [each for each in made if each["kind"] == "ServiceAccount"]
    assert account["automountServiceAccountToken"] is False
