"""Passes the quotas of the cluster on to those who enforce them at this node's listeners, whenever they change.

Quotas of addresses can name hosts (KIP-612). These are looked up when the quota is set, and not again; until then, and
if they cannot be found, they have no quota of their own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import field

from tidelog.config.broker import BrokerConfig
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock
from tidelog.network.port import Network
from tidelog.security.quotas.entities import QuotaEntity
from tidelog.server.observability.metrics import Metrics
from tidelog.server.routing.connections import Connections, quota_windows
from tidelog.server.routing.throttling import ClientThrottling

logger = logging.getLogger(__name__)


def client_throttling(config: BrokerConfig, clock: Clock, metrics: Metrics) -> ClientThrottling:
    return ClientThrottling(windows=quota_windows(config), clock=clock, metrics=metrics)


@dataclass(slots=True, kw_only=True, eq=False)
class QuotaFollower:
    throttling: ClientThrottling
    connections: Connections
    network: Network
    _addresses: dict[str, str] = field(default_factory=dict, init=False)
    _finding: asyncio.Task[None] | None = field(default=None, init=False)

    def follow(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """Those that the image has now."""
        # An image shares with the one before what has not changed.
        if quotas is self.throttling.book.quotas:
            return
        rates = self.throttling.book.addresses
        self.throttling.adopt(quotas)
        if self.throttling.book.addresses is rates:
            return
        self._apply()
        unknown = [name for name in self.throttling.book.addresses.host_names if name not in self._addresses]
        if unknown:
            if self._finding is not None:
                self._finding.cancel()
            self._finding = asyncio.get_running_loop().create_task(self._find(unknown))

    def _apply(self) -> None:
        self.connections.adopt(self.throttling.book.addresses.resolved(self._addresses))

    async def _find(self, names: list[str]) -> None:
        for name in names:
            address = await self.network.address_of(name)
            if address is None:
                logger.warning("the quota of %s has no effect: its address cannot be found", name)
            else:
                self._addresses[name] = address
        self._apply()
