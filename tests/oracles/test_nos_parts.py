"""The small sections of nos' answers: arithmetic, labels, derived memory, admission; ours as annotated."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import pytest

from builders import cluster, container, node, pod, policy
from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import NO_QUOTA, Book, Member, within
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.standing import OVER_QUOTA, Standing
from ullage.engine.quota.validation import findings
from ullage.engine.requests import MIG_PREFIX, effective_request, gpu_gigabytes, with_gpu_memory
from ullage.model.cluster import Quota, Workload
from ullage.model.resources import GPU_MEMORY, NOTHING, Resources

GIGABYTES = 32


@pytest.fixture
def section(oracle: Callable[[str], Any]) -> Callable[[str], Iterator[tuple[Any, Any]]]:
    """Return the cases of a section, each with what is annotated for it."""

    def cases(name: str) -> Iterator[tuple[Any, Any]]:
        notes = oracle("nos-annotations")
        for place, case in enumerate(oracle("nos")[name]):
            yield case, notes[f"{name}/{case.get('id', place)}"]

    return cases


def ours(amounts: Mapping[str, Any] | None) -> Resources:
    """Amounts in our names; what is not an amount is left out."""
    names = {"cpu_milli": "cpu", "ephemeral_storage": "ephemeral-storage", "custom": "example.com/custom"}
    plain = {"namespace", "expected", "why", "name", "created", "priority"}
    return Resources(
        {names.get(key, key): value for key, value in (amounts or {}).items() if key not in plain}
    )


def without_zeros(amounts: Mapping[str, int]) -> dict[str, int]:
    return {name: amount for name, amount in amounts.items() if amount}


def book_of(quotas: Mapping[str, Any]) -> Book:
    return Book(
        [
            Quota(
                name,
                kind="ElasticQuota",
                namespaces=(name,),
                min=ours((q or {}).get("min")),
                max=ours((q or {}).get("max")),
            )
            for name, q in quotas.items()
        ]
    )


def standing_of(quotas: Mapping[str, Any]) -> Standing:
    """Every quota with one member that uses what the case says is used."""
    book = book_of(quotas)
    used = {name: ours((q or {}).get("used")) for name, q in quotas.items()}
    return Standing(
        book, [Member(name, book.index[name], book.amounts(each), NOTHING) for name, each in used.items()]
    )


@pytest.mark.parametrize(("name", "sign"), [("reserve", 1), ("unreserve", -1)])
def test_use_follows_those_that_start_and_stop(section, name, sign):
    for case, note in section(name):
        used = ours(case["used_before"])
        for each in case["pods"]:
            used += with_gpu_memory(ours(each), case["gpu_gb"]) * sign
        assert without_zeros(used) == without_zeros(ours(note["expected"]))


def test_max_is_compared_where_it_names_a_resource(section):
    for case, note in section("used_over_max_with"):
        rules = Rules(standing_of({"a": case}), [()])
        amounts = rules.book.amounts(ours(case["request"]))
        over = any(each.barrier == "max" for each in rules.refusals(0, amounts))
        assert over is note["expected"], case["id"]


def test_what_is_guaranteed_over_min(section):
    for case, note in section("guaranteed_overquotas"):
        standing = standing_of(case["quotas"])
        if case.get("error"):
            assert case["of"] not in standing.book.index
            continue
        place = standing.book.index[case["of"]]
        found = standing.book.readable(standing.guaranteed(place))
        assert without_zeros(found) == without_zeros(ours(note["expected"])), case["id"]


def test_the_part_of_what_is_unused_is_min_over_the_sum_of_mins(section):
    for case, note in section("guaranteed_percentages"):
        standing = standing_of(case["quotas"])
        place = standing.book.index[case["of"]]
        parts = {
            name: Fraction(least, whole) if whole else Fraction(0)
            for name, least, whole in zip(
                standing.book.resources, standing.book.mins[place], standing.book.sum_of_mins, strict=True
            )
            if least is not None
        }
        expected = {name: Fraction(each) for name, each in note["expected"].items()}
        named = {"cpu_milli": "cpu", "ephemeral_storage": "ephemeral-storage"}
        assert parts == {named.get(name, name): each for name, each in expected.items()}, case["id"]


def test_what_is_unused_in_all(section):
    for case, note in section("aggregated_overquotas"):
        standing = standing_of(case["quotas"])
        assert without_zeros(standing.book.readable(standing.unused())) == without_zeros(
            ours(note["expected"])
        )


def test_only_what_a_bound_names_is_compared(section):
    for case, note in section("used_lte_with"):
        bound = ours(case["bound"])
        book = Book([Quota("a", min=bound)])
        total = ours(case["used"]) + ours(case["request"])
        assert within(book.amounts(total), book.mins[0]) is note["expected"], case["id"]


def test_the_sum_of_mins_bounds_the_sum_of_use(section):
    for case, note in section("aggregated_used_over_min_with"):
        rules = Rules(standing_of(case["quotas"]), [()] * 3)
        amounts = rules.book.amounts(ours(case["request"]))
        over = any(each.barrier == "sum-of-min" for each in rules.refusals(0, amounts))
        assert over is note["expected"]


def test_what_quotas_let_in_without_eviction(section):
    words = {"sum-of-min": "sum_of_min", "max": "max"}
    for case, note in section("prefilter"):
        rules = Rules(standing_of(case["quotas"]), [()] * len(case["quotas"]))
        for asked, expected in zip(case["pods"], note["pods"], strict=True):
            counted = with_gpu_memory(ours(asked), case.get("gpu_gb", GIGABYTES))
            place = rules.book.place_of(asked["namespace"], {})
            refusals = rules.refusals(place, rules.book.amounts(counted))
            assert ("refuse" if refusals else "admit") == expected["expected"], case["id"]
            if refusals:
                assert words[refusals[0].barrier] == expected["reason"]


def test_the_last_quota_that_names_a_namespace_has_it(section):
    for case, note in [*section("infos_add"), *section("infos_update")]:
        before = {} if "old" in case else case["before"]
        added = case.get("add") or case["new"]
        quotas = [Quota(f"{name} {namespace}", namespaces=(namespace,)) for namespace, name in before.items()]
        quotas += [Quota(f"{added['name']} *", namespaces=tuple(added["namespaces"]))]
        book = Book(quotas)
        found = {
            namespace: book.quotas[book.place_of(namespace, {})].name.rpartition(" ")[0]
            for namespace in ("ns-1", "ns-2", "ns-3", "ns-4")
            if book.place_of(namespace, {}) != NO_QUOTA
        }
        assert found == note["expected"]


def test_labels_go_by_age_then_size_then_name(section):
    for case, note in section("label_sort"):
        book = Book([Quota("a", kind="ElasticQuota", min=Resources({"nvidia.com/gpu": 0}))])
        members = [
            Member(
                each["name"],
                0,
                book.amounts(ours(each)),
                NOTHING,
                priority=each["priority"],
                created_seconds=int(each["created"][:4]),
            )
            for each in case["pods"]
        ]
        assert list(Standing(book, members).labels(0)) == note["expected"], case["id"]


def test_gpu_memory_is_derived_from_whole_gpus_mig_and_mps(section):
    for case, note in section("gpu_memory"):
        whole = GIGABYTES if case["gpu_gb"] == "G" else case["gpu_gb"]
        expected = 2 * GIGABYTES if note["expected"] == "2*G" else note["expected"]
        assert with_gpu_memory(ours(case["resources"]), whole).of(GPU_MEMORY) == expected, case["id"]


def test_the_memory_of_a_mig_profile_is_read_from_its_name(section):
    for case, note in section("mig_memory_parse"):
        name = case["in"]
        found = gpu_gigabytes(name, GIGABYTES) if name.startswith(MIG_PREFIX) else None
        assert found == (None if note["expected"].get("error") else note["expected"]["gb"]), name


def test_a_label_is_read_and_never_asked(section):
    for case, note in section("over_quota_label"):
        assert (case["label"] == OVER_QUOTA) is note["expected"]


def test_sums_and_differences_of_amounts(section):
    for case, note in section("resource_sum"):
        assert without_zeros(ours(case["a"]) + ours(case["b"])) == without_zeros(ours(note["expected"]))
    for case, note in section("resource_subtract"):
        assert without_zeros(ours(case["a"]) - ours(case["b"])) == without_zeros(ours(note["expected"]))
    for case, note in section("resource_subtract_non_negative"):
        found = (ours(case["a"]) - ours(case["b"])).at_least_zero()
        assert without_zeros(found) == without_zeros(ours(note["expected"]))


def test_the_request_of_a_pod(section):
    def parts(rows: Any, role: str) -> list[Any]:
        return [
            container(
                f"{role}{place}", role, **{name.removesuffix("_g"): str(each) for name, each in row.items()}
            )
            for place, row in enumerate(rows)
        ]

    for case, note in section("pod_request"):
        containers = [*parts(case.get("init_containers", ()), "init"), *parts(case["containers"], "main")]
        overhead = Resources({"cpu": case["overhead"]["cpu"] * 1000}) if "overhead" in case else NOTHING
        expected = {"cpu": note["expected"]["cpu"] * 1000}
        if "memory_g" in note["expected"]:
            expected["memory"] = note["expected"]["memory_g"]
        assert dict(effective_request(containers, overhead)) == expected


def labels_after(quota: Quota, gigabytes: int, *pods: Workload) -> tuple[dict[str, int], dict[str, str]]:
    machine = node("n1", cpu="99", gpu=99).holding(*pods)
    snapshot = cluster(machine, quota, policy=policy(gpu_memory=str(gigabytes)))
    accounts = Accounts(Columns(snapshot))
    used = without_zeros(accounts.book.readable(accounts.standing.used[0]))
    return used, {key.partition("/")[2]: label for key, label in accounts.standing.labels(0).items()}


def test_what_the_operator_writes(section):
    for case, note in section("operator_labels"):
        steps = note["expected"].get("steps") if "quota" in case else None
        if steps is None or case["id"] == "ceq-status":
            continue
        bounds = {name: ours(case["quota"].get(name)) for name in ("min", "max")}
        quota = Quota("q", kind="ElasticQuota", namespaces=("n",), **bounds)
        for step, expected in zip(case["steps"], steps, strict=True):
            if "min gpu-memory := 32" in step["do"]:
                quota = Quota("q", kind="ElasticQuota", namespaces=("n",), min=Resources({GPU_MEMORY: 32}))
            names = [name for name in ("pod-1", "pod-2") if name in expected["labels"]]
            rows = step.get("containers") or step.get("containers_each") or _containers_before(case)
            parts = tuple(
                container(f"c{place}", more={_name(key): _text(key, value) for key, value in row.items()})
                for place, row in enumerate(rows)
            )
            pods = [pod(f"n/{name}", containers=parts, requests=effective_request(parts)) for name in names]
            used, labels = labels_after(quota, case["gpu_gb"], *pods)
            assert labels == expected["labels"], case["id"]
            assert used == without_zeros(ours(expected["used"])), case["id"]


def _containers_before(case: Any) -> Any:
    return next(step.get("containers") or step.get("containers_each") for step in case["steps"])


def _name(key: str) -> str:
    return "cpu" if key == "cpu_milli" else key


def _text(key: str, value: int) -> str:
    return f"{value}m" if key == "cpu_milli" else str(value)


@pytest.mark.parametrize(
    ("quotas", "codes"),
    [
        ([("EQ", "a", ["n"]), ("EQ", "b", ["n"])], 1),
        ([("EQ", "a", ["n"]), ("CEQ", "b", ["n", "m"])], 1),
        ([("CEQ", "a", ["n"]), ("CEQ", "b", ["n"])], 1),
        ([("CEQ", "a", [])], 1),
        ([("EQ", "a", ["n"]), ("CEQ", "b", ["m"])], 0),
    ],
)
def test_admission_denies_overlaps_and_composites_without_namespaces(quotas, codes):
    kinds = {"EQ": "ElasticQuota", "CEQ": "CompositeElasticQuota"}
    rows = [Quota(name, kind=kinds[kind], namespaces=tuple(names)) for kind, name, names in quotas]
    errors = [each for each in findings(rows, None) if each.severity == "error"]
    assert bool(errors) is bool(codes)


def test_admission_denies_a_max_below_min():
    bad = Quota("a", namespaces=("n",), min=Resources({"cpu": 2}), max=Resources({"cpu": 1}))
    assert [each.severity for each in findings([bad], None)] == ["error"]


def test_every_section_is_judged(oracle):
    judged = {
        "reserve", "unreserve", "used_over_max_with", "guaranteed_overquotas", "guaranteed_percentages",
        "aggregated_overquotas", "used_lte_with", "aggregated_used_over_min_with", "prefilter", "infos_add",
        "infos_update", "label_sort", "gpu_memory", "mig_memory_parse", "over_quota_label", "resource_sum",
        "resource_subtract", "resource_subtract_non_negative", "pod_request", "operator_labels", "admission",
        "dry_run_preemption", "fair_share_preemption_doc", "oracle_runs",
    }  # fmt: skip
    lists = {name for name, value in oracle("nos").items() if isinstance(value, list)}
    assert lists - {"oracle_notes"} == judged
