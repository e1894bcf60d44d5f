"""CapacityPolicies in a file, checked before anybody applies them: in the words of the webhook.

The hard thing is a field that there is none of: an API server drops it, so whoever wrote it is told here.
"""

from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from ullage.model.cluster import Snapshot
from ullage.model.errors import InputError
from ullage.model.policy import PROFILE_NAMES, Policy
from ullage.model.resources import ResourceTypes
from ullage.model.verdict import Finding
from ullage.sources.documents import Document, read_documents
from ullage.sources.given import given, is_there
from ullage.sources.kubernetes.capacity_policies import CAPACITY_POLICY, FIELDS, OBJECT, Policies
from ullage.sources.kubernetes.faults import Fault, decoded
from ullage.sources.limits import POLICY_LIMITS
from ullage.sources.own_format import is_own, read_header
from ullage.sources.places import one_line, path_text, shown
from ullage.sources.policy_files import policy_findings

_VALUES: Final = msgspec.json.Decoder(dict[str, Any])


class Checked(NamedTuple):
    """The names of CapacityPolicies, how many settings they have, and what is wrong with them."""

    names: tuple[str, ...]
    settings: int
    findings: tuple[Finding, ...]


def check_objects(path: str, types: ResourceTypes, snapshot: Snapshot | None) -> Checked | None:
    """Return what is wrong with the CapacityPolicies in a file; None where it holds something else."""
    if path in PROFILE_NAMES or not is_there(path) or (given(path) is None and Path(path).is_dir()):
        return None
    documents = list(read_documents(path, limits=POLICY_LIMITS))
    if not documents or not all(map(_is_object, documents)):
        return None
    policies = Policies(types)
    names: list[str] = []
    found: list[Finding] = []
    settings = 0
    for document in documents:
        document.reject_duplicate_keys()
        values = document.decode(_VALUES)
        content = msgspec.json.encode(values)
        try:
            name = decoded(OBJECT, content).metadata.name
        except Fault as fault:
            raise fault.in_document(document, ()) from None
        if name in names:
            raise document.error(f"CapacityPolicy {shown(name)} is there twice", remedy="keep one of the two")
        names.append(name)
        origin = f"{CAPACITY_POLICY.name} {one_line(name)}"
        wrong = [*_unknown_fields(values.get("spec")), *policies.errors_of(content)]
        found += [
            Finding("policy-setting", "error", origin, f"{origin}: {each.where}: {each.what}", each.remedy)
            for each in wrong
        ]
        policies.put(content)
        layer = policies.layer(name)
        if layer is not None:
            settings += sum(map(len, (layer.cluster, *layer.groups.values(), *layer.nodes.values())))
            found += policy_findings(Policy(name, (layer,)), types, snapshot)
    return Checked(tuple(names), settings, tuple(found))


def _is_object(document: Document) -> bool:
    header = read_header(document)
    return is_own(header) and header.kind == CAPACITY_POLICY.name


def _unknown_fields(spec: Any) -> list[InputError]:
    fields = [name for name in spec if name not in FIELDS] if isinstance(spec, dict) else []
    return [
        InputError(
            f"a policy has no field {shown(name)!r}",
            where=path_text(("spec", name)),
            remedy="write settings under cluster, groups or nodes, and name a profile with inherits",
        )
        for name in fields
    ]
