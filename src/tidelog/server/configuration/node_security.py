"""How a node connects to other nodes: as a client of their listeners, with the properties that the listener has.

As in Kafka, the login of a node is in the same `sasl.jaas.config` as the users of the listener and mechanism:
`username` and `password` beside `user_<name>`. Its certificate is that of its own listener of this name.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.config.broker import BROKER_DEFINITIONS, BrokerConfig
from tidelog.config.definitions import InvalidConfig
from tidelog.config.listener_properties import listener_prefix
from tidelog.config.listeners import SecurityProtocol, parse_protocol_map
from tidelog.network.client_security import ClientSecurity, client_security
from tidelog.server.configuration.tls_properties import tls_settings

_MAP = "listener.security.protocol.map"

# What the next connection uses; None for plain text without a login. Raises InvalidConfig.
NodeSecurity = Callable[[], ClientSecurity | None]


def unsecured() -> None:
    """Connections in plain text, without a login."""


def inter_broker_security(config: Callable[[], BrokerConfig]) -> NodeSecurity:
    """Of connections to other brokers."""
    return _CurrentSecurity(config, _inter_broker)


def controller_security(config: Callable[[], BrokerConfig]) -> NodeSecurity:
    """Of connections to controllers."""
    return _CurrentSecurity(config, _controller)


def check_node_security(config: BrokerConfig) -> None:
    """Raises InvalidConfig if the node could not connect to others. One that is alone may never need to."""
    if "controller" in config.process_roles and len(config.controller_quorum_voters) <= 1:
        return
    _controller(config)
    if config.is_broker:
        _inter_broker(config)


class _CurrentSecurity:
    """Made again when the configuration has changed."""

    __slots__ = ("_config", "_made_of", "_read", "_security")

    def __init__(
        self, config: Callable[[], BrokerConfig], read: Callable[[BrokerConfig], ClientSecurity | None]
    ) -> None:
        self._config = config
        self._read = read
        self._made_of: BrokerConfig | None = None
        self._security: ClientSecurity | None = None

    def __call__(self) -> ClientSecurity | None:
        config = self._config()
        if config is not self._made_of:
            self._security = self._read(config)
            self._made_of = config
        return self._security


def _inter_broker(config: BrokerConfig) -> ClientSecurity | None:
    name = config.inter_broker_listener_name
    mechanism = config.sasl_mechanism_inter_broker_protocol
    return None if name is None else _read(config, name, mechanism, "sasl.mechanism.inter.broker.protocol")


def _controller(config: BrokerConfig) -> ClientSecurity | None:
    """The first listener counts, also if there are several."""
    names = config.controller_listener_names
    mechanism = config.sasl_mechanism_controller_protocol
    return _read(config, names[0], mechanism, "sasl.mechanism.controller.protocol") if names else None


def _read(config: BrokerConfig, listener: str, mechanism: str, mechanism_name: str) -> ClientSecurity | None:
    protocol = _protocol(config, listener)
    if protocol is SecurityProtocol.PLAINTEXT:
        return None
    own = config.of_listener(listener, mechanism)
    login = {"sasl.mechanism": mechanism}
    if own.sasl_jaas_config is not None:
        login["sasl.jaas.config"] = own.sasl_jaas_config
    try:
        return client_security(protocol, login, tls=tls_settings(own) if protocol.uses_tls else None)
    except InvalidConfig as error:
        prefix = listener_prefix(listener, mechanism)
        raise InvalidConfig(
            *(
                f"{mechanism_name}={mechanism} and {prefix}sasl.jaas.config, with which nodes log in to each other: "
                f"{problem}"
                for problem in error.problems
            )
        ) from None


def _protocol(config: BrokerConfig, listener: str) -> SecurityProtocol:
    """Of a listener that other nodes have, and perhaps not this one: a broker has none of the controllers'."""
    for each in (*config.advertised_listeners, *config.listeners):
        if each.name == listener:
            return each.protocol
    given = config.layers.static.get(_MAP)
    protocols = parse_protocol_map(_MAP, given if given is not None else str(BROKER_DEFINITIONS[_MAP].default))
    # As for controllers: the listeners of these need no entry in the map as long as nobody wrote one.
    return protocols.get(listener, SecurityProtocol.PLAINTEXT)
