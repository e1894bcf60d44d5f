"""A backup is a ledger of its own."""

import pytest

from ullage.model.errors import InputError
from ullage.model.ledger import Capacity, Supply
from ullage.model.resources import Resources
from ullage.service.ledger_backup import ledger_backup
from ullage.service.ledger_file import read_ledger, submitted


def test_the_copy_says_the_same_and_is_not_overwritten(tmp_path, read):
    path, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    submitted(path, Supply((Capacity("node/n1", Resources({"cpu": 1})),)), at_seconds=1, create=True)
    answer = ledger_backup(str(path), str(copy))
    assert answer.data()["revision"] == 1
    assert "and proved" in " ".join(read(answer).split())
    assert read_ledger(copy) == read_ledger(path)
    with pytest.raises(InputError, match="is there already"):
        ledger_backup(str(path), str(copy))
