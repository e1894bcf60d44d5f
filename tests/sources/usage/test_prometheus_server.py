"""How a Prometheus is reached and convinced: TLS, passwords, certificates, and one line for each failure."""

import contextlib
import gzip
import http.server
import json
import socket
import threading

import pytest
import yaml

from plane.certificate import self_signed
from ullage.model.errors import InputError
from ullage.sources.given import giving
from ullage.sources.usage import prometheus_server
from ullage.sources.usage.prometheus import Window, read_prometheus
from ullage.sources.usage.prometheus_server import (
    PrometheusOptions,
    PrometheusServer,
    TooMuchError,
    options_of,
    require,
)
from usage_exporter import MIB, cadvisor, history
from usage_prometheus import prometheus

BEGIN = 1_700_006_400
WINDOW = Window(BEGIN + 600, BEGIN + 1800, 300)
SESAME = "$2b$04$abcdefghijklmnopqrstuuinwY/tkBVrn3xrxQI/TgnMHhkvl85RW"
"""What the password is kept as."""
EMPTY = {"status": "success", "data": []}


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    """A Prometheus that speaks TLS, wants a password and a certificate; and the files of these."""
    folder = tmp_path_factory.mktemp("secured")
    for name in ("server", "client"):
        (folder / f"{name}.pem").write_bytes(self_signed())
    settings = {
        "tls_server_config": {
            "cert_file": "server.pem",
            "key_file": "server.pem",
            "client_auth_type": "RequireAndVerifyClientCert",
            "client_ca_file": "client.pem",
        },
        "basic_auth_users": {"reader": SESAME},
    }
    (folder / "web.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    metrics = cadvisor("shop", "web-1", "app", lambda minute: 30.0 * minute, lambda _: 5 * MIB)
    flags = (f"--web.config.file={folder}/web.yml",)
    with prometheus(folder, history(metrics, BEGIN, 60), flags=flags) as url:
        yield url.replace("http://", "https://"), folder


def options(folder, **fields):
    known = {
        "user": "reader",
        "password": "sesame",
        "ca_file": str(folder / "server.pem"),
        "certificate_file": str(folder / "client.pem"),
    }
    return PrometheusOptions(**(known | fields))


def refusal(url, given=None):
    with pytest.raises(InputError) as raised:
        list(read_prometheus(url, WINDOW, given or PrometheusOptions()))
    told = str(raised.value)
    assert "\n" not in told
    assert "sesame" not in told
    return told


@pytest.mark.slow
def test_with_password_certificate_and_authority_it_is_read(secured):
    url, folder = secured
    found = list(read_prometheus(url, WINDOW, options(folder)))
    assert {each.resource for each in found} == {"cpu", "memory"}
    assert list(read_prometheus(url, WINDOW, options(folder, ca_file="", insecure=True)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"password": "wrong"}, "it does not let us in (HTTP status 401)"),
        ({"ca_file": ""}, "the certificate is refused: self-signed certificate"),
        ({"ca_file": "/nowhere.pem"}, "a certificate cannot be used: /nowhere.pem: No such file"),
        ({"certificate_file": ""}, ""),
    ],
)
def test_without_one_of_them_it_says_what_to_give(secured, fields, said):
    url, folder = secured
    assert said in refusal(url, options(folder, **fields))


@pytest.mark.slow
def test_plain_http_to_one_that_speaks_tls_is_told(secured):
    url, _ = secured
    assert "is it https:// that is meant?" in refusal(url.replace("https://", "http://"))


@contextlib.contextmanager
def answering(*answers):
    """A server that answers one thing after the other, the last one for ever; and what it was asked."""
    asked = []

    class Answers(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            length = int(self.headers.get("Content-Length", 0))
            asked.append((self.path, dict(self.headers), self.rfile.read(length)))
            status, headers, body = answers[min(len(asked), len(answers)) - 1]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST  # noqa: N815 - the name is that of the library

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.daemon_threads = True
        server.block_on_close = False
        server.server_close()


def said(document, status=200, **headers):
    return status, headers, json.dumps(document).encode()


def test_a_token_and_headers_are_sent_and_kept_to_ourselves(tmp_path):
    (tmp_path / "token").write_text("sesame\n", encoding="ascii")
    given = PrometheusOptions(token_file=str(tmp_path / "token"), headers=(("X-Scope-OrgID", "blue"),))
    with answering(said(EMPTY)) as (url, asked):
        told = refusal(f"{url}/tenant/", given)
    assert "it knows nothing of containers or nodes" in told
    (path, headers, _), *_ = asked
    assert path.startswith("/tenant/api/v1/label/__name__/values?match")
    assert headers["Authorization"] == "Bearer sesame"
    assert headers["X-Scope-OrgID"] == "blue"


def test_packed_answers_are_unpacked_no_further_than_the_bound(monkeypatch):
    packed = gzip.compress(json.dumps(EMPTY).encode() + b" " * 100_000)
    with answering((200, {"Content-Encoding": "gzip"}, packed)) as (url, _):
        server = PrometheusServer(url)
        assert json.loads(server.ask("/api/v1/query", {}).data) == EMPTY
        monkeypatch.setattr(prometheus_server, "ANSWER_BYTES_MAX", 1000)
        with pytest.raises(TooMuchError):
            server.ask("/api/v1/query", {})
        server.close()


def test_what_passes_is_asked_again_and_what_does_not_is_told(monkeypatch):
    monkeypatch.setattr(prometheus_server, "WAIT_SECONDS_MAX", 0.0)
    busy = said({}, 429, **{"Retry-After": "1"})
    with answering(busy, busy, said(EMPTY)) as (url, asked):
        server = PrometheusServer(url)
        assert server.ask("/api/v1/query", {}).status == 200
        assert len(asked) == 3
        server.close()
    with answering(busy) as (url, asked):
        assert "HTTP status 429" in refusal(url)


@pytest.mark.parametrize(
    ("status", "document"),
    [
        (422, {"errorType": "execution", "error": "query processing would load too many samples"}),
        (503, {"errorType": "timeout", "error": "query timed out in expression evaluation"}),
        (413, {}),
        (504, {}),
    ],
)
def test_less_is_asked_for_where_it_is_too_much(status, document):
    with pytest.raises(TooMuchError):
        require(prometheus_server.Reply(status, json.dumps(document).encode()), "p")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (said({"errorType": "bad_data", "error": "no org id"}, 400), "no org id; is it a Prometheus"),
        (
            said({}, 302, Location="http://elsewhere/"),
            "it leads elsewhere (HTTP status 302), where nobody goes",
        ),
        (said({}, 403), "it does not let us in (HTTP status 403); give a token in $ULLAGE_PROMETHEUS_TOKEN"),
        (said([]), "the answer is not that of a Prometheus"),
        ((200, {}, b"<html>"), "the answer is not that of a Prometheus"),
        ((404, {}, b"not here"), "HTTP status 404; name the address below which /api/v1/query answers"),
    ],
)
def test_what_is_wrong_is_one_line(answer, told):
    with answering(answer) as (url, _):
        assert told in refusal(url)


def test_who_does_not_listen_or_hangs_up_is_told():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert f"http://127.0.0.1:{port}: nobody listens there" in refusal(f"http://127.0.0.1:{port}")
    assert "the host nowhere.invalid is not known" in refusal("http://nowhere.invalid:9090")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("ftp://host", "no address of a Prometheus"),
        ("host:9090", "no address of a Prometheus"),
        ("http://reader:sesame@host:9090", "an address with a user or a password in it"),
        ("http://host:99999", "no address of a Prometheus"),
        ("http://host/a b", "no address of a Prometheus"),
    ],
)
def test_an_address_is_plain_and_has_no_secret(url, told):
    assert told in refusal(url)


def test_the_environment_says_how_to_be_convincing():
    said_there = {
        "ULLAGE_PROMETHEUS_TOKEN": "t",
        "ULLAGE_PROMETHEUS_TOKEN_FILE": "f",
        "ULLAGE_PROMETHEUS_USER": "u",
        "ULLAGE_PROMETHEUS_PASSWORD": "p",
        "ULLAGE_PROMETHEUS_CA": "ca",
        "ULLAGE_PROMETHEUS_CERTIFICATE": "c",
        "ULLAGE_PROMETHEUS_KEY": "k",
        "ULLAGE_PROMETHEUS_INSECURE": "1",
        "ULLAGE_PROMETHEUS_HEADERS": "X-Scope-OrgID: blue; X-Other: a:b",
    }
    headers = (("X-Scope-OrgID", "blue"), ("X-Other", "a:b"))
    assert options_of(said_there) == PrometheusOptions("t", "f", "u", "p", "ca", "c", "k", True, headers)  # noqa: FBT003 - a record
    assert options_of({}) == PrometheusOptions()


@pytest.mark.parametrize(
    ("name", "text"),
    [("HEADERS", "X-Scope-OrgID"), ("HEADERS", "a b: c"), ("HEADERS", "A: b\r\nC"), ("INSECURE", "yes")],
)
def test_what_the_environment_says_wrongly_is_told_where(name, text):
    with pytest.raises(InputError, match=f"ULLAGE_PROMETHEUS_{name}"):
        options_of({f"ULLAGE_PROMETHEUS_{name}": text})


def test_a_token_file_that_is_none_is_told(tmp_path):
    assert "the token cannot be read" in refusal("http://h", PrometheusOptions(token_file=str(tmp_path)))
    (tmp_path / "two").write_text("a b", encoding="ascii")
    assert "this is no token" in refusal("http://h", PrometheusOptions(token_file=str(tmp_path / "two")))


def test_it_is_asked_for_nobody_else():
    with giving({}), pytest.raises(InputError, match="not looked at for others"):
        next(read_prometheus("http://127.0.0.1:1"))


def test_without_options_those_of_the_environment_count(monkeypatch):
    monkeypatch.setenv("ULLAGE_PROMETHEUS_TOKEN", "sesame")
    with answering(said(EMPTY)) as (url, asked), pytest.raises(InputError):
        list(read_prometheus(url, WINDOW))
    assert asked[0][1]["Authorization"] == "Bearer sesame"
