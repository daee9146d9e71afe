"""Who a node is, where it listens, and which quorum it belongs to.

These properties have a syntax of their own or depend on each other. `tidelog.config.broker` turns them into the
parsed fields of BrokerConfig, so they are plain definitions and not fields.
"""

from __future__ import annotations

from tidelog.config.definitions import (
    Between,
    ConfigDefinition,
    ConfigType,
    Importance,
    NotEmpty,
    OneOf,
    by_name,
)

DEFAULT_PROTOCOL_MAP = "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"

NODE_DEFINITIONS = by_name(
    (
        ConfigDefinition(
            name="node.id",
            type=ConfigType.INT,
            default=None,
            allowed=Between(0),
            importance=Importance.HIGH,
            required=True,
            documentation="The number of this node, different from that of every other node of the cluster.",
        ),
        ConfigDefinition(
            name="broker.id",
            type=ConfigType.INT,
            default=-1,
            importance=Importance.HIGH,
            documentation="The older name of node.id; if both are given they must be equal.",
        ),
        ConfigDefinition(
            name="process.roles",
            type=ConfigType.LIST,
            default=("broker", "controller"),
            allowed=OneOf(("broker", "controller"), may_be_empty=False),
            importance=Importance.HIGH,
            documentation="What this process does: broker serves clients, controller keeps the cluster's metadata.",
        ),
        ConfigDefinition(
            name="listeners",
            type=ConfigType.LIST,
            default=("PLAINTEXT://:9092",),
            allowed=NotEmpty(),
            importance=Importance.HIGH,
            documentation="The addresses to listen on, as NAME://host:port; without a host, on all interfaces.",
        ),
        ConfigDefinition(
            name="advertised.listeners",
            type=ConfigType.LIST,
            default=None,
            allowed=NotEmpty(),
            importance=Importance.HIGH,
            documentation="The addresses that clients are told to connect to, where they differ from listeners.",
        ),
        ConfigDefinition(
            name="listener.security.protocol.map",
            type=ConfigType.STRING,
            default=DEFAULT_PROTOCOL_MAP,
            importance=Importance.LOW,
            documentation="Which security protocol each listener name speaks, as NAME:PROTOCOL pairs.",
        ),
        ConfigDefinition(
            name="inter.broker.listener.name",
            type=ConfigType.STRING,
            default=None,
            documentation="The listener that brokers use among themselves; by default the one named PLAINTEXT.",
        ),
        ConfigDefinition(
            name="security.inter.broker.protocol",
            type=ConfigType.STRING,
            default="PLAINTEXT",
            allowed=OneOf(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")),
            documentation="The protocol brokers use among themselves where inter.broker.listener.name is not set.",
        ),
        ConfigDefinition(
            name="controller.listener.names",
            type=ConfigType.LIST,
            default=(),
            importance=Importance.HIGH,
            documentation="The listeners that belong to the controller; brokers connect to the first of them.",
        ),
        ConfigDefinition(
            name="controller.quorum.voters",
            type=ConfigType.LIST,
            default=(),
            importance=Importance.HIGH,
            documentation="The fixed members of the metadata quorum, as id@host:port pairs.",
        ),
        ConfigDefinition(
            name="controller.quorum.bootstrap.servers",
            type=ConfigType.LIST,
            default=(),
            importance=Importance.HIGH,
            documentation="Addresses, as host:port pairs, under which the metadata quorum can be found.",
        ),
        ConfigDefinition(
            name="broker.rack",
            type=ConfigType.STRING,
            default=None,
            documentation="The rack or zone of this broker; replicas are spread over racks.",
        ),
        ConfigDefinition(
            name="log.dir",
            type=ConfigType.LIST,
            default=("/tmp/kafka-logs",),
            allowed=NotEmpty(),
            importance=Importance.HIGH,
            documentation="The directory for data where log.dirs is not set.",
        ),
        ConfigDefinition(
            name="log.dirs",
            type=ConfigType.LIST,
            default=None,
            allowed=NotEmpty(),
            importance=Importance.HIGH,
            documentation="The directories for data; partitions are spread over them.",
        ),
        ConfigDefinition(
            name="metadata.log.dir",
            type=ConfigType.STRING,
            default=None,
            allowed=NotEmpty(),
            importance=Importance.HIGH,
            documentation="The directory of the cluster metadata log; by default the first of log.dirs.",
        ),
    )
)
