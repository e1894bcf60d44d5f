"""Where a pod may run: its placement constraints, one record for all pods that state the same.

The records of the model have the field names of the Kubernetes API, so msgspec reads them as they are. The
texts of all parts together are the key under which a pod's constraints are kept.
"""

from typing import Final

import msgspec
from msgspec import Raw

from ullage.model.constraints import (
    UNCONSTRAINED,
    Affinity,
    Constraints,
    HostPort,
    Toleration,
    TopologySpread,
)
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.interned import reader
from ullage.sources.kubernetes.wire import NULL, PodSpec, Wire


class _Port(Wire):
    container_port: int | None = None
    host_port: int | None = None
    protocol: str | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")


class _Gate(Wire):
    name: str


_SELECTOR: Final = reader(msgspec.json.Decoder(dict[str, str] | None))
_AFFINITY: Final = reader(msgspec.json.Decoder(Affinity | None))
_TOLERATIONS: Final = reader(msgspec.json.Decoder(tuple[Toleration, ...] | None))
_SPREAD: Final = reader(msgspec.json.Decoder(tuple[TopologySpread, ...] | None))
_GATES: Final = reader(msgspec.json.Decoder(tuple[_Gate, ...] | None))
_PORTS: Final = reader(msgspec.json.Decoder(tuple[_Port, ...] | None))
_NULL: Final = bytes(NULL)
_NO_AFFINITY: Final = Affinity()


class ConstraintsReader:
    """The reader of constraints; it remembers all that it has seen."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Constraints] = {}

    def read(self, spec: PodSpec) -> Constraints:
        """The constraints of a pod; raises a Fault."""
        containers = spec.containers or ()
        key = (
            bytes(spec.node_selector),
            bytes(spec.affinity),
            bytes(spec.tolerations),
            bytes(spec.topology_spread_constraints),
            bytes(spec.scheduling_gates),
            spec.host_network,
            *[bytes(container.ports) for container in containers],
            *[(container.restart_policy, bytes(container.ports)) for container in spec.init_containers or ()],
        )
        found = self._known.get(key)
        if found is None:
            found = _read(spec)
            found = self._known[key] = UNCONSTRAINED if found == UNCONSTRAINED else found
        return found


def _read(spec: PodSpec) -> Constraints:
    parts = {
        "nodeSelector": (_SELECTOR, spec.node_selector),
        "affinity": (_AFFINITY, spec.affinity),
        "tolerations": (_TOLERATIONS, spec.tolerations),
        "topologySpreadConstraints": (_SPREAD, spec.topology_spread_constraints),
        "schedulingGates": (_GATES, spec.scheduling_gates),
    }
    values = {}
    for name, (read, raw) in parts.items():
        try:
            values[name] = read(bytes(raw))
        except Fault as fault:
            raise fault.under("spec", name) from None
    gates = values["schedulingGates"] or ()
    affinity = values["affinity"]
    return Constraints(
        node_selector=values["nodeSelector"] or {},
        affinity=None if affinity == _NO_AFFINITY else affinity,
        tolerations=values["tolerations"] or (),
        topology_spread=values["topologySpreadConstraints"] or (),
        host_ports=_host_ports(spec),
        scheduling_gates=tuple(gate.name for gate in gates),
    )


def _host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """The ports of the node that the pod takes while it runs; steps that end give theirs back.

    On the host's own network every port of a container is one of the node, as admission fills in.
    """
    kept = [("containers", index, each.ports) for index, each in enumerate(spec.containers or ())]
    kept += [
        ("initContainers", index, each.ports)
        for index, each in enumerate(spec.init_containers or ())
        if each.restart_policy == "Always"
    ]
    return tuple(port for field, index, ports in kept for port in _container_ports(spec, field, index, ports))


def _container_ports(spec: PodSpec, field: str, index: int, ports: Raw) -> list[HostPort]:
    text = bytes(ports)
    if text == _NULL:
        return []
    try:
        listed = _PORTS(text) or ()
    except Fault as fault:
        raise fault.under("spec", field, index, "ports") from None
    taken = []
    for each in listed:
        number = each.host_port or (each.container_port if spec.host_network else None)
        if number:
            taken.append(HostPort(number, each.protocol or "TCP", each.host_ip or ""))
    return taken
