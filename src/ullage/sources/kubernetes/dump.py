"""A cluster from what `kubectl get -o json` (or -o yaml) wrote of it: files, folders, standard input, pages.

    kubectl get nodes,pods,pvc,pv,sc -A -o json > cluster.json

The hard thing is memory: a dump of 30 000 pods is 420 MiB. Its bytes are there once, objects are decoded from
them one at a time, and nothing of a file is kept when it has been read.
"""

import contextlib
import gc
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from ullage.model.cluster import Snapshot
from ullage.model.resources import ResourceTypes
from ullage.sources.documents import read_documents
from ullage.sources.input_files import STANDARD_INPUT
from ullage.sources.kubernetes.cluster_reading import ClusterReading
from ullage.sources.kubernetes.items import Page, items_of
from ullage.sources.kubernetes.nodes import GROUP_LABEL
from ullage.sources.limits import DEFAULT_LIMITS, Limits
from ullage.sources.places import one_line
from ullage.sources.type_documents import is_types_document, types_of_folder

PROFILE: Final = "kubernetes"


class KubernetesSource:
    """A cluster as one or more dumps tell it: files, folders, or `-` for standard input."""

    def __init__(
        self,
        inputs: str | Sequence[str],
        *,
        types: ResourceTypes | None = None,
        limits: Limits = DEFAULT_LIMITS,
        group_label: str = GROUP_LABEL,
        stdin: BinaryIO | None = None,
    ) -> None:
        self._inputs = (inputs,) if isinstance(inputs, str) else tuple(inputs)
        self._types = types
        self._limits = limits
        self._group_label = group_label
        self._stdin = stdin

    @property
    def name(self) -> str:
        """The name of the first file or folder."""
        first = self._inputs[0] if self._inputs else ""
        shown = STANDARD_INPUT if first == "-" else one_line(Path(first).name or first)
        return shown if len(self._inputs) <= 1 else f"{shown} and {len(self._inputs) - 1} more"

    @property
    def profile(self) -> str:
        """The built-in policy for Kubernetes."""
        return PROFILE

    def read(self) -> Snapshot:
        """The cluster; its policy is left to the caller."""
        snapshot = read_dump(
            self._inputs,
            types=self._types,
            limits=self._limits,
            group_label=self._group_label,
            stdin=self._stdin,
        )
        return msgspec.structs.replace(snapshot, name=self.name)


def read_dump(
    inputs: str | Sequence[str],
    *,
    types: ResourceTypes | None = None,
    limits: Limits = DEFAULT_LIMITS,
    group_label: str = GROUP_LABEL,
    stdin: BinaryIO | None = None,
) -> Snapshot:
    """Return the cluster that the inputs describe together; raises an InputError."""
    paths = (inputs,) if isinstance(inputs, str) else tuple(inputs)
    types = types or ResourceTypes()
    for path in paths:
        if path != "-" and os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises where a folder above may not be read
            types = types_of_folder(path, types, limits)
    reading = ClusterReading(types, group_label, limits)
    with _no_collection():
        for path in paths:
            for document in read_documents(path, limits=limits, stdin=stdin, on_file=reading.prepare):
                if reading.file_has_types and is_types_document(document):
                    continue
                for item in items_of(document):
                    if isinstance(item, Page):
                        reading.unknowns.page(item)
                    else:
                        reading.take(item)
        return reading.snapshot()


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from looking for cycles among records that have none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
