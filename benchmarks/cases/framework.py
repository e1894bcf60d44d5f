"""What a framework costs: the same answer by plain ASGI, as our server makes it, and by Litestar.

Both run on the same uvicorn, one after the other in rounds, asked from 32 connections. Litestar is no
dependency of ours: it is installed into an environment of its own, in the user's cache.
"""

import asyncio
import contextlib
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from cases.service_ledger import measured, reservations
from measure import calibration_seconds

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from reference.build import cache_folder  # found by the path above

PEER = Path(__file__).resolve().parents[1] / "peers" / "frameworks.py"
LITESTAR = "litestar==2.25.0"
SHARED = ("msgspec", "uvicorn", "uvloop", "httptools")
ROUNDS = 3
START_SECONDS_MAX = 30.0


def environment() -> Path:
    """Return the Python that has Litestar, and of the rest what we have."""
    folder = cache_folder() / LITESTAR.replace("==", "-")
    program = folder / "bin" / "python"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "uv", "venv", "--quiet", str(folder)], check=True)
        wanted = [f"{name}=={version(name)}" for name in SHARED]
        install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", str(program)]
        subprocess.run([*install, LITESTAR, *wanted], check=True)
    return program


@contextlib.contextmanager
def served(program: Path, which: str) -> Iterator[tuple[str, int]]:
    """Run one of them until the end, and give its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with subprocess.Popen([program, PEER, which, str(port)]) as process:
        try:
            ends = time.monotonic() + START_SECONDS_MAX
            while True:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                assert time.monotonic() < ends, f"{which} never answered"
                time.sleep(0.1)
            yield "127.0.0.1", port
        finally:
            process.terminate()


def requests(name: str) -> Iterator[bytes]:
    """Yield the requests of the ledger's case, to the one path that there is."""
    return (re.sub(rb"^POST \S+", b"POST /", each) for each in reservations(name))


def run() -> dict[str, object]:
    """Measure both in turns, and keep the best of each."""
    figures: dict[str, object] = {"calibration loop, s": calibration_seconds(), "peer": LITESTAR}
    program = environment()
    best = dict.fromkeys(("plain", "litestar"), 0.0)
    for _ in range(ROUNDS):
        for which in best:
            with served(program, which) as address:
                rate, _ = asyncio.run(measured(address, requests, which))
            best[which] = max(best[which], rate)
    figures |= {f"{which}, answers/s": rate for which, rate in best.items()}
    return {**figures, "bars": {"times Litestar's": [best["plain"] / best["litestar"], ">=", 1]}}
