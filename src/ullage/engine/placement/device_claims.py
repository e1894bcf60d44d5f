"""Devices that a workload asks for by resource claims: which of them it would get is not modelled.

So it is not placed, unless its devices are allocated by another: kube-scheduler does that for every pod it
asks an extender about. The hard thing is what runs already: it has its devices, and counts like any other.
"""

from typing import Final

import msgspec

from ullage.model.cluster import Workload

REMEDY: Final = "let kube-scheduler place it"


def what_it_claims(workload: Workload) -> str:
    """Return which devices a workload asks for that are not modelled; nothing where it asks for none."""
    claims = workload.constraints.resource_claims
    if not claims:
        return ""
    return f"asks for devices by resource claims ({', '.join(sorted(claims))}), which are not modelled"


def without_device_claims(workload: Workload) -> Workload:
    """Return a workload whose devices are for others to allocate."""
    if not workload.constraints.resource_claims:
        return workload
    constraints = msgspec.structs.replace(workload.constraints, resource_claims=())
    return msgspec.structs.replace(workload, constraints=constraints)
