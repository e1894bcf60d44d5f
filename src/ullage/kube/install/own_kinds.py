"""The definitions of our own kinds: CapacityPolicy, Quota, ResourceType, Plan, NodeCapacity of ullage.dev/v1.

Their specs are what the readers read: PolicyDocument, QuotaSpec, ResourceType. Of what people write, schemas
say the types and how much there may be; which values hold the webhook says. An amount or a number has no type
there, as it may be written with decimals or in quotes.
"""

from typing import Final, get_args

import msgspec

from ullage.kube.install.choices import Document
from ullage.kube.install.definitions import Column, Names, definition
from ullage.kube.install.schemas import (
    AMOUNTS,
    CONDITIONS,
    LIST_ITEMS_MAX,
    NAME,
    OBSERVED,
    TEXT,
    USED,
    WHOLE,
    WRITTEN,
    described,
    object_schema,
    record_schema,
)
from ullage.model.cluster import EvictsOthers, EvictsOwn, NodeState
from ullage.model.policy import PROFILE_NAMES
from ullage.model.resources import ResourceType
from ullage.sources.kubernetes.object_kinds import OWN_GROUP
from ullage.sources.kubernetes.wire import QuotaSpec
from ullage.sources.own_records import PolicyDocument

CATEGORY: Final = "ullage"
POLICY: Final = Names(OWN_GROUP, "CapacityPolicy", "capacitypolicies", ("cpol",), CATEGORY)
QUOTA: Final = Names(OWN_GROUP, "Quota", "quotas", ("uq",), CATEGORY)
TYPE: Final = Names(OWN_GROUP, "ResourceType", "resourcetypes", ("rtype",), CATEGORY)
PLAN: Final = Names(OWN_GROUP, "Plan", "plans", ("uplan",), CATEGORY)
NODE: Final = Names(OWN_GROUP, "NodeCapacity", "nodecapacities", ("ncap",), CATEGORY)
OWN: Final = (POLICY, QUOTA, TYPE, PLAN, NODE)
MADE_BY_PROCESSES: Final = frozenset((NODE.definition,))
"""Definitions whose objects nobody writes by hand: they are made again wherever an operator runs."""

SETTINGS_MAX: Final = 256
COMMIT_BYTES_MAX: Final = 1 << 20
_SETTINGS: Final[Document] = {
    "type": "object",
    "maxProperties": SETTINGS_MAX,
    "additionalProperties": WRITTEN,
}
_BY_NAME: Final[Document] = {
    "type": "object",
    "maxProperties": 10_000,
    "additionalProperties": {**_SETTINGS, "nullable": True},  # null is kept, so that it is refused
}
_POLICY_TEXTS: Final = {
    "description": "What this policy is for, in one line.",
    "inherits": "The built-in profile whose settings hold where no policy says anything (else kubernetes): "
    f"{', '.join(PROFILE_NAMES)}.",
    "cluster": "Settings of the whole cluster, as memory-ratio: 1.5 (see `ullage policy show`).",
    "groups": "Settings of groups of nodes, by the name of the group.",
    "nodes": "Settings of single nodes, by their name.",
}
_OF_OBJECTS: Final = frozenset(("apiVersion", "kind", "name"))
"""Fields of a policy file that every object of Kubernetes has in a place of its own."""
_ROOM_TEXTS: Final = {
    "allocatable": "Capacity without what is kept back for the system.",
    "limit": "What may be promised: allocatable times the ratio.",
    "committed": "What is promised.",
    "free": "What is not promised yet, summed over its nodes.",
    "spare": "What is kept free for the nodes that may be lost.",
    "ullage": "What can still be promised: free without spare.",
}
_NODE_TEXTS: Final = {
    "capacity": "What the node has.",
    "reserve": "What of it is kept back for the system.",
    "allocatable": "Capacity without the reserve.",
    "limit": "What may be promised: allocatable times the ratio.",
    "committed": "What is promised.",
    "free": "What is not promised yet; on a node that is not ready, nobody gets it.",
}
QUOTA_TEXTS: Final = {
    "namespaces": "The namespaces whose workloads count here.",
    "queues": "Queues of Kueue whose workloads count here, as NAMESPACE/NAME.",
    "min": "What is guaranteed, by resource; of what is not named nothing is.",
    "max": "What is never exceeded, by resource; what is not named has no bound.",
    "parent": "The quota above this one, whose min its children share.",
    "weight": 'The share of what others leave unused, as 2, 1.5 or "4/3"; without it, min counts.',
    "lendingLimit": "How much of an unused min others may claim, by resource; without it, all.",
    "borrowingLimit": "How much beyond min it may have, by resource; what is not named has no bound.",
    "evictsOwn": f"Whom its claims evict of its own workloads: {', '.join(get_args(EvictsOwn))} "
    "(else LowerPriority).",
    "evictsOthers": "Whom its claims evict of other quotas, where it has the right to: "
    f"{', '.join(get_args(EvictsOthers))} (else Any).",
}
_TYPE_TEXTS: Final = {
    "name": "The resource as pods name it, with a domain of your own: example.com/licences.",
    "units": "What an amount counts, as seat or byte per second.",
    "internalScaleExponent": "How many decimals of a unit are told apart: 3 for milli.",
    "isCompressible": "Whether a workload that gets less only runs slower.",
    "defaultRequest": "What a workload asks for that names neither request nor limit.",
    "quantization": "Requests are rounded up to this many of the smallest steps.",
}
_PLAN_TEXTS: Final = {
    "revision": "The revision of the ledger that this step makes, or after which its state was so.",
    "atSeconds": "When it was decided, in seconds since 1970.",
    "hash": "Of the step and of the hash before it, in hexadecimal digits.",
    "key": "Of a step: under which it was asked for; the same key never takes a step twice.",
    "command": "Of a step: what was asked for, as JSON text.",
    "decision": "Of a step: what became of it, with every promise that it changed, as JSON text.",
    "writer": "Of a step: a mark by which its writer knows it.",
    "part": "Of a state that is kept: the number of this part of it, from 0 on.",
    "parts": "Of a state that is kept: how many parts it has.",
    "state": "Of a state that is kept: a part of its text, compressed.",
    "digest": "Of a state that is kept: that of its whole text, in hexadecimal digits.",
}
_PLAN_RULES: Final = (
    ("self == oldSelf", "a step of the ledger is not changed"),
    (
        "has(self.command) == has(self.decision) && has(self.command) != has(self.state)",
        "a plan is a step, with a command and a decision, or a part of a state",
    ),
    (
        "[has(self.part), has(self.parts), has(self.digest)].all(each, each == has(self.state))",
        "a part of a state says which it is of how many, and the digest of the whole",
    ),
)
_PLAN_NAME: Final = {
    "rule": "has(self.spec.state) ? self.metadata.name.startsWith('state-') : "
    "(self.metadata.name.matches('^step-[0-9]{16}$') && "
    "int(self.metadata.name.substring(5)) == self.spec.revision)",
    "message": "the name of a step is its revision, as step-0000000000000042: that is the order of steps",
}


def own_definitions() -> list[Document]:
    """Return the definitions of our own kinds."""
    return [_policy(), _quota(), _type(), _plan(), _node()]


def policy_fields() -> tuple[str, ...]:
    """Return the fields of a policy file that are fields of the spec."""
    written = (field.encode_name for field in msgspec.structs.fields(PolicyDocument))
    return tuple(name for name in written if name not in _OF_OBJECTS)


def _policy() -> Document:
    forms = {
        "description": TEXT,
        "inherits": NAME,
        "cluster": _SETTINGS,
        "groups": _BY_NAME,
        "nodes": _BY_NAME,
    }
    spec = {
        "type": "object",
        "properties": {name: described(_POLICY_TEXTS[name], forms[name]) for name in policy_fields()},
    }
    room = {
        "name": described("The group of nodes.", NAME),
        "nodes": described("How many nodes it has.", WHOLE),
        **{name: described(text, USED) for name, text in _ROOM_TEXTS.items()},
    }
    groups = {
        "description": "The room of each group of nodes under all policies.",
        "type": "array",
        "maxItems": LIST_ITEMS_MAX,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "required": ["name"], "properties": room},
    }
    status = {
        "type": "object",
        "properties": {"observedGeneration": OBSERVED, "conditions": CONDITIONS, "groups": groups},
    }
    columns = (
        Column("Inherits", "string", ".spec.inherits", "The profile behind it."),
        _VALID,
        Column(
            "Why",
            "string",
            '.status.conditions[?(@.type=="Valid")].message',
            "Whom it is for, or why not.",
            1,
        ),
    )
    text = "How much of nodes is kept back, how far they are over-committed, and how many may be lost."
    return definition(POLICY, object_schema(text, spec, status), columns)


_VALID: Final = Column(
    "Valid", "string", '.status.conditions[?(@.type=="Valid")].status', "Whether it can be applied."
)


def _quota() -> Document:
    bounds = ("min", "max", "lendingLimit", "borrowingLimit")
    forms = {**dict.fromkeys(bounds, AMOUNTS), "weight": WRITTEN, "evictsOwn": NAME, "evictsOthers": NAME}
    spec = record_schema(QuotaSpec, QUOTA_TEXTS, forms)
    status = {
        "type": "object",
        "properties": {
            "observedGeneration": OBSERVED,
            "used": described("What its workloads have.", USED),
            "entitlement": described("What it may claim at present.", USED),
            "borrowed": described("What it has beyond min.", USED),
            "conditions": CONDITIONS,
        },
    }
    columns = (
        Column("Parent", "string", ".spec.parent", "The quota above it."),
        Column("Min", "string", ".spec.min", "What is guaranteed."),
        Column("Used", "string", ".status.used", "What its workloads have."),
        Column("Max", "string", ".spec.max", "What is never exceeded.", 1),
        _VALID,
    )
    text = "What namespaces are guaranteed and may never exceed, and their place in a tree of quotas."
    return definition(QUOTA, object_schema(text, spec, status), columns)


def _type() -> Document:
    forms = {
        "name": {**NAME, "x-kubernetes-validations": [_fixed("name")]},
        "internalScaleExponent": {**WHOLE, "x-kubernetes-validations": [_fixed("internalScaleExponent")]},
        "defaultRequest": WRITTEN,
    }
    spec = record_schema(ResourceType, _TYPE_TEXTS, forms)
    del spec["required"]  # that a name is missing is for the webhook to say
    spec["properties"]["internalScaleExponent"]["default"] = 0
    columns = (
        Column("Resource", "string", ".spec.name", "The resource."),
        Column("Units", "string", ".spec.units", "What an amount counts."),
    )
    text = "What is to be known of a resource that is not built in."
    schema = object_schema(text, spec)
    return definition(TYPE, schema, columns, has_status=False)


def _fixed(name: str) -> Document:
    return {
        "rule": "self == oldSelf",
        "message": f"{name} cannot be changed, amounts depend on it; make another ResourceType",
    }


def _plan() -> Document:
    digest = {"type": "string", "pattern": "^[0-9a-f]{64}$", "maxLength": 64}
    forms = {
        "revision": {**WHOLE, "minimum": 1},
        "atSeconds": {**WHOLE, "minimum": 0},
        "hash": digest,
        "key": {"type": "string", "maxLength": 256},
        "command": {"type": "string", "maxLength": COMMIT_BYTES_MAX},
        "decision": {"type": "string", "maxLength": COMMIT_BYTES_MAX},
        "writer": {"type": "string", "maxLength": 64},
        "part": {**WHOLE, "minimum": 0},
        "parts": {**WHOLE, "minimum": 1},
        "state": {"type": "string", "maxLength": COMMIT_BYTES_MAX},
        "digest": digest,
    }
    spec = {
        "type": "object",
        "required": ["revision", "atSeconds", "hash"],
        "properties": {name: described(text, forms[name]) for name, text in _PLAN_TEXTS.items()},
        "x-kubernetes-validations": [{"rule": rule, "message": said} for rule, said in _PLAN_RULES],
    }
    columns = (
        Column("Revision", "integer", ".spec.revision", "The revision that it makes, or is the state of."),
        Column("Key", "string", ".spec.key", "Under which it was asked for.", 1),
        Column("Parts", "integer", ".spec.parts", "Of a state that is kept: its parts."),
    )
    text = (
        "One step of the ledger of promises: all that it promises is in it, or nothing. "
        "Or a part of the state after a step, from which the ledger is read when older steps are gone."
    )
    more: Document = {"required": ["spec"], "x-kubernetes-validations": [_PLAN_NAME]}
    schema = object_schema(text, spec, None, **more)
    return definition(PLAN, schema, columns, has_status=False)


def _node() -> Document:
    """Return the definition of what is said about nodes; it has no spec, as there is nothing to want."""
    status = {
        "type": "object",
        "properties": {
            "group": described("The group of nodes that it is in.", NAME),
            "state": described(
                "Whether it takes workloads.", {"type": "string", "enum": [*get_args(NodeState)]}
            ),
            **{name: described(text, USED) for name, text in _NODE_TEXTS.items()},
            "conditions": CONDITIONS,
        },
    }
    columns = (
        Column("Group", "string", ".status.group", "The group of nodes that it is in."),
        Column("State", "string", ".status.state", "Whether it takes workloads."),
        *(_free(name, resource) for name, resource in _SHOWN.items()),
        Column(
            "Over-committed",
            "string",
            '.status.conditions[?(@.type=="OverCommitted")].status',
            "Whether more is committed than its limit.",
        ),
        Column("Committed", "string", ".status.committed", "What is promised.", 1),
    )
    text = "How much room a node has, kept by the operator: made for each node, and gone with it."
    return definition(NODE, object_schema(text, None, status), columns)


_SHOWN: Final = {
    "Free-CPU": "cpu",
    "Free-memory": "memory",
    "Free-pods": "pods",
    "Free-GPU": "nvidia.com/gpu",
}
"""The resources whose free amount `kubectl get` shows."""


def _free(name: str, resource: str) -> Column:
    escaped = resource.replace(".", r"\.")
    return Column(name, "string", f".status.free.{escaped}", f"What is free of {resource}.")
