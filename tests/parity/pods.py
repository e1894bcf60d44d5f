"""The pods of a random case, running and pending: what they ask for and where they may go.

Whatever the API server would refuse is not drawn: every rule of its validation that matters here is kept by
the way a part is put together.
"""

from parity.drawing import HOSTNAME, NAMESPACES, POD_LABELS, RACK, ZONE, Drawing, Object
from parity.nodes import CORDON, DISKS, EFFECTS, EXTENDED, HUGE, SIZES, TAINT_KEYS, TAINT_VALUES
from parity.requests import draw_containers

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TOPOLOGIES = (ZONE, ZONE, HOSTNAME, RACK)
GATE = "example.com/wait"
GONE = "2026-01-01T00:00:00Z"

__all__ = ["CORDON", "EXTENDED", "GATE", "HUGE", "draw_pod", "draw_running"]


def draw_running(draw: Drawing, name: str, nodes: list[str]) -> Object:
    """Draw a pod that has a node; whether it fits there does not matter to a scheduler."""
    pod = _pod(draw, name, nodes)
    pod["spec"]["nodeName"] = draw.one(nodes)
    if draw.wants("terminating pods", 0.3):
        pod["metadata"]["deletionTimestamp"] = GONE
    elif draw.wants("finished pods", 0.3):
        pod["status"] = {"phase": draw.one(("Succeeded", "Failed"))}
    return pod


def draw_pod(draw: Drawing, name: str, nodes: list[str]) -> Object:
    """Draw a pod that waits for a node."""
    pod = _pod(draw, name, nodes)
    if draw.wants("scheduling gates", 0.3):
        pod["spec"]["schedulingGates"] = [{"name": GATE}]
    return pod


def _pod(draw: Drawing, name: str, nodes: list[str]) -> Object:
    labels = draw.labels()
    namespace = draw.namespace()
    spec = draw_containers(draw)
    if draw.wants("node selector", 0.4):
        spec["nodeSelector"] = {"disk": draw.one(DISKS)}
        if draw.chance(0.3):
            spec["nodeSelector"][ZONE] = draw.one(("a", "b"))
    if tolerations := _tolerations(draw):
        spec["tolerations"] = tolerations
    if affinity := _affinity(draw, labels, nodes):
        spec["affinity"] = affinity
    if draw.wants("topology spread", 0.6):
        spec["topologySpreadConstraints"] = _spreads(draw, labels)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": spec,
    }


def _tolerations(draw: Drawing) -> list[Object]:
    found: list[Object] = []
    if draw.wants("taints", 0.7):
        for _ in range(draw.number(1, 2)):
            found.append(_toleration(draw))  # noqa: PERF401 - one draw after the other reads as what it is
    if draw.wants("unschedulable", 0.2):
        found.append({"key": CORDON, "operator": "Exists"})
    return found


def _toleration(draw: Drawing) -> Object:
    if draw.chance(0.1):
        return {"operator": "Exists"}
    found: Object = {"key": draw.one(TAINT_KEYS)}
    if draw.chance(0.3):
        found["operator"] = "Exists"
    else:
        if draw.chance(0.5):
            found["operator"] = "Equal"
        if value := draw.one(TAINT_VALUES):
            found["value"] = value
    if draw.chance(0.6):
        found["effect"] = draw.one(EFFECTS)
    if found.get("effect") == "NoExecute" and draw.chance(0.3):
        found["tolerationSeconds"] = 60
    return found


def _affinity(draw: Drawing, labels: dict[str, str], nodes: list[str]) -> Object:
    found: Object = {}
    if terms := _node_terms(draw, nodes):
        found["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": terms}}
    for kind, name in (("pod affinity", "podAffinity"), ("pod anti-affinity", "podAntiAffinity")):
        if draw.wants(kind, 0.5):
            required = [_term(draw, labels) for _ in range(draw.number(1, 2) if draw.chance(0.3) else 1)]
            found[name] = {REQUIRED: required}
            if draw.chance(0.2):
                found[name][PREFERRED] = [{"weight": 1, "podAffinityTerm": _term(draw, labels)}]
    return found


def _node_terms(draw: Drawing, nodes: list[str]) -> list[Object]:
    terms: list[Object] = []
    if draw.wants("node affinity", 0.6):
        for _ in range(draw.number(1, 2)):
            if draw.chance(0.05):
                terms.append({})
            else:
                keys = draw.some(("disk", "size", ZONE), 1, 2)
                terms.append({"matchExpressions": [_node_requirement(draw, key) for key in keys]})
    if draw.wants("node name", 0.5):
        operator = "In" if draw.chance(0.7) else "NotIn"
        named = draw.one([*nodes, "gone"])
        field = {"matchFields": [{"key": "metadata.name", "operator": operator, "values": [named]}]}
        if terms and draw.chance(0.5):
            terms[0].update(field)
        else:
            terms.append(field)
    return terms


def _node_requirement(draw: Drawing, key: str) -> Object:
    if key == "size" and draw.chance(0.7):
        return {"key": key, "operator": draw.one(("Gt", "Lt")), "values": [draw.one(("0", "1", "2", "7"))]}
    values = {"disk": DISKS, "size": SIZES[:3], ZONE: ("a", "b", "c")}[key]
    return draw.requirement(key, values)


def _term(draw: Drawing, labels: dict[str, str]) -> Object:
    """Draw a term of pod affinity; label keys go only with a selector that does not name them."""
    selector = draw.selector(labels)
    found: Object = {"topologyKey": draw.one(TOPOLOGIES)}
    if selector is not None:
        found["labelSelector"] = selector
    if draw.chance(0.25):
        found["namespaces"] = draw.some(NAMESPACES, 1, 2)
    if draw.chance(0.25):
        found["namespaceSelector"] = _namespace_selector(draw)
    free = _free_keys(selector)
    if free and draw.wants("label keys of affinity", 0.3):
        found[draw.one(("matchLabelKeys", "mismatchLabelKeys"))] = [draw.one(free)]
    return found


def _namespace_selector(draw: Drawing) -> Object:
    if draw.chance(0.3):
        return {}
    if draw.chance(0.4):
        return {"matchLabels": {"team": draw.one(("red", "violet"))}}
    return {"matchExpressions": [draw.requirement("team", ("red", "violet"))]}


def _free_keys(selector: Object | None) -> list[str]:
    """Return the labels that may be label keys beside a selector: none where there is no selector."""
    if selector is None:
        return []
    named = {
        *selector.get("matchLabels", {}),
        *(each["key"] for each in selector.get("matchExpressions", ())),
    }
    return [key for key in sorted(POD_LABELS) if key not in named]


def _spreads(draw: Drawing, labels: dict[str, str]) -> list[Object]:
    """Draw constraints over different labels, so that no two are of one label and one kind.

    Policies matter where a domain has only nodes that do not count: so they come with pods that count.
    """
    found = []
    for key in draw.some((ZONE, HOSTNAME, RACK), 1, 2):
        policies = {
            policy: draw.one(("Honor", "Ignore"))
            for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy")
            if draw.wants("policies of spread", 0.6)
        }
        selector = {"matchLabels": labels} if policies and labels else draw.selector(labels)
        constraint: Object = {
            "topologyKey": key,
            "maxSkew": draw.number(1, 2),
            "whenUnsatisfiable": "DoNotSchedule" if draw.chance(0.85) else "ScheduleAnyway",
        }
        if selector is not None:
            constraint["labelSelector"] = selector
        if constraint["whenUnsatisfiable"] == "DoNotSchedule" and draw.chance(0.3):
            constraint["minDomains"] = draw.number(1, 4)
        constraint |= policies
        free = _free_keys(selector)
        if free and draw.chance(0.25):
            constraint["matchLabelKeys"] = draw.some(free, 1, 2)
        found.append(constraint)
    return found
