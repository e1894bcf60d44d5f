"""More requests than can be answered: how many are, and that none is lost.

wrk asks where it is there, so that the client takes little of the machine; else a client in this process.
"""

import asyncio
import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from open_loop import Address, Connection

SCRIPT = Path(__file__).with_name("saturation.lua")
THREADS = 2
TIMEOUT_SECONDS = 30


class Saturated(NamedTuple):
    """What came of it: answered well, told when to ask again, answered otherwise, and not answered."""

    answered: int
    busy: int
    other: int
    lost: int
    seconds: float
    client: str


def saturate(address: Address, path: str, connections: int, seconds: int) -> Saturated:
    """Ask for fits from many connections, each as soon as the one before is answered."""
    if shutil.which("wrk") is None:
        return asyncio.run(_saturate(address, path, connections, seconds))
    command = ["wrk", "-t", str(THREADS), "-c", str(connections), "-d", str(seconds), "-s", str(SCRIPT)]
    url = f"http://{address[0]}:{address[1]}{path}"
    done = subprocess.run(
        [*command, "--timeout", str(TIMEOUT_SECONDS), url], check=True, capture_output=True, text=True
    )
    return Saturated(**json.loads(done.stdout.splitlines()[-1]), client="wrk")


async def _saturate(address: Address, path: str, connections: int, seconds: int) -> Saturated:
    statuses: dict[int, int] = {}
    begun = time.perf_counter()

    async def ask(first: int) -> None:
        number = first * 100_003
        _, connection = await asyncio.get_running_loop().create_connection(Connection, *address)
        while time.perf_counter() < begun + seconds:
            number += 1
            try:
                status = await connection.ask(f"{path}?shape={shape_of(number)}")
            except OSError:
                status = 0
                _, connection = await asyncio.get_running_loop().create_connection(Connection, *address)
            statuses[status] = statuses.get(status, 0) + 1
        await connection.close()

    await asyncio.gather(*(ask(number) for number in range(connections)))
    answered, busy, lost = (statuses.pop(status, 0) for status in (200, 503, 0))
    took = time.perf_counter() - begun
    return Saturated(answered, busy, sum(statuses.values()), lost, took, "asyncio")


def shape_of(number: int) -> str:
    """Return one of many shapes of pods, the same for the same number."""
    spread = number * 7919
    return f"cpu={10 + spread % 3989}m,memory={16 + spread % 8191}Mi"
