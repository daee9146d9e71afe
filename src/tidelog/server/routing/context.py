"""What a handler may need to know about a request besides its message."""

from __future__ import annotations

from tidelog.model.lazy_dataclasses import dataclass
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
    # When the request was begun, and how long the event loop was busy with it: below 0 until its handler has returned.
    started_ms: float = 0.0
    busy_ms: float = -1.0
    # Whether the quotas have been asked, and whether none applies.
    is_counted: bool = False
    is_exempt: bool = False

    def exempt(self) -> None:
        """No quota applies: it comes from a broker or a controller."""
        self.is_counted = True
        self.is_exempt = True

    def counted(self) -> None:
        """The quotas have been asked for it."""
        self.is_counted = True

    def handled(self, now_ms: float) -> None:
        """Its handler has returned."""
        self.busy_ms = now_ms - self.started_ms

    def was_busy(self, milliseconds: float) -> None:
        """After its handler has returned, the event loop was busy with it once more."""
        self.busy_ms += milliseconds

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
