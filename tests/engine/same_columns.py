"""Whether two columns say the same of every node."""

import numpy as np

from ullage.engine.columns import ARRAYS, Columns


def numbers(columns: Columns) -> dict[str, dict]:
    return {each.name: columns.figures(row) for row, each in enumerate(columns.nodes)}


def assert_same(columns: Columns, rebuilt: Columns) -> None:
    """Two columns say the same of every node; one may still have columns for what is no longer named."""
    assert columns.nodes == rebuilt.nodes
    assert columns.node_index == rebuilt.node_index
    assert numbers(columns) == numbers(rebuilt)
    held, held_anew = (
        {name: each.of(name) for name in each.nodes()} for each in (columns.reserved, rebuilt.reserved)
    )
    assert held == held_anew
    kept = [columns.resource_index[name] for name in rebuilt.resources]
    for name in (*ARRAYS, "free"):
        assert np.array_equal(getattr(columns, name)[:, kept], getattr(rebuilt, name)), name
    for name in ("counts_actual", "strict"):
        assert np.array_equal(getattr(columns, name), getattr(rebuilt, name)), name
