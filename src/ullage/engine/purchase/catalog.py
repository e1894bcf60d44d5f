"""What can be bought: types of nodes with their prices.

Prices are exact: integers in millionths of a unit, which is one for the whole catalog, so that they add up.
"""

from typing import Final, NamedTuple

from ullage.model.cluster import Node

PRICE_DECIMALS: Final = 6
PRICE_STEPS: Final = 10**PRICE_DECIMALS


class Item(NamedTuple):
    """A type of node: `node` is what each of them is, but for its name; `count_max` how many there are."""

    name: str
    price_micro: int
    node: Node
    count_max: int | None = None


class Catalog(NamedTuple):
    """Everything on offer; `unit` says what prices are in, such as `EUR a month`."""

    items: tuple[Item, ...]
    unit: str = ""
    name: str = ""

    def price_of(self, counts: dict[str, int]) -> int:
        """Return what so many of each item cost, in millionths."""
        return sum(item.price_micro * counts.get(item.name, 0) for item in self.items)

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
