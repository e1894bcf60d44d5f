"""Who asks about containers reads of a record only what tells of them, and gets the same advice."""

import contextlib
import sqlite3
from random import Random

import pytest

from builders import cluster, node, pod, resources
from ullage.engine.usage.advice import advise, needed
from ullage.engine.usage.requests import Rules
from ullage.model.cluster import Container
from ullage.model.usage import MAX_USAGE, OOM_KILLS, RESTARTS
from ullage.stores.usage import Batch, Marks, append, read_book
from ullage.stores.usage_listing import read_needed
from usage_builders import DAY, book, every

MIB = 1 << 20
START = 98 * DAY
ASKED = resources(cpu="1", memory="1Gi")
MAIN, SIDE = Container("main", requests=ASKED), Container("side", "sidecar", requests=ASKED)


def snapshot_of(workloads):
    pods = [
        pod(
            f"{name}-{number}",
            namespace="n",
            owner=f"StatefulSet/{name}",
            containers=containers,
            requests=ASKED,
        )
        for name, containers in workloads.items()
        for number in range(3)
    ]
    return cluster(node("n1", cpu="64", memory="64Gi").holding(*pods))


def recorded(path, streams):
    append(path, Batch("test", book(streams), Marks(0, {}), START + 30 * DAY))
    return path


def hourly(random, unit=1):
    points = random.choice((5, 200, 300))
    amounts = [None if random.random() < 0.1 else unit * random.randrange(1, 900) for _ in range(points)]
    return every(3600, amounts, START + random.randrange(9) * DAY)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("wanted", [(), ("w1",)])
def test_advice_from_what_is_needed_is_advice_from_everything(tmp_path, seed, wanted):
    random = Random(seed)  # noqa: S311 - a fixed draw, not a secret
    snapshot = snapshot_of({"w0": (MAIN,), "w1": (MAIN, SIDE), "w2": (MAIN,), "unseen": (MAIN,)})
    streams = {("node/n1", "memory"): hourly(random, MIB), ("namespace/n", "cpu"): hourly(random)}
    for name in (f"w{each}-{number}" for each in range(3) for number in range(5)):  # two of each are gone
        for subject in (f"pod/n/{name}", f"container/n/{name}/main", f"container/n/{name}/side"):
            for key in (("cpu",), ("memory",), ("memory", MAX_USAGE), (RESTARTS,), (OOM_KILLS,)):
                if random.random() < 0.5:
                    streams[subject, *key] = hourly(random, MIB if key[0] == "memory" else 1)
    path = recorded(tmp_path / "ledger.db", streams)
    part = read_needed(path, lambda listed: needed(snapshot, listed, "", wanted))
    whole = read_book(path)
    assert len(part) < len(whole)
    told = [
        [
            (each.crew.owner, each.containers, each.notes)
            for each in advise(snapshot, found, Rules(), "", wanted)
        ]
        for found in (part, whole)
    ]
    assert told[0] == told[1]
    assert any(sized.evidence.points for _, found, _ in told[0] for each in found for sized in each.sized)


def test_what_is_not_needed_is_not_looked_at(tmp_path):
    streams = {
        (subject, "cpu"): every(3600, [100] * 200, START)
        for subject in ("pod/n/w0-0", "container/n/w0-0/main", "node/n1")
    }
    path = recorded(tmp_path / "ledger.db", streams)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "UPDATE usage_days SET histogram = x'00' WHERE stream IN "
            "(SELECT number FROM usage_streams WHERE subject NOT LIKE 'container/%')"
        )
        connection.commit()
    snapshot = snapshot_of({"w0": (MAIN,)})
    found = read_needed(path, lambda listed: needed(snapshot, listed))
    assert [each.subject for each in found.streams()] == ["container/n/w0-0/main"]
