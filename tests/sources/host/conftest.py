"""Recorded machines: the text files in machines/, read by the implementation that also serves ssh."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ullage.sources.host.collect import collect
from ullage.sources.host.recorded import parse_bundle

FOLDER = Path(__file__).parent / "machines"
NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)


def pytest_generate_tests(metafunc):
    if "machine_name" in metafunc.fixturenames:
        metafunc.parametrize("machine_name", sorted(path.stem for path in FOLDER.glob("*.txt")))


@pytest.fixture(name="noon")
def fixture_noon():
    return NOON


@pytest.fixture(name="bundle")
def fixture_bundle():
    """Return the bytes of a recorded machine, with pieces replaced (every piece must be there)."""

    def read(name, *replacements):
        data = (FOLDER / f"{name}.txt").read_bytes()
        for old, new in replacements:
            assert old.encode() in data, old
            data = data.replace(old.encode(), new.encode())
        return data

    return read


@pytest.fixture(name="facts_of")
def fixture_facts_of(bundle):
    """Return the facts of a recorded machine, with pieces of the recording replaced."""

    def facts(name, *replacements, class_overrides=None):
        return collect(
            NOON, machine=parse_bundle(bundle(name, *replacements)), class_overrides=class_overrides
        )

    return facts
