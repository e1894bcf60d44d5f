"""Strategies for clusters so small that every answer can be had by brute force.

Names are few, so that deltas meet what is there; amounts are small, so that nodes fill up, with one that is
nearly 64 bits wide now and then.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from builders import GPU
from ullage.model.checks import check_snapshot
from ullage.model.cluster import Node, Snapshot, Workload
from ullage.model.delta import Delta
from ullage.model.policy import Layer, Policy
from ullage.model.resources import Resources
from ullage.model.table import Table

NODES = ("n0", "n1", "n2", "n3")
WORKLOADS = ("w0", "w1", "w2", "w3", "w4")
RESOURCES = ("cpu", "memory", GPU)
HUGE = 3 << 60

SMALL = range(31)
MOSTLY_SMALL = (*range(0, 30, 2), HUGE)


def resource_maps(amounts: Sequence[int] = SMALL) -> st.SearchStrategy[Resources]:
    """Each resource absent or at one of the amounts; one number is drawn, since many draws are slow."""
    choices = (None, *amounts)

    def decode(number: int) -> Resources:
        chosen: dict[str, int] = {}
        for resource in RESOURCES:
            number, digit = divmod(number, len(choices))
            if choices[digit] is not None:
                chosen[resource] = choices[digit]
        return Resources(chosen)

    return st.integers(0, len(choices) ** len(RESOURCES) - 1).map(decode)


SETTINGS = {
    "cpu-ratio": ("1", "2", "unlimited"),
    "memory-ratio": ("1", "1.5", "4/3"),
    "memory-reserve": ("0", "10%, at least 2", "3"),
    "committed": ("promised", "actual"),
    "fill": ("exact", "below"),
    "cpu-factor": ("capacity", "score"),
    "spare-nodes": ("0", "1", "2"),
}
pairs = [(key, text) for key, texts in SETTINGS.items() for text in texts]
settings = st.lists(st.sampled_from(pairs), max_size=3).map(dict)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    layer = Layer(
        "layer",
        draw(st.booleans()),
        draw(settings),
        {draw(st.sampled_from(("a", "b"))): draw(settings)},
        {draw(st.sampled_from(NODES)): draw(settings)},
    )
    return Policy("drawn", (layer,))


PLACES = tuple(product(("ready", "ready", "ready", "cordoned", "offline"), ("a", "b"), ("", "x", "y")))
FACTORS = (Fraction(1), Fraction(1, 2), Fraction(4, 3))


@st.composite
def nodes(draw: st.DrawFn, amounts: Sequence[int] = SMALL) -> Node:
    state, group, domain = draw(st.sampled_from(PLACES))
    return Node(
        draw(st.sampled_from(NODES)),
        draw(resource_maps(amounts)),
        draw(st.none() | resource_maps()),
        group=group,
        domain=domain,
        state=state,
        actual=draw(st.none() | resource_maps()),
        cpu_conversion_factor=draw(st.sampled_from(FACTORS)),
    )


STATES = ("ok", "ok", "ok", "paused", "init", "error", "deleted")


def workloads(homes: Sequence[str], amounts: Sequence[int] = SMALL) -> st.SearchStrategy[Workload]:
    return st.builds(
        lambda where, requests: Workload(where[0], node=where[1], state=where[2], requests=requests),
        st.sampled_from(tuple(product(WORKLOADS, homes, STATES))),
        resource_maps(amounts),
    )


@st.composite
def clusters(draw: st.DrawFn, amounts: Sequence[int] = SMALL) -> Snapshot:
    drawn = Table(draw(st.lists(nodes(amounts), min_size=1, max_size=6)))
    homes = ("", *drawn.keys())
    return check_snapshot(
        Snapshot(
            policy=draw(policies()),
            nodes=drawn,
            workloads=Table(draw(st.lists(workloads(homes, amounts), max_size=6))),
        )
    )


names_of_any = st.sampled_from((*NODES, "n9"))


@st.composite
def deltas(draw: st.DrawFn, amounts: Sequence[int] = SMALL) -> Delta:
    """Any change: it may move workloads to nodes that are not there, or drop nodes that are in use."""
    homes = ("", *NODES)
    return Delta(
        nodes=tuple(Table(draw(st.lists(nodes(amounts), max_size=2)))),
        workloads=tuple(Table(draw(st.lists(workloads(homes, amounts), max_size=3)))),
        dropped={
            "nodes": tuple(draw(st.sets(names_of_any, max_size=2))),
            "workloads": tuple(draw(st.sets(st.sampled_from((*WORKLOADS, "w9")), max_size=3))),
        },
    )
