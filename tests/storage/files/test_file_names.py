"""Names of files and directories are Kafka's."""

from __future__ import annotations

import pytest

from tidelog.model.ids import TopicPartition
from tidelog.storage.files.file_names import (
    directory_mark,
    marked_directory,
    offset_of_name,
    parse_partition_directory,
    partition_directory,
    segment_prefix,
)

ID = "0123456789abcdef0123456789abcdef"


def test_segment_names_have_twenty_digits() -> None:
    assert segment_prefix(0) == "00000000000000000000"
    assert segment_prefix((1 << 63) - 1) == "09223372036854775807"


@pytest.mark.parametrize(
    ("name", "offset"),
    [
        ("00000000000000000042.log", 42),
        ("00000000000000000042.log.deleted", 42),
        ("00000000000000000042.snapshot", 42),
        ("leader-epoch-checkpoint", None),
        ("partition.metadata", None),
        (".lock", None),
    ],
)
def test_offset_is_read_from_names_that_begin_with_one(name: str, offset: int | None) -> None:
    assert offset_of_name(name) == offset


@pytest.mark.parametrize(
    ("name", "partition"),
    [
        ("orders-0", TopicPartition("orders", 0)),
        ("with-dashes-12", TopicPartition("with-dashes", 12)),
        ("a.b-3", TopicPartition("a.b", 3)),
        ("__consumer_offsets-49", TopicPartition("__consumer_offsets", 49)),
        (f"orders-0.{ID}-delete", None),
        (f"orders-0.{ID}-stray", None),
        (f"orders-0.{ID}-future", None),
        ("orders", None),
        ("orders-", None),
        ("-0", None),
        ("orders-x", None),
        ("meta.properties", None),
    ],
)
def test_partition_is_read_from_directory_names(name: str, partition: TopicPartition | None) -> None:
    assert parse_partition_directory(name) == partition


def test_partition_directory_is_read_back() -> None:
    partition = TopicPartition("t-1.delete", 5)
    assert parse_partition_directory(partition_directory(partition)) == partition


def test_directory_to_be_deleted_is_named_as_kafka_names_it() -> None:
    assert marked_directory(TopicPartition("orders", 3), ID, "-delete") == f"orders-3.{ID}-delete"
    assert directory_mark(f"orders-3.{ID}-delete") == "-delete"


def test_long_topic_gives_way_to_the_limit_of_255_characters() -> None:
    name = marked_directory(TopicPartition("t" * 249, 1000), ID, "-delete")
    assert len(name) == 255
    assert name.endswith(f"t-1000.{ID}-delete")
