"""Asking a server of the remote interface: real servers on this host, with a certificate of their own."""

import base64
import hashlib
import ssl
from pathlib import Path

import pytest

from sources.kubernetes.small_server import BREAK, serving
from ullage.model.errors import InputError
from ullage.sources.ganeti import rapi_server
from ullage.sources.ganeti.rapi_server import RapiServer, fetch, parse_server

CERTIFICATE = Path(__file__).parent / "files" / "self-signed.pem"
PROOF = "s3cr/t"
FINGERPRINT = hashlib.sha256(
    ssl.PEM_cert_to_DER_cert(
        "-----BEGIN CERTIFICATE" + CERTIFICATE.read_text(encoding="utf-8").split("-----BEGIN CERTIFICATE")[1]
    )
).hexdigest()


def refusal(url, path="/2/info"):
    with pytest.raises(InputError) as raised:
        fetch(parse_server(url), path)
    assert "\n" not in str(raised.value)
    assert PROOF not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("master", RapiServer("master", 5080)),
        ("master:80", RapiServer("master", 80)),
        ("https://master", RapiServer("master", 5080)),
        ("http://[::1]:8080/", RapiServer("::1", 8080, encrypted=False)),
        (
            f"https://me:{PROOF.replace('/', '%2F')}@m?ca=/c.pem",
            RapiServer("m", 5080, certificate_file="/c.pem", user="me", password=PROOF),
        ),
        (f"m?sha256={FINGERPRINT.upper()}", RapiServer("m", 5080, fingerprint=FINGERPRINT)),
    ],
)
def test_an_address_names_the_server_and_how_to_know_it(text, server):
    assert parse_server(text) == server


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ftp://m", "RAPI: this is no address of a server; write https://HOST:5080"),
        ("https://", "RAPI: this is no address of a server"),
        ("https://m:x", "RAPI: this is no address of a server"),
        ("https://m/2/info", "RAPI: this is no address of a server"),
        ("https://m?insecure=1", "m: the options after ? are not known; use ?ca=FILE"),
        ("https://m?ca=a&ca=b", "m: the options after ? are not known"),
        ("https://m?ca", "RAPI: this is no address of a server"),
        ("https://m?sha256=12", "m: sha256 is no fingerprint; give the 64 digits"),
        ("https://m?netrc=/gone", "/gone: it cannot be read: No such file or directory"),
    ],
)
def test_an_address_that_is_none_is_refused(text, said):
    with pytest.raises(InputError) as raised:
        parse_server(text)
    assert str(raised.value).startswith(said)


def test_a_certificate_is_checked_unless_its_file_or_fingerprint_is_given():
    with serving((200, b"[]"), certificate=CERTIFICATE) as there:
        said = refusal(there.url)
        assert said.startswith(f"{there.url}: the certificate is refused: self-signed certificate")
        assert "?ca=FILE" in said
        assert there.seen == []
        assert fetch(parse_server(f"{there.url}?ca={CERTIFICATE}"), "/2/info") == b"[]"
        assert fetch(parse_server(f"{there.url}?sha256={FINGERPRINT}"), "/2/info") == b"[]"


def test_a_server_with_another_fingerprint_gets_no_password():
    with serving((200, b"[]"), certificate=CERTIFICATE) as there:
        address = there.url.replace("https://", f"https://me:{PROOF.replace('/', '%2F')}@")
        said = refusal(f"{address}?sha256={'0' * 64}")
    assert said.startswith(f"{there.url}: the certificate has the fingerprint {FINGERPRINT}")
    assert there.seen == []


def test_user_and_password_come_from_the_address_or_a_netrc_file(tmp_path):
    file = tmp_path / "netrc"
    file.write_text(f"machine 127.0.0.1 login me password {PROOF}\n", encoding="utf-8")
    word = base64.b64encode(f"me:{PROOF}".encode()).decode()
    with serving((200, b"[]")) as there:
        fetch(parse_server(there.url.replace("//", f"//me:{PROOF.replace('/', '%2F')}@")), "/2/info")
        fetch(parse_server(f"{there.url}?netrc={file}"), "/2/info")
        fetch(parse_server(there.url), "/2/info")
    assert [headers.get("authorization") for _, headers in there.seen] == [f"Basic {word}"] * 2 + [None]


@pytest.mark.parametrize(
    ("text", "said"),
    [("machine other login a password b\n", "no machine 127.0.0.1"), ("login a", "it cannot be read")],
)
def test_a_netrc_file_that_does_not_help_is_refused(tmp_path, text, said):
    file = tmp_path / "netrc"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        parse_server(f"https://127.0.0.1?netrc={file}")


@pytest.mark.parametrize(
    ("status", "said"),
    [(401, "give a user that may read"), (404, "is this the remote"), (500, "the server's")],
)
def test_a_status_other_than_ok_is_refused_with_a_remedy(status, said):
    with serving((status, b"")) as there:
        message = refusal(there.url)
    assert message.startswith(f"{there.url}: /2/info: HTTP status {status}; ")
    assert said in message


def test_an_answer_that_moves_us_elsewhere_is_not_followed():
    with serving((302, b"", {"Location": "/2/other"})) as there:
        assert "HTTP status 302" in refusal(there.url)
    assert len(there.seen) == 1


def test_an_answer_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(rapi_server, "RESPONSE_BYTES_MAX", 1 << 20)
    with serving((200, b"x" * ((1 << 20) + 1))) as there:
        assert "/2/info: more than 1 MiB; save the documents" in refusal(there.url)


def test_an_answer_that_never_ends_is_refused(monkeypatch):
    monkeypatch.setattr(rapi_server, "READ_SECONDS_MAX", -1)
    with serving((200, b"x")) as there:
        assert "/2/info: not read after -1 s" in refusal(there.url)


def test_a_silent_server_is_given_up(monkeypatch):
    monkeypatch.setattr(rapi_server, "SILENT_SECONDS_MAX", 0.05)
    with serving((200, b"x", {"Content-Length": "5"})) as there:
        assert "/2/info: no answer in time" in refusal(there.url)


def test_a_connection_that_breaks_or_is_not_made_is_named():
    with serving((200, BREAK)) as there:
        assert f"{there.url}: /2/info: " in refusal(there.url)
    assert "check the address and the network" in refusal(there.url)


def test_a_certificate_file_that_is_none_is_named(tmp_path):
    assert "the certificate cannot be read: " in refusal(f"https://127.0.0.1:1?ca={tmp_path}/gone.pem")
    (tmp_path / "bad.pem").write_text("x", encoding="utf-8")
    assert "the certificate cannot be read: " in refusal(f"https://127.0.0.1:1?ca={tmp_path}/bad.pem")
