"""Who a node is, where it listens, and which quorum it belongs to.

These properties have a syntax of their own or depend on each other. `tidelog.config.node` turns them into the parsed
fields of BrokerConfig, so BrokerConfig does not inherit these.
"""

from __future__ import annotations

import dataclasses

from tidelog.config.definitions import NOT_NEGATIVE, NotEmpty, OneOf, by_name
from tidelog.config.fields import definitions_of, integer, section, string, words

_DEFAULT_PROTOCOL_MAP = "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"


@section
class NodeSection:
    node_id: int | None = integer(
        None, "The number of this node; no other node of the cluster may have it.", NOT_NEGATIVE
    )
    broker_id: int = integer(-1, "The older name of node.id; if both are set they must be equal.")
    process_roles: tuple[str, ...] = words(
        ("broker", "controller"),
        "What this process does: a broker serves clients, a controller keeps the cluster's metadata.",
        OneOf(("broker", "controller"), may_be_empty=False),
    )
    listeners: tuple[str, ...] = words(
        ("PLAINTEXT://:9092",),
        "The addresses to listen on, as NAME://host:port; without a host, on all interfaces.",
        NotEmpty(),
    )
    advertised_listeners: tuple[str, ...] | None = words(
        None, "The addresses that clients connect to, where they differ from listeners.", NotEmpty()
    )
    listener_security_protocol_map: str = string(
        _DEFAULT_PROTOCOL_MAP, "The security protocol of each listener, as NAME:PROTOCOL pairs."
    )
    inter_broker_listener_name: str | None = string(
        None, "The listener that brokers use among themselves; by default the only one, or the one named PLAINTEXT."
    )
    security_inter_broker_protocol: str = string(
        "PLAINTEXT",
        "The protocol that brokers use among themselves if inter.broker.listener.name is not set.",
        OneOf(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")),
    )
    controller_listener_names: tuple[str, ...] = words(
        (), "The listeners of the controller; brokers connect to the first of them."
    )
    controller_quorum_voters: tuple[str, ...] = words((), "The fixed voters of the metadata quorum, as id@host:port.")
    controller_quorum_bootstrap_servers: tuple[str, ...] = words(
        (), "This controller's own host:port, if it is the only one; larger quorums need controller.quorum.voters."
    )
    broker_rack: str | None = string(None, "The rack or zone of this broker; replicas are spread over racks.")
    log_dir: tuple[str, ...] = words(("/tmp/kafka-logs",), "The directory for data if log.dirs is not set.", NotEmpty())
    log_dirs: tuple[str, ...] | None = words(
        None, "The directories for data; partitions are spread over them.", NotEmpty()
    )
    metadata_log_dir: str | None = string(
        None, "The directory of the cluster metadata log; by default the first of log.dirs.", NotEmpty()
    )


NODE_DEFINITIONS = by_name(
    dataclasses.replace(definition, required=definition.name == "node.id") for definition in definitions_of(NodeSection)
)
