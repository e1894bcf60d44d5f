"""Requests to servers: whom a token is shown, what is believed, and every failure as one line."""

import socket
import ssl
from datetime import UTC, datetime

import pytest

from raw_answers import OK, answering, problem
from ullage.kube.operator.certificates import make
from ullage.model.errors import InputError
from ullage.sources import server_client
from ullage.sources.server_access import Access, reaching
from ullage.sources.server_address import parse_address
from ullage.sources.server_client import RefusedError, ServerClient, remote_cluster


@pytest.fixture(autouse=True)
def no_token(monkeypatch):
    monkeypatch.delenv("ULLAGE_TOKEN", raising=False)


def ask(address, access=None, **more):
    return ServerClient(parse_address(address), access).ask("GET", "/v1/clusters", **more)


def test_an_answer_has_its_headers_and_its_body():
    with answering(OK) as (address, heard):
        reply = ask(address, query={"a": "ä b"}, headers={"Idempotency-Key": "ä".encode()})
    assert (reply.status, reply.body, reply.headers["ullage-revision"]) == (200, b"hi", "3")
    assert heard[0].startswith(b"GET /v1/clusters?a=%C3%A4+b HTTP/1.1\r\n")
    assert "Idempotency-Key: ä\r\n".encode() in heard[0]
    assert b"Authorization" not in heard[0]


def test_a_token_is_that_of_the_file_else_that_of_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("ULLAGE_TOKEN", "of-environment")
    (tmp_path / "token").write_text("of-file\n", encoding="ascii")
    with answering(OK, OK) as (address, heard):
        ask(address)
        with reaching(Access(str(tmp_path / "token"))):
            ask(address)
    assert b"Authorization: Bearer of-environment\r\n" in heard[0]
    assert b"Authorization: Bearer of-file\r\n" in heard[1]


@pytest.mark.parametrize("text", ["", "two words", "hidden\nline", "hiddenä", "h" * 5000])
def test_what_is_no_token_is_not_sent_and_not_shown(tmp_path, text):
    (tmp_path / "token").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"no token|no text") as raised:
        ask("http://127.0.0.1:1", Access(str(tmp_path / "token")))
    assert "hidden" not in str(raised.value)


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (problem(301, ""), "it leads elsewhere (HTTP status 301), where nobody goes; name the address"),
        (problem(200, "{")[:-1], "the answer ends 1 bytes too early; ask again"),
        (
            problem(404, "<p>", "text/html"),
            "HTTP status 404, and not from a server of ullage; name the address",
        ),
        (problem(404, "<p>"), "HTTP status 404, and not from a server of ullage; name the address"),
        (
            problem(401, '{"title": "who?"}'),
            "it wants a token; give a token in $ULLAGE_TOKEN or with --token-file",
        ),
        (problem(403, '{"title": "no", "detail": "make one"}'), "no; make one"),
        (problem(503, '{"title": "not read yet", "retryAfterSeconds": 7}'), "not read yet; ask again in 7 s"),
        (problem(500, "{}"), "HTTP status 500"),
        (b"", "it hangs up without an answer; is it https:// that is meant?"),
        (b"220 mail\r\n\r\n", "it hangs up without an answer; is it https:// that is meant?"),
    ],
)
def test_what_a_server_does_not_answer_is_one_line(answer, line):
    with answering(answer) as (address, _), pytest.raises(InputError) as raised:
        ask(address)
    assert str(raised.value).startswith(f"{address}: {line}")


def test_a_refusal_of_what_was_sent_is_told_as_the_server_tells_it():
    told = '{"title": "t", "what": "no node", "where": "-f x", "remedy": "name one"}'
    with answering(problem(422, told)) as (address, _), pytest.raises(RefusedError) as raised:
        ask(address)
    assert (str(raised.value), raised.value.status) == ("-f x: no node; name one", 422)


def test_nobody_is_there_or_the_host_is_not_known():
    with pytest.raises(InputError, match=r"^http://127.0.0.1:1: nobody listens there; check host and port"):
        ask("http://127.0.0.1:1")
    with pytest.raises(InputError, match=r"the host nowhere.invalid is not known; check its name"):
        ask("http://nowhere.invalid")


def test_an_answer_is_bounded_in_size_and_time(monkeypatch):
    monkeypatch.setattr(server_client, "ANSWER_BYTES_MAX", 1)
    with answering(OK) as (address, _), pytest.raises(InputError, match=r"more than 1 bytes; ask for less"):
        ask(address)
    monkeypatch.setattr(server_client, "ANSWER_BYTES_MAX", 100)
    monkeypatch.setattr(server_client, "READ_SECONDS_MAX", -1)
    with answering(OK) as (address, _), pytest.raises(InputError, match=r"not read after"):
        ask(address)


def test_silence_has_an_end(monkeypatch):
    monkeypatch.setattr(server_client, "SILENT_SECONDS_MAX", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(InputError, match=r"no answer in time; ask again"):
            ask(address)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    made = make(("localhost",), datetime.now(tz=UTC))
    (folder / "cert.pem").write_bytes(made.certificate)
    (folder / "key.pem").write_bytes(made.key)
    (folder / "ca.pem").write_bytes(made.authorities)
    return folder


def test_a_server_is_known_by_certificates_that_count(certificate, monkeypatch):
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    monkeypatch.setenv("ULLAGE_TOKEN", "hidden")
    with answering(OK, OK, OK, tls=tls) as (address, heard):
        with pytest.raises(InputError, match=r"the certificate is refused: .*; name the .* with --ca FILE"):
            ask(address)
        assert heard == []
        assert ask(address, Access(ca_file=str(certificate / "ca.pem"))).body == b"hi"
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "ca.pem"))
        assert ask(address).body == b"hi"


def test_certificates_that_cannot_be_read_are_named(tmp_path):
    (tmp_path / "empty.pem").write_bytes(b"")
    for name, reason in (("none", "No such file"), ("empty.pem", "no certificate")):
        with pytest.raises(InputError, match=rf"--ca .*{name}: cannot be used: .*; name a file") as raised:
            ask("https://127.0.0.1:1", Access(ca_file=str(tmp_path / name)))
        assert reason.split()[0].lower() in str(raised.value).lower()


def test_a_server_that_does_not_speak_tls_is_told():
    with (
        answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as (address, _),
        pytest.raises(InputError, match=r"does not speak TLS as it should; is it http:// that is meant\?"),
    ):
        ask(address.replace("http:", "https:"))


@pytest.mark.parametrize(
    ("names", "line"),
    [
        ((), "it has no cluster; serve one: ullage serve -c SOURCE"),
        (
            ("a", "b"),
            "it has 2 clusters, and none is named; add /v1/clusters/NAME to the address, with one of a, b",
        ),
    ],
)
def test_without_a_name_there_has_to_be_one_cluster(names, line):
    items = ", ".join(f'{{"name": "{name}"}}' for name in names)
    listed = problem(200, f'{{"items": [{items}]}}', "application/json")
    with answering(listed) as (address, _), pytest.raises(InputError) as raised:
        remote_cluster(address)
    assert str(raised.value) == f"{address}: {line}"
    with answering(problem(200, '{"items": [{"name": "only"}]}')) as (address, _):
        assert remote_cluster(address).name == "only"
    with (
        answering(problem(200, "[]")) as (address, _),
        pytest.raises(InputError, match="no list of clusters"),
    ):
        remote_cluster(address)


def test_a_path_that_a_server_does_not_have_is_of_another_version():
    missing = problem(404, '{"title": "there is nothing under this path"}')
    described = problem(200, '{"info": {"title": "Ullage", "version": "0.0.1"}}', "application/json")
    with answering(missing, described) as (address, _), pytest.raises(InputError) as raised:
        remote_cluster(f"{address}/v1/clusters/a").ask("GET", "ledger/state")
    versions = f"it is ullage 0.0.1, and this is {server_client.__version__}"
    remedy = "use the same version on both sides"
    assert str(raised.value) == f"{address}: {versions}: there is nothing under this path; {remedy}"
    with (
        answering(missing, missing) as (address, _),
        pytest.raises(InputError, match=r"ask again; if it stays so"),
    ):
        remote_cluster(f"{address}/v1/clusters/a").ask("GET", "ledger/state")
