"""A server on a large cluster: how soon it answers fits at rest, while it reads anew, and when it is swamped.

Requests are sent when they are due, whether or not those before are answered; /health is asked beside, at the
same rate: what it takes is what the machine adds by itself. The cluster that is read anew is another one, so
that workers change in the middle of it. The server, its workers and who asks share the machine.
"""

import asyncio
import contextlib
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Coroutine, Iterator
from pathlib import Path

import uvloop
from playwright.sync_api import sync_playwright

from measure import calibration_seconds
from open_loop import Address, OpenLoop, asked_once, at
from saturation import saturate, shape_of

FOLDER = Path(__file__).resolve().parents[2] / ".cache"
NODES = 5000
FILL = 0.625
"""Which makes 150 000 pods of so many nodes."""
PER_SECOND = 50
REST_SECONDS = 20.0
AFTER_SECONDS = 3.0
"""For how long it is asked once the cluster was read anew."""
SATURATED_SECONDS = 8
CONNECTIONS = (32, 400)
READY_SECONDS_MAX = 120.0
ROUNDS = 5
CLUSTER = "/v1/clusters/bench"
WITHIN_MIN, BORROWS = "team-001", "team-000"
"""A team whose quota has room within its min, and one that uses more than it."""
OK, BUSY = 200, 503
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"
ADDRESS = re.compile(r"http://([\d.]+):(\d+)/")
WHY = {
    "while read anew: ms of a fit, 99 of 100": "a loader reads the cluster with one of the two cores, and "
    "workers are forked anew; runs on one day gave 49 to 86 ms, with the speed of the processor"
}


def run() -> dict[str, object]:
    """Measure one thing after the other on one server."""
    figures: dict[str, object] = {"calibration loop, s": calibration_seconds()}
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
        folder = Path(scratch)
        for seed in (1, 2):
            save(folder / f"seed-{seed}.ullage", seed)
        cluster = folder / "cluster.ullage"
        (folder / "seed-1.ullage").rename(cluster)
        with served(folder, cluster) as address:
            figures |= uvloop.run(pages(address))
            figures |= in_browser(address)
            rest, _ = uvloop.run(beside(address, asyncio.sleep(REST_SECONDS)))
            figures |= rest
            (folder / "seed-2.ullage").rename(cluster)
            during, seconds = uvloop.run(beside(address, refreshed(address), "while read anew: "))
            figures |= {"s until the cluster is read anew": seconds - AFTER_SECONDS, **during}
            for connections in CONNECTIONS:
                figures |= saturated(address, connections)
    return {**figures, "bars": bars(figures)}


def bars(figures: dict[str, object]) -> dict[str, list[object]]:
    """Return the figures that are held against a bar."""
    most = {"ms, first overview": 300, "ms, overview again": 300, "ms, overview in a browser": 1000}
    for when in ("", "while read anew: "):
        most |= {f"{when}ms of a fit, median": 10, f"{when}ms of a fit, 99 of 100": 50}
        most |= {f"{when}requests without an answer": 0}
    most |= {f"{connections} connections: requests without an answer": 0 for connections in CONNECTIONS}
    return {name: [figures[name], "<=", bar] for name, bar in most.items()}


async def pages(address: Address) -> dict[str, object]:
    """Return how long the overview takes, all numbers as JSON, and fits of teams that have a quota."""
    figures: dict[str, object] = {}
    fit = f"{CLUSTER}/fit?shape={shape_of(0)}&namespace="
    for name, path in (
        ("overview", "/"),
        ("status as JSON", f"{CLUSTER}/status"),
        ("fit within a min", f"{fit}{WITHIN_MIN}"),
        ("fit of a team that borrows", f"{fit}{BORROWS}"),
    ):
        took = [await asked_once(address, path) for _ in range(1 + ROUNDS)]
        assert {each.status for each in took} == {OK}
        figures[f"ms, first {name}"] = took[0].seconds * 1000
        figures[f"ms, {name} again"] = sorted(each.seconds for each in took[1:])[ROUNDS // 2] * 1000
    return figures


def in_browser(address: Address) -> dict[str, object]:
    """Return how long a browser takes from asking for the overview until all of it is loaded and laid out."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    assert program is not None, "chromium is not installed"
    took = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for _ in range(ROUNDS):
            with browser.new_context(viewport={"width": 1400, "height": 900}) as fresh:
                page = fresh.new_page()
                page.goto(f"http://{address[0]}:{address[1]}/", wait_until="load")
                took.append(page.evaluate(LOADED))
        browser.close()
    return {
        "ms, overview in a browser": sorted(took)[ROUNDS // 2],
        "ms, overview in a browser, worst": max(took),
    }


async def beside(
    address: Address, lasting: Coroutine[None, None, None], when: str = ""
) -> tuple[dict[str, object], float]:
    """Return how long fits and /health take while something lasts, and how long that lasts."""
    ended = asyncio.Event()
    fits = OpenLoop(address, lambda number: f"{CLUSTER}/fit?shape={shape_of(number)}", PER_SECOND)
    well = OpenLoop(address, lambda _: "/health", PER_SECOND)
    asking = [asyncio.create_task(each.run(ended)) for each in (fits, well)]
    begun = time.perf_counter()
    await lasting
    seconds = time.perf_counter() - begun
    ended.set()
    await asyncio.gather(*asking)
    figures: dict[str, object] = {f"{when}fits asked": len(fits.timed)}
    for name, timed in (("a fit", fits.timed), ("/health", well.timed)):
        figures[f"{when}ms of {name}, median"] = at(timed, 0.5)
        figures[f"{when}ms of {name}, 99 of 100"] = at(timed, 0.99)
        figures[f"{when}ms of {name}, at most"] = at(timed, 1.0)
    every = [*fits.timed, *well.timed]
    figures[f"{when}requests told to come again"] = sum(each.status == BUSY for each in every)
    figures[f"{when}requests without an answer"] = sum(each.status not in {OK, BUSY} for each in every)
    return figures, seconds


async def refreshed(address: Address) -> None:
    """Have the cluster read anew, and wait until a moment after that."""
    before = revision(address)
    told = await asked_once(address, f"{CLUSTER}/refresh", "POST")
    assert told.status == OK
    assert await asyncio.to_thread(revision, address) == before + 1
    await asyncio.sleep(AFTER_SECONDS)


def revision(address: Address) -> int:
    """Return the revision of the cluster that is answered from."""
    with urllib.request.urlopen(f"http://{address[0]}:{address[1]}{CLUSTER}", timeout=30) as answer:
        return int(json.load(answer)["revision"])


def saturated(address: Address, connections: int) -> dict[str, object]:
    """Return how many fits are answered in a second, to many who ask again at once."""
    found = saturate(address, f"{CLUSTER}/fit", connections, SATURATED_SECONDS)
    return {
        f"{connections} connections: fits/s ({found.client})": found.answered / found.seconds,
        f"{connections} connections: told to come again, /s": found.busy / found.seconds,
        f"{connections} connections: requests without an answer": found.other + found.lost,
    }


def save(path: Path, seed: int) -> None:
    """Write a cluster of the size that is measured."""
    source = f"synthetic:nodes={NODES},seed={seed},fill={FILL}"
    command = [sys.executable, "-m", "ullage", "snapshot", "save", "-c", source, str(path)]
    subprocess.run(command, check=True, capture_output=True)


@contextlib.contextmanager
def served(folder: Path, cluster: Path) -> Iterator[Address]:
    """Run a server until the end, and give its address once the cluster is read."""
    where = ["-c", f"bench={cluster}", "--refresh", "0", "--listen", "0", "--data", str(folder / "data")]
    command = [sys.executable, "-m", "ullage", "serve", *where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            found = ADDRESS.search(process.stdout.readline())
            address = (found[1], int(found[2]))
            ends = time.monotonic() + READY_SECONDS_MAX
            while not revision(address):
                assert time.monotonic() < ends, "the cluster was never read"
                time.sleep(0.1)
            yield address
        finally:
            process.send_signal(signal.SIGTERM)
