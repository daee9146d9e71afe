"""Reads key stores and trust stores: PEM and PKCS12, from files or, for PEM, from the properties themselves.

Java's own formats (JKS and JCEKS) are refused with the command that converts them. No error contains a password or a
part of a key. It imports `cryptography`, so it is imported only where there is TLS.
"""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)

from tidelog.config.definitions import InvalidConfig
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.tls_settings import TlsSettings

_PRIVATE_KEY = re.compile(rb"-----BEGIN ((?:[A-Z]+ )?PRIVATE KEY)-----.*?-----END \1-----", re.DOTALL)
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
# Inline PEM has spaces where lines end if it was written as one line of a properties file.
_INLINE_BLOCK = re.compile(r"(-----BEGIN [A-Z ]+-----)(.*?)(-----END [A-Z ]+-----)", re.DOTALL)


class _Format(Enum):
    PEM = "PEM"
    PKCS12 = "PKCS12"
    JAVA = "JKS"
    UNKNOWN = "an unknown format"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class KeyEntry:
    """A private key, and its certificates with that of the key first."""

    key: PrivateKeyTypes
    certificates: tuple[x509.Certificate, ...]

    def as_pem(self, password: bytes) -> bytes:
        """Both, the key encrypted with the password."""
        key = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password))
        return key + b"".join(each.public_bytes(Encoding.PEM) for each in self.certificates)


def key_entry(settings: TlsSettings) -> KeyEntry:
    """Raises InvalidConfig."""
    location = settings.keystore_location
    if location is None:
        return _pem_entry(
            _inline(settings.keystore_key or ""),
            _inline(settings.keystore_certificate_chain or ""),
            settings,
            key_source=settings.name("keystore.key"),
            chain_source=settings.name("keystore.certificate.chain"),
        )
    source = settings.name("keystore.location")
    content = _read(source, location)
    if _format(source, location, content, settings.keystore_type) is _Format.PEM:
        shown = f"{source}={location}"
        return _pem_entry(content, content, settings, key_source=shown, chain_source=shown)
    return _pkcs12_entry(content, settings)


def trusted_certificates(settings: TlsSettings) -> str:
    """The certificates of the trust store, as PEM. Raises InvalidConfig."""
    location = settings.truststore_location
    if location is None:
        source = settings.name("truststore.certificates")
        found = _certificates(_inline(settings.truststore_certificates or ""), source)
    else:
        name = settings.name("truststore.location")
        source = f"{name}={location}"
        content = _read(name, location)
        if _format(name, location, content, settings.truststore_type) is _Format.PEM:
            found = _certificates(content, source)
        else:
            store = _pkcs12(content, settings.truststore_password, source, settings.name("truststore.password"))
            held = [store.cert, *store.additional_certs]
            found = tuple(each.certificate for each in held if each is not None)
    if not found:
        raise InvalidConfig(f"{source} has no certificate")
    return "".join(each.public_bytes(Encoding.PEM).decode() for each in found)


def _read(source: str, location: str) -> bytes:
    try:
        return Path(location).read_bytes()
    except OSError as error:
        raise InvalidConfig(f"{source}={location} cannot be read: {error.strerror or error}") from None


def _format(source: str, location: str, content: bytes, declared: str | None) -> _Format:
    """What the file is. Java reads PKCS12 also where JKS is declared, and so do we."""
    found = _recognized(content)
    if found is _Format.JAVA:
        converted = re.sub(r"\.(?:jks|keystore|truststore)$", "", location) + ".p12"
        raise InvalidConfig(
            f"{source}={location} is in Java's own format JKS, which tidelog does not read; convert it with: keytool "
            f"-importkeystore -srckeystore {location} -destkeystore {converted} -deststoretype PKCS12; then set "
            f"{source}={converted}"
        )
    if found is _Format.UNKNOWN or (declared is not None and (declared == "PEM") != (found is _Format.PEM)):
        type_name = source.replace("location", "type")
        said = "" if declared is None else f"should be {declared} by {type_name}, but "
        remedy = "use a PKCS12 or PEM file" if found is _Format.UNKNOWN else f"set {type_name}={found.value}"
        raise InvalidConfig(f"{source}={location} {said}is {found.value}; {remedy}")
    return found


def _recognized(content: bytes) -> _Format:
    if content[:4] in (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"):
        return _Format.JAVA
    if content[:1] == b"\x30":
        return _Format.PKCS12
    return _Format.PEM if b"-----BEGIN " in content else _Format.UNKNOWN


def _inline(text: str) -> bytes:
    def lines(block: re.Match[str]) -> str:
        return "\n".join((block[1], *block[2].split(), block[3]))

    return _INLINE_BLOCK.sub(lines, text).encode()


def _pem_entry(
    key_text: bytes, chain_text: bytes, settings: TlsSettings, *, key_source: str, chain_source: str
) -> KeyEntry:
    certificates = _certificates(chain_text, chain_source)
    if not certificates:
        raise InvalidConfig(f"{chain_source} has no certificate (-----BEGIN CERTIFICATE-----)")
    block = _PRIVATE_KEY.search(key_text)
    if block is None:
        raise InvalidConfig(f"{key_source} has no private key (-----BEGIN PRIVATE KEY-----)")
    password = settings.key_password
    name = settings.name("key.password")
    encrypted = b"ENCRYPTED" in block[0]
    if encrypted and password is None:
        raise InvalidConfig(f"{key_source} has an encrypted private key: set {name}")
    try:
        # Where the key is not encrypted, a password is of no use but does no harm, as in Kafka.
        key = load_pem_private_key(block[0], password.encode() if encrypted and password is not None else None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        cause = f"the password in {name} is wrong, or it is damaged" if encrypted else "it is damaged"
        raise InvalidConfig(f"{key_source} has a private key that cannot be read: {cause}") from None
    return KeyEntry(key=key, certificates=certificates)


def _certificates(text: bytes, source: str) -> tuple[x509.Certificate, ...]:
    try:
        return tuple(x509.load_pem_x509_certificate(block) for block in _CERTIFICATE.findall(text))
    except ValueError:
        raise InvalidConfig(f"{source} has a certificate that cannot be read") from None


def _pkcs12(content: bytes, password: str | None, source: str, password_name: str) -> pkcs12.PKCS12KeyAndCertificates:
    try:
        return pkcs12.load_pkcs12(content, None if password is None else password.encode())
    except (ValueError, TypeError, UnsupportedAlgorithm):
        cause = "is missing" if password is None else "is wrong"
        raise InvalidConfig(f"{source} cannot be read: {password_name} {cause}, or the file is damaged") from None


def _pkcs12_entry(content: bytes, settings: TlsSettings) -> KeyEntry:
    source = f"{settings.name('keystore.location')}={settings.keystore_location}"
    store = _pkcs12(content, settings.keystore_password, source, settings.name("keystore.password"))
    if store.key is None or store.cert is None:
        raise InvalidConfig(f"{source} has no private key with its certificate")
    chain = [store.cert.certificate]
    others = [each.certificate for each in store.additional_certs]
    # The file has them in any order. Each is followed by that of its issuer.
    while issuers := [each for each in others if each.subject == chain[-1].issuer]:
        chain.append(issuers[0])
        others.remove(issuers[0])
    return KeyEntry(key=store.key, certificates=tuple(chain))
