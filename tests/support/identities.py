"""Certificates with their keys, in the forms of Kafka's key stores."""

from __future__ import annotations

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)

from tidelog.security.certificates import CertificateWithKey, DevelopmentAuthority


def encrypted_key(identity: CertificateWithKey, password: str) -> str:
    key = load_pem_private_key(identity.key, None)
    encryption = BestAvailableEncryption(password.encode())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()


def pkcs12_key_store(identity: CertificateWithKey, authority: DevelopmentAuthority, password: str) -> bytes:
    """With the authority's certificate behind its own, as keytool writes it."""
    key = load_pem_private_key(identity.key, None)
    assert isinstance(key, EllipticCurvePrivateKey)
    own = x509.load_pem_x509_certificate(identity.certificate)
    issuer = x509.load_pem_x509_certificate(authority.pair.certificate)
    return pkcs12.serialize_key_and_certificates(b"server", key, own, [issuer], _encryption(password))


def pkcs12_trust_store(authority: DevelopmentAuthority, password: str) -> bytes:
    certificate = x509.load_pem_x509_certificate(authority.pair.certificate)
    return pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(certificate, b"ca")], _encryption(password))


def _encryption(password: str) -> BestAvailableEncryption:
    return BestAvailableEncryption(password.encode())
