"""A failing case shrinks to what it fails by."""

import yaml

from parity.cases import Case, case
from parity.shrink import Shrinker, text_of, without


def tainted(asked: Case) -> bool:
    """A failure made up for the test: there is a taint, and a pod with a label."""
    taints = [each for item in asked.objects for each in item.get("spec", {}).get("taints", ())]
    return bool(taints) and any(pod["metadata"].get("labels") for pod in asked.pods)


def failing() -> Case:
    return next(drawn for drawn in map(case, range(100)) if tainted(drawn))


def test_only_what_it_fails_by_is_left():
    smallest = Shrinker(tainted).shrink(failing())
    assert tainted(smallest)
    assert len(smallest.objects) == len(smallest.pods) == 1
    assert list(smallest.objects[0]) == ["apiVersion", "kind", "metadata", "spec"]
    assert smallest.objects[0]["metadata"] == {"name": smallest.objects[0]["metadata"]["name"]}
    assert list(smallest.objects[0]["spec"]) == ["taints"]
    assert len(smallest.objects[0]["spec"]["taints"]) == 1
    assert len(smallest.pods[0]["metadata"]["labels"]) == 1
    assert list(smallest.pods[0]) == ["apiVersion", "kind", "metadata"]


def test_the_case_itself_is_left_alone():
    drawn = failing()
    before = text_of(drawn)
    Shrinker(tainted).shrink(drawn)
    assert text_of(drawn) == before


def test_it_ends_after_so_many_tries():
    tries = []

    def fails_only_as_a_whole(asked: Case) -> bool:
        tries.append(asked)
        return False

    Shrinker(fails_only_as_a_whole, tries_max=5).shrink(failing())
    assert len(tries) == 5


def test_a_part_that_is_gone_already_is_passed_over():
    assert without({"spec": {}}, ("spec", "taints", 0)) is None
    assert without({"spec": {"taints": [1, 2]}}, ("spec", "taints", 0)) == {"spec": {"taints": [2]}}


def test_a_case_is_written_as_yaml_with_its_seed():
    drawn = case(3)
    text = text_of(drawn)
    assert "seed 3" in text.splitlines()[0]
    assert list(yaml.safe_load_all(text)) == [*drawn.objects, *drawn.pods]
