"""Objects as text that kubectl reads: YAML documents one after the other, or one JSON list."""

from collections.abc import Iterable
from typing import Any

from ullage.kube.install.choices import Document


def yaml_text(documents: Iterable[Document]) -> str:
    """Return documents as YAML, fields in the order in which people write them."""
    import yaml

    class Plain(yaml.SafeDumper):
        """Writes the same content twice rather than once with a reference to it."""

        def ignore_aliases(self, data: Any) -> bool:
            del data
            return True

    parts = (
        yaml.dump(each, Dumper=Plain, sort_keys=False, default_flow_style=False, width=110)
        for each in documents
    )
    return "---\n".join(parts)


def json_text(documents: Iterable[Document]) -> str:
    """Return documents as one list of Kubernetes."""
    import json

    listed = {"apiVersion": "v1", "kind": "List", "items": list(documents)}
    return json.dumps(listed, indent=2) + "\n"
