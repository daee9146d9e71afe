"""Frames: four bytes of length, a header, a body. Both directions, for servers and clients.

How frames come off a socket lives in `tidelog.network`.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError
from typing import Final, cast

from tidelog.model.unread import UnreadBytes
from tidelog.protocol.api import request_header_version, response_header_version
from tidelog.protocol.codec import Buffer, ProtocolError, decode_uvarint, plain_chunks
from tidelog.protocol.implementation import compiled
from tidelog.protocol.schema import Message

Piece = Buffer | UnreadBytes

LENGTH = Struct(">i")
_REQUEST_HEADER = Struct(">hhi")
_CLIENT_ID = Struct(">h")
_RESPONSE_HEADER = Struct(">i")
_FLEXIBLE_RESPONSE_HEADER = Struct(">ix")
_compiled: Final = compiled

LENGTH_SIZE = 4

# Above this many bytes a piece goes to the socket as it is; below, copying is cheaper than another iovec.
COALESCE_BELOW: Final = 16 * 1024


def peek_request(frame: Buffer) -> tuple[int, int, int]:
    """(api key, version, correlation id), which every request has in the same place."""
    if len(frame) < _REQUEST_HEADER.size:
        raise ProtocolError(f"a request of {len(frame)} bytes is too short for its header")
    api_key, version, correlation_id = _REQUEST_HEADER.unpack_from(frame)
    return api_key, version, correlation_id


def parse_request_header(frame: Buffer, *, flexible: bool) -> tuple[str | None, int]:
    """(client id, where the body begins); whether the header has tagged fields depends on API and version."""
    position = _REQUEST_HEADER.size
    try:
        (size,) = _CLIENT_ID.unpack_from(frame, position)
        position += 2
        client_id = None
        if size >= 0:
            end = position + size
            if end > len(frame):
                raise ProtocolError(f"the client id claims {size} bytes where {len(frame) - position} are left")
            client_id = str(frame[position:end], "utf-8")
            position = end
        if flexible:
            position = skip_tagged_fields(frame, position)
    except (StructError, IndexError, UnicodeDecodeError) as error:
        raise ProtocolError(f"request header: {error}") from error
    return client_id, position


def skip_tagged_fields(frame: Buffer, position: int) -> int:
    """The position behind the tagged fields that begin at `position`."""
    count, position = decode_uvarint(frame, position)
    if count * 2 > len(frame) - position:
        raise ProtocolError(f"{count} tagged fields claimed where {len(frame) - position} bytes are left")
    for _ in range(count):
        _, position = decode_uvarint(frame, position)
        size, position = decode_uvarint(frame, position)
        position += size
        if position > len(frame):
            raise ProtocolError("a tagged field of the header reaches beyond the frame")
    return position


def response_frame(api_key: int, version: int, correlation_id: int, response: Message) -> list[Piece]:
    """A whole response frame in pieces; records that are still in their file stay there."""
    flexible = response_header_version(api_key, version) == 1
    head = (_FLEXIBLE_RESPONSE_HEADER if flexible else _RESPONSE_HEADER).pack(correlation_id)
    return _frame(head, response, version)


def request_frame(
    api_key: int, version: int, correlation_id: int, client_id: str | None, request: Message
) -> list[Buffer]:
    """A whole request frame in pieces for `writelines`."""
    name = b"" if client_id is None else client_id.encode()
    head = _REQUEST_HEADER.pack(api_key, version, correlation_id)
    head += _CLIENT_ID.pack(-1 if client_id is None else len(name)) + name
    if request_header_version(api_key, version) == 2:
        head += b"\0"
    # Requests have no unread bytes.
    return cast(list[Buffer], _frame(head, request, version))


def _frame(head: bytes, message: Message, version: int) -> list[Piece]:
    if _compiled is not None:
        return _compiled.encode_frame(message, version, head, COALESCE_BELOW)
    pieces: list[Piece] = [*plain_chunks(message, version)]
    size = sum(map(len, pieces)) + len(head)
    return coalesce([LENGTH.pack(size) + head, *pieces])


def coalesce(pieces: list[Piece]) -> list[Piece]:
    """Join neighbouring small pieces; leave large ones alone, so that records are not copied, and unread ones."""
    joined: list[Piece] = []
    small: list[Buffer] = []
    for piece in pieces:
        if len(piece) < COALESCE_BELOW and not isinstance(piece, UnreadBytes):
            small.append(piece)
            continue
        if small:
            joined.append(b"".join(small))
            small = []
        joined.append(piece)
    if small:
        joined.append(b"".join(small))
    return joined
