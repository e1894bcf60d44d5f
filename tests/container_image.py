"""The image of deploy/Containerfile, built by buildah, and commands of it run as a kubelet would run them.

Neither needs a daemon: buildah builds by chroot, and a command gets the image's files read-only, as the user
that the image names, with nothing to write to but /tmp. The hard thing is the base image where no registry of
images is reached: then one with the same Python is made of Debian's packages, and all else is the same.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[1]
CONTAINERFILE = ROOT / "deploy/Containerfile"
TAG = "localhost/ullage-test"
SUITE = "trixie"
"""The release of Debian that has the Python of the image."""
PACKAGES = "python3,python3-venv,python-is-python3,ca-certificates"
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
STEP_SECONDS_MAX = 1800
NEEDED = ("buildah", "debootstrap", "unshare", "setpriv", "chroot")
# In a mount namespace of its own: $1 the image's files, $2 user:group, $3 a folder of ours to be read.
CONTAINED = """
set -e
root=$1 user=$2 folder=$3
shift 3
mkdir -p "$root$folder"
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t proc proc "$root/proc"
mkdir -p "$root$folder"
mount --bind "$folder" "$root$folder"
exec setpriv --no-new-privs chroot --userspec="$user" "$root" "$@"
"""


class ContainerImage:
    """An image that was built, and what it says of itself; use it as a context."""

    def __enter__(self) -> Self:
        base = re.findall(r"^FROM (\S+)$", CONTAINERFILE.read_text(encoding="utf-8"), re.MULTILINE)[-1]
        if not _is_there(base):
            _make_base(base)
        _buildah(
            "bud", "--layers", "--pull-never", "--network=host", f"--file={CONTAINERFILE}", f"--tag={TAG}",
            f"--volume={AUTHORITIES}:{AUTHORITIES}:ro", f"--env=PIP_CERT={AUTHORITIES}", str(ROOT),
        )  # fmt: skip
        self._container = _buildah("from", "--pull-never", TAG)
        self.root = Path(_buildah("mount", self._container))
        self.config: dict[str, Any] = json.loads(_buildah("inspect", "--type=image", TAG))["OCIv1"]["config"]
        return self

    def __exit__(self, *_: object) -> None:
        _buildah("rm", self._container)

    def command(self, folder: Path) -> tuple[str, ...]:
        """Return the words that stand for `ullage`; it may read a folder of ours, and write nothing there."""
        return (
            "unshare", "--mount", "sh", "-c", CONTAINED, "contained",
            str(self.root), self.config["User"], str(folder),
            "env", "-i", f"--chdir={self.config['WorkingDir']}", *self.config["Env"],
            *self.config["Entrypoint"],
        )  # fmt: skip


def missing() -> str:
    """Return why no image can be built here; empty where one can."""
    if os.geteuid() != 0:
        return "not root: the image is built and run by chroot"
    absent = [each for each in NEEDED if shutil.which(each) is None]
    return f"not installed: {', '.join(absent)}; `make image` installs them" if absent else ""


def _is_there(base: str) -> bool:
    """Whether a base image is stored here, or comes from its registry."""
    tried = subprocess.run(
        ["buildah", "pull", "--policy=missing", "--quiet", base],
        capture_output=True,
        timeout=STEP_SECONDS_MAX,
        check=False,
    )
    return tried.returncode == 0


def _make_base(name: str) -> None:
    """Store an image of Debian with Python under the name of a base image that cannot be had."""
    with tempfile.TemporaryDirectory(prefix="ullage-base-") as folder:
        made = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, folder]
        subprocess.run(made, stdout=subprocess.DEVNULL, timeout=STEP_SECONDS_MAX, check=True)
        container = _buildah("from", "scratch")
        _buildah("add", container, folder, "/")
    _buildah("commit", "--rm", container, name)


def _buildah(verb: str, *arguments: str) -> str:
    """Run a verb of buildah and return what it prints."""
    done = subprocess.run(
        ["buildah", verb, *arguments],
        env={**os.environ, "BUILDAH_ISOLATION": "chroot"},
        capture_output=True,
        text=True,
        timeout=STEP_SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, f"buildah {verb}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout.strip()
