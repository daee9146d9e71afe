"""SASL on one connection: the `RequestService` that answers until the client is authenticated, and passes on from then.

What is expected and answered is decided in `tidelog.security.sasl_session`. Here are the frames around it, the delay of
failures, and the deadline. Before it is authenticated a client gets little: small frames, one at a time, of three APIs,
for a bounded time. Anything else is not even decoded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock
from tidelog.network.frame_receiver import Frame
from tidelog.network.later import Later
from tidelog.network.server_connection import Reply, RequestService, ServerConnection
from tidelog.protocol.codec import ProtocolError, decode
from tidelog.protocol.frames import LENGTH, parse_request_header, peek_request, response_frame
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from tidelog.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from tidelog.protocol.schema import Message, covers
from tidelog.security.sasl_session import (
    AnswerApiVersions,
    AuthenticatedSession,
    CloseConnection,
    EnabledMechanism,
    SaslAnswer,
    SaslDecision,
    SaslMoment,
    SaslSession,
    ServeRequest,
)

logger = logging.getLogger(__name__)

# Whatever sasl.server.max.receive.size says: no token of a mechanism is larger.
LARGEST_FRAME_BYTES = 64 * 1024
# From the first byte to the last token.
DEADLINE_SECONDS = 30.0
# Of one listener. Each may hold one frame and one more in its queue: 128 KiB, all of them 128 MiB.
MAX_NEWCOMERS = 1024

_REQUESTS: Mapping[int, type[Message]] = {
    ApiKey.SASL_HANDSHAKE: SaslHandshakeRequest,
    ApiKey.SASL_AUTHENTICATE: SaslAuthenticateRequest,
}
_SASL_KEYS = frozenset(key.to_bytes(2, "big") for key in _REQUESTS)
# Of a reply to ApiVersions, whose header has no tags in any version: the length, the correlation id, the error.
_ERROR_AT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslRules:
    """What a listener demands."""

    mechanisms: Mapping[str, EnabledMechanism]
    frame_bytes: int
    failure_delay_ms: int
    deadline_seconds: float
    # Called with each outcome: succeeded, renewed, failed.
    counted: Callable[[str], None]


class Newcomers:
    """The connections to a listener that are not authenticated yet. Where there are too many, the oldest is closed: an
    authentication that makes progress takes some milliseconds.
    """

    def __init__(self, most: int = MAX_NEWCOMERS) -> None:
        self._most = most
        # In order of arrival.
        self._waiting: dict[ServerConnection, None] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, connection: ServerConnection) -> None:
        while len(self._waiting) >= self._most:
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            logger.info(
                "closing the connection from %s:%d: too many are not authenticated, and this is the oldest",
                oldest.peer_host,
                oldest.peer_port,
            )
            oldest.close()
        self._waiting[connection] = None

    def remove(self, connection: ServerConnection) -> None:
        self._waiting.pop(connection, None)


class _Asked(NamedTuple):
    """A request whose header could be read, or a bare token."""

    api_key: int
    version: int
    correlation_id: int


class SaslGate:
    """Lives as long as its connection."""

    def __init__(
        self,
        service: RequestService,
        rules: SaslRules,
        newcomers: Newcomers,
        clock: Clock,
        ready: asyncio.Event | None,
    ) -> None:
        """Nobody is authenticated before `ready` is set: the credentials may not be there yet."""
        self._service = service
        self._rules = rules
        self._newcomers = newcomers
        self._clock = clock
        self._ready = ready
        self._session = SaslSession(mechanisms=rules.mechanisms)
        self._deadline: asyncio.TimerHandle | None = None

    # -- for the connection --------------------------------------------------------------------------------------

    def connected(self, connection: ServerConnection) -> bool:
        if not self._service.connected(connection):
            return False
        self._newcomers.add(connection)
        connection.expect_authentication(self._rules.frame_bytes)
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(self._rules.deadline_seconds, self._too_late, connection)
        return True

    def disconnected(self, connection: ServerConnection) -> None:
        self._end_deadline()
        self._newcomers.remove(connection)
        self._service.disconnected(connection)

    def frame_limit(self, first_bytes: memoryview) -> int:
        if self._session.is_authenticating:
            return self._rules.frame_bytes
        return self._service.frame_limit(first_bytes)

    def may_pipeline(self, frame: Frame) -> bool:
        if self._session.is_authenticating or bytes(frame[:2]) in _SASL_KEYS:
            return False
        return self._service.may_pipeline(frame)

    def answer(self, frame: Frame, connection: ServerConnection) -> Reply | Later[Reply]:
        session = self._session
        if not session.is_authenticating and bytes(frame[:2]) not in _SASL_KEYS:
            current = session.session
            assert current is not None
            expires = current.expires_at_ms
            if expires is None or self._clock.monotonic_ms() <= expires:
                return self._service.answer(frame, connection)
        if self._ready is not None and not self._ready.is_set():
            return Later.run(self._answer_when_ready(self._ready, frame, connection))
        return self._receive(frame, connection)

    # -- the steps -----------------------------------------------------------------------------------------------

    async def _answer_when_ready(self, ready: asyncio.Event, frame: Frame, connection: ServerConnection) -> Reply:
        await ready.wait()
        reply = self._receive(frame, connection)
        return await reply if isinstance(reply, Later) else reply

    def _receive(self, frame: Frame, connection: ServerConnection) -> Reply | Later[Reply]:
        session = self._session
        moment = SaslMoment(self._clock.now_ms(), self._clock.monotonic_ms())
        asked = _Asked(-1, -1, -1)
        decision: SaslDecision
        if session.expects_token:
            decision = session.receive_token(bytes(frame), moment)
        else:
            try:
                asked = _Asked(*peek_request(frame))
                request = _decoded(frame, asked)
                decision = session.receive_request(asked.api_key, asked.version, request, moment)
            except ProtocolError as error:
                decision = session.unreadable(str(error))
        return self._act(decision, asked, frame, connection)

    def _act(
        self, decision: SaslDecision, asked: _Asked, frame: Frame, connection: ServerConnection
    ) -> Reply | Later[Reply]:
        match decision:
            case SaslAnswer(reply=reply, session=session):
                if session is not None:
                    self._authenticated(session, connection)
                return _framed(reply, asked)
            case AnswerApiVersions():
                answer = self._service.answer(frame, connection)
                return (
                    answer.then(self._versions_answered)
                    if isinstance(answer, Later)
                    else self._versions_answered(answer)
                )
            case ServeRequest():
                return self._service.answer(frame, connection)
            case CloseConnection():
                return self._refuse(decision, asked, connection)

    def _authenticated(self, session: AuthenticatedSession, connection: ServerConnection) -> None:
        self._end_deadline()
        self._newcomers.remove(connection)
        connection.authenticated(session.principal)
        self._rules.counted("renewed" if session.renewed else "succeeded")
        logger.debug(
            "%s:%d is %s by %s%s",
            connection.peer_host,
            connection.peer_port,
            session.principal,
            session.mechanism,
            ", again" if session.renewed else "",
        )

    def _versions_answered(self, reply: Reply) -> Reply:
        assert reply is not None
        start = b"".join(bytes(piece) for piece in reply if isinstance(piece, bytes | bytearray | memoryview))
        self._session.api_versions_answered(int.from_bytes(start[_ERROR_AT : _ERROR_AT + 2], "big", signed=True))
        return reply

    def _refuse(self, decision: CloseConnection, asked: _Asked, connection: ServerConnection) -> Later[Reply]:
        """Clients that try passwords have to wait after each, and nothing is read from them meanwhile."""
        self._end_deadline()
        self._rules.counted("failed")
        connection.refuse(decision.reason)
        reply = None if decision.reply is None else _framed(decision.reply, asked)
        return Later.run(_after(self._rules.failure_delay_ms / 1000 if decision.after_delay else 0.0, reply))

    def _too_late(self, connection: ServerConnection) -> None:
        logger.info(
            "closing the connection from %s:%d: it is not authenticated after %.0f seconds",
            connection.peer_host,
            connection.peer_port,
            self._rules.deadline_seconds,
        )
        self._rules.counted("failed")
        connection.close()

    def _end_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


async def _after(seconds: float, reply: Reply) -> Reply:
    await asyncio.sleep(seconds)
    return reply


def _framed(reply: Message | bytes, asked: _Asked) -> Reply:
    if isinstance(reply, bytes):
        return [LENGTH.pack(len(reply)) + reply]
    return response_frame(asked.api_key, asked.version, asked.correlation_id, reply)


def _decoded(frame: Frame, asked: _Asked) -> Message | None:
    """None for requests that are none of SASL's. Raises ProtocolError."""
    kind = _REQUESTS.get(asked.api_key)
    if kind is None:
        return None
    if not covers(kind.SCHEMA.valid, asked.version):
        raise ProtocolError(f"{kind.__name__} has no version {asked.version}")
    view = memoryview(frame)
    _, body_at = parse_request_header(view, flexible=covers(kind.SCHEMA.flexible, asked.version))
    request, _ = decode(kind, view, asked.version, body_at)
    return request
