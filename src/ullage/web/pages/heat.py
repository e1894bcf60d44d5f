"""A map of nodes: one small square each, its shade by how full it is, drawn on the server as SVG.

The hard thing is number: five thousand links would be half a megabyte. Up to LINKS_MAX nodes every square is
a link; beyond, squares of one shade are one path, the tile of a domain is the link, and the names lie beside
it, from which a script tells what the pointer is on.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.render.view import Share
from ullage.web.pages.overview import node_share

if TYPE_CHECKING:
    from ullage.service.status import NodeStatus

LINKS_MAX: Final = 400
NAMED_MAX: Final = 60
"""Nodes up to which squares are large enough for a name."""
SPARSE_MAX: Final = 4
TILE_NODES: Final = 100
"""Nodes of a tile where no domain divides them."""
STEPS: Final = 10
OVER, CLOSED, UNBOUNDED = "h10", "hx", "hn"
SHADES: Final[Mapping[str, str]] = MappingProxyType(
    {f"h{step}": f"{step * 10}-{step * 10 + 10}%" for step in range(STEPS)}
    | {OVER: "over", CLOSED: "closed", UNBOUNDED: "no bound"}
)
"""What each shade of the map means."""
_LARGEST: Final = 46
_LARGE: Final = 22
_SMALL: Final = 11
_GAP: Final = 1


class Spot(NamedTuple):
    """The square of one node, where each is a link."""

    name: str
    words: str
    shade: str
    x: int
    y: int


class Tile(NamedTuple):
    """Nodes that belong together, of a domain or simply next to each other."""

    name: str
    address: str
    size: int
    columns: int
    width: int
    height: int
    spots: tuple[Spot, ...]
    paths: tuple[tuple[str, str], ...]
    crosses: str
    names: str
    words: str


class Step(NamedTuple):
    """How many nodes have a shade, and how tall that is beside the most."""

    shade: str
    label: str
    nodes: int
    height: int


def shade_of(node: "NodeStatus", share: Share | None) -> str:
    """Return the shade of a node: closed to anything new, without a bound, over it, or a tenth of it."""
    if node.state != "ready":
        return CLOSED
    if share is None:
        return UNBOUNDED
    if share.part > share.whole:
        return OVER
    return f"h{min(STEPS - 1, STEPS * max(0, share.part) // share.whole)}"


def share_of(node: "NodeStatus", resources: Sequence[str]) -> Share | None:
    """Return the largest share of a node among these resources."""
    found = [share for name in resources if (share := node_share(node, name))]
    return max(found, key=lambda share: share.fraction, default=None)


def steps_of(nodes: "Iterable[NodeStatus]", resources: Sequence[str]) -> list[Step]:
    """Return how many nodes have each shade."""
    counts: dict[str, int] = {}
    for node in nodes:
        shade = shade_of(node, share_of(node, resources))
        counts[shade] = counts.get(shade, 0) + 1
    most = max(counts.values(), default=1)
    return [
        Step(shade, label, counts.get(shade, 0), ceil(34 * counts.get(shade, 0) / most))
        for shade, label in SHADES.items()
        if shade in counts or shade.removeprefix("h").isdigit()
    ]


def tiles_of(
    nodes: "Sequence[NodeStatus]", resources: Sequence[str], address: Callable[[str], str]
) -> list[Tile]:
    """Return the map: a tile for each domain, in the order of names; `address` is that of a domain."""
    by_domain: dict[str, list[NodeStatus]] = {}
    for node in nodes:
        by_domain.setdefault(node.domain, []).append(node)
    tiles = []
    for domain, inside in sorted(by_domain.items()):
        if domain or len(inside) <= TILE_NODES:
            tiles.append(_tile(domain, address(domain), inside, resources, len(nodes)))
            continue
        for at in range(0, len(inside), TILE_NODES):
            part = inside[at : at + TILE_NODES]
            name = f"{part[0].name} to {part[-1].name}"
            tiles.append(_tile(name, "", part, resources, len(nodes)))
    return tiles


def size_of(count: int) -> int:
    """Return how large a square is where there are so many; the largest have room for a name."""
    if count <= NAMED_MAX:
        return _LARGEST
    return _LARGE if count <= LINKS_MAX else _SMALL


def columns_of(count: int) -> int:
    """Return how wide a tile is: about twice as wide as high, and without a rest where that can be had."""
    if count <= SPARSE_MAX:
        return max(1, count)
    least = ceil(sqrt(2 * count))
    return next((wide for wide in range(least, least + 4) if count % wide == 0), least)


def _tile(
    name: str, address: str, nodes: "Sequence[NodeStatus]", resources: Sequence[str], count: int
) -> Tile:
    size = size_of(count)
    is_linked = count <= LINKS_MAX
    columns = columns_of(len(nodes))
    paths: dict[str, list[str]] = {}
    spots, crosses, words = [], [], []
    square = size - _GAP
    for number, node in enumerate(nodes):
        y, x = divmod(number, columns)
        x, y = x * size, y * size
        share = share_of(node, resources)
        shade = shade_of(node, share)
        if shade == OVER:
            crosses.append(
                f"M{x + 3} {y + 3}l{square - 6} {square - 6}m0 -{square - 6}l-{square - 6} {square - 6}"
            )
        told = share.percent if share else "no bound"
        told = told if node.state == "ready" else f"{told} {node.state}"
        words.append(told)
        if is_linked:
            spots.append(Spot(node.name, told, shade, x, y))
        else:
            paths.setdefault(shade, []).append(f"M{x} {y}h{square}v{square}h-{square}z")
    rows = ceil(len(nodes) / columns)
    return Tile(
        name,
        address,
        size,
        columns,
        columns * size,
        rows * size,
        tuple(spots),
        tuple((shade, "".join(parts)) for shade, parts in sorted(paths.items())),
        "".join(crosses),
        "" if is_linked else " ".join(node.name for node in nodes),
        "" if is_linked else "|".join(words),
    )
