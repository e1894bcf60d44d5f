"""No crash loses what anybody was told, and the crashes are hard enough to show it."""

import shutil
import subprocess
import sys

import pytest

from simulation.crash import NoCompilerError, kill
from stores.ledger_files import FLEET
from ullage.stores.sqlite import SqliteLedger

KILLS = 100
SECONDS_MAX = 120

FULL = """
import resource, sys
from pathlib import Path
from engine.ledger.ledgers import hold, reserve
from ullage.stores.protocol import StoreUnavailableError
from ullage.stores.sqlite import SqliteLedger

_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
with SqliteLedger(Path(sys.argv[1])) as ledger:
    def fill(start):
        for number in range(start, 10_000):
            command = reserve(f"r{number}", hold("node/a", cpu=0), expires=10**9)
            try:
                assert ledger.submit(command, at_seconds=1).decision.accepted
            except StoreUnavailableError:
                return number
    if sys.argv[2]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), hard))
    refused = 0
    while (reached := fill(refused)) > refused:
        refused = reached  # a log that was full has been moved to the file: there may be room again
    if sys.argv[2]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        command = reserve(f"r{refused}", hold("node/a", cpu=0), expires=10**9)
        assert ledger.submit(command, at_seconds=1).decision.accepted, "room again"
        refused += 1
print(refused)
"""


def promised(path, limit_bytes=""):
    """Fill a disk with promises, and return how many were made."""
    with SqliteLedger(path) as ledger:
        ledger.submit(FLEET, at_seconds=1)
    done = subprocess.run(
        [sys.executable, "-c", FULL, path, str(limit_bytes)],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
        timeout=SECONDS_MAX,
    )
    return int(done.stdout)


def test_when_a_file_may_not_grow_nothing_is_promised_and_nothing_is_lost(tmp_path):
    path = tmp_path / "ledger"
    count = promised(path, 300_000)
    assert count > 10
    with SqliteLedger(path) as ledger:
        assert [finding.message for finding in ledger.verify()] == []
        assert len(ledger.state()) == count


@pytest.mark.slow
def test_when_the_disk_is_full_nothing_is_promised_and_nothing_is_lost(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=False)
    if mounted.returncode:
        pytest.skip("a small disk can be mounted by root alone")
    try:
        count = promised(disk / "ledger")
        assert count > 10
        for name in ("ledger", "ledger-wal"):
            if (disk / name).exists():
                shutil.copy(disk / name, tmp_path / name)
    finally:
        subprocess.run(["umount", disk], check=True)
    with SqliteLedger(tmp_path / "ledger") as ledger:
        assert [finding.message for finding in ledger.verify()] == []
        assert len(ledger.state()) == count


def killed(kills, seed, **how):
    try:
        return kill(kills, seed, **how)
    except NoCompilerError as reason:
        pytest.skip(str(reason))


@pytest.mark.slow
def test_after_a_hundred_kills_everything_that_was_told_stands():
    wrong, counted = killed(KILLS, 1)
    assert wrong == []
    assert sum(counted[kind] for kind in ("clock", "call", "power", "sync", "full")) >= KILLS
    assert min(counted[kind] for kind in ("clock", "call", "power", "sync", "full")) > 0
    assert counted["outcomes told"] > KILLS
    assert counted["errors told"] > 0


@pytest.mark.slow
def test_processes_that_the_clock_kills_need_no_compiler():
    wrong, counted = kill(10, 2, kinds=("clock",))
    assert wrong == []
    assert counted["clock"] >= 10


@pytest.mark.slow
def test_a_ledger_that_does_not_wait_for_the_disk_is_found_out():
    wrong, _ = killed(100, 3, kinds=("power",), careless=True)
    assert any("is lost" in each or "damaged" in each for each in wrong)
