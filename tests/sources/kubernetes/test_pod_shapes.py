"""What a node gives up for a pod, against examples worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sources.kubernetes.kube import amounts, container, dumped, node, not_asked, only_pod, pod, refused
from ullage.engine.columns import Columns
from ullage.model.resources import ResourceType, ResourceTypes
from ullage.sources.kubernetes.amounts import ASKED_MAX


def cpu(amount, **fields):
    return container(fields.pop("name", "main"), {"cpu": amount}, **fields)


def sidecar(name, amount):
    return cpu(amount, name=name, restartPolicy="Always")


# Each row: the rule, the containers, the init containers, and the CPU of the whole pod.
EFFECTIVE = {
    "containers are summed": ([cpu("1"), cpu("500m", name="b")], [], "1500m"),
    "an init step counts where it is larger": ([cpu("1")], [cpu("3", name="i")], "3"),
    "an init step does not count where it is smaller": ([cpu("2")], [cpu("1", name="i")], "2"),
    "init steps run one after the other": ([cpu("1")], [cpu("2", name="i"), cpu("3", name="j")], "3"),
    "a sidecar runs beside the containers": ([cpu("1")], [sidecar("s", "1")], "2"),
    "a step runs beside the sidecars before it": ([cpu("1")], [sidecar("s", "1"), cpu("5", name="i")], "6"),
    "a step does not run beside sidecars after it": (
        [cpu("1")],
        [cpu("5", name="i"), sidecar("s", "1")],
        "5",
    ),
    "sidecars start one after the other": (
        [cpu("1")],
        [sidecar("s", "2"), cpu("2", name="i"), sidecar("t", "2"), cpu("1", name="j")],
        "5",
    ),
}


@pytest.mark.parametrize("rule", EFFECTIVE)
def test_the_effective_request(rule):
    containers, steps, expected = EFFECTIVE[rule]
    found = only_pod(pod("p", *containers, initContainers=steps))
    assert found.requests == amounts(cpu=expected, pods="1")


def test_each_resource_has_its_own_largest_step():
    main = container("main", {"cpu": "1", "memory": "1Gi"})
    step = container("step", {"cpu": "500m", "memory": "4Gi"})
    found = only_pod(pod("p", main, initContainers=[step]))
    assert found.requests == amounts(cpu="1", memory="4Gi", pods="1")


def test_overhead_is_added_to_the_larger_of_containers_and_steps():
    found = only_pod(pod("p", cpu("1"), initContainers=[cpu("2", name="i")], overhead={"cpu": "250m"}))
    assert found.requests == amounts(cpu="2250m", pods="1")
    assert found.overhead == amounts(cpu="250m")


def test_a_request_that_is_left_out_is_the_limit():
    found = only_pod(pod("p", container("main", {"cpu": "1"}, {"cpu": "2", "memory": "1Gi"})))
    assert found.requests == amounts(cpu="1", memory="1Gi", pods="1")


def test_a_type_may_have_a_default_request_and_a_step():
    types = ResourceTypes(
        [
            ResourceType("example.com/seats", default_request="2"),
            ResourceType("example.com/tape", quantization=10),
        ]
    )
    found = only_pod(pod("p", container("main", {"example.com/tape": "11"})), types=types)
    assert dict(found.requests) == {"example.com/seats": 2, "example.com/tape": 20, "pods": 1}


def test_containers_are_kept_with_their_roles_steps_first():
    found = only_pod(pod("p", cpu("1"), initContainers=[sidecar("s", "1"), cpu("2", name="i")]))
    assert [(each.name, each.role, each.requests) for each in found.containers] == [
        ("s", "sidecar", amounts(cpu="1")),
        ("i", "init", amounts(cpu="2")),
        ("main", "main", amounts(cpu="1")),
    ]


def test_limits_are_those_that_every_container_has():
    bounded = container("a", None, {"cpu": "1", "memory": "1Gi"})
    half = container("b", None, {"memory": "2Gi"})
    found = only_pod(pod("p", bounded, half, overhead={"memory": "1Mi", "cpu": "1"}))
    assert found.limits == amounts(memory="3073Mi")


def test_a_limit_below_the_request_is_no_error():
    found = only_pod(pod("p", container("main", {"cpu": "2"}, {"cpu": "1"})))
    assert (found.requests.of("cpu"), found.limits.of("cpu")) == (2000, 1000)


class TestPodLevel:
    def test_what_the_pod_does_not_name_is_counted_by_container_while_it_is_resized(self):
        status = {
            "containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "4", "memory": "4Gi"}}]
        }
        main = container("main", {"cpu": "1", "memory": "1Gi"})
        found = only_pod(pod("p", main, resources={"requests": {"cpu": "2"}}, status=status))
        assert found.requests == amounts(cpu="2", memory="4Gi", pods="1")

    def test_a_request_of_the_pod_stands_for_the_sum(self):
        found = only_pod(pod("p", cpu("1"), resources={"requests": {"cpu": "3"}}, overhead={"cpu": "1"}))
        assert found.requests == amounts(cpu="4", pods="1")

    def test_only_cpu_memory_and_hugepages_can_be_of_the_pod(self):
        resources = {"requests": {"cpu": "2", "example.com/a": "9", "hugepages-2Mi": "4Mi"}}
        found = only_pod(pod("p", container("main", {"example.com/a": "1"}), resources=resources))
        assert dict(found.requests) == {"cpu": 2000, "example.com/a": 1, "hugepages-2Mi": 4 << 20, "pods": 1}

    def test_a_limit_of_the_pod_is_requested_where_no_container_requests(self):
        resources = {"limits": {"cpu": "4", "memory": "4Gi"}}
        found = only_pod(pod("p", cpu("1"), resources=resources))
        assert found.requests == amounts(cpu="1", memory="4Gi", pods="1")
        assert found.limits == amounts(cpu="4", memory="4Gi")

    def test_a_request_below_the_sum_is_an_error(self):
        found = refused(pod("p", cpu("1"), cpu("1", name="b"), resources={"requests": {"cpu": "1500m"}}))
        assert found == (
            "standard input: items[0].spec.resources: the workload's own cpu request is below the sum of its "
            "containers; raise it or leave it out"
        )

    def test_what_is_being_resized_below_a_request_of_the_pod_is_no_error(self):
        status = {"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "4"}}]}
        found = only_pod(pod("p", cpu("1"), resources={"requests": {"cpu": "2"}}, status=status))
        assert found.requests == amounts(cpu="2", pods="1")


# Each row: what the spec asks for, what is allocated, what is in force, and what counts.
RESIZED = {
    "up, not allocated yet": ("3", "1", "1", "3"),
    "down, not allocated yet": ("1", "3", "3", "3"),
    "down, allocated but still in force": ("1", "1", "3", "3"),
    "up, allocated but not in force": ("1", "3", "1", "3"),
    "done": ("2", "2", "2", "2"),
    "without allocated resources": ("1", None, "3", "3"),
    "without resources in force": ("1", "3", None, "3"),
}


class TestResizing:
    @staticmethod
    def status(allocated, actual, name="main", **fields):
        given = {"name": name}
        given |= {"allocatedResources": {"cpu": allocated}} if allocated else {}
        given |= {"resources": {"requests": {"cpu": actual}}} if actual else {}
        return {"containerStatuses": [given], **fields}

    @pytest.mark.parametrize("case", RESIZED)
    def test_the_largest_counts(self, case):
        spec, allocated, actual, expected = RESIZED[case]
        found = only_pod(pod("p", cpu(spec), status=self.status(allocated, actual)))
        assert found.requests == amounts(cpu=expected, pods="1")

    @pytest.mark.parametrize(
        ("condition", "expected"),
        [
            ({"type": "PodResizePending", "reason": "Infeasible"}, "1"),
            ({"type": "PodResizePending", "reason": "Deferred"}, "3"),
            ({"type": "Other", "reason": "Infeasible", "message": "PodResizePending"}, "3"),
        ],
    )
    def test_a_resize_that_cannot_be_does_not_count(self, condition, expected):
        status = self.status("1", "1", conditions=[condition])
        assert only_pod(pod("p", cpu("3"), status=status)).requests == amounts(cpu=expected, pods="1")

    def test_conditions_of_the_wrong_type_are_named_with_their_path(self):
        status = self.status("1", "1", conditions={"type": "PodResizePending"})
        assert refused(pod("p", cpu("3"), status=status)) == (
            "standard input: items[0].status.conditions: expected a list or null, found a mapping; "
            "write a list or null"
        )

    def test_sidecars_are_resized_and_steps_are_not(self):
        statuses = [
            {"name": "s", "allocatedResources": {"cpu": "2"}},
            {"name": "i", "allocatedResources": {"cpu": "9"}},
        ]
        steps = [sidecar("s", "1"), cpu("1", name="i")]
        found = only_pod(pod("p", cpu("1"), initContainers=steps, status={"initContainerStatuses": statuses}))
        assert found.requests == amounts(cpu="3", pods="1")

    def test_pods_of_one_template_may_be_called_feasible_or_not(self):
        pods = [
            pod(f"p-{reason}", cpu("3"), status=self.status("1", "1", conditions=[condition]))
            for reason in ("Deferred", "Infeasible")
            for condition in [{"type": "PodResizePending", "reason": reason}]
        ]
        for order in (pods, pods[::-1]):
            found = dumped(*order).workloads
            assert [
                found[f"team/p-{reason}"].requests.of("cpu") for reason in ("Deferred", "Infeasible")
            ] == [
                3000,
                1000,
            ]

    def test_pods_of_one_template_may_be_at_different_stages(self):
        pods = [pod(f"p{n}", cpu("1"), status=self.status(str(n), "1")) for n in (1, 2, 3)]
        assert [each.requests.of("cpu") for each in dumped(*pods).workloads] == [1000, 2000, 3000]


# Each row: the pod's fields, and the message about them.
WRONG = {
    "a quantity with an unknown suffix": (
        {"containers": [container("main", {"memory": "1gb"})]},
        (
            "items[0].spec.containers[0].resources.requests.memory: quantity '1gb': unknown suffix 'gb' at "
            "character 2; did you mean 'G'? known are n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or "
            "an exponent such as e3"
        ),
    ),
    "a negative quantity": (
        {"containers": [container("main", None, {"cpu": "-1"})]},
        "items[0].spec.containers[0].resources.limits.cpu: cpu is negative; use 0 or more",
    ),
    "a quantity that is no text": (
        {"containers": [container("main", {"cpu": True})]},
        (
            "items[0].spec.containers[0].resources.requests.cpu: true is no quantity; write a number or "
            "text such as 40Mi"
        ),
    ),
    "a map that is none": (
        {"containers": [container("main", ["cpu"])]},
        (
            "items[0].spec.containers[0].resources.requests: expected a mapping or null, found a list; "
            "write a mapping or null"
        ),
    ),
    "resources that are none": (
        {"initContainers": [container("i", resources=3)]},
        (
            "items[0].spec.initContainers[0].resources: expected a mapping or null, found a number; write a "
            "mapping or null"
        ),
    ),
    "a name that breaks the rules": (
        {"containers": [container("main", {"seats": "1"})]},
        (
            "items[0].spec.containers[0].resources.requests.seats: resource name 'seats' is not built in "
            "and names no domain; qualify it, for example example.com/seats"
        ),
    ),
    "a container whose name is no text": (
        {"containers": [{"name": 7}]},
        "items[0].spec.containers[0].name: expected text, found a number; put it in quotes",
    ),
    "a container without a name": (
        {"containers": [{"image": "x"}]},
        'items[0].spec.containers[0]: the field "name" is missing; add it',
    ),
    "overhead that is none": (
        {"overhead": {"cpu": "x"}},
        (
            "items[0].spec.overhead.cpu: quantity 'x': 'x' at character 1 where a digit is expected; write "
            "digits, then nothing or a suffix, for example 500m, 2.5 or 40Mi"
        ),
    ),
    "no containers": ({"containers": []}, "items[0].spec: a pod without containers; add spec.containers"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_with_its_path(case):
    fields, expected = WRONG[case]
    given = pod("p")
    given["spec"] |= fields
    assert refused(given) == f"standard input: {expected}"


MOST = {"cpu": ASKED_MAX, "memory": ASKED_MAX}
HUGE = {"cpu": "1E", "memory": "9Ei"}
# Each row: what a pod of a cluster says, and what it counts with.
BEYOND_ALL_MEASURE = {
    "a limit says nothing of the request": ([container("a", {"cpu": "2"}, {"cpu": "1E"})], {}, {"cpu": 2000}),
    "a request": ([container("a", HUGE)], {}, MOST),
    "a limit that is the request": ([container("a", limits=HUGE)], {}, MOST),
    "a sum": (
        [container("a", {"memory": "8E"}), container("b", {"memory": "8E"})],
        {},
        {"memory": ASKED_MAX},
    ),
    "the pod as a whole": (
        [container("a", HUGE), container("b", HUGE)],
        {"resources": {"requests": HUGE}},
        MOST,
    ),
    "overhead": ([container("a")], {"overhead": HUGE}, MOST),
    "pages of any size": (
        [container("a", {"hugepages-2Mi": "9Ei"}, {"hugepages-2Mi": "9Ei"})],
        {},
        {"hugepages-2Mi": ASKED_MAX},
    ),
    "two spellings of one resource": (
        [container("a", {"cpu": "1", "kubernetes.io/cpu": "2"})],
        {},
        {"cpu": 2000},
    ),
    "pages of no size": ([container("a", {"cpu": "1", "hugepages-x": "1"})], {}, {"cpu": 1000}),
}


@pytest.mark.parametrize("case", BEYOND_ALL_MEASURE)
def test_whatever_the_api_server_has_stored_is_counted(case):
    containers, fields, expected = BEYOND_ALL_MEASURE[case]
    found = only_pod(node("n1"), pod("p", *containers, nodeName="n1", **fields))
    assert dict(found.requests) == {**expected, "pods": 1}
    assert max(found.limits.values(), default=0) <= ASKED_MAX


def test_that_it_is_cut_is_said():
    found = dumped(pod("p", container("a", {"cpu": "1"}, HUGE)))
    assert "cut to what can be counted: amounts beyond it: cpu, memory" in found.unknowns


def test_while_it_is_resized_too():
    statuses = [{"name": name, "allocatedResources": HUGE} for name in ("main", "b")]
    given = pod("p", cpu("1"), cpu("1", name="b"), nodeName="n1", status={"containerStatuses": statuses})
    found = only_pod(node("n1"), given)
    assert dict(found.requests) == {**MOST, "pods": 1}


def test_a_thousand_of_them_on_one_node_can_be_added_up():
    many = [pod(f"p{each}", container("a", HUGE), nodeName="n1") for each in range(1000)]
    assert Columns(dumped(node("n1"), *many)).promised.max() == 1000 * ASKED_MAX


def test_what_is_asked_for_by_hand_is_refused_beyond_all_measure():
    assert "quantity '1E' does not fit 64 bits" in not_asked(pod("p", container("a", limits=HUGE)))


def test_a_pod_has_a_bounded_number_of_containers():
    many = [{"name": f"c{n}"} for n in range(10_001)]
    assert (
        refused(pod("p", *many)) == "standard input: items[0].spec: more than 10000 containers; split the pod"
    )


QUANTITIES = st.integers(0, 64).map(lambda n: f"{n * 250}m")
ROLES = st.sampled_from(["main", "init", "sidecar"])


@given(st.lists(st.tuples(ROLES, QUANTITIES), max_size=8))
def test_the_formula_is_that_of_kubernetes_step_by_step(parts):
    """The same as simulating a pod's life: every moment's sum fits, and some moment needs all of it."""
    steps = [
        cpu(amount, name=f"i{n}", **({"restartPolicy": "Always"} if role == "sidecar" else {}))
        for n, (role, amount) in enumerate(parts)
        if role != "main"
    ]
    mains = [cpu(amount, name=f"m{n}") for n, (role, amount) in enumerate(parts) if role == "main"]
    running, needed = 0, 0
    for step in steps:
        amount = amounts(**step["resources"]["requests"]).of("cpu")
        needed = max(needed, running + amount)
        running += amount if "restartPolicy" in step else 0
    needed = max(needed, running + sum(amounts(**each["resources"]["requests"]).of("cpu") for each in mains))
    found = only_pod(pod("p", *(mains or [container()]), initContainers=steps))
    assert found.requests.of("cpu") == needed


def test_equal_pods_share_everything():
    pods = [
        pod(f"p{n}", cpu("1"), tolerations=[{"key": "a"}], metadata={"labels": {"a": "b"}}) for n in (1, 2)
    ]
    first, second = dumped(node(), *pods).workloads
    for field in ("requests", "limits", "containers", "overhead", "constraints", "labels", "namespace"):
        assert getattr(first, field) is getattr(second, field), field


def test_pods_of_one_size_share_it_whatever_else_they_differ_in():
    first, second = dumped(
        pod("p1", cpu("1"), tolerations=[{"key": "a"}]), pod("p2", cpu("1"), tolerations=[{"key": "b"}])
    ).workloads
    assert first.containers is second.containers
    assert first.constraints != second.constraints
