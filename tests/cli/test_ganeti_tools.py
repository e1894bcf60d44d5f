"""Ganeti's tools as processes: both streams, exit codes, links under their names."""

import stat

import pytest

from ullage.cli import ganeti_tools
from ullage.cli.entry import TOOLS
from ullage.cli.ganeti_tools import run, run_tool, write
from ullage.service.htools.options import Printed


def test_what_is_printed_goes_to_its_stream(capfd):
    write(Printed("out\n", "beside\n", 0))
    assert tuple(capfd.readouterr()) == ("out\n", "beside\n")
    write(Printed("a\nb\n", "c\n", 0, ((False, "a\n"), (True, "c\n"), (False, "b\n"))))
    assert tuple(capfd.readouterr()) == ("a\nb\n", "c\n")


def test_a_tool_ends_with_its_own_code(capfd):
    assert run_tool("hbal", []) == 1
    assert capfd.readouterr().err == "Error: failed to load data, aborting: No backend selected! Exiting.\n"
    assert run_tool("hbal", ["--nothing"]) == 2


def test_a_defect_is_one_line(monkeypatch, capfd):
    def broken(*_: object) -> Printed:
        raise KeyError("x")

    monkeypatch.delenv("ULLAGE_TRACEBACK", raising=False)
    monkeypatch.setattr(ganeti_tools, "write", broken)
    assert run_tool("hbal", ["--version"]) == 1
    error = capfd.readouterr().err
    assert error.startswith("Error: this is a defect of ullage ")
    assert error.count("\n") == 1
    monkeypatch.setenv("ULLAGE_TRACEBACK", "1")
    with pytest.raises(KeyError):
        run_tool("hbal", ["--version"])


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "ullage"
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_links_lead_to_the_program_and_are_made_anew(tmp_path, program, capfd):
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "hbal").symlink_to("/nowhere")
    assert run(["install-links", str(folder)], str(program)) == 0
    assert {path.name: path.readlink() for path in folder.iterdir()} == dict.fromkeys(TOOLS, program)
    assert "hbal, hspace" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["install-links"], "install-links takes one directory"),
        (["install-links", "a", "b"], "install-links takes one directory"),
        (["install-links", "/nowhere"], "/nowhere"),
        (["hnone"], "there is no tool 'hnone'; the tools are hbal"),
    ],
)
def test_what_cannot_be_done_is_one_line(words, message, program, capfd):
    assert run(words, str(program)) == 1
    error = capfd.readouterr().err
    assert error.startswith("ullage htools: error: ")
    assert message in error
    assert error.count("\n") == 1


def test_a_file_that_is_no_link_is_never_replaced(tmp_path, program, capfd):
    (tmp_path / "hbal").write_text("mine", encoding="utf-8")
    assert run(["install-links", str(tmp_path)], str(program)) == 1
    assert "hbal is there and is no link; move it away first" in capfd.readouterr().err
    assert (tmp_path / "hbal").read_text(encoding="utf-8") == "mine"


def test_links_to_what_cannot_be_run_are_refused(tmp_path, capfd):
    assert run(["install-links", str(tmp_path)], "/nowhere/ullage/__main__.py") == 1
    assert "is no program that a link can lead to" in capfd.readouterr().err
