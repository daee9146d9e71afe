"""The connection to the cluster, which may be away when the console starts, and may go away and come back.

All pages share one client, so that a console costs a broker one connection. What reads logs has one of its own, so that
a large fetch does not keep the small questions of other pages waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tidelog.client.admin import Admin
from tidelog.client.browsing import LogBrowser, MetadataLog
from tidelog.client.config import OptionValue, client_config

# A page shows after this time that the cluster does not answer, instead of nothing. What the user has set counts.
_PATIENCE: Mapping[str, OptionValue] = {
    "default.api.timeout.ms": 10_000,
    "request.timeout.ms": 10_000,
    "socket.connection.setup.timeout.ms": 3_000,
    "client.id": "tidelog-console",
}


class ClusterConnection:
    """Clients connect when they are first used; a try that fails is repeated by the next use."""

    def __init__(self, properties: Mapping[str, OptionValue]) -> None:
        """Raises InvalidConfig: what is wrong in the properties is found before anything listens."""
        self._properties = {**_PATIENCE, **properties}
        self._config = client_config(self._properties)
        self._asking: Admin | None = None
        self._reading: Admin | None = None
        self._metadata_log: MetadataLog | None = None
        self._starting = asyncio.Lock()

    @property
    def servers(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self._config.bootstrap_servers)

    @property
    def properties(self) -> Mapping[str, OptionValue]:
        """For clients that a page makes for itself, such as a producer."""
        return self._properties

    async def admin(self) -> Admin:
        """Raises NoBrokerAvailable, AuthenticationError, ..."""
        if self._asking is None:
            async with self._starting:
                if self._asking is None:
                    self._asking = await self._started()
        return self._asking

    async def reader(self) -> Admin:
        """For questions whose answers may be large, such as pages of logs."""
        if self._reading is None:
            async with self._starting:
                if self._reading is None:
                    self._reading = await self._started()
        return self._reading

    async def log_browser(self) -> LogBrowser:
        return LogBrowser(await self.reader())

    async def metadata_log(self) -> MetadataLog:
        """One for all pages: it remembers positions in the log."""
        reader = await self.reader()
        if self._metadata_log is None:
            self._metadata_log = MetadataLog(reader)
        return self._metadata_log

    async def close(self) -> None:
        for admin in (self._asking, self._reading):
            if admin is not None:
                await admin.close()

    async def _started(self) -> Admin:
        admin = Admin(config=self._properties)
        await admin.start()
        return admin
