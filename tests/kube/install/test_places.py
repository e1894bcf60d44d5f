import pytest

from ullage.kube.install.choices import COMPONENTS, Choices
from ullage.kube.install.objects import objects
from ullage.kube.install.places import PLACES, Identity, identity


@pytest.mark.parametrize(
    ("which", "path", "said"),
    [
        (Identity("Namespace", "", "a"), "/api/v1/namespaces/a", "Namespace a"),
        (Identity("Service", "n", "a"), "/api/v1/namespaces/n/services/a", "Service n/a"),
        (Identity("Deployment", "n", "a"), "/apis/apps/v1/namespaces/n/deployments/a", "Deployment n/a"),
        (
            Identity("ClusterRole", "", "a/b"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/a%2Fb",
            "ClusterRole a/b",
        ),
    ],
)
def test_an_object_lives_where_the_api_has_its_kind(which, path, said):
    assert which.path == path
    assert str(which) == said


def test_every_kind_of_an_installation_has_a_place():
    for each in objects(Choices(components=COMPONENTS)):
        place = PLACES[each["kind"]]
        assert place.version == each["apiVersion"]
        assert place.namespaced == bool(identity(each).namespace)


def test_what_is_stood_on_goes_last():
    order = list(PLACES)
    assert order[0] == "ValidatingWebhookConfiguration"
    assert order[-1] == "Namespace"
    assert order.index("RoleBinding") < order.index("Role")
    assert order.index("Deployment") < order.index("ServiceAccount")
