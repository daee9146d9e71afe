"""What the command line has said about the console."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from ipaddress import ip_address

from tidelog.client.config import OptionValue
from tidelog.model.lazy_dataclasses import dataclass

LOCALHOST = "localhost"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSettings:
    """`client` are the properties of the connection to the cluster. Without a token everybody who reaches the port may
    use the console, which is only allowed on loopback. `pipelines` are addresses of services of `tidelog pipeline`."""

    client: Mapping[str, OptionValue] = field(repr=False)
    host: str
    port: int
    token: str | None = field(repr=False)
    read_only: bool
    pipelines: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to the address."""
    if host == LOCALHOST:
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
