"""Colouring of a graph, so that neighbours differ: three greedy ways, of which one takes the best.

Hosts that must not be down together are neighbours, so a colour is a set of hosts that may. A pair may be
neighbours more than once, and a vertex its own: both count for how many neighbours a vertex has, which
decides the order in which vertices are coloured, and nothing else. Ties are decided for the vertex with the
greatest number.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Final

Graph = Mapping[int, Sequence[int]]
"""The neighbours of each vertex; vertices by ascending number."""


def graph_of(vertices: Iterable[int], edges: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    """Return a graph; an edge leads one way, and the newest neighbour of a vertex is the first."""
    graph: dict[int, list[int]] = {vertex: [] for vertex in sorted(vertices)}
    for source, target in edges:
        graph[source].append(target)
    for neighbours in graph.values():
        neighbours.reverse()
    return graph


def largest_first(graph: Graph) -> list[list[int]]:
    """Colour the vertices with the most neighbours first; return the vertices of each colour."""
    colours: dict[int, int] = {}
    for vertex in sorted(graph, key=lambda each: (len(graph[each]), each), reverse=True):
        colours[vertex] = _least_free(graph, colours, vertex)
    return _classes(graph, colours)


def most_colours_first(graph: Graph) -> list[list[int]]:
    """Colour first whose neighbours have the most colours; return the vertices of each colour."""
    return _dynamic(graph, distinct=True)


def most_coloured_first(graph: Graph) -> list[list[int]]:
    """Colour first who has the most coloured neighbours; return the vertices of each colour."""
    return _dynamic(graph, distinct=False)


COLOURINGS: Final[tuple[tuple[str, Callable[[Graph], list[list[int]]]], ...]] = (
    ("LF", largest_first),
    ("Dsatur", most_colours_first),
    ("Dcolor", most_coloured_first),
)
"""In the order in which they are preferred where they need as many colours; the names are those of htools."""


def _dynamic(graph: Graph, *, distinct: bool) -> list[list[int]]:
    """Colour first who is most urgent by the colours around it so far, then by how many neighbours it has.

    What waits is pushed again when it gets more urgent, and left out where it has been coloured meanwhile.
    """
    colours: dict[int, int] = {}
    around: dict[int, set[int]] = {vertex: set() for vertex in graph}
    coloured = dict.fromkeys(graph, 0)
    waiting = [(0, -len(graph[vertex]), -vertex) for vertex in graph]
    heapify(waiting)
    while waiting:
        vertex = -heappop(waiting)[2]
        if vertex in colours:
            continue
        colour = colours[vertex] = _least_free(graph, colours, vertex)
        for neighbour in graph[vertex]:
            around[neighbour].add(colour)
            coloured[neighbour] += 1
        for neighbour in set(graph[vertex]) - colours.keys():
            urgency = len(around[neighbour]) if distinct else coloured[neighbour]
            heappush(waiting, (-urgency, -len(graph[neighbour]), -neighbour))
    return _classes(graph, colours)


def _least_free(graph: Graph, colours: Mapping[int, int], vertex: int) -> int:
    taken = {colours[each] for each in graph[vertex] if each in colours}
    return next(colour for colour in range(len(taken) + 1) if colour not in taken)


def _classes(graph: Graph, colours: Mapping[int, int]) -> list[list[int]]:
    """Return the vertices of each colour by number; colours have no gaps."""
    classes: list[list[int]] = [[] for _ in set(colours.values())]
    for vertex in graph:
        classes[colours[vertex]].append(vertex)
    return classes
