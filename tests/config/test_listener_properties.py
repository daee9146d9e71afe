"""Properties of single listeners: which one wins, which names exist, and what is shown of them."""

from __future__ import annotations

import pytest

from tidelog.config.alteration import AlterOperation, ConfigChange
from tidelog.config.broker import BrokerConfig
from tidelog.config.definitions import ConfigSource, ConfigType, InvalidConfig
from tidelog.config.describe import describe_broker
from tidelog.config.listener_properties import ListenerProperty, split_listener_property

BASE = {
    "node.id": "1",
    "listeners": "CLIENTS://:9092,INTERNAL://:9093",
    "listener.security.protocol.map": "CLIENTS:SASL_SSL,INTERNAL:SSL",
    "inter.broker.listener.name": "INTERNAL",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
}


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("listener.name.clients.ssl.client.auth", ListenerProperty("clients", "ssl.client.auth")),
        ("listener.name.clients.plain.sasl.jaas.config", ListenerProperty("clients", "sasl.jaas.config")),
        (
            "listener.name.clients.scram-sha-512.connections.max.reauth.ms",
            ListenerProperty("clients", "connections.max.reauth.ms"),
        ),
        ("listener.name.clients.plain.ssl.client.auth", None),
        ("listener.name.clients.gssapi.sasl.jaas.config", None),
        ("listener.name.clients.num.partitions", None),
        ("listener.name.", None),
        ("ssl.client.auth", None),
    ],
)
def test_names_are_split_into_listener_and_property(name: str, split: ListenerProperty | None) -> None:
    assert split_listener_property(name) == split


def test_the_most_specific_value_wins() -> None:
    name = "connections.max.reauth.ms"
    config = BrokerConfig.from_properties(
        {
            **BASE,
            name: "1",
            f"listener.name.clients.{name}": "2",
            f"listener.name.clients.plain.{name}": "3",
            "ssl.client.auth": "required",
            "listener.name.clients.ssl.client.auth": "none",
        }
    )
    assert config.of_listener("INTERNAL", "PLAIN").connections_max_reauth_ms == 1
    assert config.of_listener("CLIENTS").connections_max_reauth_ms == 2
    assert config.of_listener("CLIENTS", "SCRAM-SHA-512").connections_max_reauth_ms == 2
    assert config.of_listener("CLIENTS", "PLAIN").connections_max_reauth_ms == 3
    assert config.of_listener("CLIENTS").ssl_client_auth == "none"
    assert config.of_listener("INTERNAL").ssl_client_auth == config.ssl_client_auth == "required"


def test_dynamic_values_win_over_those_of_the_file() -> None:
    name = "listener.name.clients.ssl.keystore.location"
    config = BrokerConfig.from_properties({**BASE, name: "/file"})
    altered = config.with_dynamic(cluster={name: "/cluster"})
    assert altered.of_listener("CLIENTS").ssl_keystore_location == "/cluster"
    assert altered.with_dynamic(broker={name: "/own"}).of_listener("CLIENTS").ssl_keystore_location == "/own"
    assert config.of_listener("CLIENTS").ssl_keystore_location == "/file"
    # Without a prefix it is not dynamic.
    assert config.with_dynamic(broker={"ssl.keystore.location": "/own"}).ssl_keystore_location is None


def test_what_is_shown_of_them_has_no_secret() -> None:
    jaas = "listener.name.clients.plain.sasl.jaas.config"
    location = "listener.name.clients.ssl.keystore.location"
    config = BrokerConfig.from_properties(
        {**BASE, jaas: "x required user_a=b;", location: "/a", "sasl.jaas.config": "y"}
    )
    shown = {each.name: each for each in describe_broker(config.with_dynamic(broker={location: "/b"}))}
    assert (shown[jaas].value, shown[jaas].sensitive, shown[jaas].type) == (None, True, ConfigType.PASSWORD)
    assert [each.value for each in shown[jaas].synonyms] == [None, None]
    assert (shown[location].value, shown[location].source) == ("/b", ConfigSource.DYNAMIC_BROKER_CONFIG)
    assert [(each.name, each.value) for each in shown[location].synonyms] == [(location, "/b"), (location, "/a")]
    assert not shown[location].read_only
    assert not shown["ssl.keystore.location"].read_only
    assert shown["sasl.jaas.config"].value is None


def test_no_repr_of_a_configuration_has_a_secret() -> None:
    secret = "s3cret-of-the-broker"
    name = "listener.name.clients.ssl.keystore.password"
    config = BrokerConfig.from_properties({**BASE, name: secret, "ssl.keystore.key": secret})
    altered = config.with_dynamic(broker={name: secret})
    values = list(altered.layers.values_of((name,)))
    change = ConfigChange(name=name, operation=AlterOperation.SET, text=secret)
    assert len(values) == 2
    assert secret not in repr((altered, altered.layers, altered.of_listener("CLIENTS"), values, change))
    with pytest.raises(InvalidConfig) as raised:
        BrokerConfig.from_properties(
            {**BASE, name: secret, "node.id": secret, "listener.name.x.ssl.key.password": secret}
        )
    assert "node.id must be a whole number" in str(raised.value)
    assert str(raised.value).count(secret) == 1
