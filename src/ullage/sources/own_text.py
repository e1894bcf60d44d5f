"""Writing our own documents as YAML or JSON, so that reading them gives the same records again.

The hard part is YAML: PyYAML's dumper and our reader differ in which plain words are numbers (`0o17`), so
whatever our reader would not take for text is quoted here.
"""

from typing import Any, Final, Literal

import msgspec
import yaml

from ullage.model.cluster import Batch, Snapshot, Workload
from ullage.model.defaults import leaving_out_defaults
from ullage.model.delta import TABLE_FACTS, TABLES, Delta
from ullage.model.errors import InputError
from ullage.model.resources import Resources, ResourceTypes
from ullage.model.wire import API_VERSION
from ullage.sources.own_hooks import writing_hook
from ullage.sources.own_records import (
    NO_TYPES,
    DeltaDocument,
    NodeEntry,
    PolicyDocument,
    ResourceTypesDocument,
    SnapshotDocument,
    WorkloadEntry,
    WorkloadSet,
    WorkloadSetDocument,
)
from ullage.sources.yaml_scalars import plain_value

Form = Literal["yaml", "json"]
_BUILT_IN_TYPES: Final = ResourceTypes()
_ASKS_FOR_NOTHING: Final = Resources()
"""Written as `{}`; the shared default of the records is left out, and absent means: add it up."""


def snapshot_text(snapshot: Snapshot, form: Form = "yaml") -> bytes:
    """Return a snapshot as a document of kind Snapshot."""
    rows: dict[str, Any] = {name: leaving_out_defaults(tuple(getattr(snapshot, name))) for name in TABLES}
    rows["nodes"] = tuple(NodeEntry(**_fields(node)) for node in rows["nodes"])
    rows["workloads"] = tuple(_explicit(row) for row in rows["workloads"])
    document = SnapshotDocument(
        api_version=API_VERSION,
        kind="Snapshot",
        name=snapshot.name,
        revision=snapshot.revision,
        policy=leaving_out_defaults(snapshot.policy),
        resource_types=_added(snapshot.resource_types),
        unknowns=snapshot.unknowns,
        tags=snapshot.tags,
        instance_policy=leaving_out_defaults(snapshot.instance_policy),
        taken_seconds=snapshot.taken_seconds,
        **rows,
    )
    return document_text(document, form, snapshot.resource_types)


def delta_text(delta: Delta, form: Form = "yaml", types: ResourceTypes = _BUILT_IN_TYPES) -> bytes:
    """Return a delta as a document of kind Delta; types are those of the snapshot it belongs to."""
    rows: dict[str, Any] = {name: getattr(delta, name) for name in TABLES}
    document = DeltaDocument(
        api_version=API_VERSION,
        kind="Delta",
        revision=delta.revision,
        resource_types=_added(types),
        dropped={TABLE_FACTS[name].file_name: keys for name, keys in delta.dropped.items()},
        **{**rows, "workloads": tuple(_explicit(row) for row in delta.workloads)},
    )
    return document_text(document, form, types)


def workload_set_text(workloads: WorkloadSet, form: Form = "yaml") -> bytes:
    """Return a set as a document of kind WorkloadSet."""
    document = WorkloadSetDocument(
        api_version=API_VERSION,
        kind="WorkloadSet",
        name=workloads.name,
        atomic=workloads.atomic,
        resource_types=_added(workloads.resource_types),
        workloads=tuple(_entry(batch) for batch in workloads.batches),
    )
    return document_text(document, form, workloads.resource_types)


def policy_text(policy: PolicyDocument, form: Form = "yaml") -> bytes:
    """Return a policy file."""
    return document_text(policy, form, _BUILT_IN_TYPES)


def resource_types_text(types: ResourceTypes, form: Form = "yaml") -> bytes:
    """Return the types that users added as a document of kind ResourceTypes."""
    document = ResourceTypesDocument(api_version=API_VERSION, kind="ResourceTypes", resource_types=types)
    return document_text(document, form, types)


def document_text(document: msgspec.Struct, form: Form, types: ResourceTypes) -> bytes:
    """Return any record as text, resource maps as canonical quantities of these types."""
    hook = writing_hook(types)
    try:
        if form == "json":
            return msgspec.json.format(msgspec.json.encode(document, enc_hook=hook)) + b"\n"
        return yaml_text(msgspec.to_builtins(document, enc_hook=hook, str_keys=True))
    except UnicodeEncodeError:
        raise InputError("a text holds half of a character", remedy="write names as UTF-8") from None


def yaml_text(value: Any) -> bytes:
    """Return plain values as YAML that our reader reads back as the same values."""
    text: bytes = yaml.dump(
        value,
        Dumper=_Dumper,
        encoding="utf-8",
        allow_unicode=True,
        default_flow_style=False,
        sort_keys=False,
        width=1 << 30,
    )
    return text


class _Dumper(yaml.CSafeDumper):
    """PyYAML's safe dumper without aliases, and with quotes where our reader needs them."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write equal values in full each time: a reader of the file should not have to look back."""
        del data
        return True


def _represent_text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    style = "'" if not isinstance(plain_value(text), str) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def _added(types: ResourceTypes) -> ResourceTypes:
    """Return the types if users added any, else the default that is left out of a document."""
    return types if types.added() else NO_TYPES


def _explicit(workload: Workload) -> Workload:
    """Return a workload whose requests are written even where they are empty."""
    if workload.requests:
        return workload
    return msgspec.structs.replace(workload, requests=_ASKS_FOR_NOTHING)


def _entry(batch: Batch) -> WorkloadEntry:
    return WorkloadEntry(replicas=batch.replicas, atomic=batch.atomic, **_fields(_explicit(batch.workload)))


def _fields(record: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__struct_fields__}
