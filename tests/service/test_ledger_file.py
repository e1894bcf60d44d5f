"""Where the ledger lies, and reading it without changing a byte."""

import sqlite3
from pathlib import Path

import pytest

from builders import entry
from ullage.model.errors import InputError
from ullage.model.ledger import Capacity, Hold, Reserve, Supply, Together
from ullage.model.resources import Resources
from ullage.service.asked import Asked
from ullage.service.ledger_cluster import ClusterPlace
from ullage.service.ledger_file import (
    alive,
    file_of,
    is_there,
    ledger_path,
    live_entries,
    read_ledger,
    submitted,
    told_path,
)

CPU = Resources({"cpu": 1000})
COMMAND = Together(
    (Supply((Capacity("node/n1", CPU),)), Reserve("r", "a", 100, holds=(Hold("c", "node/n1", CPU),)))
)


@pytest.mark.parametrize(
    ("named", "data", "found"),
    [
        ("here.db", "/data", "here.db"),
        ("", "/data", "/data/ullage/ledger.db"),
        ("", "", "/home/me/.local/share/ullage/ledger.db"),
        ("", "relative", "/home/me/.local/share/ullage/ledger.db"),
    ],
)
def test_a_file_that_is_named_else_that_of_the_user(monkeypatch, named, data, found):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_DATA_HOME", data)
    assert ledger_path(named) == Path(found)


@pytest.mark.parametrize(
    ("named", "asked", "place"),
    [
        ("kube", None, ClusterPlace()),
        ("kube", Asked("kube", context="east", kubeconfig="f"), ClusterPlace("east", "f")),
        ("kube:west", Asked("kube", context="east", as_user="me"), ClusterPlace("west", as_user="me")),
    ],
)
def test_the_ledger_of_a_cluster_is_that_of_the_one_that_is_asked_about(named, asked, place):
    assert ledger_path(named, asked) == place
    assert told_path(place) == place.name
    assert is_there(place)


def test_a_cluster_is_no_file():
    with pytest.raises(InputError, match="a backup is of files, and kube is a cluster; back up etcd"):
        file_of(ClusterPlace(), "a backup")
    assert file_of(Path("x"), "a backup") == Path("x")


def test_paths_are_told_as_people_write_them(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert told_path(Path("/home/me/x.db")) == "~/x.db"
    assert told_path(Path("/else/x.db")) == "/else/x.db"


def test_the_first_step_makes_the_file_and_its_folder_where_that_is_wanted(tmp_path):
    path = tmp_path / "new" / "ledger.db"
    with pytest.raises(InputError, match="there is no ledger"):
        submitted(path, COMMAND, at_seconds=1)
    assert not path.parent.exists()
    assert submitted(path, COMMAND, at_seconds=1, create=True).decision.accepted
    assert [each.reservation for each in read_ledger(path).entries] == ["r"]
    assert read_ledger(path, 0).entries == ()


def test_what_its_time_has_come_for_counts_no_more(tmp_path, monkeypatch):
    path = tmp_path / "ledger.db"
    submitted(path, COMMAND, at_seconds=1, create=True)
    monkeypatch.setenv("ULLAGE_NOW", "99")
    assert len(live_entries(str(path))) == 1
    monkeypatch.setenv("ULLAGE_NOW", "100")
    assert live_entries(str(path)) == ()


def test_what_does_not_expire_stays():
    bound = entry("r", "node/n1", expires_seconds=None)
    assert alive([bound, entry("s", "node/n1", expires_seconds=5)], 5) == (bound,)


def foreign(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    connection.close()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "there is no ledger"),  # noqa: ARG005 - nothing is made
        (lambda path: path.write_bytes(b""), "is empty, and so no ledger"),
        (lambda path: path.write_text("hello, " * 1000), "is no ledger"),
        (foreign, "is a database, but no ledger"),
    ],
    ids=["missing", "empty", "text", "foreign"],
)
def test_what_is_no_ledger_is_refused_and_untouched(tmp_path, make, message):
    path = tmp_path / "x.db"
    make(path)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(InputError, match=message):
        read_ledger(path)
    assert (path.read_bytes() if path.exists() else None) == before
    assert {each.name for each in tmp_path.iterdir()} <= {"x.db"}


def test_who_still_stands_has_the_bytes_of_a_claim_whose_first_holder_is_over():
    held = entry("a", "drive/n1/d", claim="shop/data", cpu="2", expires_seconds=10)
    shares = entry("b", "drive/n1/d", claim="shop/data", expires_seconds=20)
    assert alive((held, shares), 9) == (held, shares)
    assert [(each.reservation, each.resources) for each in alive((held, shares), 10)] == [
        ("b", held.resources)
    ]
    assert alive((held, shares), 20) == ()
