"""The settings of TLS, from the configuration of a node: for its listeners, and for its connections to other nodes."""

from __future__ import annotations

from dataclasses import replace

from tidelog.config.broker import BrokerConfig
from tidelog.config.definitions import ConfigValue, format_value
from tidelog.config.listener_properties import listener_prefix
from tidelog.config.listeners import Listener, SecurityProtocol
from tidelog.network.tls_settings import ClientAuthentication, TlsSettings


def tls_settings(config: BrokerConfig) -> TlsSettings:
    """`config` is that of a listener: `BrokerConfig.of_listener`. Raises InvalidConfig."""
    values: dict[str, ConfigValue] = {
        "ssl.keystore.type": config.ssl_keystore_type,
        "ssl.keystore.location": config.ssl_keystore_location,
        "ssl.keystore.password": config.ssl_keystore_password,
        "ssl.key.password": config.ssl_key_password,
        "ssl.keystore.key": config.ssl_keystore_key,
        "ssl.keystore.certificate.chain": config.ssl_keystore_certificate_chain,
        "ssl.truststore.type": config.ssl_truststore_type,
        "ssl.truststore.location": config.ssl_truststore_location,
        "ssl.truststore.password": config.ssl_truststore_password,
        "ssl.truststore.certificates": config.ssl_truststore_certificates,
        "ssl.enabled.protocols": config.ssl_enabled_protocols,
        "ssl.cipher.suites": config.ssl_cipher_suites,
        "ssl.client.auth": config.ssl_client_auth,
        "ssl.endpoint.identification.algorithm": config.ssl_endpoint_identification_algorithm,
    }
    given = {name: str(format_value(value)) for name, value in values.items() if value is not None}
    return TlsSettings.from_properties(given)


def listener_tls(config: BrokerConfig, listener: Listener) -> TlsSettings:
    """For whoever connects to this listener. Raises InvalidConfig.

    With SASL, clients need certificates only if that is set for the very listener (KIP-684): elsewhere it may be meant
    for listeners without SASL.
    """
    settings = tls_settings(config.of_listener(listener.name))
    texts = (config.layers.static, config.layers.cluster, config.layers.broker)
    name = f"{listener_prefix(listener.name)}ssl.client.auth"
    if listener.protocol is SecurityProtocol.SASL_SSL and not any(name in each for each in texts):
        return replace(settings, client_auth=ClientAuthentication.NONE)
    return settings
