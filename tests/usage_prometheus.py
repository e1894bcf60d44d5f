"""A real Prometheus (Debian's package) for tests: with a history made of text, and with what it scrapes."""

import contextlib
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from network_host import Host

HERE = Host("127.0.0.1", ())
SECONDS_MAX = 60.0
RETENTION = "20y"
"""The histories of tests are of fixed days."""


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed (Debian: apt-get install {name})")
    return found


def until(look: Callable[[], Any]) -> Any:
    """Return what a look finds as soon as it finds anything."""
    ends = time.monotonic() + SECONDS_MAX
    while time.monotonic() < ends:
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            found = look()
            if found:
                return found
        time.sleep(0.1)
    raise AssertionError("this never came to be")


@contextlib.contextmanager
def running(*command: str) -> Iterator[None]:
    """Run a program until the end."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as process:
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@contextlib.contextmanager
def prometheus(
    folder: Path,
    lines: Iterable[str] = (),
    *,
    scrape: Mapping[str, int] | None = None,
    flags: Sequence[str] = (),
    where: Host = HERE,
) -> Iterator[str]:
    """Give the address of a Prometheus that has a history and scrapes ports once a second, by job."""
    address = where.address
    data = folder / "data"
    text = folder / "history.txt"
    with text.open("w", encoding="utf-8") as file:
        file.writelines(lines)
    if text.stat().st_size:
        command = [program("promtool"), "tsdb", "create-blocks-from", "openmetrics", str(text), str(data)]
        subprocess.run(command, check=True, capture_output=True)
    settings = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
        "scrape_configs": [
            {"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}], "honor_labels": True}
            for job, port in (scrape or {}).items()
        ],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    port = free_port()
    command = [
        *where.inside,
        program("prometheus"),
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={data}",
        f"--storage.tsdb.retention.time={RETENTION}",
        f"--web.listen-address={address}:{port}",
        "--log.level=error",
        *flags,
    ]
    url = f"http://{address}:{port}"

    def ready() -> bool:
        scheme = next((flag.partition("=")[2] for flag in flags if "web.config" in flag), "")
        if scheme:
            with socket.create_connection((address, port), timeout=1):
                return True
        with urllib.request.urlopen(f"{url}/-/ready", timeout=5) as answer:  # noqa: S310 - of our own
            return answer.status == 200

    with running(*command):
        until(ready)
        yield url
