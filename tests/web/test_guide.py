"""What the guide to the service and the reference of HTTP show is what a server answers."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ullage.web.api.table import MODULES, routes
from web_client import started, until_ready

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guides" / "service.md"
REFERENCE = ROOT / "docs" / "reference" / "http.md"
SYSTEMD = ROOT / "deploy" / "systemd"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ADDRESS = "localhost:8480"


def examples(page):
    """The commands of a page that ask a server, with what they print."""
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
        for command, printed in zip(parts[1::2], parts[2::2], strict=True):
            if command.startswith("curl ") or ADDRESS in command:
                yield command, printed.rstrip("\n")


def test_the_guide_shows_examples():
    assert len(list(examples(GUIDE))) >= 6


def asked_paths():
    """The paths that examples of the reference ask, the name of a plan or a job in braces."""
    for command, _ in examples(REFERENCE):
        for path in re.findall(rf"{ADDRESS}(\$\(cat \w+\)|)([^\s'?]*)", command):
            named = {"$(cat plan)": "/v1/clusters/{cluster}/plans/{plan}", "$(cat job)": "/v1/jobs/{job}"}
            found = routes().find(path[1])
            if not path[0] and found is not None:
                yield next(iter(found.methods.values())).path
            yield named.get(path[0], "") + re.sub(r"^/v1/clusters/\w+", "/v1/clusters/{cluster}", path[1])


def test_every_endpoint_for_programs_has_an_example():
    every = {
        route.path
        for module in MODULES
        for route in module.ROUTES
        if route.path.startswith("/v1/") or route.path in {"/health", "/ready", "/metrics", "/openapi.json"}
    }
    assert every - set(asked_paths()) == set()


@pytest.mark.parametrize("page", [GUIDE, REFERENCE], ids=["guide", "reference"])
def test_examples_print_what_is_shown(tmp_path, page):
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    with started(tmp_path / "data", "-c", "demo") as server:
        until_ready(server)
        for command, printed in examples(page):
            here = command.replace(f"http://{ADDRESS}", ADDRESS).replace(ADDRESS, server.address)
            done = subprocess.run(
                ["bash", "-c", here],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=True,
                timeout=60,
                env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            )
            assert done.stdout.rstrip("\n") == printed, command


def test_systemd_can_read_the_unit_with_a_certificate_or_without(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd is not installed")
    unit = tmp_path / "ullage.service"
    shutil.copy(SYSTEMD / "ullage.service", unit)
    for _ in range(2):
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
        )
        assert "ullage.service" not in done.stderr, done.stderr
        (tmp_path / "ullage.service.d").mkdir(exist_ok=True)
        shutil.copy(SYSTEMD / "tls.conf", tmp_path / "ullage.service.d")


def test_the_service_is_handed_the_key_that_only_root_may_read():
    unit, tls = [(SYSTEMD / name).read_text(encoding="utf-8") for name in ("ullage.service", "tls.conf")]
    assert "DynamicUser=yes" in unit
    assert "$ULLAGE_TLS" in unit
    handed = dict(re.findall(r"^LoadCredential=([a-z-]+):(/\S+)$", tls, re.MULTILINE))
    assert handed == {"tls-cert": "/etc/ullage/cert.pem", "tls-key": "/etc/ullage/key.pem"}
    assert 'Environment="ULLAGE_TLS=--tls-cert %d/tls-cert --tls-key %d/tls-key"' in tls
