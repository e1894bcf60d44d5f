"""The pages of `inspect` on recorded machines."""

import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from ullage.render import render
from ullage.service.inspect_page import host_page
from ullage.sources.host.collect import collect
from ullage.sources.host.recorded import parse_bundle

MACHINES = Path(__file__).parent.parent / "sources" / "host" / "machines"
GOLDEN = Path(__file__).parent.parent / "golden" / "cli"
NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)


def facts_of(name):
    return collect(NOON, machine=parse_bundle((MACHINES / f"{name}.txt").read_bytes()))


@pytest.mark.parametrize("name", ["kvm-host", "xen-xl", "container-v2"])
def test_as_people_read_it(name):
    text = render(host_page(facts_of(name)), None, "table", width=100)
    path = GOLDEN / f"inspect-{name}.txt"
    if os.environ.get("ULLAGE_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "ULLAGE_UPDATE_GOLDEN=1 rewrites it if this is right"


def test_the_sum_of_zos_is_its_rule():
    facts = facts_of("kvm-host")
    block = next(block for block in host_page(facts).blocks if block.title == "Memory by ZOS' rule")
    amounts = {term.name: term.amount for term in (*block.lines, block.result)}
    assert set(amounts) == {"capacity", "reserve", "limit", "committed", "free"}


def test_a_host_of_which_nothing_could_be_read_still_has_a_page():
    facts = facts_of("kvm-host")
    unread = dict.fromkeys(
        ("cpu", "memory", "ganeti", "cgroup", "disks", "mounts", "lvm", "gpus", "hostname")
    )
    page = host_page(msgspec.structs.replace(facts, **unread))
    assert page.verdict.text.startswith("host without a name: nothing could be read")
    assert render(page, None, "table")


def test_what_could_not_be_read_is_counted_in_the_verdict():
    page = host_page(facts_of("bare-tools"))
    assert "could not be read" in page.verdict.text
    assert page.blocks[-1].title == "Problems"
