"""The compiled codec: every message in every version, and bytes that are not what they claim to be."""

from __future__ import annotations

import tracemalloc
from random import Random
from typing import cast

import pytest
from support.message_samples import all_messages, all_versions, sample

from tidelog.model.unread import UnreadBytes
from tidelog.protocol.codec import (
    ProtocolError,
    UnsupportedVersion,
    decode,
    decode_uvarint,
    decode_whole,
    encode,
    encode_uvarint,
)
from tidelog.protocol.frames import LENGTH, response_frame
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.protocol.messages.consumer_group_member_metadata_value import ConsumerGroupMemberMetadataValue
from tidelog.protocol.messages.fetch_request import FetchRequest
from tidelog.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from tidelog.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic


def test_every_message_in_every_version_survives_a_round_trip() -> None:
    random = Random(1)
    checked = 0
    for kind, version in all_versions():
        for _ in range(3):
            message = sample(kind, version, random)
            data = encode(message, version)
            again = decode_whole(kind, data, version)
            assert encode(again, version) == data, (kind.__name__, version)
            assert again == message, (kind.__name__, version)
            checked += 1
    assert checked > 1500


def test_pieces_join_to_a_frame_and_records_are_not_copied() -> None:
    records = b"r" * 100_000
    response = FetchResponse(
        responses=[FetchableTopicResponse(topic="t", partitions=[PartitionData(partition_index=1, records=records)])]
    )
    pieces = response_frame(ApiKey.FETCH, 12, 7, response)
    size = len(encode(response, 12)) + 5
    assert b"".join(cast(list[bytes], pieces)) == LENGTH.pack(size) + LENGTH.pack(7) + b"\0" + encode(response, 12)
    assert len(pieces) == 3
    assert any(piece is records for piece in pieces)


class Unread(UnreadBytes):
    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def __len__(self) -> int:
        return self._size


@pytest.mark.parametrize("size", [5, 100_000])
def test_unread_bytes_are_pieces_of_their_own(size: int) -> None:
    read, unread = b"r" * size, Unread(size)
    frames = []
    for records in (read, cast(bytes, unread)):
        partitions = [PartitionData(partition_index=index, records=records) for index in (1, 2)]
        response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])
        frames.append(response_frame(ApiKey.FETCH, 12, 7, response))
    assert [piece for piece in frames[1] if isinstance(piece, UnreadBytes)] == [unread, unread]
    assert b"".join(read if isinstance(piece, UnreadBytes) else piece for piece in frames[1]) == b"".join(
        cast(list[bytes], frames[0])
    )


def test_a_version_that_a_message_does_not_have_is_named() -> None:
    with pytest.raises(UnsupportedVersion, match="FetchRequest has the versions 4 to 18, not 3"):
        encode(FetchRequest(), 3)


def test_fields_that_a_version_lacks_keep_their_defaults() -> None:
    request = FetchRequest(rack_id="here", max_bytes=7)
    again = decode_whole(FetchRequest, encode(request, 10), 10)
    assert again.rack_id == ""
    assert again.max_bytes == 7


def test_an_absent_struct_in_a_tagged_field_is_read_and_written_as_kafka_does() -> None:
    # What Apache Kafka 4.3.1 wrote to __consumer_offsets for a member of a consumer group (without the version).
    data = b"\x00\x00\x08rdkafka\x0b/127.0.0.1\x02\x07codecs\x01\x00\x04\x93\xe0\x00\x01\x00\x01\x00"
    member = decode_whole(ConsumerGroupMemberMetadataValue, data, 0)
    assert member.subscribed_topic_names == ["codecs"]
    assert member.classic_member_metadata is None
    assert encode(member, 0) == data


def test_unknown_tagged_fields_are_skipped() -> None:
    plain = encode(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3)
    assert plain[-1] == 0
    with_tag = plain[:-1] + b"\x01" + encode_uvarint(4711) + encode_uvarint(3) + b"xyz"
    again = decode_whole(ApiVersionsRequest, with_tag, 3)
    assert again.client_software_name == "a"


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 16383, 16384, 2**21, 2**28, 2**31 - 1])
def test_unsigned_varints_survive_a_round_trip(value: int) -> None:
    data = encode_uvarint(value)
    assert decode_uvarint(data, 0) == (value, len(data))


def test_a_varint_without_an_end_is_refused() -> None:
    with pytest.raises(ProtocolError, match="longer than five bytes"):
        decode_uvarint(b"\xff" * 10, 0)


@pytest.mark.parametrize(
    ("version", "data"),
    [
        pytest.param(8, b"\x7f\xff\xff\xff", id="array of two billion topics"),
        pytest.param(9, b"\xff\xff\xff\xff\x07", id="compact array of two billion topics"),
        pytest.param(9, b"\x01\x01\x00\x00\xff\xff\xff\xff\x07", id="two billion tagged fields"),
        pytest.param(9, b"\x01\x01\x00\x00\x01\x63\xff\xff\xff\xff\x07", id="tagged field of two gigabytes"),
        pytest.param(8, b"\x00\x00\x00\x01\x7f\xff", id="string longer than the frame"),
    ],
)
def test_counts_beyond_the_bytes_are_refused_without_allocation(version: int, data: bytes) -> None:
    decode(MetadataRequest, encode(MetadataRequest(topics=[]), version), version)
    tracemalloc.start()
    with pytest.raises(ProtocolError):
        decode(MetadataRequest, data, version)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


def test_null_where_it_is_not_allowed_is_refused() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=None)])
    with pytest.raises(ValueError, match="name is None"):
        encode(request, 9)
    assert decode_whole(MetadataRequest, encode(request, 12), 12).topics == request.topics


def test_mutated_bytes_give_a_message_or_a_protocol_error() -> None:
    """Whatever arrives, nothing but ProtocolError comes out."""
    random = Random(7)
    refused = accepted = 0
    for kind in all_messages():
        version = random.randint(*kind.SCHEMA.valid)
        data = bytearray(encode(sample(kind, version, random), version))
        for _ in range(60):
            mutated = bytearray(data)
            for _ in range(random.randrange(1, 4)):
                if mutated and random.random() < 0.8:
                    mutated[random.randrange(len(mutated))] = random.randrange(256)
                else:
                    del mutated[random.randrange(len(mutated) + 1) :]
            try:
                decode(kind, mutated, version)
                accepted += 1
            except ProtocolError:
                refused += 1
    assert refused > 100
    assert accepted > 100
