"""The syntax of listener addresses, of the protocol map, and of quorum members.

Which listeners a node must have is checked in `tidelog.config.node`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import IntEnum

from tidelog.config.definitions import InvalidConfig
from tidelog.model.lazy_dataclasses import dataclass


class SecurityProtocol(IntEnum):
    """What is spoken on a listener. The numbers are those of broker registrations."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3

    @property
    def uses_tls(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def uses_sasl(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """An address to listen on or to advertise. An empty host is every interface, or this machine's own name."""

    name: str
    host: str
    port: int
    protocol: SecurityProtocol

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPort:
    """Where a node can be reached."""

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumVoter:
    """A member of the metadata quorum and where it can be reached."""

    id: int
    host: str
    port: int


_LISTENER = re.compile(r"(?P<name>[^:/]+)://(?:\[(?P<six>[0-9a-fA-F:.%]+)\]|(?P<host>[^:\[\]/]*)):(?P<port>-?[0-9]+)")
_HOST_PORT = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.%]+)\]|(?P<host>[^:\[\]/@]+)):(?P<port>[0-9]+)")
_VOTER = re.compile(r"(?P<id>[0-9]{1,9})@(?P<address>.+)")


def parse_protocol_map(name: str, text: str) -> dict[str, SecurityProtocol]:
    """Read NAME:PROTOCOL pairs; raises InvalidConfig. Names are compared in upper case, as Kafka does."""
    protocols: dict[str, SecurityProtocol] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        listener, separator, protocol = pair.partition(":")
        if not separator or not listener.strip():
            raise InvalidConfig(f"{name}={text}: {pair!r} is not of the form NAME:PROTOCOL")
        known = SecurityProtocol.__members__.get(protocol.strip().upper())
        if known is None:
            allowed = ", ".join(SecurityProtocol.__members__)
            raise InvalidConfig(f"{name}={text}: {protocol.strip()!r} is not a security protocol; use one of {allowed}")
        protocols[listener.strip().upper()] = known
    return protocols


def parse_listeners(
    name: str, addresses: Sequence[str], protocols: Mapping[str, SecurityProtocol]
) -> tuple[Listener, ...]:
    """Read NAME://host:port addresses; raises InvalidConfig with every problem."""
    listeners: list[Listener] = []
    problems: list[str] = []
    for address in addresses:
        try:
            listeners.append(_parse_listener(name, address, protocols))
        except InvalidConfig as error:
            problems.extend(error.problems)
    names = [listener.name for listener in listeners]
    problems.extend(
        f"{name}: the listener name {repeated} is used more than once"
        for repeated in sorted({each for each in names if names.count(each) > 1})
    )
    if problems:
        raise InvalidConfig(*problems)
    return tuple(listeners)


def _parse_listener(name: str, address: str, protocols: Mapping[str, SecurityProtocol]) -> Listener:
    match = _LISTENER.fullmatch(address)
    if match is None:
        raise InvalidConfig(f"{name}: {address!r} is not of the form NAME://host:port")
    listener_name = match["name"].upper()
    protocol = protocols.get(listener_name)
    if protocol is None:
        raise InvalidConfig(
            f"{name}: the listener name {listener_name} of {address!r} is not in listener.security.protocol.map, which "
            f"has {', '.join(sorted(protocols))}"
        )
    return Listener(
        name=listener_name,
        host=match["six"] or match["host"] or "",
        port=_port(name, address, match["port"]),
        protocol=protocol,
    )


def parse_voters(name: str, entries: Sequence[str]) -> tuple[QuorumVoter, ...]:
    """Read id@host:port entries; raises InvalidConfig."""
    voters: list[QuorumVoter] = []
    for entry in entries:
        match = _VOTER.fullmatch(entry)
        address = _HOST_PORT.fullmatch(match["address"]) if match else None
        if match is None or address is None:
            raise InvalidConfig(f"{name}: {entry!r} is not of the form id@host:port")
        voter = QuorumVoter(
            id=int(match["id"]),
            host=address["six"] or address["host"],
            port=_port(name, entry, address["port"]),
        )
        if any(voter.id == earlier.id for earlier in voters):
            raise InvalidConfig(f"{name}: the voter {voter.id} is given more than once")
        voters.append(voter)
    return tuple(voters)


def parse_addresses(name: str, entries: Sequence[str]) -> tuple[HostPort, ...]:
    """Read host:port entries; raises InvalidConfig."""
    addresses: list[HostPort] = []
    for entry in entries:
        match = _HOST_PORT.fullmatch(entry)
        if match is None:
            raise InvalidConfig(f"{name}: {entry!r} is not of the form host:port")
        addresses.append(HostPort(host=match["six"] or match["host"], port=_port(name, entry, match["port"])))
    return tuple(addresses)


def _port(name: str, entry: str, text: str) -> int:
    port = int(text) if len(text) <= 6 else -1
    if not 0 <= port <= 65535:
        raise InvalidConfig(f"{name}: {entry!r} has the port {text}, which must be from 0 to 65535")
    return port
