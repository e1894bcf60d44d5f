"""`ullage fit --commit` and `ullage ledger …`: promises, step by step, in every format."""

import json
import shutil
import sqlite3

import pytest

from ullage.cli.options import FORMATS

ENDINGS = {"table": "txt", "wide": "wide.txt"}
COMMIT = ("fit", "-c", "room.yaml", "-f", "orders.yaml", "--commit", "--hold", "900")
INDEX = "Pod/search/index/1"


@pytest.fixture
def place(files, monkeypatch, tmp_path):
    """A folder with a cluster and workloads; the ledger is that of the user, whose home it is."""
    for name in ("room.yaml", "orders.yaml"):
        shutil.copy(files / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def promised(place, ask):
    """Something is held."""
    assert ask(*COMMIT, "--key", "first").code == 0
    return place


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.usefixtures("place")
def test_a_commit_in_every_format(ask, matches_golden, output):
    result = ask(*COMMIT, "-o", output)
    assert (result.code, result.err) == (0, "")
    matches_golden(f"fit-commit.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.parametrize("words", ["show", "history", "explain 1", "verify", "expire"])
@pytest.mark.usefixtures("promised")
def test_every_format(ask, matches_golden, words, output):
    result = ask("ledger", *words.split(), "-o", output)
    word = words.split()[0]
    assert (result.code, result.err) == (0, "")
    matches_golden(f"ledger-{word}.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("words", ["show", "history", "explain 1", "verify"])
@pytest.mark.usefixtures("promised")
def test_as_people_read_it(ask, matches_golden, words, width):
    result = ask("ledger", *words.split(), "--width", width)
    word = words.split()[0]
    assert max(len(each) for each in result.out.splitlines()) <= width
    matches_golden(f"ledger-{word}-{width}.txt", result.out)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("show",), "LedgerReport"),
        (("history",), "LedgerHistory"),
        (("explain", "1"), "StepExplanation"),
        (("verify",), "LedgerVerification"),
        (("expire",), "LedgerChange"),
        (("bind", INDEX), "LedgerChange"),
        (("release", INDEX), "LedgerChange"),
        (("extend", INDEX, "--hold", "3600"), "LedgerChange"),
        (("backup", "copy.db"), "LedgerBackup"),
    ],
)
@pytest.mark.usefixtures("promised")
def test_json_names_its_version_and_kind_and_there_is_a_table_for_csv(ask, place, words, kind):
    assert ask("ledger", "backup", "before.db").code == 0
    result = ask("ledger", *words, "-o", "json")
    report = json.loads(result.out)
    assert (result.code, report["apiVersion"], report["kind"]) == (0, "ullage.dev/v1", kind)
    (place / "copy.db").unlink(missing_ok=True)
    assert ask("ledger", *words, "-o", "csv", "--ledger", "before.db").code == 0


@pytest.mark.usefixtures("promised")
def test_what_does_not_fit_waits_in_line_and_is_held_when_there_is_room(ask, place):
    large = place / "large.yaml"
    large.write_text(
        "apiVersion: ullage.dev/v1\nkind: WorkloadSet\nworkloads: [{name: large, requests: {cpu: 6}}]\n"
    )
    waits = ("fit", "-c", "room.yaml", "-f", large, "--commit", "--wait")
    result = ask(*waits)
    assert (result.code, "in line: Pod/large/1 (number 1)" in result.out) == (2, True)
    assert "1 wait in line" in ask("ledger", "show").out
    assert "number 1 in line" in ask("ledger", "show", "--state", "waiting").out
    for name in (INDEX, "Deployment/shop/orders/1", "Deployment/shop/orders/2"):
        assert ask("ledger", "release", name).code == 0
    assert ask("ledger", "show", "--owner", "large").out.count("RESERVED") == 1
    assert ask(*waits).code == 0
    assert ask("ledger", "verify", "-c", "room.yaml").code == 0


@pytest.mark.usefixtures("promised")
def test_promises_are_proved_against_a_cluster(ask, place):
    text = (place / "room.yaml").read_text(encoding="utf-8")
    (place / "less.yaml").write_text(text.replace("n2-hdd-1", "n2-hdd-9"), encoding="utf-8")
    assert ask("ledger", "verify", "-c", "room.yaml").code == 0
    result = ask("ledger", "verify", "-c", "less.yaml")
    assert (result.code, "drive/n2/n2-hdd-1: 500Gi" in result.out) == (2, True)
    ledger = place / ".local" / "share" / "ullage" / "ledger.db"
    assert "1 promise cannot be kept" in " ".join(
        ask("disks", "list", "-c", "less.yaml", "--ledger", ledger).out.split()
    )
    assert ask("check", "-c", "less.yaml", "--ledger", ledger).code == 2


@pytest.mark.usefixtures("promised")
def test_what_is_bound_can_be_paused(ask):
    assert ask("ledger", "pause", INDEX).code == 2
    ask("ledger", "bind", INDEX)
    assert ask("ledger", "pause", INDEX).code == 0
    assert "paused" in ask("ledger", "show", "--state", "bound").out
    assert ask("ledger", "pause", INDEX, "--resume").code == 0
    assert "paused" not in ask("ledger", "show", "--state", "bound").out


@pytest.mark.usefixtures("place")
def test_a_cache_is_an_entry_of_the_ledger(ask, files):
    pool = files / "pool.yaml"
    assert ask("ledger", "cache", "n1", "--used", "3Gi", "-c", pool, "--policy", "zos").code == 0
    assert "cache/n1" in ask("ledger", "show", "-o", "wide").out


@pytest.mark.parametrize("option", [("--wait",), ("--hold", "60"), ("--key", "k")])
@pytest.mark.usefixtures("place")
def test_options_of_a_commit_are_refused_without_one(ask, option):
    result = ask("fit", "-c", "room.yaml", "-f", "orders.yaml", *option)
    assert (result.code, f"{option[0]} is given without --commit" in result.err) == (1, True)


@pytest.mark.usefixtures("place")
def test_without_commit_nothing_is_written(ask, place):
    assert ask(*COMMIT[:-3]).code == 0
    assert not (place / ".local").exists()


@pytest.mark.usefixtures("promised")
def test_questions_count_promises_of_a_ledger_that_is_named(ask, place, monkeypatch):
    ledger = place / ".local" / "share" / "ullage" / "ledger.db"
    six = ("fit", "-c", "room.yaml", "--shape", "cpu=6")
    assert ask(*six).code == 0
    assert ask(*six, "--ledger", ledger).code == 2
    monkeypatch.setenv("ULLAGE_LEDGER", str(ledger))
    assert ask(*six).code == 2
    assert "Reservation" not in ask("snapshot", "show", "-c", "room.yaml", "-o", "json").out


@pytest.mark.usefixtures("promised")
def test_a_disk_that_is_promised_is_not_free(ask, place):
    ledger = place / ".local" / "share" / "ullage" / "ledger.db"
    whole = place / "whole.yaml"
    text = (place / "orders.yaml").read_text(encoding="utf-8").partition("---\n")[2]
    text = text.replace("name: index", "name: other").replace("HDDLVG, size: 500Gi", "HDD, size: 1Ti")
    whole.write_text(text, encoding="utf-8")
    for named, free in (((), "n2-hdd-1"), (("--ledger", ledger), "n2-hdd-2")):
        result = ask("fit", "-c", "room.yaml", "-f", whole, "-o", "json", *named)
        assert json.loads(result.out)["outcomes"][0]["disks"][0]["place"] == free


@pytest.mark.usefixtures("promised")
def test_asked_again_under_its_key_it_is_held_once(ask):
    again = ask(*COMMIT, "--key", "first")
    assert (again.code, "under the key first already" in " ".join(again.out.split())) == (0, True)
    assert json.loads(ask("ledger", "show", "-o", "json").out)["revision"] == 1


@pytest.mark.usefixtures("promised")
def test_a_life_of_a_promise(ask, monkeypatch):
    assert ask("ledger", "bind", INDEX).code == 0
    assert ask("ledger", "extend", "Deployment/shop/orders/1", "--hold", 3600).code == 0
    monkeypatch.setenv("ULLAGE_NOW", str(1_795_000_000 + 900))
    assert ask("ledger", "show").out.splitlines()[-1] == "Next: ullage ledger expire"
    assert "Deployment/shop/orders/2" in ask("ledger", "expire", "-o", "csv").out
    gone = ask("ledger", "expire", "--orphans", "-c", "room.yaml")
    assert gone.out.startswith("✓ expire, and 1 reservation without an owner: 1 reservation changed")
    assert ask("ledger", "release", "Deployment/shop/orders/1").code == 0
    assert ask("ledger", "show").out.startswith("nothing is promised")
    assert "3 reservations" in ask("ledger", "show", "--at", 1).out
    assert ask("ledger", "verify").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "-c", "room.yaml", "--shape", "cpu=1", "--commit"), "a shape cannot be held"),
        (("fit", "-c", "room.yaml", "-f", "orders.yaml", "--key", "k"), "--key is given without --commit"),
        (("fit", "-c", "room.yaml", "-f", "orders.yaml", "--commit", "--hold", "0"), "'--hold': 0 is not in"),
        (("ledger", "show"), "ledger.db: there is no ledger; name the file of one"),
        (("ledger", "show", "--ledger", "room.yaml"), "room.yaml: is no ledger; name the file of one"),
        (("status", "-c", "room.yaml", "--ledger", "none.db"), "none.db: there is no ledger"),
        (("ledger", "histroy"), "no command 'histroy'; did you mean 'history'?"),
    ],
)
@pytest.mark.usefixtures("place")
def test_what_cannot_be_asked_is_one_line(ask, words, message):
    result = ask(*words)
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("word", ["show", "history", "verify", "expire"])
@pytest.mark.usefixtures("promised")
def test_a_newer_a_foreign_and_a_damaged_file_are_refused_and_untouched(ask, place, word):
    assert ask("ledger", "backup", "copy.db").code == 0
    damages = {
        "newer": lambda path: _altered(path, "PRAGMA user_version = 99"),
        "foreign": lambda path: _altered(path, "PRAGMA application_id = 7"),
        "damaged": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    }
    for name, damage in damages.items():
        path = place / f"{name}.db"
        shutil.copy(place / "copy.db", path)
        damage(path)
        before = path.read_bytes()
        result = ask("ledger", word, "--ledger", f"{name}.db")
        assert (result.code, result.out, result.err.count("\n")) == (1, "", 1), name
        assert path.read_bytes() == before
        assert not list(place.glob(f"{name}.db?*"))


def _altered(path, statement):
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.usefixtures("promised")
def test_the_answer_no_is_exit_code_two(ask, place):
    assert ask("ledger", "release", "nobody").code == 2
    assert ask("ledger", "release", "nobody", "--exit-zero").code == 0
    path = place / ".local" / "share" / "ullage" / "ledger.db"
    _altered(path, "UPDATE entries SET entry = replace(entry, 'orders', 'others')")
    assert ask("ledger", "verify").code == 2
