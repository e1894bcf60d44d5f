"""What kube-scheduler and its extenders say to each other, as Go writes it.

The types of the protocol have no names for JSON of their own: keys are the names of their fields, capitals
and all (only the pod inside is as everywhere), and what is empty may be null.
"""

from typing import Final

import msgspec


class _Wire(msgspec.Struct, rename="pascal"):
    """A type of the protocol."""


class PodMetadata(msgspec.Struct):
    """Which pod is meant."""

    name: str
    namespace: str = ""
    uid: str = ""

    @property
    def key(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}"


class Pod(msgspec.Struct):
    """A pod: all that is needed of it is known by the watch already."""

    metadata: PodMetadata


class ExtenderArgs(_Wire):
    """Which of these nodes take a pod, or how well they suit it."""

    pod: Pod
    node_names: list[str] | None = None


class FilterResult(_Wire):
    """The nodes that take it, and why the others do not.

    Those are told as unresolvable: kube-scheduler would take them for nodes on which it could evict somebody,
    look for victims where by its own rules there is room, and tell an error.
    """

    node_names: list[str] = []
    failed_nodes: dict[str, str] = {}
    failed_and_unresolvable_nodes: dict[str, str] = {}
    error: str = ""


class HostPriority(_Wire):
    """How well a node suits a pod, from 0 to 10."""

    host: str
    score: int


class MetaPod(msgspec.Struct):
    """A victim."""

    uid: str = msgspec.field(name="UID")


class MetaVictims(_Wire):
    """Who is to go on a node."""

    pods: list[MetaPod] | None = None
    violations: int = msgspec.field(name="NumPDBViolations", default=0)


class PreemptionArgs(_Wire):
    """Whom kube-scheduler would evict for a pod, by node."""

    pod: Pod
    node_name_to_meta_victims: dict[str, MetaVictims] | None = None


class PreemptionResult(_Wire):
    """Who is to be evicted, by node."""

    node_name_to_meta_victims: dict[str, MetaVictims] = {}


class BindingArgs(_Wire):
    """A pod is to be bound to a node."""

    pod_name: str
    pod_namespace: str
    node: str
    uid: str = msgspec.field(name="PodUID", default="")

    @property
    def key(self) -> str:
        """Namespace and name of the pod."""
        return f"{self.pod_namespace}/{self.pod_name}"


class BindingResult(_Wire):
    """Why it was not bound; nothing where it was."""

    error: str = ""


EXTENDER_ARGS: Final = msgspec.json.Decoder(ExtenderArgs)
PREEMPTION_ARGS: Final = msgspec.json.Decoder(PreemptionArgs)
BINDING_ARGS: Final = msgspec.json.Decoder(BindingArgs)
BINDING_RESULT: Final = msgspec.json.Decoder(BindingResult)
FILTER_RESULT: Final = msgspec.json.Decoder(FilterResult)
PREEMPTION_RESULT: Final = msgspec.json.Decoder(PreemptionResult)
