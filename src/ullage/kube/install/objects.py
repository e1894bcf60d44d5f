"""All objects of an installation, in the order in which a cluster takes them."""

from typing import Final

from ullage.kube.install.choices import (
    COMPONENTS,
    NAME,
    OPERATOR,
    WEBHOOK,
    WEBHOOK_CONFIGURATION,
    Choices,
    Document,
    checked,
    metadata,
)
from ullage.kube.install.foreign_kinds import COMPOSITE, ELASTIC_QUOTA, NOS_VERSION, foreign_definitions
from ullage.kube.install.own_kinds import POLICY, QUOTA, TYPE, own_definitions
from ullage.kube.install.processes import processes
from ullage.kube.install.rights import rights
from ullage.sources.kubernetes.object_kinds import NOS, OWN_GROUP

VALIDATE_PATH: Final = "/validate"
WEBHOOK_NAME: Final = "validate.ullage.dev"
WEBHOOK_SECONDS_MAX: Final = 5


def objects(choices: Choices) -> list[Document]:
    """Return every object: definitions first, then the namespace, rights, processes, and the webhook."""
    checked(choices)
    made = [*own_definitions(), *foreign_definitions()] if choices.definitions else []
    made.append(_namespace(choices))
    for component in (each for each in COMPONENTS if each in choices.components):
        made += rights(component, choices.namespace)
        made += processes(component, choices)
    if OPERATOR in choices.components:
        made.append(webhook(choices))
    return made


def _namespace(choices: Choices) -> Document:
    enforced = {"pod-security.kubernetes.io/enforce": "restricted"}
    named = metadata(choices.namespace, NAME)
    named["labels"] |= enforced
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": named}


def webhook(choices: Choices) -> Document:
    """Return the registration of the webhook; the operator adds the certificate that it has made.

    It fails closed: quotas and policies that nobody has judged are not stored. Only these kinds are asked
    for, never pods, so a webhook that is away stops nothing that runs or starts. It is asked whether a quota
    may go only of the kind that has no namespace: a namespace that is deleted must not wait for it.
    """
    service = {"name": WEBHOOK, "namespace": choices.namespace, "path": VALIDATE_PATH, "port": 443}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": metadata(WEBHOOK_CONFIGURATION, OPERATOR),
        "webhooks": [
            {
                "name": WEBHOOK_NAME,
                "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": service},
                "failurePolicy": "Fail",
                "matchPolicy": "Equivalent",
                "sideEffects": "None",
                "timeoutSeconds": WEBHOOK_SECONDS_MAX,
                "rules": [
                    _asked_for(OWN_GROUP, "v1", (POLICY.plural, QUOTA.plural, TYPE.plural), "Cluster"),
                    _asked_for(OWN_GROUP, "v1", (QUOTA.plural,), "Cluster", "DELETE"),
                    _asked_for(NOS, NOS_VERSION, (COMPOSITE.plural, ELASTIC_QUOTA.plural), "Namespaced"),
                ],
            }
        ],
    }


def _asked_for(
    group: str, version: str, resources: tuple[str, ...], scope: str, *operations: str
) -> Document:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "resources": list(resources),
        "operations": list(operations or ("CREATE", "UPDATE")),
        "scope": scope,
    }
