"""The certificate of a server is read again while it runs; one that cannot be used changes nothing."""

import ssl
from datetime import UTC, datetime
from io import StringIO

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from memory_tls import shakes_hands
from ullage.kube.operator.certificates import make
from ullage.model.errors import InputError
from ullage.web.certificate import Certificate
from ullage.web.logs import Log
from ullage.web.settings import Settings


@pytest.fixture
def files(tmp_path):
    made = make(("localhost",), datetime.now(tz=UTC))
    (tmp_path / "cert.pem").write_bytes(made.certificate)
    (tmp_path / "key.pem").write_bytes(made.key)
    return Settings(tmp_path, tls_certificate=str(tmp_path / "cert.pem"), tls_key=str(tmp_path / "key.pem"))


def is_shown(context):
    """Whether a client that trusts everybody gets through."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    return shakes_hands(context, client)


def read_again(certificate):
    """Read it again, and return what is logged of that."""
    lines = StringIO()
    log = Log(target=lines)
    certificate.read_again(log)
    log.write()
    return lines.getvalue()


def test_a_new_pair_counts_for_those_who_come_from_then_on(files, tmp_path):
    certificate = Certificate(files)
    before = certificate.context
    made = make(("localhost",), datetime.now(tz=UTC))
    (tmp_path / "cert.pem").write_bytes(made.certificate)
    (tmp_path / "key.pem").write_bytes(made.key)
    assert "has read the certificate again" in read_again(certificate)
    assert certificate.context is not before
    assert is_shown(certificate.context)
    assert is_shown(before), "for those who are in the middle of it"


@pytest.mark.parametrize("content", ["of another key", "nothing", "gone"])
def test_a_pair_that_is_none_leaves_the_one_of_before_in_use(files, tmp_path, content):
    certificate = Certificate(files)
    if content == "gone":
        (tmp_path / "cert.pem").unlink()
    else:
        other = make(("localhost",), datetime.now(tz=UTC)).certificate
        (tmp_path / "cert.pem").write_bytes(b"" if content == "nothing" else other)
    assert "keeps the certificate it has" in read_again(certificate)
    assert is_shown(certificate.context)


def test_nobody_is_asked_for_the_pass_phrase_of_a_key(files, tmp_path):
    key = load_pem_private_key((tmp_path / "key.pem").read_bytes(), None)
    locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    (tmp_path / "key.pem").write_bytes(locked)
    with pytest.raises(InputError, match="cannot be used: its key has a pass phrase"):
        Certificate(files)


def test_without_a_certificate_to_begin_with_there_is_no_server(tmp_path):
    with pytest.raises(InputError, match="cannot be used"):
        Certificate(Settings(tmp_path, tls_certificate=str(tmp_path / "none.pem")))
