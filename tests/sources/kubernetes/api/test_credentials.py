"""Who asks proves it anew as long as the process runs, and says in one line what is wrong with the proof."""

import base64
import ssl
import sys
from pathlib import Path

import pytest

from plane.certificate import self_signed
from ullage.model.errors import InputError
from ullage.sources.kubernetes.api.credentials import (
    FAILED_SECONDS_MAX,
    PROGRAM_SECONDS_MAX,
    TOKEN_SECONDS_MAX,
    Credentials,
    address_of,
)
from ullage.sources.kubernetes.kubeconfig import Access, ClusterEntry, ExecEntry, UserEntry


def access(user: UserEntry | None = None, **cluster: object) -> Access:
    entry = ClusterEntry(**{"server": "https://h:6443", **cluster})
    return Access("west", entry, user or UserEntry(), "ann")


def header(**user: object) -> str:
    return Credentials(access(UserEntry(**user))).header()


PROOFS = {
    "a token": ({"token": "t"}, "Bearer t"),
    "a user name and a password": ({"username": "a", "password": "b:c"}, "Basic YTpiOmM="),
    "a user name alone": ({"username": "a"}, "Basic YTo="),
    "a token rather than a user name": ({"token": "t", "username": "a"}, "Bearer t"),
}


@pytest.mark.parametrize(("user", "expected"), PROOFS.values(), ids=PROOFS)
def test_a_proof_is_one_header(user, expected):
    assert header(**user) == f"Authorization: {expected}\r\n"


def test_without_a_proof_there_is_no_header():
    assert header() == ""


def test_a_token_file_counts_before_a_token(tmp_path):
    path = tmp_path / "token"
    path.write_text("of-file\n")
    assert header(**PROOFS["a token"][0], token_file=str(path)) == "Authorization: Bearer of-file\r\n"


def test_a_token_file_is_read_again_after_a_while_or_when_it_is_doubted(tmp_path):
    path = tmp_path / "token"
    now = 1000.0
    found = Credentials(access(UserEntry(token_file=str(path))), lambda: now)
    path.write_text("one")
    assert found.header().endswith("one\r\n")
    path.write_text("two")
    assert found.header().endswith("one\r\n")
    found.doubt()
    assert found.header().endswith("two\r\n")
    path.write_text("three")
    now += TOKEN_SECONDS_MAX
    assert found.header().endswith("three\r\n")


BAD_FILES = {
    "none": (None, "the token cannot be read: No such file"),
    "empty": (b" \n", "is empty"),
    "binary": (b"\xff\xfe\x00", "not one line of text"),
    "several lines": (b"a\nX-Header: b", "not one line of text"),
    "enormous": (b"a" * 70_000, "not one line of text"),
}


@pytest.mark.parametrize(("content", "why"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_token_file_that_is_none_is_one_clear_line(content, why, tmp_path):
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=why):
        header(token_file=str(path), username="not-tried")


def plugin(status: str) -> ExecEntry:
    said = f'{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{status}}}'
    return ExecEntry(
        api_version="client.authentication.k8s.io/v1", command=sys.executable, args=["-c", f"print({said!r})"]
    )


def test_a_program_may_give_a_token_but_no_certificate():
    assert header(exec=plugin('{"token":"p"}')) == "Authorization: Bearer p\r\n"
    with pytest.raises(InputError, match="a certificate where a process that stays needs a token"):
        header(exec=plugin('{"clientCertificateData":"c","clientKeyData":"k"}'))


def test_a_program_that_has_failed_is_asked_again_a_moment_later(tmp_path):
    """Each request would ask it, and all else waits for it."""
    now = 1000.0
    asked = tmp_path / "asked"
    script = f"open({str(asked)!r}, 'a').write('x'); raise SystemExit(1)"
    entry = ExecEntry(
        api_version="client.authentication.k8s.io/v1", command=sys.executable, args=["-c", script]
    )
    found = Credentials(access(UserEntry(exec=entry)), lambda: now)
    for wanted in ("x", "x", "xx"):
        with pytest.raises(InputError):
            found.header()
        assert asked.read_text() == wanted
        now += FAILED_SECONDS_MAX * 0.6


def test_a_program_is_asked_again_after_a_longer_while_or_when_its_token_is_doubted(tmp_path):
    now = 1000.0
    log = tmp_path / "log"
    entry = plugin('{"token":"p"}')
    entry.args = ["-c", f"open({str(log)!r}, 'a').write('x')\n{entry.args[1]}"]
    found = Credentials(access(UserEntry(exec=entry)), lambda: now)
    found.header()
    now += PROGRAM_SECONDS_MAX - 1
    found.header()
    assert log.read_text() == "x"
    now += 1
    found.header()
    found.doubt()
    found.header()
    assert log.read_text() == "xxx"


def test_a_provider_that_is_no_more_is_one_clear_line():
    with pytest.raises(InputError, match="west: user ann: auth-provider is no longer supported"):
        header(auth_provider={"name": "gcp"})


PLACES = {
    "https://h:6443": ("h", 6443, True),
    "https://h": ("h", 443, True),
    "https://h/": ("h", 443, True),
    "http://h": ("h", 80, False),
    "http://127.0.0.1:8001": ("127.0.0.1", 8001, False),
    "https://[::1]:6443": ("::1", 6443, True),
}


@pytest.mark.parametrize(("server", "expected"), PLACES.items())
def test_an_address_is_a_host_and_a_port(server, expected):
    found = address_of(access(server=server))
    assert (found.host, found.port, found.tls is not None) == expected


@pytest.mark.parametrize(
    "server", ["", "h:6443", "ftp://h", "https://", "https://h:x", "https://h:99999", "https://h/k8s"]
)
def test_what_is_no_address_of_an_api_server_is_one_clear_line(server):
    with pytest.raises(InputError, match=r"^west: .* is no address of an API server; use https"):
        address_of(access(server=server))


def test_a_proxy_is_not_supported():
    with pytest.raises(InputError, match="a proxy-url is not supported"):
        address_of(access(proxy_url="http://proxy"))


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("tls") / "pair.pem"
    path.write_bytes(self_signed())
    return path


def test_a_server_is_verified_by_the_authority_that_is_given(pair):
    text = base64.b64encode(pair.read_bytes()).decode()
    for cluster in ({"certificate_authority": str(pair)}, {"certificate_authority_data": text}):
        context = address_of(access(**cluster)).tls
        assert context.verify_mode == ssl.CERT_REQUIRED
        assert context.check_hostname
        assert len(context.get_ca_certs()) == 1


def test_a_server_is_not_verified_where_that_is_said():
    context = address_of(access(insecure_skip_tls_verify=True)).tls
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)


def test_a_server_may_have_another_name_than_its_host():
    assert address_of(access(tls_server_name="api.west")).server_name == "api.west"


def test_a_certificate_of_the_user_is_read_from_files_or_text(pair):
    text = base64.b64encode(pair.read_bytes()).decode()
    for user in (
        UserEntry(client_certificate=str(pair), client_key=str(pair)),
        UserEntry(client_certificate_data=text, client_key_data=text),
    ):
        assert address_of(access(user)).tls is not None


BAD_CERTIFICATES = {
    "a file that is not there": (
        {"certificate_authority": "/nowhere/ca"},
        {},
        "No such file or directory: '/nowhere/ca'",
    ),
    "no base64": ({"certificate_authority_data": "%"}, {}, "not base64"),
    "no certificate": ({"certificate_authority_data": "aGVsbG8="}, {}, "a certificate cannot be used"),
    "no text": ({"certificate_authority_data": "//79"}, {}, "a certificate cannot be used"),
    "no key": ({}, {"client_certificate_data": "aGVsbG8=", "client_key_data": "aGVsbG8="}, "cannot be used"),
}


@pytest.mark.parametrize(("cluster", "user", "why"), BAD_CERTIFICATES.values(), ids=BAD_CERTIFICATES)
def test_a_certificate_that_is_none_is_one_clear_line(cluster, user, why):
    with pytest.raises(InputError, match=f"^west: .*{why}"):
        address_of(access(UserEntry(**user), **cluster))


class TestCertificatesThatAreReplaced:
    """They are files beside a process that runs for months."""

    @pytest.fixture
    def pair(self, tmp_path) -> Path:
        path = tmp_path / "pair.pem"
        path.write_bytes(self_signed())
        return path

    def credentials(self, pair: Path) -> Credentials:
        user = UserEntry(client_certificate=str(pair), client_key=str(pair))
        return Credentials(access(user, certificate_authority=str(pair)))

    def test_they_are_read_again_and_only_then(self, pair):
        found = self.credentials(pair)
        first = found.address()
        assert found.address() is first
        fresh = pair.with_name("fresh.pem")
        fresh.write_bytes(self_signed())
        fresh.replace(pair)
        second = found.address()
        assert second.tls is not first.tls
        assert second.tls.get_ca_certs() != first.tls.get_ca_certs()
        assert found.address() is second

    @pytest.mark.parametrize("text", [b"", b"half of it"])
    def test_while_they_cannot_be_used_the_ones_before_are(self, pair, text):
        found = self.credentials(pair)
        first = found.address()
        pair.write_bytes(text)
        assert found.address() is first
        pair.unlink()
        assert found.address() is first
        pair.write_bytes(self_signed())
        assert found.address() is not first
