"""Options for TLS and SASL: all names are used, none is ignored without a word, no secret is shown."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from tidelog.client.config import OptionValue, client_config, consumer_config, producer_config
from tidelog.client.security_options import SECURITY_OPTIONS
from tidelog.config.definitions import InvalidConfig
from tidelog.config.listeners import SecurityProtocol
from tidelog.security.certificates import DevelopmentAuthority

SERVERS = {"bootstrap.servers": "127.0.0.1:9092"}
PLAIN = {"sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": "planted-secret"}


def test_without_options_nothing_is_secured() -> None:
    security = client_config(SERVERS).security
    assert (security.protocol, security.tls, security.login) == (SecurityProtocol.PLAINTEXT, None, None)


@pytest.mark.parametrize("read", [client_config, producer_config, consumer_config])
def test_every_client_has_them_and_shows_no_secret(read: type) -> None:
    config = read({**SERVERS, "security_protocol": "sasl_ssl", **PLAIN})
    assert config.security.protocol is SecurityProtocol.SASL_SSL
    assert config.security.tls is not None
    assert "alice" in repr(config)
    assert "planted-secret" not in repr(config)


def test_names_of_librdkafka(tmp_path: Path) -> None:
    authority = DevelopmentAuthority.new()
    pair = authority.issue("client")
    for name, content in (("ca", authority.pair.certificate), ("certificate", pair.certificate), ("key", pair.key)):
        (tmp_path / f"{name}.pem").write_bytes(content)
    config = client_config(
        {
            **SERVERS,
            "security_protocol": "SASL_SSL",
            "sasl_mechanisms": "SCRAM-SHA-256",
            "sasl_username": "alice",
            "sasl_password": "planted-secret",
            "ssl_ca_location": str(tmp_path / "ca.pem"),
            "ssl_certificate_location": str(tmp_path / "certificate.pem"),
            "ssl_key_location": str(tmp_path / "key.pem"),
        }
    )
    assert config.security.tls is not None
    context = config.security.tls()
    assert len(context.get_ca_certs()) == 1


def test_a_token_provider_is_a_function() -> None:
    async def provider() -> tuple[str, int]:
        return "token", 0

    config = client_config(
        {
            **SERVERS,
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "OAUTHBEARER",
            "sasl_oauth_token_provider": provider,
        }
    )
    assert config.security.tokens is not None


SSL = {"security.protocol": "SSL"}
SASL_SSL = {"security.protocol": "SASL_SSL"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            PLAIN,
            "sasl.mechanism, sasl.password, sasl.username have no effect without security.protocol: set it to SASL",
        ),
        ({"ssl.ca.location": "x"}, "ssl.ca.location has no effect without security.protocol"),
        (SASL_SSL, "sasl.mechanism is missing"),
        ({**SASL_SSL, **PLAIN, "sasl.login.class": "x"}, "sasl.login.class is not supported: Java classes cannot be"),
        ({**SSL, "ssl.engine.factory.class": "x"}, "ssl.engine.factory.class is not supported"),
        (
            {**SSL, "ssl.ca.location": "a", "ssl.truststore.location": "b"},
            "ssl.ca.location and ssl.truststore.location",
        ),
        ({**SSL, "ssl.key.location": "a"}, "ssl.certificate.location and ssl.key.location go together"),
        ({**SSL, "ssl.key.location": "/nowhere", "ssl.certificate.location": "/nowhere"}, "/nowhere cannot be read"),
        ({**SSL, "ssl.truststore.type": "DER"}, "ssl.truststore.type must be PKCS12 or PEM"),
        ({**SSL, "ssl.enabled.protocols": "SSLv3"}, "SSLv3 cannot be enabled"),
        ({**SSL, "ssl.endpoint.identification.algorithm": "none"}, "must be https or empty"),
        ({**SSL, "ssl.truststore": "x"}, "ssl.truststore is not a property of clients; did you mean ssl.truststore."),
        ({"client.id": lambda: "x"}, "client.id cannot be a function"),
        (
            {**SASL_SSL, "sasl.mechanism": "OAUTHBEARER", "sasl.oauth.token.provider": "nowhere"},
            "sasl.oauth.token.provider=nowhere is not of the form module:function",
        ),
    ],
)
def test_what_cannot_work_is_refused(options: dict[str, OptionValue], said: str) -> None:
    with pytest.raises(InvalidConfig, match=re.escape(said)) as refused:
        client_config({**SERVERS, **options})
    assert "planted-secret" not in str(refused.value)


def test_what_has_no_effect_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        client_config({**SERVERS, **PLAIN, "security.protocol": "PLAINTEXT"})
    assert "sasl.password has no effect with security.protocol=PLAINTEXT" in caplog.text
    assert "planted-secret" not in caplog.text


def test_secrets_are_known_as_such() -> None:
    shown = {name for name, option in SECURITY_OPTIONS.items() if not option.sensitive}
    assert not [name for name in shown if re.search(r"password|secret|jaas|keystore\.key", name)]
