"""The options of clients for TLS and SASL: Kafka's names, and what is made of them.

Beside those of the Java client there are some of librdkafka's, which are shorter to write. Passwords and tokens are
never kept in a configuration that can be shown, only in the `ClientSecurity` that is made of them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from tidelog.config.definitions import ConfigValue, InvalidConfig, OneOf, by_name
from tidelog.config.fields import boolean, definitions_of, password, section, string, words
from tidelog.config.listeners import SecurityProtocol
from tidelog.network.client_security import ClientSecurity, client_security
from tidelog.network.tls_settings import TLS_VERSIONS
from tidelog.network.tokens import TokenProvider
from tidelog.security.client_login import TOKEN_PROVIDER
from tidelog.security.jaas import LOGIN_MODULES

logger = logging.getLogger(__name__)

PROTOCOL = "security.protocol"


class _AnyCase(OneOf):
    """librdkafka's files have it in lower case, and Java takes it."""

    def allows(self, value: ConfigValue) -> bool:
        return isinstance(value, str) and super().allows(value.upper())


@section
class SecurityOptions:
    """`ssl.*` count where `security.protocol` has TLS, `sasl.*` where it has SASL."""

    security_protocol: str = string(
        "PLAINTEXT",
        "Whether connections are encrypted (SSL, SASL_SSL), and whether the client logs in (SASL_*).",
        _AnyCase(tuple(SecurityProtocol.__members__)),
    )
    sasl_mechanism: str | None = string(None, f"How the client logs in: {', '.join(LOGIN_MODULES)}.")
    sasl_jaas_config: str | None = password(
        None, "User and password, or how tokens are obtained, as options of Kafka's login module for the mechanism."
    )
    sasl_username: str | None = string(None, "The user of PLAIN and SCRAM, instead of sasl.jaas.config.")
    sasl_password: str | None = password(None, "The password of PLAIN and SCRAM, instead of sasl.jaas.config.")
    sasl_oauth_token_provider: str | None = string(
        None,
        "Where tokens of OAUTHBEARER come from: a Python function, async or not, that returns a token and when it "
        "ends (seconds or milliseconds since 1970); or its name as module:function.",
    )
    sasl_login_callback_handler_class: str | None = string(
        None, "Kafka's OAuthBearerLoginCallbackHandler or OAuthBearerUnsecuredLoginCallbackHandler."
    )
    sasl_oauthbearer_token_endpoint_url: str | None = string(
        None, "Where tokens are obtained with the credentials of a client; file:// for a file that has one."
    )
    sasl_oauthbearer_client_credentials_client_id: str | None = string(
        None, "The client for the token endpoint, instead of clientId in sasl.jaas.config."
    )
    sasl_oauthbearer_client_credentials_client_secret: str | None = password(
        None, "Its secret, instead of clientSecret in sasl.jaas.config."
    )
    sasl_oauthbearer_scope: str | None = string(None, "The scope to ask for, instead of scope in sasl.jaas.config.")
    sasl_oauthbearer_header_urlencode: bool = boolean(
        False, "Whether id and secret are encoded as in a form before they are sent to the token endpoint."
    )
    ssl_truststore_location: str | None = string(
        None, "A PKCS12 or PEM file with the authorities that are trusted; without it, those of the operating system."
    )
    ssl_truststore_password: str | None = password(None, "The password of that file, if it is PKCS12.")
    ssl_truststore_type: str | None = string(None, "PKCS12 or PEM; without it, the file tells.")
    ssl_truststore_certificates: str | None = password(None, "Trusted authorities as PEM, instead of a file.")
    ssl_keystore_location: str | None = string(
        None, "A PKCS12 or PEM file with the client's certificate and its key, for brokers that ask for one."
    )
    ssl_keystore_password: str | None = password(None, "The password of that file, if it is PKCS12.")
    ssl_keystore_type: str | None = string(None, "PKCS12 or PEM; without it, the file tells.")
    ssl_keystore_key: str | None = password(None, "The client's key as PEM, instead of a file.")
    ssl_keystore_certificate_chain: str | None = password(None, "The client's certificate as PEM, instead of a file.")
    ssl_key_password: str | None = password(None, "The password of the client's key, if that is encrypted.")
    ssl_endpoint_identification_algorithm: str = string(
        "https", "https compares the broker's host name with its certificate. Empty: it is not compared."
    )
    ssl_enabled_protocols: tuple[str, ...] = words(TLS_VERSIONS, "The versions of TLS.")
    ssl_cipher_suites: tuple[str, ...] = words((), "Cipher suites, by their standard names; without it, OpenSSL's.")
    ssl_ca_location: str | None = string(None, "A PEM file with trusted authorities (librdkafka's name).")
    ssl_certificate_location: str | None = string(
        None, "A PEM file with the client's certificate (librdkafka's name), with ssl.key.location."
    )
    ssl_key_location: str | None = string(None, "A PEM file with the client's key (librdkafka's name).")


SECURITY_OPTIONS = by_name(definitions_of(SecurityOptions))

# Other names of the same options.
ALIASES: Mapping[str, str] = {"sasl.mechanisms": "sasl.mechanism"}

_NO_JAVA = "Java classes cannot be loaded"
# What someone relies on who sets it, and what is not there: to go on without it would be worse than to stop.
REFUSED: Mapping[str, str] = {
    "sasl.client.callback.handler.class": f"{_NO_JAVA}; use sasl_oauth_token_provider, or sasl.jaas.config",
    "sasl.login.class": f"{_NO_JAVA}; use sasl_oauth_token_provider, or sasl.jaas.config",
    "ssl.engine.factory.class": f"{_NO_JAVA}; use ssl.truststore.* and ssl.keystore.*",
}

_JAVA_TLS = "OpenSSL is used, not Java's TLS"
_KERBEROS = "GSSAPI (Kerberos) is not supported"
_TOKENS = "the next token is asked for when 80% of the time of the last one is over, and with each login that fails"
_ON_BROKERS = "brokers check tokens, not clients"
SECURITY_WITHOUT_EFFECT: Mapping[str, str] = {
    "sasl.kerberos.kinit.cmd": _KERBEROS,
    "sasl.kerberos.min.time.before.relogin": _KERBEROS,
    "sasl.kerberos.service.name": _KERBEROS,
    "sasl.kerberos.ticket.renew.jitter": _KERBEROS,
    "sasl.kerberos.ticket.renew.window.factor": _KERBEROS,
    "sasl.login.connect.timeout.ms": "a token endpoint has 10 seconds to answer",
    "sasl.login.read.timeout.ms": "a token endpoint has 10 seconds to answer",
    "sasl.login.refresh.buffer.seconds": _TOKENS,
    "sasl.login.refresh.min.period.seconds": _TOKENS,
    "sasl.login.refresh.window.factor": _TOKENS,
    "sasl.login.refresh.window.jitter": _TOKENS,
    "sasl.login.retry.backoff.max.ms": _TOKENS,
    "sasl.login.retry.backoff.ms": _TOKENS,
    "sasl.oauthbearer.clock.skew.seconds": _ON_BROKERS,
    "sasl.oauthbearer.expected.audience": _ON_BROKERS,
    "sasl.oauthbearer.expected.issuer": _ON_BROKERS,
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": _ON_BROKERS,
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": _ON_BROKERS,
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": _ON_BROKERS,
    "sasl.oauthbearer.jwks.endpoint.url": _ON_BROKERS,
    "sasl.oauthbearer.scope.claim.name": _ON_BROKERS,
    "sasl.oauthbearer.sub.claim.name": _ON_BROKERS,
    "ssl.keymanager.algorithm": _JAVA_TLS,
    "ssl.protocol": _JAVA_TLS,
    "ssl.provider": _JAVA_TLS,
    "ssl.secure.random.implementation": _JAVA_TLS,
    "ssl.trustmanager.algorithm": _JAVA_TLS,
}


def read_security(given: Mapping[str, str], token_provider: TokenProvider | None) -> ClientSecurity:
    """From the options that were given. Raises InvalidConfig, which shows no secret."""
    protocol = SecurityProtocol[given.get(PROTOCOL, "PLAINTEXT").strip().upper()]
    properties = {name: text for name, text in given.items() if name in SECURITY_OPTIONS and name != PROTOCOL}
    unused = [*properties, *([TOKEN_PROVIDER] if token_provider is not None else [])]
    unused = [name for name in unused if not _is_used(name, protocol)]
    if unused and PROTOCOL not in given:
        names, verb = ", ".join(sorted(unused)), "has" if len(unused) == 1 else "have"
        raise InvalidConfig(
            f"{names} {verb} no effect without {PROTOCOL}: set it to SASL_SSL to log in over TLS, to SSL for TLS "
            "alone, or to SASL_PLAINTEXT to log in without it"
        )
    for name in unused:
        logger.warning("%s has no effect with %s=%s", name, PROTOCOL, protocol.name)
    return client_security(protocol, _with_java_names(properties), token_provider=token_provider)


def _is_used(name: str, protocol: SecurityProtocol) -> bool:
    return protocol.uses_sasl if name.startswith("sasl.") else protocol.uses_tls


def _with_java_names(properties: dict[str, str]) -> dict[str, str]:
    """librdkafka's files in the properties of Java that stand for them."""
    authorities = properties.pop("ssl.ca.location", None)
    if authorities is not None:
        for name in ("ssl.truststore.location", "ssl.truststore.certificates"):
            if name in properties:
                raise InvalidConfig(f"ssl.ca.location and {name} are both set: set only one of them")
        properties |= {"ssl.truststore.location": authorities, "ssl.truststore.type": "PEM"}
    certificate, key = properties.pop("ssl.certificate.location", None), properties.pop("ssl.key.location", None)
    if certificate is None and key is None:
        return properties
    if certificate is None or key is None:
        raise InvalidConfig("ssl.certificate.location and ssl.key.location go together: set both")
    for name in ("ssl.keystore.location", "ssl.keystore.key"):
        if name in properties:
            raise InvalidConfig(f"ssl.certificate.location and {name} are both set: set only one of them")
    properties["ssl.keystore.certificate.chain"] = _content("ssl.certificate.location", certificate)
    properties["ssl.keystore.key"] = _content("ssl.key.location", key)
    return properties


def _content(name: str, location: str) -> str:
    try:
        return Path(location.strip()).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a PEM file"
        raise InvalidConfig(f"{name}={location} cannot be read: {reason}") from None
