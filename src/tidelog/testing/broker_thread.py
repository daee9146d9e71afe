"""A broker on a thread of its own, for code that is not asynchronous."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Self

from tidelog.server.broker import Broker

START_TIMEOUT_SECONDS = 30.0
STOP_TIMEOUT_SECONDS = 30.0


class BrokerThread:
    """`with BrokerThread() as broker:` then `broker.bootstrap_servers`. Takes what `tidelog.Broker` takes."""

    def __init__(
        self,
        *,
        port: int = 0,
        data_dir: str | None = None,
        properties: Mapping[str, str] | None = None,
        security: str = "PLAINTEXT",
    ) -> None:
        self._broker = Broker(port=port, data_dir=data_dir, properties=properties, security=security)
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="tidelog-broker", daemon=True)

    @property
    def bootstrap_servers(self) -> str:
        return self._broker.bootstrap_servers

    @property
    def client_options(self) -> dict[str, str]:
        """What clients need to connect, by Kafka's names."""
        return self._broker.client_options

    @property
    def librdkafka_options(self) -> dict[str, str]:
        """The same by the names of confluent-kafka and others on librdkafka."""
        return self._broker.librdkafka_options

    @property
    def data_dir(self) -> str:
        return self._broker.data_dir

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._started.wait(START_TIMEOUT_SECONDS):
            raise TimeoutError(f"the broker did not start within {START_TIMEOUT_SECONDS:.0f} s")
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(STOP_TIMEOUT_SECONDS)
        if self._thread.is_alive():
            raise TimeoutError(f"the broker did not stop within {STOP_TIMEOUT_SECONDS:.0f} s")
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as failure:
            self._failure = failure
        finally:
            self._started.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        async with self._broker:
            self._started.set()
            await self._stop.wait()
