"""The certificate of the webhook: made here, trusted by nobody else, renewed long before it ends.

An authority of our own signs it, and the API server is told to trust that authority for this webhook alone.
The hard thing is the moment of renewal: servers that still trust the old authority must not be turned away,
so what is trusted is the new one and the old one together until the old one ends.
"""

from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID_DAYS: Final = 365
RENEWED_DAYS_BEFORE: Final = 120
AUTHORITY_NAME: Final = "ullage webhook authority"
_CLOCKS_DIFFER: Final = timedelta(hours=1)


class Certificate(NamedTuple):
    """As PEM text: the certificate, its key, and the authorities by which it is trusted."""

    certificate: bytes
    key: bytes
    authorities: bytes


def make(names: tuple[str, ...], now: datetime, before: bytes = b"") -> Certificate:
    """Make a certificate for these names; authorities of `before` that have not ended stay trusted."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{AUTHORITY_NAME} {now:%Y-%m-%d}")])
    authority = (
        _builder(issuer, issuer, authority_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    certificate = (
        _builder(subject, issuer, key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    trusted = authority.public_bytes(pem) + b"".join(each.public_bytes(pem) for each in _lasting(before, now))
    return Certificate(certificate.public_bytes(pem), private, trusted)


def is_good(found: Certificate, names: tuple[str, ...], now: datetime) -> bool:
    """Whether a certificate is for these names and does not have to be renewed yet."""
    try:
        certificate = x509.load_pem_x509_certificate(found.certificate)
        key = serialization.load_pem_private_key(found.key, None)
        alternative = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        authorities = x509.load_pem_x509_certificates(found.authorities)
    except (ValueError, TypeError, x509.ExtensionNotFound):
        return False
    pem, form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    is_its_key = key.public_key().public_bytes(pem, form) == certificate.public_key().public_bytes(pem, form)
    signed = any(_is_signed_by(certificate, each) for each in authorities)
    ends = certificate.not_valid_after_utc
    return (
        is_its_key
        and signed
        and set(names) <= set(alternative.value.get_values_for_type(x509.DNSName))
        and now >= certificate.not_valid_before_utc
        and ends - now > timedelta(days=RENEWED_DAYS_BEFORE)
    )


def are_certificates(text: bytes) -> bool:
    """Whether a text holds certificates that can be read."""
    try:
        return bool(x509.load_pem_x509_certificates(text))
    except ValueError:
        return False


def service_names(service: str, namespace: str) -> tuple[str, ...]:
    """Return the names under which API servers reach a service."""
    return f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local", service


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now.astimezone(UTC) - _CLOCKS_DIFFER)
        .not_valid_after(now.astimezone(UTC) + timedelta(days=VALID_DAYS))
    )


def _is_signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _lasting(authorities: bytes, now: datetime) -> list[x509.Certificate]:
    """Return the authorities that have not ended, the newest only: there is one renewal at a time."""
    if not are_certificates(authorities):
        return []
    known = x509.load_pem_x509_certificates(authorities)
    return [each for each in known if each.not_valid_after_utc > now][:1]
