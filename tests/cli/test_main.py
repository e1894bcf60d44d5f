"""The entry: help, exit codes, errors as one line, start-up, and the reference page."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

import ullage.service.status
from ullage import __version__
from ullage.cli.main import COMMANDS, program_name, root

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference" / "cli.md"
HEAVY = (
    "numpy",
    "rich",
    "yaml",
    "jinja2",
    "psutil",
    "asyncio",
    "socket",
    "http.client",
    "urllib.request",
    "httpx2",
    "lightkube",
)
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def loaded_after(*words: str) -> set[str]:
    """Return the modules that a command line has imported when it ends."""
    code = (
        "import sys; from ullage.cli.main import run; "
        f"code = run({list(words)!r}); print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "words",
    [("--help",), ("status", "--help"), ("policy", "set", "--help"), ("version",), ("completion", "bash")],
)
def test_help_waits_for_nothing_heavy(words):
    assert not loaded_after(*words) & set(HEAVY)


def test_inspect_runs_without_numpy():
    assert "numpy" not in loaded_after("inspect")


def test_completions_wait_for_nothing_heavy():
    code = (
        "import sys; from ullage.cli.main import main\n"
        "try: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    )
    environment = {
        **os.environ,
        "_ULLAGE_COMPLETE": "bash_complete",
        "COMP_WORDS": "ullage st",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "plain,status\n"
    assert not set(done.stderr.split()) & set(HEAVY)


def test_help_lists_every_command_in_one_line_each(ask, matches_golden):
    result = ask("--help")
    assert result.code == 0
    for name, line in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(line)}$", result.out, re.MULTILINE)
    matches_golden("help.txt", result.out)
    assert ask().out == result.out


@pytest.mark.parametrize("words", [("--version",), ("version",)])
def test_the_version_is_said(ask, words):
    assert __version__ in ask(*words).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("statsu",), "no command 'statsu'; did you mean 'status'?"),
        (("xyzzy",), "no command 'xyzzy'; use one of status, fit"),
        (("status", "--outptu", "json"), "no such option '--outptu'"),
        (("status", "-o", "pdf"), "invalid value for '-o' / '--output': 'pdf'"),
        (("status", "-c"), "option '-c' requires an argument"),
        (("-c", "demo"), "-c needs a command"),
        (("status", "--width", "5"), "invalid value for '--width'"),
        (("status", "extra", "-c", "demo"), "got unexpected extra argument (extra)"),
        (("status",), "no cluster is named, and there is no kubeconfig; use -c FILE, -c demo, or set"),
        (("status", "-c", "kube"), "there is no kubeconfig; use --kubeconfig FILE, or read a dump"),
        (("status", "-c", "no-such-file"), "no-such-file: cannot be read"),
    ],
)
def test_a_usage_error_is_one_line_and_code_one(ask, words, message):
    result = ask(*words)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("ullage: error: ")
    assert message in result.err
    assert result.err.count("\n") == 1
    assert "Traceback" not in result.err


NODE = '{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"},"status":{"capacity":{"cpu":"%s"}}}'
BAD = {
    "malformed-quantity.json": NODE % "4 cores",
    "truncated.json": '{"apiVersion":"v1","kind":"List","items":[' + NODE % "4",
    "huge-size.json": NODE % "99999999999999999999",
    "bomb.yaml": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(
        f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    ),
    "tabs.yaml": "kind: List\n\titems: []\n",
    "duplicate.yaml": "apiVersion: ullage.dev/v1\nkind: Snapshot\nname: a\nname: b\n",
    "wrong-type.yaml": "apiVersion: ullage.dev/v1\nkind: Snapshot\nnodes: 3\n",
    "unknown-version.yaml": "apiVersion: ullage.dev/v9\nkind: Snapshot\n",
    "unknown-node.yaml": (
        "apiVersion: ullage.dev/v1\nkind: Snapshot\nnodes: [{name: a}]\nworkloads: [{name: w, node: b}]\n"
    ),
    "two-nodes.yaml": "apiVersion: ullage.dev/v1\nkind: Snapshot\nnodes: [{name: a}, {name: a}]\n",
    "negative.yaml": "apiVersion: ullage.dev/v1\nkind: Snapshot\nnodes: [{name: a, capacity: {cpu: -1}}]\n",
    "quota-circle.yaml": (
        "apiVersion: ullage.dev/v1\nkind: Snapshot\nquotas: [{name: a, parent: b}, {name: b, parent: a}]\n"
    ),
    "deep.json": "[" * 100_000,
    "empty.json": "",
    "binary.json": "\x00\x01\x02",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_with_its_file(ask, tmp_path, name):
    path = tmp_path / name
    path.write_text(BAD[name])
    result = ask("status", "-c", path)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("ullage: error: ")
    assert name in result.err
    assert result.err.count("\n") == 1
    assert "defect" not in result.err


def test_an_empty_folder_is_one_line(ask, tmp_path):
    result = ask("status", "-c", tmp_path)
    assert (result.code, result.err.count("\n")) == (1, 1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read_is_one_line(ask, tmp_path):
    tmp_path.chmod(0)
    result = ask("status", "-c", tmp_path)
    tmp_path.chmod(0o700)
    assert (result.code, result.err.count("\n")) == (1, 1)


def test_an_escape_sequence_in_a_message_is_spelled_out(ask):
    result = ask("status", "-c", "\x1b[31mred")
    assert "\x1b" not in result.err
    assert result.code == 1


@pytest.fixture
def broken_service(monkeypatch):
    def raising(error: BaseException) -> None:
        def status(*_: object) -> None:
            raise error

        monkeypatch.setattr(ullage.service.status, "status", status)

    return raising


def test_a_defect_is_one_line_that_asks_for_a_report(ask, broken_service):
    broken_service(ZeroDivisionError("oh\nno"))
    result = ask("status", "-c", "demo")
    assert result.code == 1
    assert f"this is a defect of ullage {__version__}: ZeroDivisionError: oh;" in result.err
    assert result.err.count("\n") == 1


def test_a_defect_has_its_traceback_where_that_is_wanted(ask, broken_service, monkeypatch):
    broken_service(ZeroDivisionError("oh"))
    monkeypatch.setenv("ULLAGE_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        ask("status", "-c", "demo")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_an_interruption_says_nothing(ask, broken_service, error):
    broken_service(error)
    assert ask("status", "-c", "demo") == (130, "", "")


def test_a_system_error_names_its_file(ask, broken_service):
    broken_service(PermissionError(13, "Permission denied", "/secret"))
    assert ask("status", "-c", "demo").err == "ullage: error: /secret: Permission denied\n"


def test_a_reader_that_goes_away_is_no_error():
    program = [sys.executable, "-m", "ullage", "status", "-c", "demo", "-o", "json"]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=buffered) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_kubectl_calls_it_by_its_own_name(ask):
    assert program_name("/usr/bin/kubectl-ullage") == "kubectl ullage"
    assert program_name("/usr/bin/ullage") == "ullage"
    result = ask("status", "--help", called="kubectl-ullage")
    assert result.out.startswith("Usage: kubectl ullage status ")
    assert ask("status", called="kubectl-ullage").err.startswith("kubectl ullage: error: ")
    shown = ask("status", "-c", "demo", called="kubectl-ullage").out
    assert shown.splitlines()[-1].startswith("Next: kubectl ullage explain ")


def commands_of(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        found.append((*path, name))
        if isinstance(command, click.Group):
            found += commands_of(command, (*path, name))
    return found


@pytest.mark.parametrize("words", commands_of(root), ids=" ".join)
def test_every_command_is_in_the_reference_with_its_options(words):
    text = REFERENCE.read_text(encoding="utf-8")
    section = text.partition(f"## ullage {' '.join(words)}\n")[2].partition("\n## ")[0]
    assert section, f"docs/reference/cli.md has no section `ullage {' '.join(words)}`"
    command: click.Command = root
    for word in words:
        command = command.get_command(click.Context(command), word)
    if isinstance(command, click.Group):
        return
    assert f"$ ullage {' '.join(words)}" in section, "give it an example"
    for parameter in command.params:
        for name in parameter.opts if isinstance(parameter, click.Option) else ():
            assert f"`{name}`" in section or name in text.partition("## Options that questions share")[2]


def examples() -> list[tuple[str, str]]:
    """Return each example's command and what it is said to print; a block holds one of them."""
    blocks = BLOCK.findall(REFERENCE.read_text(encoding="utf-8"))
    parts = [block.removeprefix("$ ").partition("\n") for block in blocks]
    return [(line, out) for line, _, out in parts]


def rewritten(line: str, shown: str, out: str) -> str:
    """Return the text of the reference with what an example prints now, cut where it was cut before."""
    count = shown.count("\n") - 1
    cut = "".join(f"{each}\n" for each in out.splitlines()[:count])
    new = f"{cut}...\n" if shown.endswith("\n...\n") else out
    return REFERENCE.read_text(encoding="utf-8").replace(f"$ {line}\n{shown}", f"$ {line}\n{new}")


@pytest.mark.parametrize("example", examples(), ids=lambda example: example[0])
def test_examples_of_the_reference_print_what_they_show(ask, files, tmp_path, monkeypatch, example):
    line, shown = example
    monkeypatch.chdir(tmp_path)
    for path in files.iterdir():
        shutil.copy(path, tmp_path)
    name, *words = shlex.split(line)
    assert name == "ullage"
    if words[0] == "ledger":  # what these tell of was promised before
        ask("fit", "-c", "room.yaml", "-f", "orders.yaml", "--commit", "--hold", "900")
    out = ask(*words).out
    right = out.startswith(shown.removesuffix("...\n")) if shown.endswith("...\n") else out == shown
    if not right and os.environ.get("ULLAGE_UPDATE_GOLDEN") == "1":
        REFERENCE.write_text(rewritten(line, shown, out), encoding="utf-8")
    elif not right:
        assert out == shown, "ULLAGE_UPDATE_GOLDEN=1 rewrites the example if this is right"
