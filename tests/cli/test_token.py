"""`ullage token`: made once, seen once, listed without its secret, removed."""

import json


def test_a_token_is_printed_once_and_listed_without_its_secret(ask, tmp_path):
    made = ask("token", "add", "grafana", "--scope", "read", "--days", "2", "--data", tmp_path)
    assert (made.code, made.err) == (0, "")
    secret = made.out.strip()
    assert secret.startswith("ullage_")
    assert len(secret) >= 43
    shown = ask("token", "list", "--data", tmp_path)
    assert "grafana" in shown.out
    assert secret.split("_", 2)[2] not in shown.out
    assert secret.encode() not in (tmp_path / "server.db").read_bytes()
    listed = json.loads(ask("token", "list", "--data", tmp_path, "-o", "json").out)
    assert listed == {
        "apiVersion": "ullage.dev/v1",
        "kind": "TokenList",
        "tokens": [
            {
                "name": "grafana",
                "scope": "read",
                "made": "2026-11-18T11:06:40Z",
                "ends": "2026-11-20T11:06:40Z",
            }
        ],
    }


def test_a_name_is_used_once_until_its_token_is_removed(ask, tmp_path):
    ask("token", "add", "ci", "--data", tmp_path)
    again = ask("token", "add", "ci", "--data", tmp_path)
    told = "there is a token 'ci' already; remove it first, or choose another name"
    assert again == (1, "", f"ullage: error: {told}\n")
    assert ask("token", "remove", "ci", "--data", tmp_path) == (0, "", "")
    assert ask("token", "add", "ci", "--data", tmp_path).code == 0


def test_a_token_that_is_not_there_cannot_be_removed(ask, tmp_path):
    told = "there is no token 'ci'; see `ullage token list`"
    assert ask("token", "remove", "ci", "--data", tmp_path) == (1, "", f"ullage: error: {told}\n")


def test_only_its_owner_can_read_the_state(ask, tmp_path):
    folder = tmp_path / "state"
    ask("token", "add", "ci", "--data", folder)
    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / "server.db").stat().st_mode & 0o077 == 0
