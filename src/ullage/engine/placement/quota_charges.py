"""What ResourceQuotas count: what pods and claims are charged, under which names, and in which scopes.

The hard thing is that one amount has several names: a pod's cpu request is charged as `cpu` and as
`requests.cpu`, a claim's size in all and for its class. Names that are neither of pods nor of claims have no
kind here. Activity deadlines are not in the model: every pod is taken to have none.
"""

from collections.abc import Iterable
from typing import Final

from ullage.engine.placement.limit_ranges import STORAGE, containers_of, stated_by_pod, sums_of
from ullage.engine.placement.node_rules import matches
from ullage.model.cluster import Container, Workload
from ullage.model.constraints import PodAffinity, Requirement
from ullage.model.resources import HUGEPAGES_PREFIX, ResourceType, ResourceTypes

REQUESTS: Final = "requests."
LIMITS: Final = "limits."
POD_OBJECTS: Final = "count/pods"
CLAIMS: Final = "persistentvolumeclaims"
STORAGE_REQUESTS: Final = "requests.storage"
BY_CLASS: Final = ".storageclass.storage.k8s.io/"
PRIORITY_CLASS: Final = "PriorityClass"
SCOPES_BY_DEADLINE: Final = frozenset(("Terminating", "NotTerminating"))
SCOPES: Final = SCOPES_BY_DEADLINE | {
    "BestEffort",
    "NotBestEffort",
    PRIORITY_CLASS,
    "CrossNamespacePodAffinity",
}
"""The scopes of pods."""

_POD_COUNTS: Final = ("pods", POD_OBJECTS)
_CLAIM_COUNTS: Final = (CLAIMS, f"count/{CLAIMS}")
_LIMITED: Final = frozenset(("cpu", "memory", "ephemeral-storage"))
_MUST_STATE: Final = ("cpu", "memory")
_NATIVE_DOMAIN: Final = "kubernetes.io/"
_DEVICE_CLASS: Final = "deviceclass.resource.kubernetes.io/"
_COUNT: Final = ResourceType("count")


def pod_charge(pod: Workload) -> dict[str, int]:
    """Return what a pod is charged while it is not over, overhead included."""
    sums = sums_of(pod)
    charge = dict.fromkeys(_POD_COUNTS, 1)
    for name, amount in (sums.requests + pod.overhead).items():
        if name in _LIMITED or name.startswith(HUGEPAGES_PREFIX):
            charge[name] = charge[REQUESTS + name] = amount
        elif _is_extended(name):
            charge[REQUESTS + name] = amount
    for name, amount in sums.limits.items():
        if name in _LIMITED:
            charge[LIMITS + name] = amount + (pod.overhead.of(name) if amount else 0)
    return charge


def claim_charge(storage_class: str, size_bytes: int) -> dict[str, int]:
    """Return what a claim is charged, in all and for its class."""
    charge = dict.fromkeys(_CLAIM_COUNTS, 1)
    charge[STORAGE_REQUESTS] = size_bytes
    if storage_class:
        charge[f"{storage_class}{BY_CLASS}{CLAIMS}"] = 1
        charge[f"{storage_class}{BY_CLASS}{STORAGE_REQUESTS}"] = size_bytes
    return charge


def kind_of(name: str, types: ResourceTypes) -> ResourceType | None:
    """Return what a quota counts under a name; None where that is neither of pods nor of claims."""
    _, by_class, of_class = name.partition(BY_CLASS)
    if name in _POD_COUNTS or name in _CLAIM_COUNTS or (by_class and of_class == CLAIMS):
        return _COUNT
    if STORAGE_REQUESTS in {name, of_class}:
        return types[STORAGE]
    for prefix in (REQUESTS, LIMITS, ""):
        resource = name.removeprefix(prefix)
        if resource == name and prefix:
            continue
        huge = resource.startswith(HUGEPAGES_PREFIX) and prefix != LIMITS
        extended = prefix == REQUESTS and _is_extended(resource)
        return types[resource] if resource in _LIMITED or huge or extended else None
    return None


def _is_extended(resource: str) -> bool:
    """Whether a resource is one that Kubernetes itself knows nothing of."""
    return "/" in resource and (_NATIVE_DOMAIN not in resource or resource.startswith(_DEVICE_CLASS))


def not_stated(pod: Workload, names: Iterable[str]) -> dict[str, list[str]]:
    """Return the containers that do not state what a quota bounds by these names.

    The API server does not guess cpu and memory; a pod that states either as a whole is not asked.
    """
    if any(stated_by_pod(pod)):
        return {}
    missing = {}
    for name in names:
        resource = name.removeprefix(REQUESTS).removeprefix(LIMITS)
        if resource in _MUST_STATE:
            silent = [each.name for each in containers_of(pod) if not _states(each, name, resource)]
            if silent:
                missing[name] = silent
    return missing


def _states(container: Container, name: str, resource: str) -> bool:
    return resource in (container.limits if name.startswith(LIMITS) else container.requests)


def is_of_scope(pod: Workload, priority_class: str, scope: Requirement) -> bool:
    """Whether a pod with a priority class is of a scope; none is known to have a deadline."""
    match scope.key:
        case "NotTerminating":
            return True
        case "BestEffort":
            return _is_best_effort(pod)
        case "NotBestEffort":
            return not _is_best_effort(pod)
        case "PriorityClass":
            return matches({PRIORITY_CLASS: priority_class} if priority_class else {}, scope)
        case "CrossNamespacePodAffinity":
            return _looks_elsewhere(pod)
    return False


def _is_best_effort(pod: Workload) -> bool:
    """Whether neither the pod nor a container asks for any cpu or memory."""
    asked = [*stated_by_pod(pod)]
    for container in containers_of(pod):
        asked += (container.requests, container.limits)
    return not any(amounts.of(name) > 0 for amounts in asked for name in _MUST_STATE)


def _looks_elsewhere(pod: Workload) -> bool:
    """Whether a pod is to be near to or away from pods of other namespaces."""
    affinity = pod.constraints.affinity
    if affinity is None:
        return False
    return any(map(_names_namespaces, (affinity.pod_affinity, affinity.pod_anti_affinity)))


def _names_namespaces(affinity: PodAffinity | None) -> bool:
    if affinity is None:
        return False
    terms = (*affinity.required, *(each.pod_affinity_term for each in affinity.preferred))
    return any(term.namespaces or term.namespace_selector is not None for term in terms)
