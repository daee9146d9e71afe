"""/healthz of pipelines whose addresses are known: an answer within bounds of time and size, and no redirects."""

from __future__ import annotations

import asyncio
import os
from urllib.parse import urlsplit

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.pipeline_status import MOST_STATUS_BYTES, HealthReport, decode_health

_PATH = "/healthz"
_ANSWER_SECONDS = 3.0
_MOST_HEADER_BYTES = 16 * 1024


class ServiceProblem(Exception):
    """A sentence that says why a service does not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAddress:
    host: str
    port: int
    # Where a proxy has put it; empty, or with a slash at its beginning.
    folder: str = ""

    def __str__(self) -> str:
        return f"http://{_bracketed(self.host)}:{self.port}{self.folder}"


def service_address(text: str) -> ServiceAddress:
    """Of `http://127.0.0.1:9464`, with or without /healthz. Raises ValueError with a sentence."""
    given = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(given)
        port = parts.port or 80
    except ValueError as error:
        raise ValueError(f"{text!r} is no address: {error}") from error
    if parts.username is not None or parts.password is not None:
        # It would be shown on the page.
        raise ValueError("an address of a pipeline has no user and no password: http://127.0.0.1:9464")
    if parts.scheme != "http" or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"{text!r} is not the address of a service, such as http://127.0.0.1:9464")
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise ValueError(f"{text!r} has characters that no address has")
    folder = parts.path.rstrip("/").removesuffix(_PATH)
    return ServiceAddress(host=parts.hostname, port=port, folder=folder)


async def fetch_health(address: ServiceAddress) -> HealthReport:
    """Raises ServiceProblem."""
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            status, body = await _get(address)
    except TimeoutError as error:
        raise ServiceProblem(f"{address} has not answered within {_ANSWER_SECONDS:.0f} s") from error
    except OSError as error:
        # Event loops put sentences of their own into the text.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise ServiceProblem(f"{address} does not answer: {reason}") from error
    except ValueError as error:
        raise ServiceProblem(f"{address} does not answer as a pipeline does: {error}") from error
    # While a pipeline does not work it answers 503, with a report.
    report = decode_health(body) if status in (200, 503) else None
    if report is None:
        raise ServiceProblem(f"{address} answers with status {status}, but not as a pipeline does")
    return report


async def _get(address: ServiceAddress) -> tuple[int, bytes]:
    reader, writer = await asyncio.open_connection(address.host, address.port, limit=_MOST_HEADER_BYTES)
    try:
        # Of version 1.0, so that the answer comes in one piece and ends with the connection.
        host = f"{_bracketed(address.host)}:{address.port}"
        lines = (f"GET {address.folder}{_PATH} HTTP/1.0", f"Host: {host}", "Accept: application/json", "", "")
        writer.write("\r\n".join(lines).encode())
        status = _status_of(await reader.readline())
        read = 0
        while (line := await reader.readline()) not in (b"\r\n", b"\n"):
            read += len(line)
            if not line or read > _MOST_HEADER_BYTES:
                raise ValueError("its answer is not HTTP")
        body = bytearray()
        while part := await reader.read(MOST_STATUS_BYTES):
            body += part
            if len(body) > MOST_STATUS_BYTES:
                raise ValueError("its answer is too long")
        return status, bytes(body)
    finally:
        # At once: nothing is to be sent any more, and nobody has to wait for the other side.
        writer.transport.abort()


def _status_of(line: bytes) -> int:
    version, _, rest = line.partition(b" ")
    status = rest[:3]
    if not version.startswith(b"HTTP/1.") or not status.isdigit():
        raise ValueError("its answer is not HTTP")
    return int(status)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
