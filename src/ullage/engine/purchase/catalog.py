"""What can be bought: types of nodes, and drives that go into nodes, with their prices.

Prices are exact: integers in millionths of a unit, which is one for the whole catalog, so that they add up.
"""

from typing import Final, NamedTuple

from ullage.model.cluster import Node
from ullage.model.drives import DriveClass

PRICE_DECIMALS: Final = 6
PRICE_STEPS: Final = 10**PRICE_DECIMALS


class Item(NamedTuple):
    """A type of node: `node` is what each of them is, but for its name; `count_max` how many there are."""

    name: str
    price_micro: int
    node: Node
    count_max: int | None = None


class DriveItem(NamedTuple):
    """A type of drive: for the nodes that are named, for those of a group, or for all where neither is.

    A node takes `per_node_max` of them.
    """

    name: str
    price_micro: int
    drive_class: DriveClass
    size_bytes: int
    count_max: int | None = None
    nodes: tuple[str, ...] = ()
    group: str = ""
    per_node_max: int | None = None

    def suits(self, node: Node) -> bool:
        """Whether a node can take it."""
        return (not self.nodes or node.name in self.nodes) and self.group in {"", node.group}


class Catalog(NamedTuple):
    """Everything on offer; `unit` says what prices are in, such as `EUR a month`."""

    items: tuple[Item, ...]
    unit: str = ""
    name: str = ""
    drives: tuple[DriveItem, ...] = ()

    @property
    def sells_drives(self) -> bool:
        """Whether there are drives to be had, by themselves or in new nodes."""
        return bool(self.drives) or any(item.node.drives for item in self.items)

    @property
    def everything(self) -> tuple[Item | DriveItem, ...]:
        """The nodes, then the drives."""
        return (*self.items, *self.drives)

    def price_of(self, counts: dict[str, int]) -> int:
        """Return what so many of each item cost, in millionths."""
        return sum(item.price_micro * counts.get(item.name, 0) for item in self.everything)

    def show(self, price_micro: int) -> str:
        """Return a price with its unit, for people: `41 200 EUR a month`."""
        return f"{show_price(price_micro)} {self.unit}".rstrip()


def show_price(price_micro: int) -> str:
    """Return a price with thousands apart and as few decimals as are exact, but two if any."""
    whole, rest = divmod(price_micro, PRICE_STEPS)
    text = f"{whole:,}".replace(",", " ")
    decimals = f"{rest:0{PRICE_DECIMALS}d}".rstrip("0")
    return f"{text}.{decimals:0<2}" if decimals else text


def exact_price(price_micro: int) -> str:
    """Return a price as a decimal number, for machines."""
    return show_price(price_micro).replace(" ", "")
