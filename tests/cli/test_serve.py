"""`ullage serve`: what is refused before anything is served; tests/web has the rest."""

import sys

import pytest


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--listen", "nowhere"), "--listen: 'nowhere' is no address; write PORT or HOST:PORT"),
        (("--listen", "70000"), "--listen: '70000' is no address; write PORT or HOST:PORT"),
        (("-c", "-"), "-c: '-' names no cluster that can be served; write -c NAME=SOURCE"),
        (("-c", "demo", "-c", "demo=kube"), "-c: two clusters are called demo; write -c NAME=SOURCE"),
        (("--tls-key", "key.pem"), "--tls-key: a key without a certificate; give --tls-cert too"),
        (
            ("--listen", "0.0.0.0:0", "--data", "state"),
            (
                "--listen: 0.0.0.0 can be reached by others, and there is no token that would let them in; "
                "make one: ullage token add NAME --scope read --data state"
            ),
        ),
        (
            ("--require-token", "--data", "state"),
            (
                "--require-token: a token is required, and there is none; "
                "make one: ullage token add NAME --scope read --data state"
            ),
        ),
        (
            ("--data", "/dev/null/state"),
            "/dev/null/state: cannot be used: Not a directory; name a folder of yours with --data",
        ),
        (
            ("--data", "state", "--tls-cert", "missing.pem"),
            (
                "--tls-cert missing.pem: cannot be used: No such file or directory; "
                "give a certificate and its key in PEM, with --tls-cert and --tls-key"
            ),
        ),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(ask, tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    assert ask("serve", *words) == (1, "", f"ullage: error: {told}\n")


@pytest.mark.parametrize("name", ["httptools", "uvloop"])
def test_what_a_server_needs_beyond_the_base_is_named(ask, monkeypatch, name):
    for module in ("serving", "connections"):
        monkeypatch.delitem(sys.modules, f"ullage.web.{module}", raising=False)
    monkeypatch.setitem(sys.modules, name, None)
    told = f"a server needs {name}, which is not installed; install ullage[server]"
    assert ask("serve", "-c", "demo") == (1, "", f"ullage: error: {told}\n")


def test_a_folder_is_for_one_server(ask, tmp_path):
    import fcntl

    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = ask("serve", "--data", tmp_path)
    told = f"{tmp_path}: another server uses it; name another folder with --data"
    assert result == (1, "", f"ullage: error: {told}\n")
