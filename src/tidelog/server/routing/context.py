"""What a handler may need to know about a request besides its message."""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.model.principal import Principal
from tidelog.network.frame_receiver import Frame
from tidelog.network.server_connection import ServerConnection
from tidelog.security.acls import acl_host


@dataclass(slots=True, kw_only=True)
class RequestContext:
    """Created for every request, so not frozen: the constructor of a frozen class costs three times as much."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    connection: ServerConnection
    # The request as it was received, header included: it is forwarded to other nodes unchanged.
    frame: Frame

    @property
    def principal(self) -> Principal:
        """Who asks, as far as the connection has shown it."""
        return self.connection.principal

    @property
    def peer_host(self) -> str:
        return self.connection.peer_host

    @property
    def acl_host(self) -> str:
        """The client's address as ACLs name it."""
        return acl_host(self.connection.peer_host)

    @property
    def listener(self) -> str:
        return self.connection.listener

    @property
    def client_host(self) -> str:
        """As Kafka shows it in descriptions of groups: a slash before the address."""
        return f"/{self.connection.peer_host}"
