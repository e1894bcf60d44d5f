"""Catalogs: what each field means, exact prices, and one clear line for what is wrong."""

from pathlib import Path

import pytest

from builders import BUILT_IN_TYPES, GPU, resources
from ullage.engine.purchase.catalog import DriveItem
from ullage.model.cluster import Taint
from ullage.model.errors import InputError
from ullage.sources.catalog import read_catalog

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "catalog.yaml"
HEAD = "apiVersion: ullage.dev/v1\nkind: Catalog\n"
PLAIN = 'items: [{name: n, price: "1", capacity: {cpu: 1}}]\n'


@pytest.fixture
def read(tmp_path):
    def text(content):
        path = tmp_path / "catalog.yaml"
        path.write_text(content)
        return read_catalog(str(path), BUILT_IN_TYPES)

    return text


def test_every_field_of_an_item(read):
    catalog = read(
        HEAD
        + """
name: ours
unit: EUR a month
items:
  - name: l4-4
    price: "2100.05"
    capacity: {cpu: "32", memory: 192Gi}
    reserve: {memory: 3Gi}
    labels: {disk: fast}
    taints: [{key: gpu, value: present}]
    group: gpu
    domain: rack-1
    devices: {count: 4, model: L4, memoryBytes: 24}
    countMax: 7
"""
    )
    (item,) = catalog.items
    assert (catalog.name, catalog.unit) == ("ours", "EUR a month")
    assert (item.name, item.price_micro, item.count_max) == ("l4-4", 2_100_050_000, 7)
    node = item.node
    assert node.capacity == resources(cpu="32", memory="192Gi", gpu=4)
    assert node.reserve == resources(memory="3Gi")
    assert node.labels == {"disk": "fast", "nvidia.com/gpu.product": "L4"}
    assert node.taints == (Taint("gpu", "present"),)
    assert (node.group, node.domain) == ("gpu", "rack-1")
    assert [(each.id, each.resource, each.model, each.memory_bytes) for each in node.devices] == [
        (f"device-{number}", GPU, "L4", 24) for number in range(4)
    ]


def test_the_example_can_be_read():
    assert [item.name for item in read_catalog(str(EXAMPLE), BUILT_IN_TYPES).items] == [
        "cpu-16",
        "cpu-32",
        "l4-4",
        "a100-8",
    ]


def test_the_example_of_drives_can_be_read():
    catalog = read_catalog(str(EXAMPLE.with_name("drives-catalog.yaml")), BUILT_IN_TYPES)
    assert [item.name for item in catalog.everything] == ["store-4", "nvme-2t", "nvme-4t", "hdd-4t"]


@pytest.mark.parametrize(
    ("price", "price_micro"),
    [("7", 7_000_000), ('"412.50"', 412_500_000), ("412.10", 412_100_000), ('"0.000001"', 1)],
)
def test_prices_are_exact(read, price, price_micro):
    (item,) = read(HEAD + f"items: [{{name: n, price: {price}, capacity: {{cpu: 1}}}}]").items
    assert item.price_micro == price_micro


def test_a_price_in_json_is_no_binary_fraction(tmp_path):
    path = tmp_path / "catalog.json"
    text = '{"apiVersion": "ullage.dev/v1", "kind": "Catalog", "items": [%s]}'
    path.write_text(text % '{"name": "n", "price": 1.5, "capacity": {"cpu": 1}}')
    with pytest.raises(InputError, match=r"items\[0\].price: expected a whole number or text"):
        read_catalog(str(path), BUILT_IN_TYPES)


def test_drives_alone_and_in_nodes(read):
    catalog = read(
        HEAD
        + """
items:
  - {name: hdd, price: 95, drive: {class: hdd, size: 4T}, nodes: [s1, s2], perNodeMax: 3, countMax: 9}
  - {name: nvme, price: "210.5", drive: {class: NVME, size: 2Ti}, group: general}
  - name: store
    price: 2900
    capacity: {cpu: 16}
    drives: [{class: HDD, size: 4T, count: 2}, {class: NVME, size: 1920G}]
"""
    )
    assert catalog.drives == (
        DriveItem("hdd", 95_000_000, "HDD", 4 * 10**12, 9, ("s1", "s2"), "", 3),
        DriveItem("nvme", 210_500_000, "NVME", 2 << 40, group="general"),
    )
    (store,) = catalog.items
    assert [(each.uuid, each.drive_class, each.size_bytes) for each in store.node.drives] == [
        ("hdd-0", "HDD", 4 * 10**12),
        ("hdd-1", "HDD", 4 * 10**12),
        ("nvme-2", "NVME", 1920 * 10**9),
    ]


def drive(**fields):
    return entry(**{"capacity": None, "drive": "{class: HDD, size: 4T}", **fields})


def entry(**fields):
    given = {"name": "n", "price": '"1"', "capacity": "{cpu: 1}", **fields}
    shown = {key: text for key, text in given.items() if text is not None}
    return HEAD + "items: [{" + ", ".join(f"{key}: {text}" for key, text in shown.items()) + "}]"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (entry(price='"-1"'), "items[0]: price '-1' is no amount; write it as text, as '412.50'"),
        (entry(price='"1e3"'), "price '1e3' is no amount"),
        (entry(price='"0"'), "price 0 is out of bounds; use more than 0"),
        (entry(price='"999999999999"'), "out of bounds"),
        (entry(name='"Über"'), "name 'Über' cannot begin the name of a node"),
        (entry(name="a" * 64), "cannot begin the name of a node"),
        (entry(capacity="{}"), "the capacity is empty"),
        (entry(capacity="{cpu: -1}"), "items[0]"),
        (entry(capacity="{gpu: 1}"), "resource name 'gpu'"),
        (entry(countMax="-1"), "countMax is -1; use 0 to 100000"),
        (entry(devices="{count: 0}"), "devices: count is 0; use 1 to 1024"),
        (entry(devices="{count: 1, memoryBytes: -1}"), "devices: memoryBytes is -1"),
        (
            entry(capacity="{nvidia.com/gpu: 2}", devices="{count: 1}"),
            "capacity has 2 of nvidia.com/gpu, devices 1; state it once",
        ),
        (
            entry(capacity=None),
            "items[0]: neither a node nor a drive; write capacity: {cpu: 32, memory: 128Gi}",
        ),
        (entry(nodes="[a]"), "nodes is of drives, and this is a node"),
        (entry(perNodeMax="1"), "perNodeMax is of drives, and this is a node"),
        (
            entry(drives="[{class: TAPE, size: 1T}]"),
            "drives[0]: class 'TAPE' is unknown; use one of HDD, SSD",
        ),
        (entry(drives="[{class: HDD, size: 1T, count: 0}]"), "drives[0]: count is 0; use 1 or more"),
        (entry(drives="[{class: HDD, size: 1T, count: 101}]"), "in all at most 100"),
        (drive(drive="{class: HDD}"), "items[0].drive"),
        (drive(drive="{class: HDD, size: big}"), "items[0]: drive: "),
        (drive(drive="{class: HDD, size: 0}"), "drive: size 0 is nothing; write {class: HDD, size: 4T}"),
        (drive(capacity="{cpu: 1}"), "capacity is of nodes, and this is a drive"),
        (drive(taints="[{key: a}]"), "taints is of nodes, and this is a drive"),
        (drive(nodes="[a]", group="b"), "nodes and a group are named; name one of the two"),
        (drive(perNodeMax="0"), "perNodeMax is 0; use 1 to 100"),
        (drive(countMax="-1"), "countMax is -1"),
        (HEAD + "items: []", "items: 0 items; list 1 to 200"),
        (HEAD, "items"),
        (HEAD + PLAIN.replace("}]", "}, {name: n, price: 1, capacity: {cpu: 1}}]"), "item n is there twice"),
        (HEAD.replace("v1", "v9") + PLAIN, "apiVersion 'ullage.dev/v9', kind 'Catalog'"),
        (HEAD.replace("Catalog", "Snapshot") + PLAIN, "write apiVersion: ullage.dev/v1 and kind: Catalog"),
        (HEAD + PLAIN + "---\n" + HEAD + PLAIN, "2 catalogs; name a file with one"),
    ],
)
def test_what_is_wrong_is_one_line(read, content, message):
    with pytest.raises(InputError) as caught:
        read(content)
    assert message in str(caught.value)
    assert "catalog.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)
