import msgspec
import pytest

from ullage.kube.install.choices import COMPONENTS, Choices, checked, labels
from ullage.model.errors import InputError


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"namespace": "Ullage"}, "'Ullage' is no namespace"),
        ({"namespace": "a" * 64}, "is no namespace"),
        ({"image": ""}, "'' is no image"),
        ({"image": "a b"}, "'a b' is no image"),
        ({"scheduler_names": ("a_b",)}, "'a_b' is no scheduler name"),
        ({"replicas": 0}, "0 replicas"),
        ({"replicas": 10}, "10 replicas"),
        ({"components": ("operator", "web")}, "there is no component 'web'"),
        ({"gpu_memory_gigabytes": 0}, "0 GB per GPU"),
    ],
)
def test_a_choice_that_makes_no_objects_is_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        checked(msgspec.structs.replace(Choices(), **wrong))


def test_choices_that_make_objects_are_taken_as_they_are():
    chosen = Choices(image="example.com/a/ullage@sha256:0", components=COMPONENTS, scheduler_names=("a.b-c",))
    assert checked(chosen) is chosen


def test_every_object_can_be_found_by_what_it_is_part_of():
    assert labels("operator") == {
        "app.kubernetes.io/name": "ullage",
        "app.kubernetes.io/component": "operator",
        "app.kubernetes.io/version": "0.1.0",
        "app.kubernetes.io/managed-by": "ullage",
    }
