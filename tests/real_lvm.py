"""Real LVM on loop devices: groups and volumes that are made, asked about, and always taken away again.

LVM runs with a folder of its own for its settings and sees no device but these loops, so nothing else on the
machine is read or changed. No volume is ever activated: the kernel needs no device mapper.
"""

import itertools
import os
import shutil
import subprocess
from pathlib import Path
from typing import Self

SECONDS_MAX = 60
SECTOR_BYTES = 512
SETTINGS = """\
backup {{ backup = 0 archive = 0 }}
devices {{ use_devicesfile = 0 filter = [ {allowed} "r|.*|" ] }}
global {{ event_activation = 0 use_lvmpolld = 0 }}
activation {{ monitoring = 0 udev_sync = 0 udev_rules = 0 }}
"""
_NUMBERS = itertools.count(1)


class LvmAbsentError(Exception):
    """Why there is no real LVM to be had here."""


class RealLvm:
    """A folder of images, the loops they are attached to, and LVM's commands on these loops alone."""

    def __init__(self, folder: Path) -> None:
        if os.geteuid() != 0:
            raise LvmAbsentError("not root: loop devices cannot be made")
        for program in ("lvm", "losetup"):
            if shutil.which(program) is None:
                raise LvmAbsentError(f"no {program} (package {'lvm2' if program == 'lvm' else 'mount'})")
        self._folder = folder
        self.loops: list[str] = []
        self.environment = {
            "LVM_SYSTEM_DIR": str(folder / "settings"),
            "LVM_SUPPRESS_FD_WARNINGS": "1",
            "LC_ALL": "C",
        }
        (folder / "settings").mkdir()
        self._write_settings()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Detach every loop, whatever has happened; what is on an image goes with it."""
        while self.loops:
            self.detach(self.loops[-1])

    def attach(self, size_bytes: int) -> str:
        """Return a loop on a new empty image of a size; it takes no space until it is written to."""
        image = self._folder / f"disk-{next(_NUMBERS)}.img"
        with image.open("wb") as file:
            file.truncate(size_bytes)
        done = _run(["losetup", "--find", "--show", str(image)])
        if done.returncode:
            raise LvmAbsentError(f"no loop devices: {done.stderr.strip()}")
        self.loops.append(done.stdout.strip())
        self._write_settings()
        return self.loops[-1]

    def detach(self, loop: str) -> None:
        """Take a loop away, as if its drive had died."""
        self.loops.remove(loop)
        _run(["losetup", "--detach", loop]).check_returncode()
        self._write_settings()

    def group(self, *loops: str, extent_bytes: int = 4 << 20) -> str:
        """Return a new volume group on loops."""
        name = f"ullage_{os.getpid()}_{next(_NUMBERS)}"
        self.must("vgcreate", "--physicalextentsize", f"{extent_bytes}b", name, *loops)
        return name

    def create(self, group: str, name: str, size_bytes: int) -> bool:
        """Whether LVM makes a volume of a size."""
        quietly = ("--activate", "n", "--zero", "n", "--wipesignatures", "n")
        return self.does("lvcreate", *quietly, "--name", name, "--size", _sectors(size_bytes), group)

    def extend(self, group: str, name: str, size_bytes: int) -> bool:
        """Whether LVM makes a volume as large as this."""
        return self.does("lvextend", "--size", _sectors(size_bytes), f"{group}/{name}")

    def remove(self, group: str, name: str) -> None:
        """Take a volume away."""
        self.must("lvremove", "--force", f"{group}/{name}")

    def must(self, *words: str) -> None:
        """Run one of LVM's commands, which has to succeed."""
        done = self._lvm(words)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"

    def does(self, *words: str) -> bool:
        """Whether one of LVM's commands succeeds; that it refuses for want of space is the only other way."""
        done = self._lvm(words)
        assert done.returncode in {0, 5}, f"{' '.join(words)}: {done.stderr}"
        return done.returncode == 0

    def _lvm(self, words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        command, *rest = words
        return _run([command, "--driverloaded", "n", *rest], self.environment)

    def _write_settings(self) -> None:
        allowed = " ".join(f'"a|^{loop}$|",' for loop in self.loops)
        settings = self._folder / "settings" / "lvm.conf"
        settings.write_text(SETTINGS.format(allowed=allowed), encoding="utf-8")


def _sectors(size_bytes: int) -> str:
    """A size as LVM takes it: in whole sectors, which round up as its own extents do."""
    return f"{-(-size_bytes // SECTOR_BYTES)}s"


def _run(argv: list[str], environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
