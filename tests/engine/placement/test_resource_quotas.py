"""Room in ResourceQuotas: how many replicas are admitted, why not more, who is charged, and going back."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import claim, cluster, container, node, pod, resources, volume, waiting
from ullage.engine.placement.resource_quotas import QuotaRoom
from ullage.model.admission import PriorityClass, ResourceQuota
from ullage.model.cluster import Workload
from ullage.model.constraints import Requirement
from ullage.model.errors import InputError
from ullage.model.storage import StorageClass


def quota(name: str = "compute", used: dict[str, str] | None = None, **fields) -> ResourceQuota:
    hard = fields.pop("hard", {})
    return ResourceQuota(name, "team", hard, used, **fields)


def room(*parts, **fields) -> QuotaRoom:
    return QuotaRoom(cluster(*parts, **fields))


def web(cpu: str = "2", **fields) -> Workload:
    return waiting("team/web", kind="Deployment", cpu=cpu, pods=1, **fields)


class TestRefusal:
    def test_a_refusal_names_what_is_short_and_what_would_help(self):
        left = room(quota(hard={"requests.cpu": "10"}, used={"requests.cpu": "8"}))
        assert left.refusal(web(), 3) == (
            1,
            (
                "quota team/compute: requests.cpu short by 4 (asked 3 x 2, used 8 of 10); "
                "raise it to 14 or ask for 1 replica"
            ),
        )

    def test_the_bound_itself_is_admitted(self):
        left = room(quota(hard={"requests.cpu": "10"}, used={"requests.cpu": "4"}))
        assert left.refusal(web(), 3) == (3, "")

    def test_where_none_is_admitted_only_the_quota_can_be_raised(self):
        left = room(quota(hard={"pods": "5"}, used={"pods": "7"}))
        assert left.refusal(web(), 2) == (
            0,
            "quota team/compute: pods short by 4 (asked 2 x 1, used 7 of 5); raise it to 9",
        )

    def test_all_that_is_short_is_named(self):
        left = room(
            quota(hard={"cpu": "4", "memory": "1Gi"}, used={"cpu": "0", "memory": "0"}),
            quota("objects", hard={"pods": "2"}, used={"pods": "0"}),
        )
        assert left.refusal(web(memory="1Mi"), 4) == (
            2,
            (
                "quota team/compute: cpu short by 4 (asked 4 x 2, used 0 of 4), "
                "quota team/objects: pods short by 2 (asked 4 x 1, used 0 of 2); "
                "raise cpu of team/compute to 8 and pods of team/objects to 4 or ask for 2 replicas"
            ),
        )

    def test_what_is_not_asked_for_is_not_judged(self):
        left = room(quota(hard={"requests.nvidia.com/gpu": "1"}, used={"requests.nvidia.com/gpu": "3"}))
        assert left.refusal(web(), 9) == (9, "")
        assert left.refusal(web(gpu=1), 9)[0] == 0

    def test_other_namespaces_and_no_replicas_are_free(self):
        left = room(quota(hard={"pods": "0"}, used={"pods": "0"}))
        assert left.refusal(waiting("other/web", cpu=1), 5) == (5, "")
        assert left.refusal(web(), 0) == (0, "")

    def test_a_bound_is_rounded_down_and_a_use_up(self):
        left = room(quota(hard={"cpu": "1.0005"}, used={"cpu": "0.9991"}))
        assert left.refusal(web("1m"), 1)[0] == 0
        assert room(quota(hard={"cpu": "1.0005"}, used={"cpu": "0.999"})).refusal(web("1m"), 2)[0] == 1

    def test_containers_must_state_what_is_bounded(self):
        left = room(quota(hard={"limits.cpu": "10", "requests.memory": "1Gi"}))
        silent = web(containers=(container("app", cpu=1), container("log", memory="1Mi")))
        assert left.refusal(msgspec.structs.replace(silent, requests=resources(cpu=1, memory="1Mi")), 1) == (
            0,
            (
                "quota team/compute: containers must state limits.cpu (app, log) and requests.memory (app); "
                "state it in the pod template, or give the namespace a LimitRange with defaults"
            ),
        )

    def test_a_quantity_that_is_none_is_an_error(self):
        with pytest.raises(InputError, match="quota team/compute: hard: cpu: quantity 'much'"):
            QuotaRoom(
                msgspec.structs.replace(
                    cluster(), resource_quotas=type(cluster().resource_quotas)([quota(hard={"cpu": "much"})])
                )
            )

    def test_a_name_that_is_none_is_an_error(self):
        with pytest.raises(InputError, match="quota team/compute: hard: hugepages-much"):
            room(quota(hard={"hugepages-much": "1"}))


class TestUse:
    def test_what_is_not_stated_is_counted_from_pods_and_claims_that_exist(self):
        left = room(
            node("n1", cpu=9).holding(pod("team/a", cpu=1), pod("other/b", cpu=5)),
            waiting("team/c", cpu=2),
            pod("team/over", cpu=4, state="error"),
            waiting("team/not-made-0", kind="Deployment", cpu=3),
            claim("team/data", "2Gi", storage_class="gold"),
            quota(hard={"cpu": "3", "pods": "2", "count/pods": "3"}),
            quota("storage", hard={"requests.storage": "2Gi", "persistentvolumeclaims": "1"}),
        )
        assert left.refusal(web(), 1) == (
            0,
            (
                "quota team/compute: count/pods short by 1 (asked 1 x 1, used 3 of 3), "
                "quota team/compute: cpu short by 2 (asked 1 x 2, used 3 of 3), "
                "quota team/compute: pods short by 1 (asked 1 x 1, used 2 of 2); "
                "raise count/pods of team/compute to 4 and cpu of team/compute to 5 "
                "and pods of team/compute to 3"
            ),
        )
        ephemeral = web(volumes=(volume("tmp", "1Gi", claim="web-tmp", inline=True),))
        assert (
            "requests.storage short by 1Gi (asked 1 x 1Gi, used 2Gi of 2Gi)" in left.refusal(ephemeral, 1)[1]
        )

    def test_pods_count_only_for_quotas_of_their_scopes(self):
        high = Requirement("PriorityClass", "In", ("high",))
        left = room(
            waiting("team/a", cpu=1, priority_class="high"),
            waiting("team/b", cpu=1),
            quota(hard={"pods": "1"}, scope_selector=(high,)),
        )
        assert left.refusal(web(), 7) == (7, "")
        assert left.refusal(web(priority_class="high"), 7)[0] == 0

    def test_the_default_priority_class_is_that_of_pods_which_name_none(self):
        left = room(
            PriorityClass("usual", 5, global_default=True),
            PriorityClass("high", 9, global_default=True),
            quota(hard={"pods": "1"}, scope_selector=(Requirement("PriorityClass", "In", ("usual",)),)),
        )
        assert left.refusal(web(), 7)[0] == 1

    def test_a_pod_that_waits_is_charged_already(self):
        pending = waiting("team/a", cpu=2, pods=1)
        left = room(pending, quota(hard={"cpu": "2"}, used={"cpu": "2"}))
        assert left.refusal(pending, 1) == (1, "")
        left.take(pending, 1)
        assert left.refusal(web(), 1)[0] == 0

    def test_a_waiting_workload_that_nobody_made_a_pod_of_is_charged(self):
        pending = waiting("team/a-0", kind="Deployment", cpu=2)
        left = room(pending, quota(hard={"cpu": "2"}, used={"cpu": "2"}))
        assert left.refusal(pending, 1)[0] == 0

    def test_a_pod_that_is_resized_is_charged_its_growth(self):
        left = room(
            node("n1", cpu=9).holding(pod("team/a", cpu=2)),
            quota(hard={"cpu": "5"}, used={"cpu": "4"}),
        )
        assert left.refusal(waiting("team/a", cpu=3), 1) == (1, "")
        assert left.refusal(waiting("team/a", cpu=4), 1)[0] == 0

    def test_what_is_released_makes_room_until_it_is_undone(self):
        running = [pod(f"team/web-{number}", cpu=2) for number in range(2)]
        left = room(node("n1", cpu=9).holding(*running), quota(hard={"cpu": "4"}))
        assert left.refusal(web(), 2)[0] == 0
        mark = left.mark()
        for each in running:
            left.release(each)
            left.release(each)
        assert left.refusal(web(), 3)[0] == 2
        left.undo(mark)
        assert left.refusal(web(), 2)[0] == 0


class TestClaims:
    def test_a_claim_that_pods_share_is_charged_once(self):
        left = room(quota(hard={"persistentvolumeclaims": "1", "requests.storage": "1Gi"}))
        shared = web(volumes=(volume("data", "1Gi", claim="data"),))
        assert left.refusal(shared, 5) == (5, "")
        left.take(shared, 2)
        assert left.refusal(shared, 5) == (5, "")
        other = web(volumes=(volume("data", "1Gi", claim="other"),))
        admitted, line = left.refusal(other, 5)
        assert admitted == 0
        assert "persistentvolumeclaims short by 1 (asked 1, used 1 of 1)" in line

    def test_a_claim_that_exists_is_free(self):
        left = room(claim("team/data", "1Gi"), quota(hard={"persistentvolumeclaims": "1"}))
        assert left.refusal(web(volumes=(volume("data", "1Gi", claim="data"),)), 5) == (5, "")

    def test_each_replica_of_a_stateful_set_has_its_own_unless_it_exists(self):
        database = waiting(
            "team/db",
            kind="StatefulSet",
            owner="StatefulSet/db",
            cpu=1,
            volumes=(volume("data", "1Gi", claim="data-db"),),
        )
        left = room(
            claim("team/data-db-1", "1Gi"),
            claim("team/data-db-x", "1Gi"),
            quota(hard={"requests.storage": "4Gi"}),
        )
        assert left.refusal(database, 9)[0] == 3
        left.take(database, 2)
        assert left.refusal(database, 9)[0] == 1

    def test_a_claim_that_names_no_class_is_of_the_default_class(self):
        left = room(
            StorageClass("gold", default=True),
            quota(hard={"gold.storageclass.storage.k8s.io/persistentvolumeclaims": "2"}),
        )
        assert left.refusal(web(volumes=(volume("tmp", "1Gi", claim="t", inline=True),)), 9)[0] == 2

    def test_a_quota_with_scopes_does_not_count_claims(self):
        left = room(quota(hard={"pods": "9", "persistentvolumeclaims": "0"}, scopes=("NotBestEffort",)))
        assert left.refusal(web(volumes=(volume("tmp", "1Gi", claim="t", inline=True),)), 5) == (5, "")

    def test_volumes_without_a_claim_or_with_an_unknown_one_are_free(self):
        left = room(quota(hard={"persistentvolumeclaims": "0"}))
        volumes = (volume("inline", "1Gi", inline=True), volume("unknown", 0, claim="nowhere"))
        assert left.refusal(web(volumes=volumes), 5) == (5, "")


def test_what_is_not_judged_is_named():
    left = room(
        quota(hard={"pods": "1", "services": "3", "count/secrets": "2"}),
        quota("jobs", hard={"pods": "1"}, scopes=("Terminating",)),
        quota("volumes", hard={"pods": "1"}, scopes=("VolumeAttributesClass",)),
    )
    assert left.notes(["team", "other", "team"]) == (
        "quota team/compute: count/secrets, services not counted",
        "quota team/jobs: scope Terminating: pods are taken to have no activeDeadlineSeconds",
        "quota team/volumes: scope VolumeAttributesClass is not judged: nothing is taken to be of it",
    )
    assert left.notes(["other"]) == ()


asked = st.builds(
    lambda cpu, memory, claims, once: web(
        str(cpu),
        memory=memory,
        volumes=(
            *(volume(f"v{number}", 3, claim=f"c{number}", inline=True) for number in range(claims)),
            *((volume("shared", 5, claim=once),) if once else ()),
        ),
    ),
    st.integers(0, 3),
    st.integers(0, 5),
    st.integers(0, 2),
    st.sampled_from(("", "one", "two")),
)
bounded = ("cpu", "requests.memory", "pods", "requests.storage", "persistentvolumeclaims")
small_quotas = st.builds(
    lambda hard, used: quota(
        hard={name: str(amount) for name, amount in hard.items()},
        used={name: str(min(used, amount)) for name, amount in hard.items()},
    ),
    st.dictionaries(st.sampled_from(bounded), st.integers(0, 40)),
    st.integers(0, 5),
)


def charges(left: QuotaRoom) -> list[dict[str, int]]:
    return [dict(each.used) for each in left._bounds["team"]]


@given(small_quotas, st.lists(st.tuples(asked, st.integers(0, 12)), max_size=5))
def test_what_is_admitted_keeps_within_the_bounds_and_one_more_does_not(bounds, batches):
    left = room(bounds)
    start = charges(left)
    hard = left._bounds["team"][0].hard
    for workload, replicas in batches:
        admitted, line = left.refusal(workload, replicas)
        assert 0 <= admitted <= replicas
        assert bool(line) == (admitted < replicas)
        assert left.refusal(workload, replicas + 1)[0] in {admitted, replicas + 1}
        if admitted < replicas:
            mark = left.mark()
            left.take(workload, admitted + 1)
            assert any(charges(left)[0][name] > hard[name] for name in hard)
            left.undo(mark)
        left.take(workload, admitted)
        assert all(charges(left)[0][name] <= hard[name] for name in hard)
    left.undo(0)
    assert charges(left) == start


@given(small_quotas, asked, st.integers(1, 12))
def test_the_amounts_that_a_refusal_names_are_just_enough(bounds, workload, replicas):
    left = room(bounds)
    if not left.refusal(workload, replicas)[1]:
        return
    mark = left.mark()
    left.take(workload, replicas)
    needed = charges(left)[0]
    left.undo(mark)
    line = left.refusal(workload, replicas)[1]
    kinds = left._bounds["team"][0].kinds
    raised = {
        name: kinds[name].print(max(needed[name], left._bounds["team"][0].hard[name])) for name in needed
    }
    short = [name for name in needed if needed[name] > left._bounds["team"][0].hard[name]]
    assert all(f" to {raised[name]}" in line for name in short)
    assert room(msgspec.structs.replace(bounds, hard=raised)).refusal(workload, replicas) == (replicas, "")
