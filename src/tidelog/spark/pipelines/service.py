"""The port of a pipeline that runs as a service: /healthz for probes, /metrics for Prometheus.

It has a thread and an event loop of its own: the main thread waits for Spark.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.model.pipeline_status import encode_health
from tidelog.network.port import AsyncioNetwork
from tidelog.server.observability.metrics_endpoint import METRICS_PATH, OK, UNAVAILABLE, Page, metrics_page, serve_pages
from tidelog.spark.pipelines.failure import PipelineFailed
from tidelog.spark.pipelines.health import PipelineHealth
from tidelog.spark.pipelines.settings import NO_PORT, Service

HEALTH_PATH = "/healthz"


def health_page(health: PipelineHealth) -> Page:
    report = health.report()
    return Page(
        content=encode_health(report),
        content_type="application/json",
        status=OK if report.healthy else UNAVAILABLE,
    )


@contextmanager
def serving(settings: Service, health: PipelineHealth) -> Iterator[str | None]:
    """Serve while the context lasts; gives the address, or None where no port is asked for."""
    if settings.port == NO_PORT:
        yield None
        return
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="pipeline service", daemon=True)
    pages = {HEALTH_PATH: lambda: health_page(health), METRICS_PATH: lambda: metrics_page(health.registry)}
    thread.start()
    try:
        starting = serve_pages(AsyncioNetwork(), pages, settings.host, settings.port)
        try:
            listening = asyncio.run_coroutine_threadsafe(starting, loop).result()
        except (OSError, OverflowError) as error:
            raise PipelineFailed(
                f"[service] cannot listen on {settings.host}:{settings.port}: {error}. Choose another port, or leave "
                "it out"
            ) from error
        yield f"http://{listening.host}:{listening.port}"
        loop.call_soon_threadsafe(listening.close)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
