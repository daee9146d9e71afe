"""Refuses Produce versions 0 to 2, which are advertised only for the sake of old librdkafka versions.

Their records have an old format (magic 0 or 1). The layout of these versions is not in Kafka's schemas any more:

    request   acks i16, timeout i32, [topic string, [partition i32, records bytes]]
    response  [topic string, [partition i32, error i16, offset i64, (2: timestamp i64)]], (1, 2: throttle i32)
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError

from tidelog.model.errors import ErrorCode
from tidelog.network.frame_receiver import Frame
from tidelog.protocol.codec import Buffer, ProtocolError
from tidelog.protocol.frames import parse_request_header

_ACKS_TIMEOUT_COUNT = Struct(">hii")
_SHORT = Struct(">h")
_INT = Struct(">i")
_PARTITION = Struct(">ihq")
_LONG = Struct(">q")


def refuse(frame: Frame, version: int, correlation_id: int) -> list[Buffer] | None:
    """The reply frame that says UNSUPPORTED_VERSION for each partition; None for acks=0, which expects none."""
    try:
        acks, topics = _partitions_of(frame)
    except (StructError, IndexError) as error:
        raise ProtocolError(f"Produce version {version}: {error}") from error
    if acks == 0:
        return None
    body = bytearray(_INT.pack(len(topics)))
    for name, partitions in topics:
        body += _SHORT.pack(len(name)) + name + _INT.pack(len(partitions))
        for partition in partitions:
            body += _PARTITION.pack(partition, ErrorCode.UNSUPPORTED_VERSION, -1)
            if version == 2:
                body += _LONG.pack(-1)
    if version >= 1:
        body += _INT.pack(0)
    return [_INT.pack(len(body) + 4) + _INT.pack(correlation_id) + body]


def _partitions_of(frame: Frame) -> tuple[int, list[tuple[bytes, list[int]]]]:
    _, position = parse_request_header(frame, flexible=False)
    acks, _, topic_count = _ACKS_TIMEOUT_COUNT.unpack_from(frame, position)
    position += _ACKS_TIMEOUT_COUNT.size
    topics: list[tuple[bytes, list[int]]] = []
    for _ in range(topic_count):
        (size,) = _SHORT.unpack_from(frame, position)
        name = bytes(frame[position + 2 : position + 2 + size])
        position += 2 + max(size, 0)
        (partition_count,) = _INT.unpack_from(frame, position)
        position += 4
        partitions: list[int] = []
        for _ in range(partition_count):
            (partition,) = _INT.unpack_from(frame, position)
            (length,) = _INT.unpack_from(frame, position + 4)
            position += 8 + max(length, 0)
            partitions.append(partition)
        topics.append((name, partitions))
    return acks, topics
