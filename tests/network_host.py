"""A host of the tests' own: a network namespace with an address that is no loopback, joined to this one.

API servers hand nothing on to loopback addresses. What runs in the namespace can be reached from here, and
reaches nothing but here.
"""

import contextlib
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

import pytest


class Host(NamedTuple):
    """Its address, and the words before a command that runs there."""

    address: str
    inside: tuple[str, ...]


@contextlib.contextmanager
def host() -> Iterator[Host]:
    """Give a host until the end; skips where none can be made."""
    ip = shutil.which("ip")
    if ip is None or os.geteuid() != 0:
        pytest.skip("a network namespace needs root and ip (Debian: apt-get install iproute2)")
    mark = secrets.token_hex(3)
    name, here, there = f"ullage-{mark}", f"ul{mark}a", f"ul{mark}b"
    block = secrets.randbelow(64) * 4
    near, far = f"192.0.2.{block + 1}", f"192.0.2.{block + 2}"

    def run(*words: str) -> None:
        subprocess.run([ip, *words], check=True, capture_output=True)

    try:
        run("netns", "add", name)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespace can be made here: {error.stderr.decode().strip()}")
    try:
        run("link", "add", here, "type", "veth", "peer", "name", there, "netns", name)
        run("addr", "add", f"{near}/30", "dev", here)
        run("link", "set", here, "up")
        run("-n", name, "addr", "add", f"{far}/30", "dev", there)
        run("-n", name, "link", "set", there, "up")
        yield Host(far, (ip, "netns", "exec", name))
    finally:
        run("netns", "del", name)
