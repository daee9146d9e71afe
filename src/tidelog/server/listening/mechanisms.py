"""The SASL mechanisms of a listener, from its properties: where each finds its users, and how long sessions last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from tidelog.config.broker import BrokerConfig
from tidelog.config.catalogue.security import SIGNED_TOKEN_VALIDATORS, UNSECURED_TOKEN_VALIDATOR
from tidelog.config.definitions import InvalidConfig
from tidelog.config.listener_properties import listener_prefix
from tidelog.model.ports import Randomness
from tidelog.security.exchange import SaslServerExchange
from tidelog.security.jaas import InvalidJaasConfig, login_options
from tidelog.security.jwt_tokens import JwtExpectations
from tidelog.security.oauthbearer import OAUTHBEARER, OAuthBearerServerExchange, TokenValidator
from tidelog.security.plain import PLAIN, PlainServerExchange, PlainUsers
from tidelog.security.sasl_session import EnabledMechanism
from tidelog.security.scram import (
    NONCE_BYTES,
    SCRAM_MECHANISMS,
    ScramMechanism,
    ScramServerExchange,
    scram_nonce,
)
from tidelog.security.unsecured_tokens import InvalidTokenOption, UnsecuredTokenValidator
from tidelog.server.listening.key_sets import KeySet, RemoteKeySet
from tidelog.server.listening.security_sources import Credentials


class ListenerMechanisms:
    """What `SaslSession` needs, and the key sets behind it, which somebody has to keep fetching."""

    def __init__(
        self, config: BrokerConfig, listener: str, *, credentials: Credentials, randomness: Randomness
    ) -> None:
        """Raises InvalidConfig."""
        self.key_sets: list[KeySet] = []
        self._credentials = credentials
        self._randomness = randomness
        self.enabled: Mapping[str, EnabledMechanism] = {
            mechanism: EnabledMechanism(
                start=self._exchange(config.of_listener(listener, mechanism), listener, mechanism),
                max_reauthentication_ms=config.of_listener(listener, mechanism).connections_max_reauth_ms,
            )
            for mechanism in config.of_listener(listener).sasl_enabled_mechanisms
        }

    def _exchange(self, config: BrokerConfig, listener: str, mechanism: str) -> Callable[[], SaslServerExchange]:
        options = _options(config, listener, mechanism)
        if mechanism in SCRAM_MECHANISMS:
            return partial(self._scram, SCRAM_MECHANISMS[mechanism])
        if mechanism == PLAIN:
            return partial(PlainServerExchange, users=PlainUsers.of_options(options))
        assert mechanism == OAUTHBEARER, mechanism
        return partial(OAuthBearerServerExchange, validator=self._validator(config, listener, options))

    def _scram(self, mechanism: ScramMechanism) -> ScramServerExchange:
        nonce = scram_nonce(self._randomness.random_bytes(NONCE_BYTES))
        return ScramServerExchange(
            mechanism=mechanism, nonce=nonce, find_credential=partial(self._credentials, mechanism)
        )

    def _validator(self, config: BrokerConfig, listener: str, options: Mapping[str, str]) -> TokenValidator:
        """Unsecured tokens are Kafka's default. A key set says that tokens are signed, whatever class is named."""
        url, handler = config.sasl_oauthbearer_jwks_endpoint_url, config.sasl_server_callback_handler_class
        if url is None:
            if handler in SIGNED_TOKEN_VALIDATORS:
                raise InvalidConfig(
                    f"sasl.oauthbearer.jwks.endpoint.url is missing: {handler} on the listener {listener} needs it"
                )
            try:
                return UnsecuredTokenValidator.of_options(options)
            except InvalidTokenOption as error:
                raise InvalidConfig(f"{_jaas_name(listener, OAUTHBEARER)}: {error}") from None
        if handler == UNSECURED_TOKEN_VALIDATOR:
            raise InvalidConfig(
                f"sasl.oauthbearer.jwks.endpoint.url is set, but the listener {listener} has {handler}, which checks "
                "no signatures; remove one of them"
            )
        expectations = JwtExpectations(
            audiences=frozenset(config.sasl_oauthbearer_expected_audience),
            issuer=config.sasl_oauthbearer_expected_issuer,
            clock_skew_seconds=config.sasl_oauthbearer_clock_skew_seconds,
            scope_claim_name=config.sasl_oauthbearer_scope_claim_name,
            sub_claim_name=config.sasl_oauthbearer_sub_claim_name,
        )
        remote = RemoteKeySet(
            url=url,
            refresh_ms=config.sasl_oauthbearer_jwks_endpoint_refresh_ms,
            retry_ms=config.sasl_oauthbearer_jwks_endpoint_retry_backoff_ms,
            retry_max_ms=config.sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms,
        )
        key_set = KeySet(remote, expectations)
        self.key_sets.append(key_set)
        return key_set


def _jaas_name(listener: str, mechanism: str) -> str:
    return f"{listener_prefix(listener, mechanism)}sasl.jaas.config"


def _options(config: BrokerConfig, listener: str, mechanism: str) -> Mapping[str, str]:
    """Of the login module. Only PLAIN cannot do without: its users are there."""
    name = _jaas_name(listener, mechanism)
    if config.sasl_jaas_config is None or not config.sasl_jaas_config.strip():
        if mechanism == PLAIN:
            raise InvalidConfig(
                f"{name} is missing: {PLAIN} has its users there, as in "
                'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="...";'
            )
        return {}
    try:
        return login_options(config.sasl_jaas_config, mechanism)
    except InvalidJaasConfig as error:
        raise InvalidConfig(f"{name}: {error}") from None
