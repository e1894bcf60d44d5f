import pytest

from ullage.kube.install.choices import COMPONENTS, Choices, labels
from ullage.kube.install.objects import objects
from ullage.kube.install.places import identity
from ullage.model.errors import InputError


def kinds(made):
    return [each["kind"] for each in made]


def test_every_object_has_the_four_labels():
    for each in objects(Choices(components=COMPONENTS)):
        found = each["metadata"]["labels"]
        component = found["app.kubernetes.io/component"]
        assert found.items() >= labels(component).items()


def test_no_object_is_made_twice():
    made = [identity(each) for each in objects(Choices(components=(*COMPONENTS, *COMPONENTS)))]
    assert len(set(made)) == len(made)


def test_definitions_come_first_and_what_an_object_lives_in_before_it():
    made = objects(Choices(components=COMPONENTS))
    order = kinds(made)
    last = max(place for place, kind in enumerate(order) if kind == "CustomResourceDefinition")
    assert set(order[: last + 1]) == {"CustomResourceDefinition"}
    assert order[last + 1] == "Namespace"
    seen = set()
    for each in made:
        seen.add(identity(each))
        if each["kind"].endswith("Binding"):
            reference = each["roleRef"]
            inside = each["metadata"].get("namespace", "")
            assert (reference["kind"], inside, reference["name"]) in seen


def test_definitions_can_be_left_out():
    assert "CustomResourceDefinition" not in kinds(objects(Choices(definitions=False)))


@pytest.mark.parametrize("component", COMPONENTS)
def test_only_the_operator_has_a_webhook(component):
    made = objects(Choices(components=(component,), definitions=False))
    assert ("ValidatingWebhookConfiguration" in kinds(made)) == (component == "operator")
    assert {each["metadata"]["labels"]["app.kubernetes.io/component"] for each in made} == {
        "ullage",
        component,
    }


def test_everything_is_in_the_namespace_that_is_chosen():
    made = objects(Choices(namespace="elsewhere", components=COMPONENTS))
    assert {each["metadata"].get("namespace", "elsewhere") for each in made} == {"elsewhere"}
    (webhook,) = made[-1]["webhooks"]
    assert webhook["clientConfig"]["service"]["namespace"] == "elsewhere"


def test_the_webhook_fails_closed_and_is_never_asked_about_pods():
    (webhook,) = objects(Choices())[-1]["webhooks"]
    assert webhook["failurePolicy"] == "Fail"
    assert webhook["sideEffects"] == "None"
    assert {group for rule in webhook["rules"] for group in rule["apiGroups"]} == {
        "ullage.dev",
        "nos.nebuly.com",
    }
    asked = {resource for rule in webhook["rules"] for resource in rule["resources"]}
    assert asked == {
        "capacitypolicies",
        "quotas",
        "resourcetypes",
        "compositeelasticquotas",
        "elasticquotas",
    }
    assert "caBundle" not in webhook["clientConfig"], "the operator's, and not to be taken back"


def test_wrong_choices_make_nothing():
    with pytest.raises(InputError, match="is no namespace"):
        objects(Choices(namespace="?"))
