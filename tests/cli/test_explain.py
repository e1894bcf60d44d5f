"""`ullage explain`: nodes, pods, quotas and resources."""

import json

import pytest

ENDINGS = {"table": "txt", "wide": "wide.txt"}


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml", "csv", "md", "html"])
@pytest.mark.parametrize(
    ("name", "subject"),
    [
        ("node", "node/s1"),
        ("pod", "pod/web/cache-0"),
        ("quota", "quota/ml"),
        ("resource", "resource/memory"),
    ],
)
def test_every_format(ask, matches_golden, name, subject, output):
    result = ask("explain", subject, "-c", "demo", "-o", output)
    assert (result.code, result.err) == (0, "")
    matches_golden(f"explain-{name}.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("node-80", ("node/g1", "--width", "80")),
        ("node-one-resource", ("node/n3", "--resource", "memory")),
        ("node-actual", ("node/n3", "--resource", "memory", "--policy", "zos")),
        ("node-unlimited", ("node/n3", "--resource", "cpu", "--policy", "zos")),
        ("resource-unlimited", ("resource/cpu", "--policy", "zos")),
        ("resource-80", ("resource/nvidia.com/gpu", "--width", "80")),
        ("pod-80", ("pod/finetune-0", "-n", "ml", "--width", "80")),
        ("pod-running", ("pod/etl-0",)),
        ("quota-80", ("quota/batch", "--width", "80")),
    ],
)
def test_as_people_read_it(ask, matches_golden, name, words):
    result = ask("explain", *words, "-c", "demo")
    assert result.code == 0
    matches_golden(f"explain-{name}.txt", result.out)


def test_the_sum_of_the_page_is_the_one_of_json(ask):
    report = json.loads(ask("explain", "node/s1", "-c", "demo", "-o", "json").out)
    memory = next(each["terms"] for each in report["resources"] if each["terms"]["resource"] == "memory")
    assert (memory["capacity"], memory["reserve"], memory["limit"], memory["free"]) == (
        "64Gi",
        "2Gi",
        "62Gi",
        "0",
    )
    text = ask("explain", "node/s1", "-c", "demo", "--resource", "memory").out
    assert "over-committed by 1.25Gi" in text


def test_two_words_do_as_well(ask):
    assert ask("explain", "node", "s1", "-c", "demo").out == ask("explain", "node/s1", "-c", "demo").out


def test_a_pod_is_named_with_its_namespace_before_it_or_beside_it_or_not_at_all(ask):
    whole = ask("explain", "pod/web/cache-0", "-c", "demo").out
    assert whole.startswith("✗ web/cache-0 waits: 0/12 nodes take it: 8 memory short, 3 taint nvidia.com/gpu")
    for words in (("pod/cache-0",), ("pod", "cache-0"), ("pod/cache-0", "-n", "web"), ("pod", "web/cache-0")):
        assert ask("explain", *words, "-c", "demo").out == whole


def test_a_pod_that_waits_is_refused_by_explain_as_it_is_by_fit(ask):
    explained = json.loads(ask("explain", "pod/web/cache-0", "-c", "demo", "-o", "json").out)
    judged = json.loads(ask("fit", "-c", "demo", "-n", "web", "-o", "json").out)["outcomes"][0]
    assert explained["shortfalls"] == judged["refusal"]["shortfalls"]
    assert explained["remedies"] == judged["refusal"]["remedies"]
    assert explained["verdict"] == judged["verdict"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("node/s9",), "no node 's9'; did you mean s1"),
        (("resource/memoryy",), "no resource 'memoryy'; did you mean memory"),
        (("resource/licences",), "no resource 'licences'"),
        (("node/",), "'node/' cannot be explained"),
        (("quota/mll",), "no quota 'mll'; did you mean ml"),
        (("pod/cache-1",), "no pod 'cache-1'; did you mean"),
        (("pod/cache-0", "-n", "webb"), "no pod 'webb/cache-0'; did you mean web/cache-0?"),
        (("pod/web/cache-0", "-n", "ml"), "pod/web/cache-0 is not in namespace 'ml'"),
        (("pod/web/cache-0", "--resource", "cpu"), "--resource is for nodes"),
        (("node/s1", "node/n1"), "name one node, pod, quota or resource"),
        (("resource/cpu", "--resource", "cpu"), "--resource is for nodes"),
        (("node/s1", "--resource", "nvidia.com/gpu"), "no resource 'nvidia.com/gpu'"),
        ((), "missing argument"),
    ],
)
def test_what_is_not_there_is_one_line(ask, words, message):
    result = ask("explain", *words, "-c", "demo")
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("name", ["disk-space", "kubernetes.io/storage-space", "storage-space"])
def test_a_type_is_explained_by_each_of_its_names_though_nobody_has_it(ask, name):
    result = ask("explain", f"resource/{name}", "-c", "demo")
    assert result.code == 0
    assert result.out.startswith("storage-space: no node of this cluster has it, and nothing asks for it\n")
    assert "also written         kubernetes.io/storage-space, disk-space\n" in result.out
