"""What an API server would refuse about constraints is refused in manifests, with the path to it."""

import json

import pytest

from sources.kubernetes.kube import asked, dumped, node, not_asked, pod, thing

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
SELECTED = {"labelSelector": {"matchLabels": {"app": "a"}}}
NEAR = {"topologyKey": "zone", **SELECTED}
KEYS_ALONE = "without a labelSelector; add a labelSelector, {} for all"
OPERATORS = "use In or NotIn or Exists or DoesNotExist"


def spread(**fields):
    return {"topologySpreadConstraints": [{**SPREAD, **fields}]}


def tolerating(**fields):
    return {"tolerations": [{"operator": "Exists"}, fields]}


def near(where=REQUIRED, kind="podAffinity", **fields):
    term = {**NEAR, **fields}
    return {
        "affinity": {kind: {where: [term if where == REQUIRED else {"weight": 1, "podAffinityTerm": term}]}}
    }


def on(*, field="matchExpressions", **condition):
    term = {field: [{"key": "zone", **condition}]}
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}}


def rather(weight=1, **condition):
    term = {"weight": weight, "preference": {"matchExpressions": [{"key": "zone", **condition}]}}
    return {"affinity": {"nodeAffinity": {PREFERRED: [term]}}}


def selecting(operator, *values):
    return {"matchExpressions": [{"key": "app", "operator": operator, "values": list(values)}]}


SPREADS = "topologySpreadConstraints[0]"
TOLERATION = "tolerations[1]"
TERM = f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]"
RATHER = f"affinity.nodeAffinity.{PREFERRED}[0]"

# Each row: fields of a pod's spec, and what is said about them, with the path from the spec.
REFUSED = {
    "a skew below one": (spread(maxSkew=0), f"{SPREADS}.maxSkew: maxSkew is 0; use 1 or more"),
    "a spread over no label": (
        spread(topologyKey=""),
        f"{SPREADS}.topologyKey: topologyKey is empty; name a label of nodes",
    ),
    "a spread of an unknown kind": (
        spread(whenUnsatisfiable="Never"),
        f"{SPREADS}.whenUnsatisfiable: whenUnsatisfiable is 'Never'; use DoNotSchedule or ScheduleAnyway",
    ),
    "a spread of no kind": (
        spread(whenUnsatisfiable=None),
        f"{SPREADS}.whenUnsatisfiable: there is no whenUnsatisfiable; use DoNotSchedule or ScheduleAnyway",
    ),
    "the same spread twice": (
        {"topologySpreadConstraints": [SPREAD, {**SPREAD, "maxSkew": 2}]},
        "topologySpreadConstraints[1]: a second constraint of zone and DoNotSchedule; keep one of them",
    ),
    "domains below one": (
        spread(minDomains=0),
        f"{SPREADS}.minDomains: minDomains is 0; use 1 or more",
    ),
    "domains of a spread that is only wished for": (
        spread(minDomains=2, whenUnsatisfiable="ScheduleAnyway"),
        (
            f"{SPREADS}.minDomains: minDomains with whenUnsatisfiable ScheduleAnyway; "
            "remove it, or use whenUnsatisfiable: DoNotSchedule"
        ),
    ),
    "an unknown policy for taints": (
        spread(nodeTaintsPolicy="Maybe"),
        f"{SPREADS}.nodeTaintsPolicy: nodeTaintsPolicy is 'Maybe'; use Honor or Ignore",
    ),
    "an empty policy for affinity": (
        spread(nodeAffinityPolicy=""),
        f"{SPREADS}.nodeAffinityPolicy: there is no nodeAffinityPolicy; use Honor or Ignore",
    ),
    "label keys without a selector": (
        spread(matchLabelKeys=["a"]),
        f"{SPREADS}.matchLabelKeys: matchLabelKeys {KEYS_ALONE}",
    ),
    "an operator of nodes in a selector of pods": (
        spread(labelSelector=selecting("Gt", "1")),
        f"{SPREADS}.labelSelector.matchExpressions[0].operator: operator is 'Gt'; {OPERATORS}",
    ),
    "an unknown operator of a toleration": (
        tolerating(key="a", operator="Gt", value="1"),
        f"{TOLERATION}.operator: operator is 'Gt'; use Equal or Exists",
    ),
    "an unknown effect of a toleration": (
        tolerating(key="a", effect="Never"),
        f"{TOLERATION}.effect: effect is 'Never'; use NoSchedule or PreferNoSchedule or NoExecute",
    ),
    "a toleration of a value without a key": (
        tolerating(value="a"),
        f"{TOLERATION}.operator: no key, and an operator that needs one; add a key, or use Exists",
    ),
    "a toleration of everything with a value": (
        tolerating(key="a", operator="Exists", value="b"),
        f"{TOLERATION}.value: operator Exists has a value; remove the value, or use Equal",
    ),
    "seconds of a toleration that evicts nobody": (
        tolerating(key="a", effect="NoSchedule", tolerationSeconds=3),
        (
            f"{TOLERATION}.effect: tolerationSeconds with another effect than NoExecute; "
            "use effect NoExecute, or remove them"
        ),
    ),
    "an unknown operator in pod affinity": (
        near(labelSelector=selecting("Equals", "a")),
        (
            f"affinity.podAffinity.{REQUIRED}[0].labelSelector.matchExpressions[0].operator: "
            f"operator is 'Equals'; {OPERATORS}"
        ),
    ),
    "an unknown operator for namespaces": (
        near(PREFERRED, "podAntiAffinity", namespaceSelector=selecting("in", "a")),
        (
            f"affinity.podAntiAffinity.{PREFERRED}[0].podAffinityTerm.namespaceSelector."
            "matchExpressions[0].operator: "
            f"operator is 'in'; {OPERATORS}"
        ),
    ),
    "affinity within no topology": (
        near(kind="podAntiAffinity", topologyKey=""),
        f"affinity.podAntiAffinity.{REQUIRED}[0].topologyKey: topologyKey is empty; name a label of nodes",
    ),
    "label keys of affinity without a selector": (
        near(labelSelector=None, mismatchLabelKeys=["a"]),
        (f"affinity.podAffinity.{REQUIRED}[0].mismatchLabelKeys: mismatchLabelKeys {KEYS_ALONE}"),
    ),
    "an unknown operator in node affinity": (
        on(operator="Like", values=["a"]),
        f"{TERM}.matchExpressions[0].operator: operator is 'Like'; {OPERATORS} or Gt or Lt",
    ),
    "in none": (
        on(operator="In"),
        f"{TERM}.matchExpressions[0].values: operator In without values; add values",
    ),
    "existing with a value": (
        on(operator="Exists", values=["a"]),
        f"{TERM}.matchExpressions[0].values: operator Exists has values; remove them",
    ),
    "more than two numbers": (
        on(operator="Gt", values=["1", "2"]),
        f"{TERM}.matchExpressions[0].values: operator Gt has 2 values; use one",
    ),
    "fields that nodes do not have": (
        on(field="matchFields", key="metadata.uid", operator="In", values=["a"]),
        (
            f"{TERM}.matchFields[0].key: nodes have no field 'metadata.uid' to select by; "
            "use metadata.name, or matchExpressions for labels"
        ),
    ),
    "several names of a node at once": (
        on(field="matchFields", key="metadata.name", operator="In", values=["a", "b"]),
        f"{TERM}.matchFields[0].values: several values of a field; use one, in a term of its own each",
    ),
    "fields that exist": (
        on(field="matchFields", key="metadata.name", operator="Exists"),
        f"{TERM}.matchFields[0].operator: operator is 'Exists'; use In or NotIn",
    ),
    "node affinity without a term": (
        {"affinity": {"nodeAffinity": {REQUIRED: {}}}},
        f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms: no term; add one, or remove the affinity",
    ),
    "a weight above a hundred": (
        rather(101, operator="Exists"),
        f"{RATHER}.weight: weight is 101; use 1 to 100",
    ),
    "a weight of nothing": (
        {"affinity": {"podAffinity": {PREFERRED: [{"weight": 0, "podAffinityTerm": NEAR}]}}},
        f"affinity.podAffinity.{PREFERRED}[0].weight: weight is 0; use 1 to 100",
    ),
    "a wish for more than what is no integer, which kube-scheduler cannot score": (
        rather(operator="Gt", values=["1.5"]),
        (
            f"{RATHER}.preference.matchExpressions[0].values[0]: Gt compares integers, and '1.5' is none; "
            "use an integer"
        ),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_api_server_would_refuse(case):
    spec, said = REFUSED[case]
    assert not_asked(pod("a", **spec)) == f"standard input: spec.{said}"


@pytest.mark.parametrize("case", REFUSED)
def test_a_cluster_is_read_whatever_its_pods_say(case):
    assert list(dumped(node(), pod("a", **REFUSED[case][0])).workloads.keys()) == ["team/a"]


def test_the_path_leads_into_the_template_of_a_set():
    template = {"spec": pod(**spread(maxSkew=-1))["spec"]}
    sets = thing("apps/v1", "Deployment", "web", spec={"template": template})
    text = json.dumps(sets, indent=1)
    assert not_asked(text=text) == (
        f"standard input: spec.template.spec.{SPREADS}.maxSkew: maxSkew is -1; use 1 or more"
    )
    assert len(dumped(node(), sets).workloads) == 1


GOOD = {
    "everything that is known": {
        **spread(
            whenUnsatisfiable="DoNotSchedule",
            minDomains=2,
            nodeAffinityPolicy="Ignore",
            matchLabelKeys=["a"],
            nodeTaintsPolicy="Honor",
            labelSelector=selecting("NotIn", "a", "b"),
        ),
        "tolerations": [
            {"operator": "Exists"},
            {"key": "a", "operator": "", "effect": ""},
            {"key": "a", "effect": "NoExecute", "tolerationSeconds": 3},
        ],
        "affinity": {
            **near(PREFERRED, "podAntiAffinity", namespaceSelector={})["affinity"],
            **on(field="matchFields", key="metadata.name", operator="NotIn", values=["n"])["affinity"],
        },
    },
    "one key, by force and by wish": {
        "topologySpreadConstraints": [SPREAD, {**SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}]
    },
    "nulls": {
        **spread(minDomains=None, nodeAffinityPolicy=None, labelSelector=None, matchLabelKeys=None),
        "tolerations": None,
        "affinity": {"nodeAffinity": {REQUIRED: None, PREFERRED: None}, "podAffinity": None},
    },
    "more than a number, even a small one": on(operator="Gt", values=["-5"]),
    "a wish for less": rather(100, operator="Lt", values=["9223372036854775807"]),
}


@pytest.mark.parametrize("case", GOOD)
def test_what_an_api_server_takes_is_read_without_a_word(case):
    assert asked(pod("a", **GOOD[case])).warnings == ()


@pytest.mark.parametrize("number", ["x", "1.5", "", "9223372036854775808"])
def test_a_node_that_must_have_more_than_what_is_no_integer_is_taken_and_told(number):
    assert asked(pod("a", **on(operator="Gt", values=[number]))).warnings == (
        (
            f"team/a: spec.{TERM}.matchExpressions[0].values[0]: "
            f"Gt compares integers, and '{number}' is none: no node meets it"
        ),
    )
