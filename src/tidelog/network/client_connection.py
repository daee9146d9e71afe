"""One outgoing connection: requests go out, replies are matched to them by correlation id.

A connection is opened with its versions negotiated (KIP-511) and, where the settings say so, over TLS and logged in
with SASL, so that its owner can send requests at once. Which broker to connect to, and what to do after a failure, is
decided in `tidelog.client.cluster.cluster`.

A broker answers a connection's requests in order. That is why a request that gets no reply in time closes the
connection: the replies after it would not arrive either, and whether it was carried out is unknown.

A session of SASL that ends is renewed before (KIP-368). As in Kafka's client nothing else may be sent meanwhile:
requests are held back, and go afterwards.

A broker whose quota the client has used up says in a reply for how long, and reads nothing from the connection until
then (KIP-219). As in Kafka's client nothing more is sent to it meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Mapping
from struct import Struct
from typing import Any, TypeVar, cast

from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.client_security import ClientSecurity
from tidelog.network.connection_advice import (
    ALERT_START,
    PROBABLY_NO_CERTIFICATE,
    PROBABLY_SASL,
    PROBABLY_TLS,
    SPEAKS_TLS,
    is_certificate_problem,
    tls_problem,
)
from tidelog.network.frame_receiver import Frame, FrameReceiver, StagingArea
from tidelog.network.port import Network
from tidelog.network.sasl_login import LoginFailed, log_in
from tidelog.protocol.api import response_header_version
from tidelog.protocol.codec import ProtocolError, decode
from tidelog.protocol.frames import request_frame, skip_tagged_fields
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.protocol.messages.api_versions_response import ApiVersionsResponse
from tidelog.protocol.schema import Message, Versions

SOFTWARE_NAME = "tidelog"

DEFAULT_MAX_IN_FLIGHT = 100
# Above fetch.max.bytes by enough for one batch that is larger than that on its own.
DEFAULT_MAX_FRAME_BYTES = 256 * 1024 * 1024

_CORRELATION_ID = Struct(">i")
_UNSUPPORTED_VERSION = ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")
_LARGEST_CORRELATION_ID = 2**31 - 1

R = TypeVar("R", bound=Message)


class ConnectionProblem(Exception):
    """No reply, for reasons below the protocol. Whether a request was carried out is unknown."""


class CannotConnect(ConnectionProblem):
    """Nobody answers at the address, or not as a Kafka broker does."""


class AuthenticationError(CannotConnect):
    """The broker does not accept who this client is, or this client not who the broker is. Trying again is of no use.

    The message names the mechanism, the user and what to check, never a password or a token.
    """


class ConnectionLost(ConnectionProblem):
    """The connection ended before the reply came."""


class RequestTimedOut(ConnectionProblem):
    """The reply did not come in time."""


class UnsupportedByBroker(Exception):
    """The broker does not serve the API, or in no version that this client knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    client_id: str | None = None
    software_version: str = "0"
    connect_timeout_ms: float
    request_timeout_ms: float
    max_in_flight: int = DEFAULT_MAX_IN_FLIGHT
    max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES
    # Replies of up to this size are received into memory that is kept and used again, see `FrameReceiver`.
    reused_bytes: int = 0
    # None for plain text without a login.
    security: ClientSecurity | None = None


@dataclass(slots=True)
class _Pending:
    """A request that waits for its reply."""

    expected: type[Message]
    version: int
    future: asyncio.Future[Any]
    counted: bool
    timer: asyncio.TimerHandle


class ClientConnection(asyncio.BufferedProtocol):
    """Created by `open_connection`. Unusable once `closed`."""

    def __init__(self, address: str, settings: ConnectionSettings, staging: StagingArea) -> None:
        self.address = address
        # What the broker serves: API key to versions. Empty until negotiated.
        self.versions: Mapping[int, Versions] = {}
        # Features that the cluster has finalized, such as transaction.version.
        self.features: Mapping[str, int] = {}
        self._settings = settings
        self._receiver = FrameReceiver(staging, lambda _: settings.max_frame_bytes, reused_bytes=settings.reused_bytes)
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._pending: dict[int, _Pending] = {}
        self._slots = asyncio.Semaphore(settings.max_in_flight)
        self._writable = asyncio.Event()
        self._writable.set()
        self._paused = False
        # While the broker does not want to be asked.
        self._throttled_until = 0.0
        self._throttle_end: asyncio.TimerHandle | None = None
        # What waits while the session is renewed; None while requests may be sent.
        self._held: list[bytes] | None = None
        self._renewal: asyncio.Task[None] | None = None
        # How many replies have come: a connection that ends before the second one tells something about its listener.
        self._replies = 0
        # When the last reply came, or the first request after it.
        self._heard_at = 0.0
        self._next_correlation_id = 0
        self._end: ConnectionProblem | None = None
        self.ended: asyncio.Future[None] = self._loop.create_future()

    # -- the event loop calls these ------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not an assertion: uvloop's transports have all the methods but not the class.
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._receiver.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        if self._end is not None:
            return
        try:
            self._receiver.advance(nbytes, self._frame_arrived)
        except ProtocolError as error:
            self._fail(ConnectionLost(f"{self.address} sent an invalid reply: {self._explained(error)}"))

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if is_certificate_problem(exc):
            # With TLS 1.3 a client learns only after the handshake that its certificate is refused.
            assert isinstance(exc, OSError)
            self._fail(AuthenticationError(f"{self.address}: {tls_problem(exc, self.address)}"))
            return
        reason = f": {exc}" if exc is not None else ""
        self._fail(ConnectionLost(f"{self.address} closed the connection{reason}{self._advice()}"))

    def pause_writing(self) -> None:
        self._paused = True
        self._writable.clear()

    def resume_writing(self) -> None:
        self._paused = False
        self._write_again()

    # -- for callers ---------------------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        return self._end is not None

    @property
    def congested(self) -> bool:
        """Whether so much is waiting to be written that writing more would only fill memory, or the broker does not
        read it; see `drained`."""
        return not self._writable.is_set()

    @property
    def silent_ms(self) -> float:
        """How long requests have waited without any reply."""
        return (self._loop.time() - self._heard_at) * 1000 if self._pending else 0.0

    def version_for(self, request_class: type[Message], *, at_most: int | None = None) -> int:
        """The newest version that both sides know; raises UnsupportedByBroker with both ranges."""
        schema = request_class.SCHEMA
        ours = schema.valid if at_most is None else (schema.valid[0], min(schema.valid[1], at_most))
        theirs = self.versions.get(schema.api_key)
        name = request_class.__name__.removesuffix("Request")
        if theirs is None:
            raise UnsupportedByBroker(f"the broker at {self.address} does not serve {name}")
        version = min(ours[1], theirs[1])
        if version < max(ours[0], theirs[0]):
            raise UnsupportedByBroker(
                f"{name}: the broker at {self.address} serves versions {theirs[0]} to {theirs[1]}, "
                f"but this client needs one of {ours[0]} to {ours[1]}"
            )
        return version

    async def request(
        self, request: Message, expected: type[R], *, version: int | None = None, timeout_ms: float | None = None
    ) -> R:
        """Send, and wait for the reply. At most `max_in_flight` requests of this kind are in flight at once."""
        await self._slots.acquire()
        try:
            await self._writable.wait()
            future = self.submit(request, expected, version=version, timeout_ms=timeout_ms, _counted=True)
        except BaseException:
            self._slots.release()
            raise
        # The slot is released when the reply arrives, even if the caller has been cancelled by then.
        return await future

    def submit(
        self,
        request: Message,
        expected: type[R],
        *,
        version: int | None = None,
        timeout_ms: float | None = None,
        _counted: bool = False,
        _now: bool = False,
    ) -> asyncio.Future[R]:
        """Write the request now; the future is its reply.

        For callers who need the order of their requests kept and who bound their number themselves.
        """
        if self._end is not None:
            raise self._end
        kind = type(request)
        chosen = self.version_for(kind) if version is None else version
        correlation_id = self._write(request, chosen, _now)
        future: asyncio.Future[R] = self._loop.create_future()
        limit_ms = self._settings.request_timeout_ms if timeout_ms is None else timeout_ms
        timer = self._loop.call_later(limit_ms / 1000, self._timed_out, kind, limit_ms)
        if not self._pending:
            self._heard_at = self._loop.time()
        self._pending[correlation_id] = _Pending(expected, chosen, future, _counted, timer)
        return future

    def submit_unanswered(self, request: Message, *, version: int | None = None) -> None:
        """Write a request that gets no reply (Produce with acks=0)."""
        if self._end is not None:
            raise self._end
        self._write(request, self.version_for(type(request)) if version is None else version, False)

    async def drained(self) -> None:
        """Wait until the bytes written so far are few enough to go on writing."""
        await self._writable.wait()

    def close(self) -> None:
        """Close the connection now; requests that still wait for a reply fail with ConnectionLost."""
        self._fail(ConnectionLost(f"the connection to {self.address} was closed on this side"))

    async def authenticate(self, security: ClientSecurity) -> None:
        """Log in, and again before the session ends, for as long as the connection lives. Raises AuthenticationError,
        or CannotConnect if it may work later.
        """
        renew_after_ms = await self._log_in(security)
        if renew_after_ms is not None:
            self._renewal = self._loop.create_task(self._renew(security, renew_after_ms))

    # -- inside --------------------------------------------------------------------------------------------------

    def _advice(self) -> str:
        """What the broker probably wants, if it closes the connection at once. Not for nodes of one cluster."""
        security = self._settings.security
        if security is not None and self._replies == 0:
            return PROBABLY_TLS if security.tls is None else PROBABLY_NO_CERTIFICATE
        if security is not None and self._replies == 1 and self.versions and security.login is None:
            return PROBABLY_SASL
        return ""

    async def _log_in(self, security: ClientSecurity) -> float | None:
        try:
            return await log_in(security, self.versions, self._ask_now)
        except LoginFailed as failure:
            kind = AuthenticationError if failure.is_final else CannotConnect
            raise kind(f"cannot log in at {self.address}: {failure}") from failure.__cause__

    async def _ask_now(self, request: Message, expected: type[Message], version: int) -> Message:
        return await self.submit(request, expected, version=version, _now=True)

    async def _renew(self, security: ClientSecurity, after_ms: float) -> None:
        """The broker takes no other request between the handshake and the last token, so those wait."""
        following: float | None = after_ms
        while following is not None:
            await asyncio.sleep(following / 1000)
            self._held = []
            self._writable.clear()
            in_flight = [pending.future for pending in self._pending.values()]
            try:
                if in_flight:
                    await asyncio.wait(in_flight)
                following = await self._log_in(security)
            except ConnectionProblem as problem:
                self._fail(problem)
                return
            self._release()

    def _release(self) -> None:
        held = self._held
        self._held = None
        if held and self._transport is not None:
            self._transport.writelines(held)
        self._write_again()

    def _write_again(self) -> None:
        if not self._paused and self._held is None and self._throttle_end is None:
            self._writable.set()

    def _throttle(self, milliseconds: float) -> None:
        until = self._loop.time() + milliseconds / 1000
        if until <= self._throttled_until:
            return
        self._throttled_until = until
        if self._throttle_end is not None:
            self._throttle_end.cancel()
        self._throttle_end = self._loop.call_at(until, self._end_throttle)
        self._writable.clear()

    def _end_throttle(self) -> None:
        self._throttle_end = None
        self._write_again()

    def _explained(self, error: ProtocolError) -> str:
        if self._replies == 0 and bytes(self._receiver.buffer()[:2]) == ALERT_START:
            return SPEAKS_TLS
        return str(error)

    def _write(self, request: Message, version: int, now: bool) -> int:
        assert self._transport is not None
        correlation_id = self._next_correlation_id
        self._next_correlation_id = 0 if correlation_id == _LARGEST_CORRELATION_ID else correlation_id + 1
        frame = request_frame(type(request).SCHEMA.api_key, version, correlation_id, self._settings.client_id, request)
        if self._held is None or now:
            self._transport.writelines(frame)
        else:
            self._held.append(b"".join(frame))
        return correlation_id

    def _frame_arrived(self, frame: Frame) -> None:
        if len(frame) < _CORRELATION_ID.size:
            raise ProtocolError(f"a reply of {len(frame)} bytes has no room for its correlation id")
        self._replies += 1
        self._heard_at = self._loop.time()
        (correlation_id,) = _CORRELATION_ID.unpack_from(frame)
        pending = self._pending.pop(correlation_id, None)
        if pending is None:
            raise ProtocolError(f"no request is waiting for correlation id {correlation_id}")
        try:
            reply = _decode_reply(frame, pending.expected, pending.version)
        except ProtocolError as error:
            self._settle(pending, problem=ConnectionLost(f"{self.address}: {error}"))
            raise
        throttle_ms: int = getattr(reply, "throttle_time_ms", 0)
        if throttle_ms > 0:
            self._throttle(throttle_ms)
        self._settle(pending, reply=reply)

    def _settle(
        self, pending: _Pending, *, reply: Message | None = None, problem: ConnectionProblem | None = None
    ) -> None:
        pending.timer.cancel()
        if pending.counted:
            self._slots.release()
        if pending.future.done():
            return
        if problem is not None:
            pending.future.set_exception(problem)
        else:
            pending.future.set_result(reply)

    def _timed_out(self, kind: type[Message], limit_ms: float) -> None:
        name = kind.__name__.removesuffix("Request")
        self._fail(RequestTimedOut(f"{self.address} did not answer {name} within {limit_ms:g} ms"))

    def _fail(self, problem: ConnectionProblem) -> None:
        if self._end is not None:
            return
        self._end = problem
        if self._transport is not None:
            self._transport.abort()
        if self._renewal is not None:
            self._renewal.cancel()
        if self._throttle_end is not None:
            self._throttle_end.cancel()
        waiting = list(self._pending.values())
        self._pending.clear()
        for pending in waiting:
            self._settle(pending, problem=problem)
        self._writable.set()
        if not self.ended.done():
            self.ended.set_result(None)


async def open_connection(
    network: Network, host: str, port: int, settings: ConnectionSettings, staging: StagingArea | None = None
) -> ClientConnection:
    """Connect, negotiate versions, and log in. Raises CannotConnect with the address and the reason.

    That is an AuthenticationError if one of both does not accept who the other is, or InvalidConfig if a store of keys
    or certificates cannot be used.
    """
    address = f"{host}:{port}"
    area = staging if staging is not None else StagingArea()
    security = settings.security
    tls: ssl.SSLContext | None = None
    if security is not None and security.tls is not None:
        tls = await asyncio.to_thread(security.tls)
    try:
        async with asyncio.timeout(settings.connect_timeout_ms / 1000):
            _, connection = await network.connect(
                lambda: ClientConnection(address, settings, area), host, port, tls=tls, server_hostname=host
            )
            try:
                await _negotiate(connection, settings)
                if security is not None and security.login is not None:
                    await connection.authenticate(security)
            except BaseException:
                connection.close()
                raise
            return connection
    except TimeoutError as error:
        raise CannotConnect(f"{address} did not answer within {settings.connect_timeout_ms:g} ms") from error
    except OSError as error:
        raise _cannot_connect(host, address, error, settings) from error
    except CannotConnect:
        raise
    except ConnectionProblem as error:
        raise CannotConnect(f"{address} does not answer as a Kafka broker does: {error}") from error


def _cannot_connect(host: str, address: str, error: OSError, settings: ConnectionSettings) -> CannotConnect:
    has_tls = settings.security is not None and settings.security.tls is not None
    if has_tls and isinstance(error, ssl.SSLError | ConnectionResetError | ConnectionAbortedError | BrokenPipeError):
        kind = AuthenticationError if is_certificate_problem(error) else CannotConnect
        return kind(f"cannot connect to {address} with TLS: {tls_problem(error, host)}")
    return CannotConnect(f"cannot connect to {address}: {_reason(error)}")


def _reason(error: OSError) -> str:
    # asyncio puts its own text into strerror; failures to resolve a name have numbers of their own.
    if error.errno is None or isinstance(error, socket.gaierror):
        return error.strerror or str(error)
    return os.strerror(error.errno)


async def _negotiate(connection: ClientConnection, settings: ConnectionSettings) -> None:
    """Learn what the broker serves.

    A broker that is older than our newest ApiVersions answers in version 0 with UNSUPPORTED_VERSION, and, since
    KIP-511, with the range of ApiVersions that it has; one older than that lists nothing, and then version 0 is used.
    """
    request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=settings.software_version)
    low, version = ApiVersionsRequest.SCHEMA.valid
    while True:
        reply = await connection.request(
            request, ApiVersionsResponse, version=version, timeout_ms=settings.connect_timeout_ms
        )
        if reply.error_code == ErrorCode.NONE:
            break
        if reply.error_code != ErrorCode.UNSUPPORTED_VERSION or version == low:
            raise ConnectionLost(f"ApiVersions was refused with error code {reply.error_code}")
        offered = [entry.max_version for entry in reply.api_keys if entry.api_key == ApiKey.API_VERSIONS]
        version = min(version - 1, max(low, *offered)) if offered else low
    connection.versions = {entry.api_key: (entry.min_version, entry.max_version) for entry in reply.api_keys}
    connection.features = {feature.name: feature.max_version_level for feature in reply.finalized_features}


def _decode_reply(frame: Frame, expected: type[R], version: int) -> R:
    position = _CORRELATION_ID.size
    api_key = expected.SCHEMA.api_key
    if response_header_version(api_key, version) == 1:
        try:
            position = skip_tagged_fields(frame, position)
        except IndexError as error:
            raise ProtocolError("the header of a reply is truncated") from error
    elif api_key == ApiKey.API_VERSIONS and bytes(frame[position : position + 2]) == _UNSUPPORTED_VERSION:
        version = 0
    reply, _ = decode(expected, frame, version, position)
    return reply
