"""Kubernetes objects as tests write them, and readings of them from memory."""

import io
import json
from typing import Any

import pytest

from ullage.model.cluster import Snapshot, Workload
from ullage.model.errors import InputError
from ullage.model.resources import Resources, ResourceTypes
from ullage.sources.kubernetes.dump import read_dump
from ullage.sources.kubernetes.manifests import Manifests, read_manifests

TYPES = ResourceTypes()


def amounts(**quantities: str) -> Resources:
    """Resources as written, `_` in names for the `-` of real ones."""
    return TYPES.parse({name.replace("_", "-"): text for name, text in quantities.items()})


def container(name: str = "main", requests: Any = None, limits: Any = None, **fields: Any) -> dict[str, Any]:
    resources = {"requests": requests, "limits": limits}
    given = {key: value for key, value in resources.items() if value is not None}
    return {"name": name, **({"resources": given} if given else {}), **fields}


def pod(name: str = "p", *containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A pod; `metadata`, `status` and `namespace` are its own, everything else goes into its spec."""
    metadata = {"name": name, "namespace": spec.pop("namespace", "team"), **spec.pop("metadata", {})}
    status = spec.pop("status", None)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": list(containers) or [container()], **spec},
        **({"status": status} if status is not None else {}),
    }


def node(name: str = "n1", capacity: Any = None, **fields: Any) -> dict[str, Any]:
    """A node; `labels`, `annotations`, `uid`, `spec` and parts of its status may be given."""
    metadata = {"name": name}
    metadata |= {key: fields.pop(key) for key in ("labels", "annotations", "uid") if key in fields}
    spec = fields.pop("spec", {})
    status = {"capacity": capacity or {"cpu": "8", "memory": "32Gi", "pods": "110"}, **fields}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def thing(api_version: str, kind: str, name: str = "x", **fields: Any) -> dict[str, Any]:
    """Any other object; `namespace` is its own."""
    metadata = {"name": name}
    if "namespace" in fields:
        metadata["namespace"] = fields.pop("namespace")
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def listed(*items: Any, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "items": list(items), "kind": "List", "metadata": {}, **fields}


def dumped(*items: Any, **options: Any) -> Snapshot:
    """The snapshot of a dump with these objects."""
    return read_text(json.dumps(listed(*items)), **options)


def read_text(text: str | bytes, **options: Any) -> Snapshot:
    data = text.encode() if isinstance(text, str) else text
    return read_dump("-", stdin=io.BytesIO(data), **options)


def only_pod(*items: Any, **options: Any) -> Workload:
    """The one pod of a dump."""
    (found,) = dumped(*items, **options).workloads
    return found


def refused(*items: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        dumped(*items, **options)
    return str(caught.value)


def asked(*items: Any, text: str = "", **options: Any) -> Manifests:
    """What manifests with these objects ask for."""
    data = text or "\n".join(json.dumps(item) for item in items)
    return read_manifests("-", stdin=io.BytesIO(data.encode()), **options)


def not_asked(*items: Any, text: str = "", **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        asked(*items, text=text, **options)
    return str(caught.value)
