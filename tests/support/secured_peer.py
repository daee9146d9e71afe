"""A small server on the loopback interface that speaks TLS and SASL, for tests of clients without a broker.

It decides with `SaslSession`, the server's own side, and answers ApiVersions and ListGroups, the latter with the name
of the user.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from struct import unpack_from
from typing import cast

from tidelog.protocol.codec import decode
from tidelog.protocol.frames import response_frame, skip_tagged_fields
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from tidelog.protocol.messages.list_groups_response import ListedGroup, ListGroupsResponse
from tidelog.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from tidelog.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from tidelog.protocol.schema import Message
from tidelog.security.sasl_session import (
    AnswerApiVersions,
    CloseConnection,
    EnabledMechanism,
    SaslAnswer,
    SaslMoment,
    SaslSession,
    ServeRequest,
)

_SERVED = {
    ApiKey.LIST_GROUPS: (0, 4),
    ApiKey.SASL_HANDSHAKE: (0, 1),
    ApiKey.API_VERSIONS: (0, 4),
    ApiKey.SASL_AUTHENTICATE: (0, 2),
}
_SASL: Mapping[int, type[Message]] = {
    ApiKey.SASL_HANDSHAKE: SaslHandshakeRequest,
    ApiKey.SASL_AUTHENTICATE: SaslAuthenticateRequest,
}


@dataclass(slots=True)
class SecuredPeer:
    port: int = 0
    # The API keys of all requests, in the order in which they came, over all connections.
    seen: list[int] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)


@asynccontextmanager
async def secured_peer(
    mechanisms: Mapping[str, EnabledMechanism] | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[SecuredPeer]:
    found = SecuredPeer()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = None if mechanisms is None else SaslSession(mechanisms=mechanisms)
        try:
            while await _serve(found, session, reader, writer):
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()


async def _serve(
    found: SecuredPeer, session: SaslSession | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    (size,) = unpack_from(">i", await reader.readexactly(4))
    if not 0 < size < 1 << 20:
        return False
    frame = await reader.readexactly(size)
    api_key, version, correlation_id = unpack_from(">hhi", frame)
    found.seen.append(api_key)
    user = "nobody"
    if session is not None:
        now = time.time_ns() // 1_000_000
        decision = session.receive_request(
            api_key, version, _sasl_request(frame, api_key, version), SaslMoment(now, time.monotonic() * 1000)
        )
        match decision:
            case SaslAnswer():
                assert isinstance(decision.reply, Message)
                _reply(writer, api_key, version, correlation_id, decision.reply)
                return True
            case CloseConnection():
                found.closed.append(decision.reason)
                if decision.reply is not None:
                    _reply(writer, api_key, version, correlation_id, decision.reply)
                return False
            case AnswerApiVersions():
                session.api_versions_answered(0)
            case ServeRequest():
                user = str(decision.principal)
    if api_key == ApiKey.API_VERSIONS:
        served = [ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in _SERVED.items()]
        _reply(writer, api_key, version, correlation_id, ApiVersionsResponse(api_keys=served))
    else:
        _reply(writer, api_key, version, correlation_id, ListGroupsResponse(groups=[ListedGroup(group_id=user)]))
    return True


def _sasl_request(frame: bytes, api_key: int, version: int) -> Message | None:
    kind = _SASL.get(api_key)
    if kind is None:
        return None
    (length,) = unpack_from(">h", frame, 8)
    position = 10 + max(0, length)
    if version >= kind.SCHEMA.flexible[0] and kind.SCHEMA.flexible[0] <= kind.SCHEMA.flexible[1]:
        position = skip_tagged_fields(frame, position)
    request, _ = decode(kind, frame, version, position)
    return request


def _reply(writer: asyncio.StreamWriter, api_key: int, version: int, correlation_id: int, reply: Message) -> None:
    writer.writelines(cast(list[bytes], response_frame(api_key, version, correlation_id, reply)))
