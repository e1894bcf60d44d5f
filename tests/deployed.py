"""The files of deploy/ that are made from `ullage kube install`: the kustomize base and most of the chart.

    python tests/deployed.py     writes them

Deployments of the chart are written by hand, because values change them; everything else is the same text
with the release's names in it. Curly braces are Helm's language, so objects must not hold any of their own.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ullage import __version__
from ullage.kube.install.choices import (
    COMPONENT_LABEL,
    COMPONENTS,
    MANAGED_LABEL,
    NAME_LABEL,
    OPERATOR,
    VERSION_LABEL,
    Choices,
)
from ullage.kube.install.foreign_kinds import foreign_definitions
from ullage.kube.install.objects import objects, webhook
from ullage.kube.install.own_kinds import MADE_BY_PROCESSES, own_definitions
from ullage.kube.install.processes import processes
from ullage.kube.install.rights import rights
from ullage.kube.install.text import yaml_text

ROOT = Path(__file__).resolve().parents[1]
CHART = Path("deploy/helm/ullage")
BASE = Path("deploy/kustomize/base")
PLACEHOLDER = "release-namespace"
NAMESPACE = "{{ .Release.Namespace }}"
HEADING = "# Written by `make deploy` from `ullage kube install`: change that, not this.\n"
CHART_HEADING = "{{- /* Written by `make deploy` from `ullage kube install`: change that, not this. */}}\n"
KEPT = {"helm.sh/resource-policy": "keep"}

Document = dict[str, Any]


def files() -> dict[Path, str]:
    """Return each file that is made, by its path from the root."""
    return {**_chart(), **_base()}


def _chart() -> dict[Path, str]:
    choices = Choices(namespace=PLACEHOLDER)
    made = {CHART / "templates/definitions.yaml": _when(".Values.crds", map(_kept, own_definitions()))}
    for component in COMPONENTS:
        parts = [*rights(component, PLACEHOLDER)]
        parts += [each for each in processes(component, choices) if each["kind"] != "Deployment"]
        if component == OPERATOR:
            parts.append(webhook(choices))
        made[CHART / f"templates/{component}.yaml"] = _when(f'has "{component}" .Values.components', parts)
    for each in foreign_definitions():
        made[CHART / f"crds/{each['metadata']['name']}.yaml"] = HEADING + yaml_text([each])
    return made


def _when(condition: str, documents: Iterable[Document]) -> str:
    text = yaml_text(_templated(each) for each in documents)
    assert "{{" not in text, "an object holds what Helm would take for its language"
    text = text.replace(PLACEHOLDER, NAMESPACE)
    text = text.replace("managed-by-placeholder", "{{ .Release.Service }}")
    return f"{CHART_HEADING}{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n"


def _kept(document: Document) -> Document:
    """Return a definition that an uninstallation leaves where it is, with all objects that people made."""
    if document["metadata"]["name"] in MADE_BY_PROCESSES:
        return document
    metadata = {**document["metadata"], "annotations": KEPT}
    return {**document, "metadata": metadata}


def _templated(document: Document) -> Document:
    labels: Mapping[str, str] = document["metadata"]["labels"]
    assert set(labels) >= {NAME_LABEL, COMPONENT_LABEL, VERSION_LABEL, MANAGED_LABEL}
    changed = {**labels, MANAGED_LABEL: "managed-by-placeholder"}
    return {**document, "metadata": {**document["metadata"], "labels": changed}}


def _base() -> dict[Path, str]:
    every = objects(Choices())
    parts = {
        "definitions.yaml": own_definitions(),
        "foreign-definitions.yaml": foreign_definitions(),
    }
    defined = {each["metadata"]["name"] for listed in parts.values() for each in listed}
    parts["ullage.yaml"] = [each for each in every if each["metadata"]["name"] not in defined]
    resources = "".join(f"  - {name}\n" for name in parts)
    image = f"images:\n  - name: ullage\n    newTag: {__version__}\n"
    kustomization = (
        f"{HEADING}apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
        f"resources:\n{resources}{image}"
    )
    return {
        BASE / "kustomization.yaml": kustomization,
        **{BASE / name: HEADING + yaml_text(listed) for name, listed in parts.items()},
    }


if __name__ == "__main__":
    for path, content in files().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(content, encoding="utf-8")
