"""Where a pod may run: its placement constraints, as it states them.

The records of the model have the field names of the Kubernetes API, so msgspec reads them as they are.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Raw

from ullage.model.constraints import (
    UNCONSTRAINED,
    Affinity,
    Constraints,
    HostPort,
    LabelSelector,
    Toleration,
    TopologySpread,
)
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.interned import reader
from ullage.sources.kubernetes.wire import PodSpec, Wire, is_sidecar


class _Port(Wire):
    container_port: int | None = None
    host_port: int | None = None
    protocol: str | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")


class _OfName(Wire):
    name: str


_SELECTOR: Final = reader(msgspec.json.Decoder(dict[str, str] | None))
_AFFINITY: Final = reader(msgspec.json.Decoder(Affinity | None))
_TOLERATIONS: Final = reader(msgspec.json.Decoder(tuple[Toleration, ...] | None))
_SPREAD: Final = reader(msgspec.json.Decoder(tuple[TopologySpread, ...] | None))
_NAMES: Final = reader(msgspec.json.Decoder(tuple[_OfName, ...] | None))
_PORTS: Final = reader(msgspec.json.Decoder(tuple[_Port, ...] | None))
_FLAG: Final = reader(msgspec.json.Decoder(bool | None))
_ALL: Final = LabelSelector()
_NO_AFFINITY: Final = Affinity()


def constraint_texts(spec: PodSpec) -> list[Raw | bytes]:
    """Everything that a pod's constraints are read from, as it is written."""
    texts: list[Raw | bytes] = [
        b"",
        spec.node_selector,
        spec.affinity,
        spec.tolerations,
        spec.topology_spread_constraints,
        spec.scheduling_gates,
        spec.resource_claims,
        spec.host_network,
    ]
    texts += [container.ports for container in spec.containers or ()]
    for container in spec.init_containers or ():
        texts += (b"", container.restart_policy, container.ports)
    return texts


def read_constraints(spec: PodSpec) -> Constraints:
    """The constraints of a pod; raises a Fault."""
    values = {}
    for name, (read, raw) in _parts(spec).items():
        try:
            values[name] = read(bytes(raw))
        except Fault as fault:
            raise fault.under("spec", name) from None
    affinity = values["affinity"]
    found = Constraints(
        node_selector=values["nodeSelector"] or {},
        affinity=None if affinity == _NO_AFFINITY else affinity,
        tolerations=values["tolerations"] or (),
        topology_spread=values["topologySpreadConstraints"] or (),
        host_ports=_host_ports(spec, on_host_network=bool(values["hostNetwork"])),
        scheduling_gates=tuple(gate.name for gate in values["schedulingGates"] or ()),
        resource_claims=tuple(claim.name for claim in values["resourceClaims"] or ()),
    )
    return UNCONSTRAINED if found == UNCONSTRAINED else found


def selects_namespaces(constraints: Constraints) -> bool:
    """Whether affinity chooses pods by labels of their namespaces; an empty selector chooses all of them."""
    affinity = constraints.affinity
    if affinity is None:
        return False
    terms = []
    for each in (affinity.pod_affinity, affinity.pod_anti_affinity):
        if each is not None:
            terms += [*each.required, *(weighted.pod_affinity_term for weighted in each.preferred)]
    return any(term.namespace_selector not in (None, _ALL) for term in terms)


def _parts(spec: PodSpec) -> dict[str, tuple[Callable[[bytes], Any], Raw]]:
    return {
        "nodeSelector": (_SELECTOR, spec.node_selector),
        "affinity": (_AFFINITY, spec.affinity),
        "tolerations": (_TOLERATIONS, spec.tolerations),
        "topologySpreadConstraints": (_SPREAD, spec.topology_spread_constraints),
        "schedulingGates": (_NAMES, spec.scheduling_gates),
        "resourceClaims": (_NAMES, spec.resource_claims),
        "hostNetwork": (_FLAG, spec.host_network),
    }


def _host_ports(spec: PodSpec, *, on_host_network: bool) -> tuple[HostPort, ...]:
    """The ports of the node that the pod takes while it runs; steps that end give theirs back.

    On the host's own network every port of a container is one of the node, as admission fills in.
    """
    listed = [("containers", index, each.ports) for index, each in enumerate(spec.containers or ())]
    listed += [
        ("initContainers", index, each.ports)
        for index, each in enumerate(spec.init_containers or ())
        if is_sidecar(each)
    ]
    taken = []
    for field, index, raw in listed:
        try:
            ports = _PORTS(bytes(raw)) or ()
        except Fault as fault:
            raise fault.under("spec", field, index, "ports") from None
        for each in ports:
            number = each.host_port or (each.container_port if on_host_network else None)
            if number:
                taken.append(HostPort(number, each.protocol or "TCP", each.host_ip or ""))
    return tuple(taken)
