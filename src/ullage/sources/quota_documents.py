"""Quotas that stand beside a snapshot of our own, written as Kubernetes objects: elastic ones and ours."""

from collections.abc import Iterable
from typing import Final

import msgspec

from ullage.engine.quota.validation import refuse_errors
from ullage.model.checks import unique
from ullage.model.cluster import Snapshot
from ullage.model.errors import InputError
from ullage.sources.documents import Document
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.items import Item, items_of, kind_of
from ullage.sources.kubernetes.object_kinds import QUOTA_KINDS, ObjectRows
from ullage.sources.own_format import read_header

_LIST: Final = "List"


def is_quota_document(document: Document) -> bool:
    """Whether a document is a quota in the form of Kubernetes, or a list of one kind of them."""
    header = read_header(document)
    kind = kind_of(header.api_version or "", (header.kind or "").removesuffix(_LIST))
    return kind in QUOTA_KINDS


def with_quotas(snapshot: Snapshot, documents: Iterable[Document]) -> Snapshot:
    """Return a snapshot with the quotas of documents; raises an InputError where they do not go together."""
    rows = ObjectRows(Amounts(snapshot.resource_types))
    source = ""
    for document in documents:
        source = document.source
        for item in items_of(document, in_parts=False):
            if isinstance(item, Item):
                try:
                    rows.take(item)
                except (Fault, RecursionError) as problem:
                    raise item.refusal(problem) from None
    if not source:
        return snapshot
    try:
        quotas = unique((*snapshot.quotas, *rows.tables()["quotas"]), "quota")
        refuse_errors(quotas, snapshot.resource_types)
    except InputError as error:
        raise error.at(source) from None
    return msgspec.structs.replace(snapshot, quotas=quotas)
