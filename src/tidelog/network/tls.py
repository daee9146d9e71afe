"""TLS contexts, from the properties `ssl.*` that Kafka's brokers and clients have.

What is in key stores and trust stores is read in `key_stores`. Who may connect, and which principal a certificate
stands for, is not decided here. A context is never changed: new certificates are a new context, for new connections.

OpenSSL does what Java's TLS does, with these differences: TLS 1.0 and 1.1 cannot be enabled, cipher suites of TLS 1.3
cannot be chosen one by one before Python 3.15, and where a trust store is not given, a client trusts what the operating
system trusts. A server that asks for certificates must have a trust store.
"""

from __future__ import annotations

import os
import secrets
import ssl
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING

from tidelog.config.definitions import InvalidConfig
from tidelog.network.tls_settings import ClientAuthentication, TlsSettings

if TYPE_CHECKING:
    from tidelog.network.key_stores import KeyEntry

__all__ = ["ClientAuthentication", "TlsSettings", "client_context", "openssl_suite", "server_context"]

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_TLS_1_3_SUITES = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})


_VERIFY_MODES = {
    ClientAuthentication.NONE: ssl.CERT_NONE,
    ClientAuthentication.REQUESTED: ssl.CERT_OPTIONAL,
    ClientAuthentication.REQUIRED: ssl.CERT_REQUIRED,
}


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """Reads the stores. Raises InvalidConfig."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _limit(context, settings)
    if settings.keystore_location is None and settings.keystore_key is None:
        raise InvalidConfig(
            f"{settings.name('keystore.location')} is missing: a listener with TLS needs a certificate and its key; "
            "set it to a PKCS12 or PEM file"
        )
    _load_identity(context, settings)
    context.verify_mode = _VERIFY_MODES[settings.client_auth]
    if settings.client_auth is not ClientAuthentication.NONE and not _load_trust(context, settings):
        raise InvalidConfig(
            f"{settings.name('client.auth')}={settings.client_auth.value} needs "
            f"{settings.name('truststore.location')} or {settings.name('truststore.certificates')}: certificates of "
            "clients are checked with the certificates in it"
        )
    return context


def client_context(settings: TlsSettings) -> ssl.SSLContext:
    """Reads the stores. Raises InvalidConfig. Whoever connects with it passes the host's name as `server_hostname`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.checks_host_names
    _limit(context, settings)
    if settings.keystore_location is not None or settings.keystore_key is not None:
        _load_identity(context, settings)
    if not _load_trust(context, settings):
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    return context


def _limit(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Versions and cipher suites, and nothing that lets a peer make the other side work twice."""
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    versions = [_VERSIONS[each] for each in settings.enabled_protocols]
    if settings.cipher_suites:
        versions = _limit_suites(context, settings, versions)
    context.minimum_version, context.maximum_version = min(versions), max(versions)


def _limit_suites(
    context: ssl.SSLContext, settings: TlsSettings, versions: list[ssl.TLSVersion]
) -> list[ssl.TLSVersion]:
    """The versions for which there is a suite. Names are those of the standards, as in Java, or OpenSSL's."""
    shown = f"{settings.name('cipher.suites')}={','.join(settings.cipher_suites)}"
    newer = [each for each in settings.cipher_suites if each in _TLS_1_3_SUITES]
    older = [openssl_suite(each) for each in settings.cipher_suites if each not in _TLS_1_3_SUITES]
    if not newer:
        versions = [each for each in versions if each is not ssl.TLSVersion.TLSv1_3]
    elif set(newer) != _TLS_1_3_SUITES and ssl.TLSVersion.TLSv1_3 in versions:
        choose: Callable[[str], None] | None = getattr(context, "set_ciphersuites", None)
        if choose is None:
            missing = ", ".join(sorted(_TLS_1_3_SUITES.difference(newer)))
            raise InvalidConfig(
                f"{shown}: this Python cannot choose among the cipher suites of TLS 1.3; add {missing}, or leave all "
                "of TLS 1.3 out"
            )
        choose(":".join(newer))
    if not older:
        versions = [each for each in versions if each is not ssl.TLSVersion.TLSv1_2]
    elif ssl.TLSVersion.TLSv1_2 in versions:
        for suite in older:
            try:
                context.set_ciphers(suite)
            except ssl.SSLError:
                raise InvalidConfig(f"{shown}: OpenSSL has no cipher suite {suite}") from None
        context.set_ciphers(":".join(older))
    if not versions:
        enabled = ",".join(settings.enabled_protocols)
        raise InvalidConfig(f"{shown} has no suite for {settings.name('enabled.protocols')}={enabled}")
    return versions


def openssl_suite(name: str) -> str:
    """OpenSSL's name of a cipher suite of TLS 1.2: TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 is
    ECDHE-RSA-AES128-GCM-SHA256. A name without TLS_ is OpenSSL's already.
    """
    if not name.startswith("TLS_"):
        return name
    exchange, _, cipher = name.removeprefix("TLS_").partition("_WITH_")
    cipher = cipher.replace("AES_", "AES").replace("_CBC", "").replace("POLY1305_SHA256", "POLY1305")
    # An exchange by RSA alone has no name of its own there.
    exchange = "" if exchange == "RSA" else f"{exchange}-"
    return f"{exchange}{cipher}".replace("_", "-")


def _load_identity(context: ssl.SSLContext, settings: TlsSettings) -> None:
    # Not at the top: it takes long to import, and most processes have no use for it.
    from tidelog.network import key_stores

    entry = key_stores.key_entry(settings)
    try:
        _use(context, entry)
    except ssl.SSLError as error:
        source = settings.name("keystore.key" if settings.keystore_location is None else "keystore.location")
        if error.reason == "KEY_VALUES_MISMATCH":
            raise InvalidConfig(f"{source}: the private key does not belong to the first certificate") from None
        raise InvalidConfig(f"{source}: OpenSSL refuses the certificate or its key: {error.reason}") from None


def _use(context: ssl.SSLContext, entry: KeyEntry) -> None:
    """OpenSSL takes keys from files only. The key is in one for a moment, encrypted with a password that is nowhere
    else, so that nothing is left in the clear even if the process is killed meanwhile.
    """
    password = secrets.token_hex(32).encode()
    with tempfile.TemporaryDirectory(prefix="tidelog-key-") as directory:
        path = os.path.join(directory, "identity.pem")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(entry.as_pem(password))
        context.load_cert_chain(path, password=password)


def _load_trust(context: ssl.SSLContext, settings: TlsSettings) -> bool:
    """False if no trust store is given."""
    if settings.truststore_location is None and settings.truststore_certificates is None:
        return False
    from tidelog.network import key_stores

    context.load_verify_locations(cadata=key_stores.trusted_certificates(settings))
    return True
