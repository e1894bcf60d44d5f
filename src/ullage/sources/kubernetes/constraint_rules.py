"""What an API server would refuse about a pod's constraints, said before anybody asks where the pod fits.

A pod of a cluster has passed these rules; one of a manifest may break them, and what it asks for then means
nothing. The hard thing is what the server lets through: an affinity that compares with something that is no
integer is taken, and kube-scheduler meets it nowhere, so that is worth a warning alone.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

import msgspec

from ullage.model.errors import InputError
from ullage.model.quantity import INT64_MAX
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.wire import NULL, PodSpec
from ullage.sources.places import Path, path_text, shown

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_LISTING: Final = ("In", "NotIn")
_EXISTING: Final = ("Exists", "DoesNotExist")
_COMPARING: Final = ("Gt", "Lt")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NAME_FIELD: Final = "metadata.name"
_WEIGHT_MAX: Final = 100
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")

Placed = tuple[Path, dict[str, Any]]
"""A mapping, and the path to it."""


def check_constraints(spec: PodSpec) -> tuple[str, ...]:
    """Raise a Fault where a pod's constraints are none that Kubernetes takes; return what is odd about them.

    Values have the right types already; a field that is null counts as not there.
    """
    checks: tuple[tuple[str, msgspec.Raw, Callable[[Placed], list[str]]], ...] = (
        ("tolerations", spec.tolerations, _tolerations),
        ("topologySpreadConstraints", spec.topology_spread_constraints, _spreads),
        ("affinity", spec.affinity, _affinity),
    )
    odd: list[str] = []
    for field, raw, check in checks:
        if raw != NULL:
            odd += check((("spec",), {field: msgspec.json.decode(raw)}))
    return tuple(odd)


def _refuse(path: Path, what: str, remedy: str) -> NoReturn:
    raise Fault(InputError(what, remedy=remedy), path)


def _each(placed: Placed, field: str) -> Iterator[Placed]:
    """Yield the entries of a list that a mapping may have."""
    path, value = placed
    for index, entry in enumerate(value.get(field) or ()):
        yield (*path, field, index), entry


def _inside(placed: Placed, field: str) -> Placed:
    """Return a mapping that a mapping may have, empty where it has none."""
    path, value = placed
    return (*path, field), value.get(field) or {}


def _check_word(path: Path, word: str, *words: str) -> None:
    """Refuse a word that is not one of those that are known."""
    if word not in words:
        what = f"{path[-1]} is '{shown(word)}'" if word else f"there is no {path[-1]}"
        _refuse(path, what, f"use {' or '.join(words)}")


def _check_at_least_one(placed: Placed, field: str) -> None:
    path, value = placed
    number = value.get(field)
    if number is not None and number < 1:
        _refuse((*path, field), f"{field} is {number}", "use 1 or more")


def _check_topology_key(placed: Placed) -> None:
    path, value = placed
    if not value.get("topologyKey"):
        _refuse((*path, "topologyKey"), "topologyKey is empty", "name a label of nodes")


def _check_weight(placed: Placed) -> None:
    path, value = placed
    if not 1 <= value["weight"] <= _WEIGHT_MAX:
        _refuse((*path, "weight"), f"weight is {value['weight']}", f"use 1 to {_WEIGHT_MAX}")


def _check_label_keys(placed: Placed) -> None:
    """Refuse keys of labels that have no selector to be added to."""
    path, value = placed
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        if value.get(field) and value.get("labelSelector") is None:
            _refuse((*path, field), f"{field} without a labelSelector", "add a labelSelector, {} for all")


def _tolerations(placed: Placed) -> list[str]:
    for path, value in _each(placed, "tolerations"):
        operator = value.get("operator") or "Equal"
        _check_word((*path, "operator"), operator, "Equal", "Exists")
        if value.get("effect"):
            _check_word((*path, "effect"), value["effect"], *_EFFECTS)
        if not value.get("key") and operator != "Exists":
            _refuse((*path, "operator"), "no key, and an operator that needs one", "add a key, or use Exists")
        if operator == "Exists" and value.get("value"):
            _refuse((*path, "value"), "operator Exists has a value", "remove the value, or use Equal")
        if value.get("tolerationSeconds") is not None and value.get("effect") != "NoExecute":
            remedy = "use effect NoExecute, or remove them"
            _refuse((*path, "effect"), "tolerationSeconds with another effect than NoExecute", remedy)
    return []


def _spreads(placed: Placed) -> list[str]:
    seen: set[tuple[str, str]] = set()
    for path, value in _each(placed, "topologySpreadConstraints"):
        each = path, value
        _check_at_least_one(each, "maxSkew")
        _check_topology_key(each)
        action = value.get("whenUnsatisfiable") or ""
        _check_word((*path, "whenUnsatisfiable"), action, "DoNotSchedule", "ScheduleAnyway")
        kind = value["topologyKey"], action
        if kind in seen:
            _refuse(path, f"a second constraint of {shown(kind[0])} and {action}", "keep one of them")
        seen.add(kind)
        _check_at_least_one(each, "minDomains")
        if value.get("minDomains") is not None and action != "DoNotSchedule":
            remedy = "remove it, or use whenUnsatisfiable: DoNotSchedule"
            _refuse((*path, "minDomains"), f"minDomains with whenUnsatisfiable {action}", remedy)
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if value.get(field) is not None:
                _check_word((*path, field), value[field], "Honor", "Ignore")
        _check_label_keys(each)
        _check_selector(_inside(each, "labelSelector"))
    return []


def _affinity(placed: Placed) -> list[str]:
    whole = _inside(placed, "affinity")
    for field in ("podAffinity", "podAntiAffinity"):
        of_pods = _inside(whole, field)
        for term in _each(of_pods, _REQUIRED):
            _check_pod_term(term)
        for weighted in _each(of_pods, _PREFERRED):
            _check_weight(weighted)
            _check_pod_term(_inside(weighted, "podAffinityTerm"))
    return _node_affinity(_inside(whole, "nodeAffinity"))


def _check_pod_term(term: Placed) -> None:
    _check_topology_key(term)
    _check_label_keys(term)
    _check_selector(_inside(term, "labelSelector"))
    _check_selector(_inside(term, "namespaceSelector"))


def _check_selector(selector: Placed) -> None:
    for condition in _each(selector, "matchExpressions"):
        _check_condition(condition, (*_LISTING, *_EXISTING))


def _node_affinity(affinity: Placed) -> list[str]:
    """Check both parts of node affinity; return what nothing meets.

    What is preferred must be clear: kube-scheduler places no pod whose nodes it cannot score.
    """
    odd = []
    path, required = _inside(affinity, _REQUIRED)
    if affinity[1].get(_REQUIRED) is not None and not required.get("nodeSelectorTerms"):
        _refuse((*path, "nodeSelectorTerms"), "no term", "add one, or remove the affinity")
    for term in _each((path, required), "nodeSelectorTerms"):
        odd += [f"{path_text(place)}: {what}: no node meets it" for place, what in _node_term(term)]
    for weighted in _each(affinity, _PREFERRED):
        _check_weight(weighted)
        for place, what in _node_term(_inside(weighted, "preference")):
            _refuse(place, what, "use an integer")
    return odd


def _node_term(term: Placed) -> list[tuple[Path, str]]:
    """Check a term; return the comparisons with what is no integer."""
    odd = []
    for condition in _each(term, "matchExpressions"):
        path, value = condition
        operator = _check_condition(condition, (*_LISTING, *_EXISTING, *_COMPARING))
        if operator in _COMPARING and not _is_integer(value["values"][0]):
            what = f"{operator} compares integers, and '{shown(value['values'][0])}' is none"
            odd.append(((*path, "values", 0), what))
    for condition in _each(term, "matchFields"):
        path, value = condition
        _check_condition(condition, _LISTING)
        if len(value["values"]) != 1:
            _refuse((*path, "values"), "several values of a field", "use one, in a term of its own each")
        if value["key"] != _NAME_FIELD:
            what = f"nodes have no field '{shown(value['key'])}' to select by"
            _refuse((*path, "key"), what, f"use {_NAME_FIELD}, or matchExpressions for labels")
    return odd


def _check_condition(condition: Placed, operators: tuple[str, ...]) -> str:
    """Return the operator of a condition, which must be known and have the values it needs."""
    path, value = condition
    operator: str = value["operator"]
    _check_word((*path, "operator"), operator, *operators)
    count = len(value.get("values") or ())
    if operator in _LISTING and not count:
        _refuse((*path, "values"), f"operator {operator} without values", "add values")
    if operator in _EXISTING and count:
        _refuse((*path, "values"), f"operator {operator} has values", "remove them")
    if operator in _COMPARING and count != 1:
        _refuse((*path, "values"), f"operator {operator} has {count} values", "use one")
    return operator


def _is_integer(text: str) -> bool:
    return bool(_INTEGER.fullmatch(text)) and -INT64_MAX - 1 <= int(text) <= INT64_MAX
