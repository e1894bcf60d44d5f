"""Clients of one ledger at the same time, in threads, tasks and processes, and what each of them saw."""

import asyncio
import concurrent.futures
import multiprocessing
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from simulation.linearizability import Operation
from ullage.model.disk_plan import DiskCapacity, DiskRequest
from ullage.model.ledger import (
    VOLUME_SPACE,
    WHOLE_DRIVE,
    Bind,
    Capacity,
    Command,
    Expire,
    Extend,
    Hold,
    Outcome,
    Pause,
    Release,
    Reserve,
    Supply,
)
from ullage.model.resources import Resources
from ullage.stores import codec
from ullage.stores.protocol import StoreBusyError
from ullage.stores.sqlite import SqliteLedger

MIB = 1 << 20
TICKS_PER_SECOND = 4
"""How fast the ledger's time goes: promises end while the clients are at work."""
Seen = tuple[float, float, str, int, str, bool, int, str]


def fleet() -> Supply:
    """Return a few nodes, a quota, drives and a volume group: too little for everybody."""
    drives = [DiskCapacity(f"d{each}", "n0", "HDD", 100 * MIB) for each in range(3)]
    return Supply(
        (
            *(Capacity(f"node/n{each}", Resources({"cpu": 60})) for each in range(3)),
            Capacity("quota/team", Resources({"cpu": 150})),
            *(
                Capacity(
                    f"drive/n0/{drive.name}", Resources({WHOLE_DRIVE: 1, VOLUME_SPACE: 96 * MIB}), disk=drive
                )
                for drive in drives
            ),
            Capacity(
                "group/n0/vg",
                Resources({VOLUME_SPACE: 60 * MIB}),
                disk=DiskCapacity("vg", "n0", "HDDLVG", 60 * MIB),
                drives=("drive/n0/d3",),
            ),
        )
    )


def wishes(name: str, started: float) -> Iterator[tuple[str, Command]]:
    """Yield what a client asks for, one after the other, each with its key; some ask twice."""
    draw = random.Random(name)  # noqa: S311 - the same wishes in every run, not a secret
    number = 0
    while True:
        number += 1
        reservation = f"{name}-{number}" if draw.random() < 0.8 else f"shared-{draw.randrange(5)}"
        expires = ticks(started) + draw.randrange(1, 20)
        amount = Resources({"cpu": draw.randrange(1, 10)})
        holds = (Hold("web", f"node/n{draw.randrange(3)}", amount), Hold("web", "quota/team", amount))
        if draw.random() < 0.05:
            volumes = (DiskRequest("data", draw.choice(("HDD", "HDDLVG")), 20 * MIB),)
            mode = draw.choice(("exact", "compat"))
            waits = draw.random() < 0.3
            asked: Command = Reserve(
                reservation, name, expires, nodes=("n0",), volumes=volumes, mode=mode, waits=waits
            )
        else:
            asked = Reserve(reservation, name, expires, holds=holds)
        later = (
            Bind(reservation),
            Pause(reservation),
            Extend(reservation, expires + 10),
            Expire(),
            Release(reservation),
        )
        for place, command in enumerate((asked, draw.choice(later), Release(reservation))):
            key = f"{name}-{number}-{place}" if draw.random() < 0.5 else ""
            yield key, command
            if key and draw.random() < 0.1:
                yield key, command


def ticks(started: float) -> int:
    return int((time.monotonic() - started) * TICKS_PER_SECOND)


def seen(begun: float, command: Command, outcome: Outcome, at_seconds: int, key: str) -> Seen:
    texts = codec.command_text(command), codec.decision_text(outcome.decision)
    return begun, time.monotonic(), texts[0], outcome.revision, texts[1], outcome.repeated, at_seconds, key


def in_a_thread(ledger: SqliteLedger, name: str, started: float, seconds: float, found: list[Seen]) -> None:
    for key, command in wishes(name, started):
        begun = time.monotonic()
        if begun > started + seconds:
            return
        at_seconds = ticks(started)
        try:
            outcome = ledger.submit(command, at_seconds=at_seconds, key=key)
        except StoreBusyError:
            continue
        found.append(seen(begun, command, outcome, at_seconds, key))


async def in_a_task(
    ledger: SqliteLedger, name: str, started: float, seconds: float, found: list[Seen]
) -> None:
    for key, command in wishes(name, started):
        begun = time.monotonic()
        if begun > started + seconds:
            return
        at_seconds = ticks(started)
        try:
            outcome = await ledger.submit_async(command, at_seconds=at_seconds, key=key)
        except StoreBusyError:
            continue
        found.append(seen(begun, command, outcome, at_seconds, key))


def in_a_process(path: Path, name: str, clients: int, started: float, seconds: float) -> list[Seen]:
    """Run half of the clients in threads and half in tasks; return all that they saw."""
    found: list[Seen] = []
    with SqliteLedger(path, busy_seconds=20) as ledger:
        names = [f"{name}{each}" for each in range(clients)]
        threads = [
            threading.Thread(target=in_a_thread, args=(ledger, each, started, seconds, found))
            for each in names[::2]
        ]
        for thread in threads:
            thread.start()

        async def tasks() -> None:
            await asyncio.gather(*(in_a_task(ledger, each, started, seconds, found) for each in names[1::2]))

        asyncio.run(tasks())
        for thread in threads:
            thread.join()
    return found


def history(path: Path, clients: int, seconds: float, processes: int) -> list[Operation]:
    """Have clients use a ledger for a while, here or in processes of their own; return what they saw."""
    if processes == 1:
        found = in_a_process(path, "a", clients, time.monotonic(), seconds)
        return [operation(each) for each in found]
    spawning = multiprocessing.get_context("spawn")  # a fork would share the threads of whoever runs this
    with concurrent.futures.ProcessPoolExecutor(processes, mp_context=spawning) as pool:
        list(pool.map(time.sleep, [0.5] * processes))  # so that all of them are there when time begins
        started = time.monotonic()
        asked = [
            pool.submit(in_a_process, path, chr(ord("a") + each), clients // processes, started, seconds)
            for each in range(processes)
        ]
        return [operation(each) for done in asked for each in done.result()]


def operation(saw: Seen) -> Operation:
    begun, answered, command, revision, decision, repeated, at_seconds, key = saw
    outcome = Outcome(revision, codec.to_decision(decision), repeated=repeated)
    return Operation(begun, answered, codec.to_command(command), outcome, at_seconds, key)
