"""One page with the metrics of all processes, as Prometheus scrapes it.

Every series of a process has a label more, `process`, with its number. A process that does not answer (it is being
started again, or it hangs) has no series on the page for as long, and `tidelog_process_up` says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from tidelog.network.later import Later
from tidelog.network.port import AsyncioNetwork, Listening
from tidelog.server.observability.metrics_endpoint import METRICS_PATH, Page, serve_pages

LABEL = "process"
# Less than the listener's own patience with a scrape, and than Prometheus' (10 s).
COLLECT_SECONDS = 3.0
MOST_BYTES = 64 << 20


class CollectedMetrics:
    """`ports` are those of the pages of the processes, by their number, at `host`."""

    def __init__(self, host: str, ports: Mapping[int, int]) -> None:
        self._host = host
        self._ports = ports
        self._registry = CollectorRegistry()
        self._up = Gauge(
            "tidelog_process_up", "Whether the process answers with its metrics", [LABEL], registry=self._registry
        )
        self._restarts = Counter(
            "tidelog_process_restarts", "How often the process was started again", [LABEL], registry=self._registry
        )
        for number in ports:
            self._up.labels(str(number)).set(0)
            self._restarts.labels(str(number))

    def restarted(self, number: int) -> None:
        self._restarts.labels(str(number)).inc()

    async def serve(self, host: str, port: int) -> Listening:
        """Until the returned listener is closed. Raises OSError."""
        return await serve_pages(AsyncioNetwork(), {METRICS_PATH: lambda: Later.run(self.page())}, host, port)

    async def answering(self) -> Mapping[int, str]:
        """The pages of the processes that answer. A process does so once it has started completely."""
        texts = await asyncio.gather(*(_text_from(self._host, port) for port in self._ports.values()))
        return {number: text for number, text in zip(self._ports, texts, strict=True) if text is not None}

    async def page(self) -> Page:
        answers = await self.answering()
        for number in self._ports:
            self._up.labels(str(number)).set(number in answers)
        content = merge_pages(answers) + generate_latest(self._registry).decode()
        return Page(content=content.encode(), content_type=CONTENT_TYPE_LATEST)


def merge_pages(pages: Mapping[int, str]) -> str:
    """Each metric once, with its description, and below it the series of all processes."""
    descriptions: dict[str, list[str]] = {}
    series: dict[str, list[str]] = {}
    for number, text in pages.items():
        name = ""
        for line in text.splitlines():
            if line.startswith("#"):
                # "# HELP name ..." and "# TYPE name ...", before the series of that metric.
                name = line.split(" ", 3)[2]
                known = descriptions.setdefault(name, [])
                if line not in known:
                    known.append(line)
            elif line:
                series.setdefault(name, []).append(_labelled(line, number))
    return "".join(f"{line}\n" for name, known in descriptions.items() for line in (*known, *series.get(name, ())))


def _labelled(line: str, number: int) -> str:
    """`name{api="Fetch"} 3.0` or `name 3.0`, with the label in front of the others."""
    name, brace, rest = line.partition("{")
    if brace and " " not in name:
        return f'{name}{{{LABEL}="{number}",{rest}'
    name, _, rest = line.partition(" ")
    return f'{name}{{{LABEL}="{number}"}} {rest}'


async def _text_from(host: str, port: int) -> str | None:
    """None if nobody answers there in time."""
    try:
        async with asyncio.timeout(COLLECT_SECONDS):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(f"GET {METRICS_PATH} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
                head = await reader.readuntil(b"\r\n\r\n")
                size = _content_length(head.decode("latin-1").split("\r\n"))
                return (await reader.readexactly(size)).decode() if size is not None else None
            finally:
                writer.close()
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return None


def _content_length(head: Iterable[str]) -> int | None:
    """None if the reply is not a page. The process next door sends nothing else, but another one may have its port."""
    lines = list(head)
    if not lines or lines[0].split(" ", 2)[1:2] != ["200"]:
        return None
    for line in lines[1:]:
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-length" and value.strip().isdigit():
            size = int(value)
            return size if size <= MOST_BYTES else None
    return None
