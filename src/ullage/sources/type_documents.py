"""Resource types that stand among other documents: they are found first, because amounts depend on them.

They are written as `kind: ResourceTypes`, as a bare `resourceTypes:`, or as Kubernetes objects of kind
ResourceType. The hard thing is size: a dump of hundreds of megabytes must not be decoded twice. So only text
that holds the word is looked through, and of a folder only the small files before the rest is read.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.sources.documents import Document, documents_of
from ullage.sources.input_files import InputFile, read_small_files
from ullage.sources.limits import MIB, Limits
from ullage.sources.own_format import is_own, read_bare_types, read_header, read_resource_types
from ullage.sources.places import Bytes, one_line

SMALL_BYTES_MAX: Final = MIB
"""Files of a folder up to this size are looked through for types before anything else is read."""
GROUP: Final = "ullage.dev"
ONE_TYPE: Final = "ResourceType"
MANY_TYPES: Final = "ResourceTypes"

_PART_OF_EACH: Final = b"esourceType"
"""What ResourceType, ResourceTypes and resourceTypes share: a large dump is searched once."""


LeftOut: TypeAlias = Callable[[str], None]
"""Whoever is told in one line of an object that is left out."""


def may_hold_types(data: Bytes) -> bool:
    """Whether text has the word without which it holds no resource type."""
    return data.find(_PART_OF_EACH) >= 0


def is_types_document(document: Document) -> bool:
    """Whether a document holds nothing but resource types, of our kind or bare."""
    header = read_header(document)
    if is_own(header):
        return header.kind == MANY_TYPES
    return header.api_version is None and header.kind is None and read_bare_types(document) is not None


def joined(types: ResourceTypes, more: ResourceTypes, where: str) -> ResourceTypes:
    """Return two registries as one; a type that they define differently is an error."""
    if not more.added():
        return types
    try:
        return ResourceTypes((*types.added(), *more.added()))
    except InputError as error:
        raise error.at(where) from None


def types_of_documents(documents: Iterable[Document], types: ResourceTypes) -> ResourceTypes:
    """Return the types given and those of documents that hold nothing else."""
    for document in documents:
        if is_types_document(document):
            bare = None if is_own(read_header(document)) else read_bare_types(document)
            types = (
                read_resource_types(document, types)
                if bare is None
                else joined(types, bare, document.where())
            )
    return types


def types_of_file(
    file: InputFile, types: ResourceTypes, limits: Limits, left_out: LeftOut | None = None
) -> ResourceTypes:
    """Return the types given and all that stand in a file, those among Kubernetes objects included.

    With `left_out`, an object that is wrong is told there and left out; else it raises an InputError.
    """
    if not may_hold_types(file.data):
        return types
    for document in documents_of(file.data, file.name, limits=limits):
        if is_types_document(document):
            types = types_of_documents((document,), types)
        elif read_header(document).kind is not None:
            types = _types_among_objects(document, types, left_out)
    return types


def types_of_folder(path: str, types: ResourceTypes, limits: Limits) -> ResourceTypes:
    """Return the types given and those in the small files of a folder."""
    for file in read_small_files(path, SMALL_BYTES_MAX, limits):
        types = types_of_file(file, types, limits)
    return types


def _types_among_objects(document: Document, types: ResourceTypes, left_out: LeftOut | None) -> ResourceTypes:
    """Return the types given and those that objects of kind ResourceType state."""
    from ullage.sources.kubernetes.faults import Fault
    from ullage.sources.kubernetes.items import Item, items_of
    from ullage.sources.kubernetes.type_objects import OBJECT, with_type

    for item in items_of(document):
        if not isinstance(item, Item) or item.kind.group != GROUP or item.kind.name != ONE_TYPE:
            continue
        try:
            found = item.decode(OBJECT)
            try:
                types = with_type(types, found.spec)
            except Fault as fault:
                if left_out is None:
                    raise
                left_out(f"not used: {ONE_TYPE} {one_line(found.metadata.name)}: {fault.alone()}")
        except (Fault, RecursionError) as problem:
            raise item.refusal(problem) from None
    return types
