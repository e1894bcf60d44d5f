"""Advice as patches that kubectl takes: one strategic merge patch for each object with a template.

The same document serves `kubectl patch --patch-file` and `kubectl apply --server-side`; containers are merged
by their names. To remove a limit its amount is null, which patches understand and apply does not. Not every
owner can be patched: the template of a Job cannot change, and kinds of others have rules of their own.
"""

from collections.abc import Sequence
from typing import Any, Final

from ullage.engine.usage.advice import WorkloadAdvice
from ullage.engine.usage.owners import Owner
from ullage.engine.usage.requests import ContainerAdvice
from ullage.model.resources import ResourceTypes

Document = dict[str, Any]
API_VERSIONS: Final = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "ReplicationController": "v1",
    "CronJob": "batch/v1",
}
"""What can be patched."""
_REPLACES_NOTHING: Final = frozenset(("ReplicaSet", "ReplicationController"))
_UNPATCHABLE: Final = {
    "Job": "the template of a Job cannot be changed: change what makes it",
    "Pod": "a pod that nobody made is resized with kubectl patch --subresource resize, or made anew",
    "Rollout": "a Rollout is no kind of Kubernetes: change its template by hand",
}


def why_no_patch(owner: Owner) -> str:
    """Return why an owner cannot be patched; empty where it can."""
    if owner.kind in API_VERSIONS:
        return ""
    return _UNPATCHABLE.get(owner.kind, f"{owner.kind} is no kind that is known here: change it by hand")


def after_patch(owner: Owner) -> str:
    """Return what is left to do when an owner was patched; empty where it replaces its pods itself."""
    if owner.kind in _REPLACES_NOTHING:
        return f"a {owner.kind} leaves its pods as they are: delete them one by one after the patch"
    return ""


def patch_of(advice: WorkloadAdvice, types: ResourceTypes) -> Document | None:
    """Return the patch that follows advice; None where there is nothing to change, or no way to."""
    owner = advice.crew.owner
    if not advice.changes or why_no_patch(owner):
        return None
    spec: Document = {}
    for field, roles in (("initContainers", ("init", "sidecar")), ("containers", ("main",))):
        parts = [
            {"name": each.container.name, "resources": _resources(each, types)}
            for each in advice.containers
            if each.container.role in roles and any(sized.changes for sized in each.sized)
        ]
        if parts:
            spec[field] = parts
    template: Document = {"template": {"spec": spec}}
    if owner.kind == "CronJob":
        template = {"jobTemplate": {"spec": template}}
    metadata = {"name": owner.name} | ({"namespace": owner.namespace} if owner.namespace else {})
    return {
        "apiVersion": API_VERSIONS[owner.kind],
        "kind": owner.kind,
        "metadata": metadata,
        "spec": template,
    }


def _resources(advice: ContainerAdvice, types: ResourceTypes) -> Document:
    requests: Document = {}
    limits: Document = {}
    for each in advice.sized:
        if not each.changes:
            continue
        show = types[each.resource].print
        if each.advised_request != each.request:
            requests[each.resource] = show(each.advised_request)
        if each.advised_limit != each.limit:
            limits[each.resource] = None if each.advised_limit is None else show(each.advised_limit)
    found = {"requests": requests, "limits": limits}
    return {name: amounts for name, amounts in found.items() if amounts}


def removes_limits(patches: Sequence[Document]) -> bool:
    """Whether some patch takes a limit away, for which `kubectl apply` has no words."""

    def has_null(value: object) -> bool:
        if isinstance(value, dict):
            return any(map(has_null, value.values()))
        return any(map(has_null, value)) if isinstance(value, list) else value is None

    return has_null(list(patches))
