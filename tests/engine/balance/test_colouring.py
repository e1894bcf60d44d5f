"""Colouring: neighbours differ, and vertices are coloured in the order that each way promises."""

from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.balance.colouring import (
    COLOURINGS,
    Graph,
    graph_of,
    largest_first,
    most_coloured_first,
    most_colours_first,
)


@st.composite
def graphs(draw: st.DrawFn) -> dict[int, list[int]]:
    """Return a graph as hosts give one: both ways, some neighbours twice, some vertices their own."""
    vertices = draw(st.sets(st.integers(0, 20), max_size=12))
    if not vertices:
        return {}
    vertex = st.sampled_from(sorted(vertices))
    pairs = draw(st.lists(st.tuples(vertex, vertex), max_size=40))
    return graph_of(vertices, [edge for one, other in pairs for edge in ((one, other), (other, one))])


@given(graph=graphs())
def test_every_vertex_has_one_colour_and_neighbours_differ(graph: dict[int, list[int]]) -> None:
    for _, colouring in COLOURINGS:
        classes = colouring(graph)
        assert sorted(vertex for each in classes for vertex in each) == list(graph)
        assert all(each == sorted(each) and each for each in classes)
        for each in classes:
            assert all(other not in each or other == vertex for vertex in each for other in graph[vertex])


def slowly(graph: Graph, *, distinct: bool) -> list[list[int]]:
    """Colour in the order that is promised, looking at every vertex each time."""
    colours: dict[int, int] = {}

    def urgency(vertex: int) -> tuple[int, int, int]:
        around = [colours[each] for each in graph[vertex] if each in colours]
        return len(set(around)) if distinct else len(around), len(graph[vertex]), vertex

    while len(colours) < len(graph):
        chosen = max((each for each in graph if each not in colours), key=urgency)
        taken = {colours[each] for each in graph[chosen] if each in colours}
        colours[chosen] = min(set(range(len(graph))) - taken)
    classes: list[list[int]] = [[] for _ in set(colours.values())]
    for vertex in graph:
        classes[colours[vertex]].append(vertex)
    return classes


@given(graph=graphs())
def test_the_most_urgent_is_coloured_next(graph: dict[int, list[int]]) -> None:
    assert most_colours_first(graph) == slowly(graph, distinct=True)
    assert most_coloured_first(graph) == slowly(graph, distinct=False)


def test_the_largest_is_coloured_first_and_of_equals_the_last() -> None:
    path = graph_of(range(4), [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)])
    assert largest_first(path) == [[0, 2], [1, 3]]


def test_neighbours_that_are_so_twice_count_twice() -> None:
    pairs = [(0, 1), (1, 0), (0, 1), (1, 0), (2, 1), (1, 2)]
    assert graph_of(range(3), pairs) == {0: [1, 1], 1: [2, 0, 0], 2: [1]}


def test_a_vertex_that_is_its_own_neighbour_is_coloured_all_the_same() -> None:
    assert [colouring(graph_of([5], [(5, 5)])) for _, colouring in COLOURINGS] == [[[5]]] * 3
