"""A certificate is good for its names and its time, and who trusted the old authority is not turned away."""

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from memory_tls import shakes_hands
from ullage.kube.operator.certificates import (
    RENEWED_DAYS_BEFORE,
    VALID_DAYS,
    Certificate,
    are_certificates,
    is_good,
    make,
    service_names,
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)
NAMES = service_names("ullage-webhook", "ullage-system")
MADE = make(NAMES, NOW)
OTHER = make(NAMES, NOW)
JUNK = b"-----BEGIN CERTIFICATE-----\nbm9uc2Vuc2U=\n-----END CERTIFICATE-----\n"


def after(days: float) -> datetime:
    return NOW + timedelta(days=days)


GOOD = {
    "one that was just made": (MADE, NAMES, NOW, True),
    "one that lasts long enough": (MADE, NAMES, after(VALID_DAYS - RENEWED_DAYS_BEFORE - 1), True),
    "not one that ends soon": (MADE, NAMES, after(VALID_DAYS - RENEWED_DAYS_BEFORE + 1), False),
    "not one that has ended": (MADE, NAMES, after(VALID_DAYS + 1), False),
    "not one that is not valid yet": (MADE, NAMES, after(-1), False),
    "not one for other names": (MADE, (*NAMES, "elsewhere"), NOW, False),
    "not one with the key of another": (MADE._replace(key=OTHER.key), NAMES, NOW, False),
    "not one of another authority of the same name": (
        MADE._replace(authorities=OTHER.authorities), NAMES, NOW, False,
    ),
    "not one without an authority": (MADE._replace(authorities=b""), NAMES, NOW, False),
    "not one that is damaged": (MADE._replace(certificate=JUNK), NAMES, NOW, False),
    "not one whose key is damaged": (MADE._replace(key=b"no key"), NAMES, NOW, False),
    "not nothing at all": (Certificate(b"", b"", b""), NAMES, NOW, False),
}  # fmt: skip


@pytest.mark.parametrize(("found", "names", "now", "good"), GOOD.values(), ids=GOOD)
def test_which_certificates_are_good(found, names, now, good):
    assert is_good(found, names, now) is good


def test_it_is_trusted_by_a_server_that_knows_its_authority_and_by_no_other(tmp_path):
    made = make(("localhost",), datetime.now(UTC))
    for name, part in zip(("certificate", "key"), made[:2], strict=True):
        (tmp_path / name).write_bytes(part)
    assert is_trusted(tmp_path, made.authorities)
    assert not is_trusted(tmp_path, OTHER.authorities)


def is_trusted(folder, authorities: bytes) -> bool:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "certificate", folder / "key")
    return shakes_hands(server, ssl.create_default_context(cadata=authorities.decode()), "localhost")


def test_after_a_renewal_the_old_authority_is_trusted_until_it_ends():
    renewed = make(NAMES, after(250), MADE.authorities)
    trusted = x509.load_pem_x509_certificates(renewed.authorities)
    assert trusted[1:] == x509.load_pem_x509_certificates(MADE.authorities)
    again = make(NAMES, after(500), renewed.authorities)
    assert len(x509.load_pem_x509_certificates(again.authorities)) == 2
    assert x509.load_pem_x509_certificates(again.authorities)[1] == trusted[0]
    late = make(NAMES, after(VALID_DAYS + 1), MADE.authorities)
    assert len(x509.load_pem_x509_certificates(late.authorities)) == 1


def test_what_is_no_certificate_is_not_trusted():
    assert len(x509.load_pem_x509_certificates(make(NAMES, NOW, JUNK).authorities)) == 1
    assert [are_certificates(text) for text in (MADE.authorities, JUNK, b"")] == [True, False, False]
