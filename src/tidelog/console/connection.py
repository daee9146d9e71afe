"""The connection to the cluster, which may be away when the console starts, and may go away and come back.

All pages share a few clients, so that a console costs a broker a few connections. What reads logs has one of its own,
so that a large fetch does not keep the small questions of other pages waiting. Pages that are read again and again have
one that is less patient: what a silent broker does not tell is left out, and asked for again with the next reading.
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
_PATIENCE_OF_WATCHERS: Mapping[str, OptionValue] = {"default.api.timeout.ms": 3_000}


class ClusterConnection:
    """Clients connect when they are first used; a try that fails is repeated by the next use.

    All who need one at the same time share one try: with a cluster that is away, each would otherwise wait for those of
    all others.
    """

    def __init__(self, properties: Mapping[str, OptionValue]) -> None:
        """Raises InvalidConfig: what is wrong in the properties is found before anything listens."""
        self._properties = {**_PATIENCE, **properties}
        self._config = client_config(self._properties)
        self._asking = _SharedClient(self._properties)
        self._watching = _SharedClient({**_PATIENCE, **_PATIENCE_OF_WATCHERS, **properties})
        self._reading = _SharedClient(self._properties)
        self._metadata_log: MetadataLog | None = None

    @property
    def servers(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self._config.bootstrap_servers)

    @property
    def properties(self) -> Mapping[str, OptionValue]:
        """For clients that a page makes for itself, such as a producer."""
        return self._properties

    async def admin(self) -> Admin:
        """For what somebody asks or changes once. Raises NoBrokerAvailable, AuthenticationError, ..."""
        return await self._asking.started()

    async def watcher(self) -> Admin:
        """For what is read again and again."""
        return await self._watching.started()

    async def reader(self) -> Admin:
        """For questions whose answers may be large, such as pages of logs."""
        return await self._reading.started()

    async def log_browser(self) -> LogBrowser:
        return LogBrowser(await self.reader())

    async def metadata_log(self) -> MetadataLog:
        """One for all pages: it remembers positions in the log."""
        reader = await self.reader()
        if self._metadata_log is None:
            self._metadata_log = MetadataLog(reader)
        return self._metadata_log

    async def close(self) -> None:
        await self._asking.close()
        await self._watching.close()
        await self._reading.close()


class _SharedClient:
    def __init__(self, properties: Mapping[str, OptionValue]) -> None:
        self._properties = properties
        self._admin: Admin | None = None
        self._starting: asyncio.Task[Admin] | None = None

    async def started(self) -> Admin:
        if self._admin is None:
            if self._starting is None:
                self._starting = asyncio.create_task(self._start())
                # Even if nobody waits for it any more.
                self._starting.add_done_callback(lambda trying: trying.cancelled() or trying.exception())
            # Who gives up does not end the try of others.
            return await asyncio.shield(self._starting)
        return self._admin

    async def close(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        if self._admin is not None:
            await self._admin.close()

    async def _start(self) -> Admin:
        try:
            admin = Admin(config=self._properties)
            await admin.start()
            self._admin = admin
            return admin
        finally:
            self._starting = None
