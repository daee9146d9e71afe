"""Who a node is, where it listens, and which quorum it belongs to.

These properties have a syntax of their own or depend on each other. `tidelog.config.node` turns them into the parsed
fields of BrokerConfig, so they are plain definitions and not fields.
"""

from __future__ import annotations

from tidelog.config.definitions import (
    NOT_NEGATIVE,
    ConfigDefinition,
    ConfigType,
    ConfigValue,
    Constraint,
    NotEmpty,
    OneOf,
    by_name,
)

_INT, _STRING, _LIST = ConfigType.INT, ConfigType.STRING, ConfigType.LIST
_ROLES = OneOf(("broker", "controller"), may_be_empty=False)
_PROTOCOLS = OneOf(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"))
_DEFAULT_PROTOCOL_MAP = "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"

_ROWS: tuple[tuple[str, ConfigType, ConfigValue, Constraint | None, str], ...] = (
    ("node.id", _INT, None, NOT_NEGATIVE, "The number of this node; no other node of the cluster may have it."),
    ("broker.id", _INT, -1, None, "The older name of node.id; if both are set they must be equal."),
    (
        "process.roles",
        _LIST,
        ("broker", "controller"),
        _ROLES,
        "What this process does: a broker serves clients, a controller keeps the cluster's metadata.",
    ),
    (
        "listeners",
        _LIST,
        ("PLAINTEXT://:9092",),
        NotEmpty(),
        "The addresses to listen on, as NAME://host:port; without a host, on all interfaces.",
    ),
    (
        "advertised.listeners",
        _LIST,
        None,
        NotEmpty(),
        "The addresses that clients connect to, where they differ from listeners.",
    ),
    (
        "listener.security.protocol.map",
        _STRING,
        _DEFAULT_PROTOCOL_MAP,
        None,
        "The security protocol of each listener, as NAME:PROTOCOL pairs.",
    ),
    (
        "inter.broker.listener.name",
        _STRING,
        None,
        None,
        "The listener that brokers use among themselves; by default the only one, or the one named PLAINTEXT.",
    ),
    (
        "security.inter.broker.protocol",
        _STRING,
        "PLAINTEXT",
        _PROTOCOLS,
        "The protocol that brokers use among themselves if inter.broker.listener.name is not set.",
    ),
    (
        "controller.listener.names",
        _LIST,
        (),
        None,
        "The listeners of the controller; brokers connect to the first of them.",
    ),
    ("controller.quorum.voters", _LIST, (), None, "The fixed voters of the metadata quorum, as id@host:port."),
    (
        "controller.quorum.bootstrap.servers",
        _LIST,
        (),
        None,
        "This controller's own host:port, if it is the only one; larger quorums need controller.quorum.voters.",
    ),
    ("broker.rack", _STRING, None, None, "The rack or zone of this broker; replicas are spread over racks."),
    ("log.dir", _LIST, ("/tmp/kafka-logs",), NotEmpty(), "The directory for data if log.dirs is not set."),
    ("log.dirs", _LIST, None, NotEmpty(), "The directories for data; partitions are spread over them."),
    (
        "metadata.log.dir",
        _STRING,
        None,
        NotEmpty(),
        "The directory of the cluster metadata log; by default the first of log.dirs.",
    ),
)

NODE_DEFINITIONS = by_name(
    ConfigDefinition(
        name=name, type=kind, default=default, allowed=allowed, documentation=text, required=name == "node.id"
    )
    for name, kind, default, allowed, text in _ROWS
)
