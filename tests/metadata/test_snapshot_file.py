"""Snapshots of the metadata: their bytes, and the difference that one makes to an image."""

from __future__ import annotations

import dataclasses

import pytest

from tidelog.metadata.difference import difference
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.replay import apply
from tidelog.metadata.snapshot import image_records
from tidelog.metadata.snapshot_file import (
    RECORDS_PER_BATCH,
    CorruptSnapshot,
    decode_snapshot,
    encode_snapshot,
    read_timestamp_ms,
)
from tidelog.protocol.messages.config_record import ConfigRecord
from tidelog.protocol.messages.feature_level_record import FeatureLevelRecord
from tidelog.protocol.messages.partition_change_record import PartitionChangeRecord
from tidelog.protocol.messages.partition_record import PartitionRecord
from tidelog.protocol.messages.producer_ids_record import ProducerIdsRecord
from tidelog.protocol.messages.register_broker_record import RegisterBrokerRecord
from tidelog.protocol.messages.remove_topic_record import RemoveTopicRecord
from tidelog.protocol.messages.topic_record import TopicRecord
from tidelog.records.batch import iterate_headers

A = b"a" * 16
IMAGE, _ = apply(
    ClusterImage(cluster_id="cluster"),
    [
        FeatureLevelRecord(name="metadata.version", feature_level=25),
        RegisterBrokerRecord(
            broker_id=1, incarnation_id=b"i" * 16, broker_epoch=7, fenced=False, log_dirs=(b"d" * 16,)
        ),
        TopicRecord(name="t", topic_id=A),
        PartitionRecord(partition_id=0, topic_id=A, replicas=(1, 2), isr=(1, 2), leader=1, directories=(A, A)),
        PartitionRecord(partition_id=1, topic_id=A, replicas=(2, 1), isr=(2,), leader=2, directories=(A, A)),
        ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="777"),
        ProducerIdsRecord(broker_id=1, broker_epoch=7, next_producer_id=1000),
    ],
    offset=41,
)


def snapshot_of(image: ClusterImage) -> bytes:
    return b"".join(encode_snapshot(image_records(image), epoch=7, timestamp_ms=1_000, now_ms=2_000))


def test_an_image_survives_as_a_snapshot() -> None:
    data = snapshot_of(IMAGE)
    content = decode_snapshot(data)
    restored, _ = apply(ClusterImage(cluster_id=IMAGE.cluster_id), content.records, offset=IMAGE.offset)
    assert restored == IMAGE
    assert content.timestamp_ms == 1_000
    assert read_timestamp_ms(data[:200]) == 1_000


def test_offsets_in_a_snapshot_have_no_gaps_and_all_batches_have_its_epoch() -> None:
    records = [TopicRecord(name=f"t{n}", topic_id=n.to_bytes(16, "big")) for n in range(2 * RECORDS_PER_BATCH + 1)]
    data = b"".join(encode_snapshot(records, epoch=7, timestamp_ms=0, now_ms=0))
    headers = [header for _, header in iterate_headers(data)]
    assert [header.base_offset for header in headers] == [0, 1, 501, 1001, 1002]
    assert {header.partition_leader_epoch for header in headers} == {7}
    assert [header.is_control for header in headers] == [True, False, False, False, True]
    assert list(decode_snapshot(data).records) == records


def test_an_empty_image_has_a_snapshot_too() -> None:
    assert decode_snapshot(snapshot_of(ClusterImage(cluster_id="c"))).records == ()


def test_a_snapshot_that_is_cut_off_anywhere_is_not_taken_for_whole() -> None:
    data = snapshot_of(IMAGE)
    for size in range(len(data)):
        with pytest.raises(CorruptSnapshot):
            decode_snapshot(data[:size])


def test_a_snapshot_with_a_changed_byte_is_noticed() -> None:
    data = snapshot_of(IMAGE)
    # The first 16 bytes of a batch are outside of its checksum: offset, length and epoch.
    for position in range(17, len(data), 7):
        damaged = bytearray(data)
        damaged[position] ^= 0x55
        headers = [at for at, _ in iterate_headers(data)]
        if any(at <= position < at + 17 for at in headers):
            continue
        with pytest.raises(CorruptSnapshot):
            decode_snapshot(damaged)


def test_nothing_may_follow_on_the_footer() -> None:
    data = snapshot_of(IMAGE)
    with pytest.raises(CorruptSnapshot, match="footer"):
        decode_snapshot(data + data)


def test_the_difference_of_two_images_is_what_the_records_between_them_changed() -> None:
    topic = next(iter(IMAGE.topics.values()))
    change = PartitionChangeRecord(topic_id=topic.id, partition_id=0, isr=topic.partitions[0].replicas[:1])
    after, delta = apply(IMAGE, [change])
    assert difference(IMAGE, after) == delta
    removed, delta = apply(IMAGE, [RemoveTopicRecord(topic_id=topic.id)])
    assert difference(IMAGE, removed) == delta
    created, delta = apply(IMAGE, [TopicRecord(name="another", topic_id=b"another-another-")])
    assert difference(IMAGE, created) == delta


def test_the_difference_from_nothing_is_everything_and_from_itself_nothing() -> None:
    empty = ClusterImage(cluster_id=IMAGE.cluster_id)
    image, delta = apply(empty, image_records(IMAGE), offset=IMAGE.offset)
    assert difference(empty, image) == delta
    assert difference(IMAGE, dataclasses.replace(IMAGE)) == difference(empty, empty)
