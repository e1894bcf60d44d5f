"""Balancing beside Ganeti's hbal: one step, a full run, and how far it goes; whole processes unless said."""

import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from ganeti_clusters import Kind, random_cluster
from peers import htools
from ullage.engine.balance.candidates import Balancing
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.quick import Quick
from ullage.engine.balance.search import balance, follow
from ullage.sources.ganeti.text_writer import write_text

SEED = 1
ROUNDS = 5
STEPS = 50
LARGE_MOVES = 200
DISTINCT = {"has_distinct_sizes": True, "is_tight": True}


def a_step_seconds(kind: Kind) -> tuple[float, float]:
    """Return the CPU seconds of making columns, and those of finding and taking a step, of a fleet."""
    fleet = Fleet(random_cluster(SEED, kind))
    start = time.process_time()
    search = Quick(fleet)
    made = time.process_time() - start
    start = time.process_time()
    for _ in range(STEPS):
        step = search.best()
        assert step is not None
        follow(fleet, step)
        search.follow(step)
    return made, (time.process_time() - start) / STEPS


def to_the_end(kind: Kind, moves_max: int = -1) -> tuple[float, int]:
    """Return the CPU seconds of balancing until no move helps or there are enough, and how many moves."""
    fleet = Fleet(random_cluster(SEED, kind))
    start = time.process_time()
    steps = sum(1 for _ in balance(fleet, Balancing(moves_max=moves_max)))
    return time.process_time() - start, steps


def run() -> dict[str, object]:
    """Measure 80 nodes for one step, 40 for a full run, 400 to the end, and 2000 for some way."""
    made, step = a_step_seconds(Kind(80, 800))
    even, even_steps = to_the_end(Kind(400, 4000))
    distinct, distinct_steps = to_the_end(Kind(400, 4000, **DISTINCT))
    large, large_steps = to_the_end(Kind(2000, 20_000, has_distinct_sizes=True), LARGE_MOVES)
    figures: dict[str, object] = {
        "80 nodes, columns made, s": made,
        "80 nodes, a step, search, ms": 1000 * step,
        "400 nodes, 4000 instances, to the end, search, s": even,
        "400 nodes, moves": even_steps,
        "400 nodes, distinct sizes, tight, search, s": distinct,
        "400 nodes, distinct sizes, tight, moves": distinct_steps,
        "2000 nodes, 20 000 distinct instances, a move, search, ms": 1000 * large / large_steps,
    }
    bars: dict[str, object] = {
        "400 nodes to the end, s": [even, "<=", 30],
        "400 nodes with distinct sizes to the end, s": [distinct, "<=", 30],
    }
    if htools.program():
        beside(figures, bars, step)
    return {**figures, "bars": bars}


def beside(figures: dict[str, object], bars: dict[str, object], step_seconds: float) -> None:
    """Add the figures of Ganeti's hbal on the same clusters, which must find the same moves."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder, "cache")
        cache.mkdir()
        for nodes, words, rounds in ((80, ("-l", "1"), ROUNDS), (40, (), ROUNDS)):
            file = Path(folder, f"{nodes}.data")
            file.write_text(write_text(random_cluster(SEED, Kind(nodes, 10 * nodes))), encoding="utf-8")
            ours = htools.ours("hbal", "-t", str(file), *words, cache=cache, rounds=rounds)
            theirs = htools.theirs("hbal", "-t", str(file), *words)
            assert ours.moves == theirs.moves, "hbal finds other moves"
            what = f"{nodes} nodes, {'one step' if words else 'full run'}"
            figures[f"{what}, hbal, process, s"] = theirs.seconds
            figures[f"{what}, ours, process, s"] = ours.seconds
            bars[f"{what}, times faster"] = [theirs.seconds / ours.seconds, ">=", 100 if words else 300]
            if words:
                bars[f"{what}, search alone, times faster"] = [theirs.seconds / step_seconds, ">=", 1000]
