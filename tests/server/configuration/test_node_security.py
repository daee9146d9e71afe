"""How nodes connect to each other: which listener's properties count, and what is refused before a node runs."""

from __future__ import annotations

import re

import pytest

from tidelog.config.broker import BrokerConfig
from tidelog.config.definitions import InvalidConfig
from tidelog.config.listeners import SecurityProtocol
from tidelog.security.client_login import PasswordLogin
from tidelog.server.configuration.node_security import (
    check_node_security,
    controller_security,
    inter_broker_security,
    unsecured,
)

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
SECURED = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "listeners": "IN://127.0.0.1:9092,OUT://127.0.0.1:9094,CONTROLLER://127.0.0.1:9093",
    "listener.security.protocol.map": "IN:SASL_SSL,OUT:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    "inter.broker.listener.name": "IN",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@127.0.0.1:9093,2@127.0.0.1:9095",
    "sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
    "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.in.scram-sha-512.sasl.jaas.config": f'{SCRAM} username="node" password="planted-secret";',
    "listener.name.controller.plain.sasl.jaas.config": f'{PLAIN} username="peer" password="planted-secret" user_x="y";',
}


def config(**changes: str) -> BrokerConfig:
    return BrokerConfig.from_properties({**SECURED, **changes})


def test_each_direction_has_the_login_of_its_listener() -> None:
    current = config()
    to_brokers, to_controllers = inter_broker_security(lambda: current)(), controller_security(lambda: current)()
    assert to_brokers is not None
    assert to_controllers is not None
    assert to_brokers.protocol is SecurityProtocol.SASL_SSL
    assert to_brokers.tls is not None
    assert to_controllers.protocol is SecurityProtocol.SASL_PLAINTEXT
    assert to_controllers.tls is None
    assert isinstance(to_brokers.login, PasswordLogin)
    assert isinstance(to_controllers.login, PasswordLogin)
    assert (to_brokers.login.mechanism, to_brokers.login.user) == ("SCRAM-SHA-512", "node")
    assert (to_controllers.login.mechanism, to_controllers.login.user) == ("PLAIN", "peer")
    assert "planted-secret" not in repr((to_brokers, to_controllers))
    check_node_security(current)


def test_it_is_made_again_when_the_configuration_changes() -> None:
    current = [config()]
    security = inter_broker_security(lambda: current[0])
    first = security()
    assert security() is first
    current[0] = current[0].with_dynamic(broker={"listener.name.in.ssl.truststore.location": "/other"})
    assert security() is not first


def test_plain_text_needs_nothing() -> None:
    current = config(**{"inter.broker.listener.name": "OUT"})
    assert inter_broker_security(lambda: current)() is None
    assert unsecured() is None  # type: ignore[func-returns-value]


def test_a_broker_finds_the_protocol_of_controllers_in_the_map() -> None:
    """It has none of their listeners itself."""
    current = config(
        **{
            "process.roles": "broker",
            "node.id": "3",
            "listeners": "IN://127.0.0.1:9092,OUT://127.0.0.1:9094",
        }
    )
    security = controller_security(lambda: current)()
    assert security is not None
    assert security.protocol is SecurityProtocol.SASL_PLAINTEXT


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sasl.mechanism.controller.protocol": "GSSAPI"}, "GSSAPI is not enabled on the listener CONTROLLER"),
        (
            {"listener.name.controller.plain.sasl.jaas.config": f'{PLAIN} user_x="planted-secret";'},
            "sasl.mechanism.controller.protocol=PLAIN and listener.name.controller.plain.sasl.jaas.config, with which "
            "nodes log in to each other: PLAIN needs a user name and a password",
        ),
        (
            {"listener.name.in.scram-sha-512.sasl.jaas.config": f"{SCRAM};"},
            "sasl.mechanism.inter.broker.protocol=SCRAM-SHA-512 and listener.name.in.scram-sha-512.sasl.jaas.config",
        ),
    ],
)
def test_what_cannot_work_is_refused_before_a_node_runs(changes: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidConfig, match=re.escape(said)) as refused:
        check_node_security(config(**changes))
    assert "planted-secret" not in str(refused.value)


def test_a_node_that_is_alone_needs_no_login() -> None:
    without_login = {"listener.name.controller.plain.sasl.jaas.config": f'{PLAIN} user_x="planted-secret";'}
    check_node_security(config(**without_login, **{"controller.quorum.voters": "1@127.0.0.1:9093"}))
