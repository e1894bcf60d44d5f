"""The cache of a node is looked at again, and its size is an entry of the ledger."""

import json
from pathlib import Path

import pytest

from ullage.model.errors import InputError
from ullage.service.asked import Asked
from ullage.service.ledger_cache import ledger_cache
from ullage.service.ledger_file import read_ledger

GIB = 1 << 30
SSD = "ullage.dev/ssd-space"


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """A node of mode zos with an SSD of 20Gi, of which 5Gi are kept back for the cache."""
    monkeypatch.setenv("ULLAGE_NOW", "1000")
    nodes = [
        {"name": "n1", "capacity": {SSD: "20Gi"}, "reserve": {SSD: "5Gi"}},
        {"name": "bare", "capacity": {"cpu": "4"}},
    ]
    document = {"apiVersion": "ullage.dev/v1", "kind": "Snapshot", "name": "room", "nodes": nodes}
    (tmp_path / "room.json").write_text(json.dumps(document))
    return Asked(str(tmp_path / "room.json"), "zos", ledger=str(tmp_path / "ledger.db"))


def size(asked):
    return read_ledger(Path(asked.ledger)).held("cache/n1").get(SSD, 0) // GIB


def test_it_grows_and_shrinks_by_what_it_holds(asked, read):
    answer = ledger_cache(asked, "n1", "1Gi")
    assert answer.yes
    assert read(answer).startswith("✓ cache of n1, 1Gi of 0 used, now 5Gi: 1 reservation changed")
    assert size(asked) == 5
    assert ledger_cache(asked, "n1", "3Gi").yes
    assert size(asked) == 10
    steps = read_ledger(Path(asked.ledger)).revision
    assert "it has the size that it should have" in read(ledger_cache(asked, "n1", "5Gi"))
    assert read_ledger(Path(asked.ledger)).revision == steps
    assert ledger_cache(asked, "n1", "1Gi").yes
    assert size(asked) == 5


def test_it_does_not_grow_beyond_what_the_pool_has_free(asked, read):
    for used in ("1Gi", "5Gi", "10Gi", "15Gi"):
        assert ledger_cache(asked, "n1", used).yes
    answer = ledger_cache(asked, "n1", "20Gi")
    assert not answer.yes
    assert "its pool has 0 bytes free" in " ".join(read(answer).split())
    assert size(asked) == 20


@pytest.mark.parametrize(
    ("node", "used", "said"),
    [
        ("bare", "1Gi", "node bare has no cache on an SSD"),
        ("n9", "1Gi", "no node 'n9'"),
        ("n1", "much", "--used: "),
        ("n1", "-1", "-1 is in use"),
    ],
)
def test_what_cannot_be_is_refused(asked, node, used, said):
    with pytest.raises(InputError) as raised:
        ledger_cache(asked, node, used)
    assert said in str(raised.value)
