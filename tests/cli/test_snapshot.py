"""`ullage snapshot save|show|edit|diff`."""

import json

import pytest

ENDINGS = {"table": "txt", "wide": "wide.txt"}


@pytest.mark.parametrize("output", ["table", "wide", "csv", "md"])
def test_what_the_demo_cluster_holds(ask, matches_golden, output):
    result = ask("snapshot", "show", "-c", "demo", "-o", output)
    assert (result.code, result.err) == (0, "")
    matches_golden(f"snapshot-show.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize("ending", ["ullage", "json", "yaml", "yml"])
def test_what_is_saved_comes_back(ask, tmp_path, ending):
    path = tmp_path / f"demo.{ending}"
    saved = ask("snapshot", "save", path, "-c", "demo")
    assert saved.code == 0
    assert " ".join(saved.out.split()).startswith("✓ saved demo to ")
    assert ask("snapshot", "diff", "demo", path).code == 0
    assert ask("status", "-c", path, "-o", "json").out == ask("status", "-c", "demo", "-o", "json").out


def test_as_json_it_is_the_snapshot_itself(ask, tmp_path):
    path = tmp_path / "shown.json"
    path.write_text(ask("snapshot", "show", "-c", "demo", "-o", "json").out)
    assert json.loads(path.read_text())["kind"] == "Snapshot"
    assert ask("snapshot", "diff", "demo", path).code == 0


@pytest.mark.parametrize("output", ["table", "json", "md"])
def test_a_difference_names_rows_and_fields(ask, tmp_path, monkeypatch, matches_golden, output):
    monkeypatch.chdir(tmp_path)
    document = json.loads(ask("snapshot", "show", "-c", "demo", "-o", "json").out)
    document["nodes"][0]["capacity"]["memory"] = "1Ti"
    document["nodes"][0]["state"] = "cordoned"
    del document["workloads"][-1]
    document["policy"]["layers"][0]["cluster"]["cpu-ratio"] = "2"
    (tmp_path / "edited.json").write_text(json.dumps(document))
    result = ask("snapshot", "diff", "demo", "edited.json", "-o", output)
    assert (result.code, result.err) == (2, "")
    matches_golden(f"snapshot-diff.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize("output", ["table", "json", "csv", "md"])
def test_what_if_the_cluster_had_other_drives(ask, tmp_path, monkeypatch, matches_golden, output):
    monkeypatch.chdir(tmp_path)
    words = ("--add-drive", "n2=HDD:4Tx2", "--remove-drive", "s1-hdd-4", "--cordon", "n1")
    result = ask("snapshot", "edit", "what-if.yaml", *words, "-c", "demo", "-o", output)
    assert (result.code, result.err) == (0, "")
    matches_golden(f"snapshot-edit.{ENDINGS.get(output, output)}", result.out)
    assert ask("snapshot", "diff", "demo", "what-if.yaml").code == 2


def test_a_question_is_put_to_what_was_edited(ask, tmp_path):
    path = tmp_path / "what-if.ullage"
    lost = ("check", "--lose", "drive/s1-hdd-0", "-o", "json")
    assert len(json.loads(ask(*lost, "-c", "demo").out)["driveLoss"]["homeless"]) == 1
    assert ask("snapshot", "edit", path, "--add-drive", "n2=HDD:4T", "-c", "demo").code == 0
    assert not json.loads(ask(*lost, "-c", path).out)["driveLoss"]["homeless"]


def test_a_redacted_snapshot_keeps_numbers_and_no_names(ask, tmp_path):
    path = tmp_path / "redacted.json"
    assert ask("snapshot", "save", path, "-c", "demo", "--redact", "--seed", "one").code == 0
    text = path.read_text()
    assert "finetune" not in text
    assert "rack-1" in text or "domain-" in text
    mine, ours = (
        json.loads(ask("status", "-c", source, "-o", "json").out)["total"] for source in (path, "demo")
    )
    assert mine["committed"] == ours["committed"]
    again = tmp_path / "again.json"
    ask("snapshot", "save", again, "-c", "demo", "--redact", "--seed", "one")
    assert again.read_bytes() == path.read_bytes()
    ask("snapshot", "save", again, "-c", "demo", "--redact")
    assert again.read_bytes() != path.read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("save", "x.txt", "-c", "demo"), "'x.txt' has no known ending"),
        (("save", "x.json"), "no cluster is named"),
        (("edit", "x.json", "-c", "demo"), "nothing is to be edited; name an edit, as --add-drive n1=HDD:4T"),
        (("edit", "x.json", "-c", "demo", "--remove-drive", "z"), "no node has drive z; `ullage disks list`"),
        (("save", "x.json", "-c", "demo", "--seed", "a"), "--seed is given without --redact"),
        (("save", "none/x.json", "-c", "demo"), "none"),
        (("show",), "no cluster is named"),
        (("show", "missing.json"), "missing.json: cannot be read"),
        (("diff", "demo"), "missing argument 'B'"),
        (("diff", "-", "-"), "standard input cannot be both"),
    ],
)
def test_what_cannot_be_done_is_one_line(ask, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    result = ask("snapshot", *words)
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert result.err.count("\n") == 1
