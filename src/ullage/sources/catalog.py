"""Reading a catalog: the types of nodes that can be bought, with exact prices, as YAML or JSON.

The hard thing is a price, which must not pass through binary fractions: it is a whole number or text, and our
YAML keeps a decimal number as the text it was written as; in JSON it is written in quotes.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from ullage.engine.purchase.catalog import PRICE_DECIMALS, PRICE_STEPS, Catalog, Item
from ullage.model.checks import check_snapshot
from ullage.model.cluster import DEFAULT_GROUP, Device, Node, Snapshot, Taint
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.resources import Resources, ResourceTypes
from ullage.model.table import Table
from ullage.model.wire import API_VERSION
from ullage.sources.documents import Document, read_documents
from ullage.sources.kubernetes.nodes import DEVICES_MAX, GPU_MODEL_LABELS
from ullage.sources.own_format import read_header
from ullage.sources.own_hooks import reading_hook

KIND: Final = "Catalog"
ITEMS_MAX: Final = 200
COUNT_MAX: Final = 100_000
NAME_LENGTH_MAX: Final = 63
PRICE_MAX: Final = 10**9
_PRICE: Final = re.compile(rf"[0-9]{{1,12}}(\.[0-9]{{1,{PRICE_DECIMALS}}})?")
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


class DevicesEntry(Record, frozen=True):
    """The devices of a node type: so many of one model; they count as the resource they are asked for by."""

    count: int
    resource: str = "nvidia.com/gpu"
    model: str = ""
    memory_bytes: int = 0


class ItemEntry(Record, frozen=True, kw_only=True):
    """A type of node: its price, what it has, and how the cluster would know it."""

    name: str
    price: str | int
    capacity: Resources
    reserve: Resources | None = None
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    group: str = DEFAULT_GROUP
    domain: str = ""
    devices: DevicesEntry | None = None
    count_max: int | None = None


class CatalogDocument(Record, frozen=True, kw_only=True):
    """Types of nodes that can be bought; `unit` is what all prices are in, such as EUR a month."""

    api_version: Literal["ullage.dev/v1"]
    kind: Literal["Catalog"]
    name: str = ""
    unit: str = ""
    items: tuple[ItemEntry, ...]


def read_catalog(path: str, types: ResourceTypes) -> Catalog:
    """Return the catalog of a file."""
    documents = [each for each in read_documents(path) if _checked(each)]
    if len(documents) != 1:
        raise InputError(f"{len(documents)} catalogs", where=path, remedy="name a file with one")
    document = documents[0]
    read = document.decode(msgspec.json.Decoder(CatalogDocument, dec_hook=reading_hook(types)))
    if not 1 <= len(read.items) <= ITEMS_MAX:
        raise document.error(f"{len(read.items)} items", path=("items",), remedy=f"list 1 to {ITEMS_MAX}")
    items: dict[str, Item] = {}
    for position, entry in enumerate(read.items):
        if entry.name in items:
            what = f"item {entry.name} is there twice"
            raise document.error(what, path=("items", position), remedy="rename one of the two")
        try:
            items[entry.name] = _item(entry, types)
        except InputError as error:
            raise error.at(document.where(("items", position))) from None
    return Catalog(tuple(items.values()), read.unit, read.name)


def _checked(document: Document) -> bool:
    header = read_header(document)
    if header.api_version != API_VERSION or header.kind != KIND:
        found = f"apiVersion {header.api_version!r}, kind {header.kind!r}"
        raise document.error(found, remedy=f"write apiVersion: {API_VERSION} and kind: {KIND}")
    document.reject_duplicate_keys()
    return True


def _item(entry: ItemEntry, types: ResourceTypes) -> Item:
    if not _NAME.fullmatch(entry.name) or len(entry.name) > NAME_LENGTH_MAX:
        raise InputError(
            f"name {entry.name[:NAME_LENGTH_MAX]!r} cannot begin the name of a node",
            remedy=f"use at most {NAME_LENGTH_MAX} of a-z, 0-9, '-' and '.'",
        )
    if entry.count_max is not None and not 0 <= entry.count_max <= COUNT_MAX:
        raise InputError(
            f"countMax is {entry.count_max}", remedy=f"use 0 to {COUNT_MAX}, or leave it out for any number"
        )
    node = Node(
        entry.name,
        entry.capacity,
        entry.reserve,
        group=entry.group,
        domain=entry.domain,
        labels=entry.labels,
        taints=entry.taints,
    )
    if entry.devices is not None:
        node = _with_devices(node, entry.devices, types)
    if not any(amount > 0 for amount in node.capacity.values()):
        raise InputError("the capacity is empty", remedy="write {cpu: 32, memory: 128Gi}")
    check_snapshot(Snapshot(nodes=Table((node,)), resource_types=types))
    return Item(entry.name, _price(entry.price), node, entry.count_max)


def _price(given: str | int) -> int:
    text = str(given)
    if not _PRICE.fullmatch(text):
        raise InputError(f"price {text[:20]!r} is no amount", remedy="write it as text, as '412.50'")
    whole, _, decimals = text.partition(".")
    price_micro = int(whole) * PRICE_STEPS + int(decimals.ljust(PRICE_DECIMALS, "0"))
    if not 0 < price_micro <= PRICE_MAX * PRICE_STEPS:
        raise InputError(f"price {text} is out of bounds", remedy=f"use more than 0, at most {PRICE_MAX}")
    return price_micro


def _with_devices(node: Node, entry: DevicesEntry, types: ResourceTypes) -> Node:
    """Return a node with its devices, their number in its capacity, and the label of their model."""
    if not 1 <= entry.count <= DEVICES_MAX:
        raise InputError(f"devices: count is {entry.count}", remedy=f"use 1 to {DEVICES_MAX}")
    if entry.memory_bytes < 0:
        raise InputError(f"devices: memoryBytes is {entry.memory_bytes}", remedy="use 0 or more")
    counted = types.parse({entry.resource: str(entry.count)})
    named = node.capacity.of(entry.resource)
    if named not in {0, counted.of(entry.resource)}:
        raise InputError(
            f"capacity has {types[entry.resource].print(named)} of {entry.resource}, devices {entry.count}",
            remedy="state it once",
        )
    label = GPU_MODEL_LABELS.get(entry.resource, "")
    labels = {label: entry.model, **node.labels} if label and entry.model else node.labels
    devices = tuple(
        Device(f"device-{number}", entry.resource, entry.model, entry.memory_bytes)
        for number in range(entry.count)
    )
    rest = Resources({name: amount for name, amount in node.capacity.items() if name != entry.resource})
    return msgspec.structs.replace(node, capacity=rest + counted, devices=devices, labels=labels)
