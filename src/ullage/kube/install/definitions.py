"""CustomResourceDefinitions: names, a scope, one version with its schema and the columns of `kubectl get`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ullage.kube.install.choices import DEFINITIONS, Document, metadata

AGE: Final = ("Age", "date", ".metadata.creationTimestamp", "When it was made.", 0)


class Column(NamedTuple):
    """A column of `kubectl get`; one of priority 1 is shown by `-o wide` alone."""

    name: str
    type: str
    path: str
    text: str
    priority: int = 0


class Names(NamedTuple):
    """What a kind is called."""

    group: str
    kind: str
    plural: str
    short: tuple[str, ...] = ()
    category: str = ""

    @property
    def definition(self) -> str:
        """What its definition is called."""
        return f"{self.plural}.{self.group}"


def definition(
    names: Names,
    schema: Mapping[str, Any],
    columns: Sequence[Column] = (),
    *,
    namespaced: bool = False,
    version: str = "v1",
    has_status: bool = True,
) -> Document:
    """Return a definition with one version."""
    called: dict[str, Any] = {
        "kind": names.kind,
        "listKind": f"{names.kind}List",
        "plural": names.plural,
        "singular": names.kind.lower(),
    }
    if names.short:
        called["shortNames"] = list(names.short)
    if names.category:
        called["categories"] = [names.category]
    served: dict[str, Any] = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": dict(schema)},
    }
    if has_status:
        served["subresources"] = {"status": {}}
    served["additionalPrinterColumns"] = [_column(each) for each in (*columns, Column(*AGE))]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata(names.definition, DEFINITIONS),
        "spec": {
            "group": names.group,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": called,
            "versions": [served],
        },
    }


def _column(column: Column) -> Document:
    written: Document = {
        "name": column.name,
        "type": column.type,
        "jsonPath": column.path,
        "description": column.text,
    }
    return {**written, "priority": column.priority} if column.priority else written
