"""Fields that only tidelog knows: tagged, far above Kafka's own tags, and not on the wire while they are not used."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from generate_messages import extend, extensions, snake_case
from support.message_samples import all_messages, all_versions, sample

from tidelog.protocol.codec import decode_whole, encode
from tidelog.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tidelog.protocol.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
    LogSegment,
)
from tidelog.protocol.messages.describe_producers_request import DescribeProducersRequest
from tidelog.protocol.schema import FIRST_EXTENSION_TAG, Field, Message, covers


def structs_in(kind: type[Message]) -> Iterator[type[Message]]:
    yield kind
    for struct in kind.STRUCTS.values():
        yield from structs_in(struct)


def extended_fields(kind: type[Message]) -> Iterator[tuple[str, Field]]:
    for struct in structs_in(kind):
        for field in struct.SCHEMA.fields:
            if field.tag >= FIRST_EXTENSION_TAG:
                yield struct.__name__, field


def test_the_messages_have_the_fields_of_the_file_and_no_others() -> None:
    written = {
        (message, struct, snake_case(field["name"]), field["tag"])
        for message, structs in extensions().items()
        for struct, fields in structs.items()
        for field in fields
    }
    found = {
        (kind.__name__, struct, field.name, field.tag)
        for kind in all_messages()
        for struct, field in extended_fields(kind)
    }
    assert found == written != set()


def test_kafkas_own_tags_are_far_below() -> None:
    tags = {field.tag for kind in all_messages() for struct in structs_in(kind) for field in struct.SCHEMA.fields} - {
        field.tag for kind in all_messages() for _, field in extended_fields(kind)
    }
    assert max(tags) < FIRST_EXTENSION_TAG // 100


def test_in_every_version_with_the_field_it_is_tagged() -> None:
    for kind, version in all_versions():
        for struct, field in extended_fields(kind):
            if covers(field.versions, version):
                assert covers(field.tagged, version), (struct, field)
                assert covers(kind.SCHEMA.flexible, version), (struct, field)


@pytest.mark.parametrize(
    ("request_", "version", "plain"),
    [
        (DescribeLogDirsRequest(topics=None), 5, b"\0\0"),
        (DescribeLogDirsRequest(topics=None), 2, b"\0\0"),
        (DescribeProducersRequest(), 0, b"\1\0"),
    ],
)
def test_a_request_that_does_not_ask_has_kafkas_bytes(request_: Message, version: int, plain: bytes) -> None:
    assert encode(request_, version) == plain


def test_asking_takes_one_tagged_field() -> None:
    # One field, the tag 10000 as a varint, one byte: true.
    assert encode(DescribeLogDirsRequest(topics=None, include_segments=True), 5) == b"\0\1\x90\x4e\1\1"
    assert encode(DescribeProducersRequest(include_batches=True), 0) == b"\1\1\x90\x4e\1\1"


def test_versions_without_tagged_fields_leave_them_out() -> None:
    asked = DescribeLogDirsRequest(topics=None, include_segments=True)
    assert encode(asked, 1) == encode(DescribeLogDirsRequest(topics=None), 1)
    assert not decode_whole(DescribeLogDirsRequest, encode(asked, 1), 1).include_segments

    def reply(segments: list[LogSegment] | None) -> DescribeLogDirsResponse:
        topic = DescribeLogDirsTopic(name="t", partitions=[DescribeLogDirsPartition(segments=segments)])
        return DescribeLogDirsResponse(results=[DescribeLogDirsResult(topics=[topic])])

    assert encode(reply([LogSegment(next_offset=7)]), 1) == encode(reply(None), 1)
    assert encode(reply([LogSegment(next_offset=7)]), 2) != encode(reply(None), 2)


def test_with_defaults_nothing_of_them_is_sent() -> None:
    random = Random(5)
    for kind, version in all_versions():
        if any(extended_fields(kind)):
            data = encode(sample(kind, version, random, extensions=False), version)
            again = decode_whole(kind, data, version)
            assert encode(again, version) == data
            # The tag would be there as these two bytes.
            assert b"\x90\x4e" not in data


def test_what_cannot_be_an_extension_is_refused() -> None:
    schema = {"name": "SomeRequest", "fields": [{"name": "Topics", "type": "[]Topic", "fields": [{"name": "Name"}]}]}
    tagged = {"name": "More", "type": "bool", "taggedVersions": "0+", "tag": FIRST_EXTENSION_TAG}
    with pytest.raises(SystemExit, match="has no struct Partition"):
        extend(schema, {"Partition": [tagged]})
    with pytest.raises(SystemExit, match="needs a tag of at least 10000"):
        extend(schema, {"Topic": [{**tagged, "tag": 3}]})
    with pytest.raises(SystemExit, match="needs a tag of at least 10000"):
        extend(schema, {"Topic": [{"name": "More", "type": "bool"}]})
    extend(schema, {"Topic": [tagged]})
    with pytest.raises(SystemExit, match="has a field Other or a tag 10000 already"):
        extend(schema, {"Topic": [{**tagged, "name": "Other"}]})
