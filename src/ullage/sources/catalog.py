"""Reading a catalog: the types of nodes and drives that can be bought, with exact prices, as YAML or JSON.

The hard thing is a price, which must not pass through binary fractions: it is a whole number or text, and our
YAML keeps a decimal number as the text it was written as; in JSON it is written in quotes.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from ullage.engine.purchase.catalog import PRICE_DECIMALS, PRICE_STEPS, Catalog, DriveItem, Item
from ullage.model.checks import check_snapshot
from ullage.model.cluster import DEFAULT_GROUP, Device, Node, Snapshot, Taint
from ullage.model.constraints import Record
from ullage.model.drives import DRIVE_CLASSES, Drive, DriveClass
from ullage.model.errors import InputError
from ullage.model.quantity import parse_amount
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
DRIVES_MAX: Final = 100
"""Drives that a new node may come with."""
DRIVE_REMEDY: Final = "write {class: HDD, size: 4T}"
_PRICE: Final = re.compile(rf"[0-9]{{1,12}}(\.[0-9]{{1,{PRICE_DECIMALS}}})?")
_OF_NODES: Final = ("capacity", "reserve", "labels", "taints", "domain", "devices", "drives")
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


class DevicesEntry(Record, frozen=True):
    """The devices of a node type: so many of one model; they count as the resource they are asked for by."""

    count: int
    resource: str = "nvidia.com/gpu"
    model: str = ""
    memory_bytes: int = 0


class DriveEntry(Record, frozen=True, rename={"drive_class": "class"}):
    """A drive: its class and size."""

    drive_class: str
    size: str | int


class DrivesEntry(DriveEntry, frozen=True, rename={"drive_class": "class"}):
    """Drives that a new node comes with: so many of one class and size."""

    count: int = 1


class ItemEntry(Record, frozen=True, kw_only=True):
    """A type of node: its price, what it has, and how the cluster would know it.

    Or a type of drive: its price, what it is, and the nodes that take it.
    """

    name: str
    price: str | int
    drive: DriveEntry | None = None
    nodes: tuple[str, ...] = ()
    per_node_max: int | None = None
    capacity: Resources | None = None
    drives: tuple[DrivesEntry, ...] = ()
    reserve: Resources | None = None
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    group: str = ""
    domain: str = ""
    devices: DevicesEntry | None = None
    count_max: int | None = None


class CatalogDocument(Record, frozen=True, kw_only=True):
    """Types of nodes and drives that can be bought; `unit` is what all prices are in, such as EUR a month."""

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
    items: dict[str, Item | DriveItem] = {}
    for position, entry in enumerate(read.items):
        if entry.name in items:
            what = f"item {entry.name} is there twice"
            raise document.error(what, path=("items", position), remedy="rename one of the two")
        try:
            items[entry.name] = (
                _item(entry, types) if entry.drive is None else _drive_item(entry, entry.drive)
            )
        except InputError as error:
            raise error.at(document.where(("items", position))) from None
    return Catalog(
        tuple(item for item in items.values() if isinstance(item, Item)),
        read.unit,
        read.name,
        tuple(item for item in items.values() if isinstance(item, DriveItem)),
    )


def _checked(document: Document) -> bool:
    header = read_header(document)
    if header.api_version != API_VERSION or header.kind != KIND:
        found = f"apiVersion {header.api_version!r}, kind {header.kind!r}"
        raise document.error(found, remedy=f"write apiVersion: {API_VERSION} and kind: {KIND}")
    document.reject_duplicate_keys()
    return True


def _check_name_and_count(entry: ItemEntry) -> None:
    if not _NAME.fullmatch(entry.name) or len(entry.name) > NAME_LENGTH_MAX:
        raise InputError(
            f"name {entry.name[:NAME_LENGTH_MAX]!r} cannot begin the name of a node",
            remedy=f"use at most {NAME_LENGTH_MAX} of a-z, 0-9, '-' and '.'",
        )
    if entry.count_max is not None and not 0 <= entry.count_max <= COUNT_MAX:
        raise InputError(
            f"countMax is {entry.count_max}", remedy=f"use 0 to {COUNT_MAX}, or leave it out for any number"
        )


def _drive_item(entry: ItemEntry, drive: DriveEntry) -> DriveItem:
    _check_name_and_count(entry)
    wrong = [name for name in _OF_NODES if getattr(entry, name)]
    if wrong:
        raise InputError(
            f"{wrong[0]} is of nodes, and this is a drive", remedy="make two items of it, or leave it out"
        )
    if entry.nodes and entry.group:
        raise InputError("nodes and a group are named", remedy="name one of the two")
    if entry.per_node_max is not None and not 1 <= entry.per_node_max <= DRIVES_MAX:
        remedy = f"use 1 to {DRIVES_MAX}, or leave it out"
        raise InputError(f"perNodeMax is {entry.per_node_max}", remedy=remedy)
    return DriveItem(
        entry.name,
        _price(entry.price),
        *_drive(drive, "drive"),
        entry.count_max,
        entry.nodes,
        entry.group,
        entry.per_node_max,
    )


def _drive(entry: DriveEntry, where: str) -> tuple[DriveClass, int]:
    """Return the class and the size of a drive."""
    found = next((each for each in DRIVE_CLASSES if each == entry.drive_class.upper()), None)
    if found is None:
        remedy = f"use one of {', '.join(DRIVE_CLASSES)}"
        raise InputError(f"{where}: class {entry.drive_class[:20]!r} is unknown", remedy=remedy)
    try:
        size_bytes = parse_amount(str(entry.size))
    except InputError as error:
        raise InputError(f"{where}: {error.what}", remedy=DRIVE_REMEDY) from None
    if size_bytes <= 0:
        raise InputError(f"{where}: size {entry.size} is nothing", remedy=DRIVE_REMEDY)
    return found, size_bytes


def _item(entry: ItemEntry, types: ResourceTypes) -> Item:
    _check_name_and_count(entry)
    wrong = "nodes" if entry.nodes else "perNodeMax" if entry.per_node_max is not None else ""
    if wrong:
        raise InputError(
            f"{wrong} is of drives, and this is a node",
            remedy="add drive: {class: HDD, size: 4T}, or leave it out",
        )
    if entry.capacity is None:
        raise InputError(
            "neither a node nor a drive",
            remedy="write capacity: {cpu: 32, memory: 128Gi}, or drive: {class: HDD, size: 4T}",
        )
    node = Node(
        entry.name,
        entry.capacity,
        entry.reserve,
        group=entry.group or DEFAULT_GROUP,
        domain=entry.domain,
        labels=entry.labels,
        taints=entry.taints,
        drives=_drives(entry.drives),
    )
    if entry.devices is not None:
        node = _with_devices(node, entry.devices, types)
    if not any(amount > 0 for amount in node.capacity.values()):
        raise InputError("the capacity is empty", remedy="write {cpu: 32, memory: 128Gi}")
    check_snapshot(Snapshot(nodes=Table((node,)), resource_types=types))
    return Item(entry.name, _price(entry.price), node, entry.count_max)


def _drives(entries: Sequence[DrivesEntry]) -> tuple[Drive, ...]:
    """Return the drives of a new node, named by class and number."""
    found: list[Drive] = []
    for position, entry in enumerate(entries):
        where = f"drives[{position}]"
        drive_class, size_bytes = _drive(entry, where)
        if not 1 <= entry.count <= DRIVES_MAX - len(found):
            raise InputError(
                f"{where}: count is {entry.count}", remedy=f"use 1 or more, in all at most {DRIVES_MAX}"
            )
        for _ in range(entry.count):
            found.append(Drive(f"{drive_class.lower()}-{len(found)}", drive_class, size_bytes))
    return tuple(found)


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
