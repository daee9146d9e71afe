"""Who may connect, and how it is proved: TLS, SASL and its mechanisms.

All of these can be set for one listener (`listener.name.<name>.<property>`), and some for one mechanism on it
(`listener.name.<name>.<mechanism>.<property>`): see `tidelog.config.listener_properties`. The defaults are Kafka's,
also where they name what tidelog does not have: a SASL listener must name its mechanisms.
"""

from __future__ import annotations

from tidelog.config.definitions import NOT_NEGATIVE, POSITIVE, Between, BuiltIn, OneOf, UpdateMode
from tidelog.config.fields import integer, java_class, long, password, section, string, words

_PACKAGE = "org.apache.kafka.common.security"
SIGNED_TOKEN_VALIDATORS = (
    f"{_PACKAGE}.oauthbearer.OAuthBearerValidatorCallbackHandler",
    f"{_PACKAGE}.oauthbearer.secured.OAuthBearerValidatorCallbackHandler",
)
UNSECURED_TOKEN_VALIDATOR = f"{_PACKAGE}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
_SERVER_CALLBACK_HANDLERS = (
    *SIGNED_TOKEN_VALIDATORS,
    UNSECURED_TOKEN_VALIDATOR,
    f"{_PACKAGE}.plain.internals.PlainServerCallbackHandler",
    f"{_PACKAGE}.scram.internals.ScramServerCallbackHandler",
)
_PRINCIPAL_BUILDER = f"{_PACKAGE}.authenticator.DefaultKafkaPrincipalBuilder"
_ENGINE_FACTORY = f"{_PACKAGE}.ssl.DefaultSslEngineFactory"
_DEFAULT_VALIDATOR = f"{_PACKAGE}.oauthbearer.DefaultJwtValidator"
_BROKER_VALIDATOR = f"{_PACKAGE}.oauthbearer.BrokerJwtValidator"

_TLS_VERSIONS = ("TLSv1.2", "TLSv1.3")
_STORE_TYPES = OneOf(("JKS", "PKCS12", "PEM"))
# While a broker runs, they can be changed for a listener, and new connections use the new ones.
_PER_LISTENER = UpdateMode.PER_LISTENER


@section
class SecuritySection:
    ssl_keystore_type: str = string(
        "JKS", "The format of the key store: PKCS12 or PEM. JKS reads PKCS12, too.", _STORE_TYPES, _PER_LISTENER
    )
    ssl_keystore_location: str | None = string(
        None, "The file with the private key and the certificates of this node.", None, _PER_LISTENER
    )
    ssl_keystore_password: str | None = password(None, "The password of the key store.", None, _PER_LISTENER)
    ssl_key_password: str | None = password(None, "The password of the private key in PEM.", None, _PER_LISTENER)
    ssl_keystore_key: str | None = password(None, "The private key itself, as PEM.", None, _PER_LISTENER)
    ssl_keystore_certificate_chain: str | None = password(
        None, "The certificates that belong to ssl.keystore.key, as PEM.", None, _PER_LISTENER
    )
    ssl_truststore_type: str = string(
        "JKS", "The format of the trust store: PKCS12 or PEM. JKS reads PKCS12, too.", _STORE_TYPES, _PER_LISTENER
    )
    ssl_truststore_location: str | None = string(
        None, "The file with the certificates that are trusted.", None, _PER_LISTENER
    )
    ssl_truststore_password: str | None = password(None, "The password of the trust store.", None, _PER_LISTENER)
    ssl_truststore_certificates: str | None = password(
        None, "The certificates that are trusted, themselves, as PEM.", None, _PER_LISTENER
    )
    ssl_enabled_protocols: tuple[str, ...] = words(
        ("TLSv1.2", "TLSv1.3"),
        "The versions of TLS that are spoken.",
        OneOf(("TLSv1.2", "TLSv1.3"), may_be_empty=False),
    )
    ssl_cipher_suites: tuple[str, ...] = words((), "The cipher suites that are used; by default those of OpenSSL.")
    ssl_client_auth: str = string(
        "none", "Whether clients must have a certificate.", OneOf(("none", "requested", "required"))
    )
    ssl_endpoint_identification_algorithm: str = string(
        "https",
        "Whether a node compares the name of another one with its certificate; empty if not.",
        OneOf(("https", "")),
    )
    ssl_principal_mapping_rules: str = string(
        "DEFAULT", "How the name of a principal follows from the subject of its certificate."
    )
    ssl_engine_factory_class: str | None = java_class(
        None, "What encrypts: OpenSSL, in the place of Kafka's own class.", BuiltIn((_ENGINE_FACTORY,), fixed=True)
    )
    sasl_enabled_mechanisms: tuple[str, ...] = words(
        ("GSSAPI",), "The mechanisms of SASL: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and OAUTHBEARER."
    )
    sasl_mechanism_inter_broker_protocol: str = string(
        "GSSAPI", "The mechanism with which brokers log in to each other."
    )
    sasl_mechanism_controller_protocol: str = string("GSSAPI", "The mechanism with which nodes log in to controllers.")
    sasl_jaas_config: str | None = password(
        None,
        "Users and options of a mechanism: listener.name.<name>.<mechanism>.sasl.jaas.config.",
        None,
        _PER_LISTENER,
    )
    sasl_server_callback_handler_class: str | None = java_class(
        None, "What checks credentials: Kafka's own classes can be named.", BuiltIn(_SERVER_CALLBACK_HANDLERS)
    )
    sasl_server_max_receive_size: int = integer(
        524_288, "The largest request before a client is authenticated; never more than 64 KiB.", POSITIVE
    )
    connections_max_reauth_ms: int = long(
        0, "After how long a client must authenticate again; 0 only when its credentials end.", NOT_NEGATIVE
    )
    connection_failed_authentication_delay_ms: int = integer(
        100, "How long a failed authentication waits for its reply.", Between(0)
    )
    sasl_oauthbearer_jwks_endpoint_url: str | None = string(
        None, "The key set that checks signed tokens, as an https, http or file address."
    )
    sasl_oauthbearer_jwks_endpoint_refresh_ms: int = long(
        3_600_000, "How often the key set is fetched again.", Between(1)
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms: int = long(
        100, "How long to wait after a key set could not be fetched.", Between(1)
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms: int = long(
        10_000, "How long to wait at most after a key set could not be fetched.", Between(1)
    )
    sasl_oauthbearer_expected_audience: tuple[str, ...] = words((), "The audiences of which tokens must have one.")
    sasl_oauthbearer_expected_issuer: str | None = string(None, "The issuer that tokens must have.")
    sasl_oauthbearer_clock_skew_seconds: int = integer(
        30, "How far the clock of a token's issuer may be off.", NOT_NEGATIVE
    )
    sasl_oauthbearer_scope_claim_name: str = string("scope", "The claim that has a token's scopes.")
    sasl_oauthbearer_sub_claim_name: str = string("sub", "The claim that has the name of a token's principal.")
    sasl_oauthbearer_jwt_validator_class: str = java_class(
        _DEFAULT_VALIDATOR, "What checks signed tokens.", BuiltIn((_DEFAULT_VALIDATOR, _BROKER_VALIDATOR), fixed=True)
    )
    principal_builder_class: str = java_class(
        _PRINCIPAL_BUILDER, "What turns credentials into principals.", BuiltIn((_PRINCIPAL_BUILDER,), fixed=True)
    )
