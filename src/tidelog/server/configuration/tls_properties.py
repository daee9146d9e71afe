"""The settings of TLS, from the configuration of a node: for its listeners, and for its connections to other nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidelog.config.alteration import ConfigChange, plan_incremental
from tidelog.config.broker import BROKER_DEFINITIONS, BrokerConfig
from tidelog.config.definitions import ConfigValue, InvalidConfig, format_value
from tidelog.config.listener_properties import listener_prefix, split_listener_property
from tidelog.config.listeners import Listener, SecurityProtocol
from tidelog.network.tls import server_context
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


def concerns_tls(name: str) -> bool:
    """Whether a property is one of a listener's TLS."""
    split = split_listener_property(name)
    return split is not None and split.name.startswith("ssl.")


def altered_tls_problems(config: BrokerConfig, changes: Sequence[ConfigChange]) -> list[str]:
    """Why listeners of this node could not use its properties after these changes. For a thread: it reads the files."""
    try:
        planned = plan_incremental(BROKER_DEFINITIONS, config.layers.broker, changes, "brokers")
        altered = config.with_dynamic(cluster=config.layers.cluster, broker=planned)
        for listener in altered.listeners:
            prefix = listener_prefix(listener.name)
            if listener.protocol.uses_tls and any(change.name.startswith(prefix) for change in changes):
                server_context(listener_tls(altered, listener))
    except InvalidConfig as error:
        return list(error.problems)
    return []
