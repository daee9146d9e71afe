"""A certificate authority for development, and certificates that it signs. `tidelog up --secure` and tests use it.

Keys are on the curve P-256: OpenSSL, Java and browsers know it, and a signature takes a tenth of one with RSA. Keys and
certificates are PEM, keys in PKCS8 and not encrypted: whoever writes one to a disk gives it to its owner alone.

Not for production, where an authority has its key elsewhere, and lists of what it has revoked.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from dataclasses import field
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tidelog.model.lazy_dataclasses import dataclass

AUTHORITY_DAYS = 3650
# Clients on other machines may refuse what is valid for more than 825 days.
CERTIFICATE_DAYS = 398
# Machines whose clocks are a little behind take it, too.
_EARLIER = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateWithKey:
    """Both in PEM; the certificate with those that vouch for it behind it, without the authority's own."""

    certificate: bytes
    key: bytes = field(repr=False)

    @property
    def keystore(self) -> bytes:
        """As Kafka has them in one file: `ssl.keystore.type=PEM`."""
        return self.key + self.certificate


class DevelopmentAuthority:
    """Signs certificates. `pair` is what has to be kept to go on with it later."""

    def __init__(self, pair: CertificateWithKey) -> None:
        """Raises ValueError if these are not a certificate and a key of a curve."""
        self.pair = pair
        self._certificate = x509.load_pem_x509_certificate(pair.certificate)
        key = serialization.load_pem_private_key(pair.key, password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("the key of the authority is not one of an elliptic curve")
        self._key = key

    @classmethod
    def new(cls, name: str = "tidelog development CA", *, now: datetime | None = None) -> DevelopmentAuthority:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _named(name)
        builder = (
            _validity(subject, key.public_key(), AUTHORITY_DAYS, now)
            .issuer_name(subject)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        return cls(CertificateWithKey(certificate=_pem(builder.sign(key, hashes.SHA256())), key=_key_pem(key)))

    def issue(
        self,
        name: str,
        *,
        hosts: Collection[str] = (),
        days: int = CERTIFICATE_DAYS,
        now: datetime | None = None,
    ) -> CertificateWithKey:
        """For a server at these names and addresses, and for a client alike."""
        key = ec.generate_private_key(ec.SECP256R1())
        public_key = key.public_key()
        builder = (
            _validity(_named(name), public_key, days, now)
            .issuer_name(self._certificate.subject)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if hosts:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_host(each) for each in hosts]), critical=False
            )
        return CertificateWithKey(certificate=_pem(builder.sign(self._key, hashes.SHA256())), key=_key_pem(key))


def certificate_covers(certificate: bytes, hosts: Collection[str], at: datetime) -> bool:
    """Whether it is for all of these names and addresses, and still valid then. Raises ValueError if it is not PEM."""
    parsed = x509.load_pem_x509_certificate(certificate)
    try:
        names = set(parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        names = set()
    return parsed.not_valid_after_utc > at and names.issuperset(map(_host, hosts))


def _validity(
    subject: x509.Name, public_key: ec.EllipticCurvePublicKey, days: int, now: datetime | None
) -> x509.CertificateBuilder:
    begin = now if now is not None else datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin - _EARLIER)
        .not_valid_after(begin + timedelta(days=days))
    )


def _named(name: str) -> x509.Name:
    """A common name, or a whole distinguished name such as CN=orders,O=Example."""
    if "=" in name:
        return x509.Name.from_rfc4514_string(name)
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
