"""Reads the identity of a node: its roles, listeners, quorum and directories, and checks that they fit together."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tidelog.config.definitions import ConfigValue, InvalidConfig
from tidelog.config.listeners import (
    HostPort,
    Listener,
    SecurityProtocol,
    parse_addresses,
    parse_listeners,
    parse_protocol_map,
    parse_voters,
)
from tidelog.model.lazy_dataclasses import dataclass

_UNROUTABLE = frozenset({"0.0.0.0", "::"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listeners:
    """The listeners of a node before they are checked against its roles."""

    all: tuple[Listener, ...]
    advertised: tuple[Listener, ...]
    controller_names: tuple[str, ...]
    inter_broker_name: str | None


def parse_node(values: Mapping[str, ConfigValue], given: Collection[str]) -> dict[str, Any]:
    """The fields of BrokerConfig that describe the node; raises InvalidConfig that lists every problem.

    `values` holds all properties with their defaults, `given` the names of those that were set.
    """
    problems: list[str] = []
    node_id = _node_id(values, problems)
    listeners = _parse_all_listeners(values, given)
    roles = frozenset(_words(values["process.roles"]))
    voters = parse_voters("controller.quorum.voters", _words(values["controller.quorum.voters"]))
    servers = parse_addresses(
        "controller.quorum.bootstrap.servers", _words(values["controller.quorum.bootstrap.servers"])
    )
    voter_ids = {voter.id for voter in voters}
    has_quorum = bool(voters or servers)
    problems.extend(_role_problems(roles, node_id, voter_ids, has_quorum, listeners))
    if servers and not voters:
        problems.extend(_bootstrap_problems(roles, servers, listeners))
    problems.extend(_address_problems(listeners))
    if "broker" in roles:
        problems.extend(_broker_problems(listeners))
    if problems:
        raise InvalidConfig(*problems)
    log_dirs = _words(values["log.dirs"]) or _words(values["log.dir"])
    return {
        "node_id": node_id,
        "process_roles": roles,
        "broker_rack": values["broker.rack"] or None,
        "listeners": listeners.all,
        "advertised_listeners": listeners.advertised,
        "inter_broker_listener_name": listeners.inter_broker_name,
        "controller_listener_names": listeners.controller_names,
        "controller_quorum_voters": voters,
        "log_dirs": tuple(dict.fromkeys(log_dirs)),
        "metadata_log_dir": values["metadata.log.dir"] or log_dirs[0],
    }


def _node_id(values: Mapping[str, ConfigValue], problems: list[str]) -> int:
    node_id, broker_id = values["node.id"], values["broker.id"]
    if node_id is None and isinstance(broker_id, int) and broker_id >= 0:
        return broker_id
    if not isinstance(node_id, int):
        problems.append("node.id is missing; give each node of the cluster a different number, such as node.id=1")
        return -1
    if broker_id not in (-1, node_id):
        problems.append(f"node.id={node_id} and broker.id={broker_id} differ; they are two names of one setting")
    return node_id


def _parse_all_listeners(values: Mapping[str, ConfigValue], given: Collection[str]) -> _Listeners:
    map_name = "listener.security.protocol.map"
    controller_names = tuple(name.upper() for name in _words(values["controller.listener.names"]))
    protocols = parse_protocol_map(map_name, str(values[map_name]))
    if map_name not in given:
        # As in Apache Kafka, the controller's listeners need no entry in the map as long as nobody wrote one.
        protocols.update({name: SecurityProtocol.PLAINTEXT for name in controller_names if name not in protocols})
    listeners = parse_listeners("listeners", _words(values["listeners"]), protocols)
    explicit = _words(values["advertised.listeners"])
    advertised = parse_listeners("advertised.listeners", explicit, protocols) if explicit else listeners
    client_facing = tuple(each for each in advertised if each.name not in controller_names)
    return _Listeners(
        all=listeners,
        advertised=client_facing,
        controller_names=controller_names,
        inter_broker_name=_inter_broker_name(values, given, client_facing),
    )


def _inter_broker_name(
    values: Mapping[str, ConfigValue], given: Collection[str], advertised: tuple[Listener, ...]
) -> str | None:
    name = values["inter.broker.listener.name"]
    if name is not None:
        if "security.inter.broker.protocol" in given:
            raise InvalidConfig(
                "inter.broker.listener.name and security.inter.broker.protocol are both set; set only one of them"
            )
        return str(name).upper()
    protocol = str(values["security.inter.broker.protocol"])
    # Apache Kafka requires a listener named like the protocol. With a single one there is no doubt what is meant.
    return advertised[0].name if len(advertised) == 1 else protocol


def _role_problems(
    roles: frozenset[str], node_id: int, voter_ids: set[int], has_quorum: bool, listeners: _Listeners
) -> list[str]:
    problems: list[str] = []
    names = {listener.name for listener in listeners.all}
    controller_names = set(listeners.controller_names)
    shown_names = ", ".join(listeners.controller_names)
    if "controller" in roles:
        if voter_ids and node_id not in voter_ids:
            problems.append(
                f"controller.quorum.voters has {_shown(voter_ids)} but not this controller, node.id={node_id}"
            )
        # A combined node without a quorum is a cluster of one, which nobody else needs to reach.
        alone = not has_quorum and not controller_names and "broker" in roles
        if not alone and not names & controller_names:
            problems.append(
                f"controller.listener.names={shown_names} must have at least one of the names in listeners "
                f"({', '.join(sorted(names))}), because this node is a controller"
            )
        if roles == {"controller"} and names - controller_names:
            problems.append(
                f"listeners has {', '.join(sorted(names - controller_names))}, which is not in "
                f"controller.listener.names; a node with process.roles=controller has only listeners of the controller"
            )
    else:
        if not has_quorum:
            problems.append("process.roles=broker needs controller.quorum.voters to find the controllers")
        if node_id in voter_ids:
            problems.append(
                f"controller.quorum.voters={_shown(voter_ids)} has node.id={node_id}, which is not a controller "
                f"(process.roles=broker)"
            )
        if not controller_names:
            problems.append("controller.listener.names is missing; brokers use it to connect to the controllers")
        elif names & controller_names:
            problems.append(
                f"controller.listener.names={shown_names}: a node with process.roles=broker must not have any of these "
                f"in listeners"
            )
    return problems


def _bootstrap_problems(roles: frozenset[str], servers: tuple[HostPort, ...], listeners: _Listeners) -> list[str]:
    """Only a controller that is alone can do without the list of voters: a node that guessed would found a cluster of
    its own.
    """
    own_ports = {each.port for each in listeners.all if each.name in listeners.controller_names}
    if "controller" in roles and len(servers) == 1 and servers[0].port in own_ports:
        return []
    shown = ",".join(f"{server.host}:{server.port}" for server in servers)
    return [
        f"controller.quorum.bootstrap.servers={shown} is not this controller alone; tidelog cannot look for the voters "
        "there yet: set controller.quorum.voters to all controllers, such as 1@host1:9093,2@host2:9093,3@host3:9093"
    ]


def _address_problems(listeners: _Listeners) -> list[str]:
    problems = [
        f"{listener} cannot be advertised, because no client can connect to {listener.host}; set advertised.listeners "
        f"to an address that clients can reach"
        for listener in listeners.advertised
        if listener.host in _UNROUTABLE
    ]
    names = {listener.name for listener in listeners.all}
    problems.extend(
        f"advertised.listeners has {listener.name}, which is not in listeners ({', '.join(sorted(names))})"
        for listener in listeners.advertised
        if listener.name not in names
    )
    seen: dict[tuple[str, int], Listener] = {}
    for listener in listeners.all:
        # Port 0 takes any free port, so it never collides. One port may serve an IPv4 and an IPv6 address.
        family = "6" if ":" in listener.host else "4"
        earlier = seen.setdefault((family, listener.port), listener)
        if listener.port and earlier is not listener:
            problems.append(f"listeners: {earlier} and {listener} have the same port")
    return problems


def _broker_problems(listeners: _Listeners) -> list[str]:
    names = [listener.name for listener in listeners.advertised]
    if not names:
        return ["listeners has no listener for clients: all of them are in controller.listener.names"]
    if listeners.inter_broker_name not in names:
        return [
            f"inter.broker.listener.name={listeners.inter_broker_name} is not among the advertised listeners of "
            f"this broker ({', '.join(names)})"
        ]
    return []


def _words(value: ConfigValue) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else ()


def _shown(ids: set[int]) -> str:
    return ",".join(str(each) for each in sorted(ids))
