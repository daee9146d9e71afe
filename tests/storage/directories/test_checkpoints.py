"""The small text files: byte for byte as Kafka writes them, and refused when they are damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.model.ids import ZERO_UUID, TopicPartition, Uuid, parse_uuid
from tidelog.storage.directories.checkpoints import (
    CorruptCheckpoint,
    read_leader_epoch_checkpoint,
    read_offset_checkpoint,
    write_leader_epoch_checkpoint,
    write_offset_checkpoint,
)
from tidelog.storage.directories.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from tidelog.storage.directories.partition_metadata import read_partition_metadata, write_partition_metadata
from tidelog.storage.files.local_filesystem import LocalFileSystem
from tidelog.storage.recovery.clean_shutdown import take_clean_shutdown, write_clean_shutdown

FILESYSTEM = LocalFileSystem()
TOPIC_ID = parse_uuid("iC-KZ1fTQ4-VphXb5jGrJw")


def test_offset_checkpoint_has_kafkas_lines(tmp_path: Path) -> None:
    path = tmp_path / "replication-offset-checkpoint"
    offsets = {TopicPartition("peter-test01", 0): 6, TopicPartition("b", 12): 1 << 40}
    write_offset_checkpoint(FILESYSTEM, str(path), offsets)
    assert path.read_bytes() == b"0\n2\npeter-test01 0 6\nb 12 1099511627776\n"
    assert read_offset_checkpoint(FILESYSTEM, str(path)) == offsets
    assert not (tmp_path / "replication-offset-checkpoint.tmp").exists()


def test_leader_epoch_checkpoint_has_kafkas_lines(tmp_path: Path) -> None:
    path = tmp_path / "leader-epoch-checkpoint"
    write_leader_epoch_checkpoint(FILESYSTEM, str(path), [(0, 0), (1, 1)])
    assert path.read_bytes() == b"0\n2\n0 0\n1 1\n"
    assert read_leader_epoch_checkpoint(FILESYSTEM, str(path)) == [(0, 0), (1, 1)]


@pytest.mark.parametrize("content", [None, b"", b"0\n", b"0\n0\n"])
def test_missing_or_empty_checkpoint_has_no_entries(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "checkpoint"
    if content is not None:
        path.write_bytes(content)
    assert read_offset_checkpoint(FILESYSTEM, str(path)) == {}


@pytest.mark.parametrize(
    "content",
    [
        b"1\n0\n",
        b"1\n",
        b"0\n2\nt 0 1\n",
        b"0\n1\nt 0\n",
        b"0\n1\nt x 1\n",
        b"0\n1\nt 0 1\nt 1 1\n",
        b"0\nmany\n",
        b"\xff\xfe\x00\n",
    ],
)
def test_damaged_checkpoint_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "checkpoint"
    path.write_bytes(content)
    with pytest.raises(CorruptCheckpoint, match="checkpoint"):
        read_offset_checkpoint(FILESYSTEM, str(path))


def test_partition_metadata_has_kafkas_lines(tmp_path: Path) -> None:
    write_partition_metadata(FILESYSTEM, str(tmp_path), TOPIC_ID)
    assert (tmp_path / "partition.metadata").read_bytes() == b"version: 0\ntopic_id: iC-KZ1fTQ4-VphXb5jGrJw"
    assert read_partition_metadata(FILESYSTEM, str(tmp_path)) == TOPIC_ID


def test_missing_partition_metadata_has_no_id(tmp_path: Path) -> None:
    assert read_partition_metadata(FILESYSTEM, str(tmp_path)) is None


@pytest.mark.parametrize(
    "content",
    ["", "version: 0\n", "topic_id: iC-KZ1fTQ4-VphXb5jGrJw", "version: 0\ntopic_id: short", "version: x\ntopic_id: y"],
)
def test_damaged_partition_metadata_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "partition.metadata").write_text(content)
    with pytest.raises(CorruptCheckpoint, match=r"partition\.metadata"):
        read_partition_metadata(FILESYSTEM, str(tmp_path))


def test_reserved_topic_id_is_refused(tmp_path: Path) -> None:
    write_partition_metadata(FILESYSTEM, str(tmp_path), ZERO_UUID)
    with pytest.raises(CorruptCheckpoint, match="reserved"):
        read_partition_metadata(FILESYSTEM, str(tmp_path))


def test_meta_properties_are_read_back(tmp_path: Path) -> None:
    meta = MetaProperties(cluster_id="MkU3OEVBNTcwNTJENDM2Qg", node_id=3, directory_id=Uuid(bytes(range(16))))
    write_meta_properties(FILESYSTEM, str(tmp_path), meta)
    assert read_meta_properties(FILESYSTEM, str(tmp_path)) == meta
    lines = (tmp_path / "meta.properties").read_text().splitlines()
    assert "version=1" in lines
    assert "cluster.id=MkU3OEVBNTcwNTJENDM2Qg" in lines
    assert "node.id=3" in lines
    assert "directory.id=AAECAwQFBgcICQoLDA0ODw" in lines


def test_meta_properties_of_apache_kafka_are_read(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text(
        "#\n#Tue Mar 04 10:11:12 UTC 2025\ncluster.id=4L6g3nShT-eMCtK--X86sw\ndirectory.id=5CuQxUxbRDKhBHcTWG0Y3g\n"
        "node.id=1\nversion=1\n"
    )
    meta = read_meta_properties(FILESYSTEM, str(tmp_path))
    assert meta == MetaProperties(
        cluster_id="4L6g3nShT-eMCtK--X86sw", node_id=1, directory_id=parse_uuid("5CuQxUxbRDKhBHcTWG0Y3g")
    )


def test_unformatted_directory_has_no_meta_properties(tmp_path: Path) -> None:
    assert read_meta_properties(FILESYSTEM, str(tmp_path)) is None


@pytest.mark.parametrize(
    "content",
    ["", "version=0\ncluster.id=c\nbroker.id=1\n", "version=1\nnode.id=1\n", "version=1\ncluster.id=c\nnode.id=x\n"],
)
def test_meta_properties_that_say_too_little_are_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "meta.properties").write_text(content)
    with pytest.raises(CorruptCheckpoint, match=r"meta\.properties"):
        read_meta_properties(FILESYSTEM, str(tmp_path))


def test_clean_shutdown_marker_is_kafkas_and_can_be_taken_once(tmp_path: Path) -> None:
    write_clean_shutdown(FILESYSTEM, str(tmp_path), 42)
    assert (tmp_path / ".kafka_cleanshutdown").read_bytes() == b'{"version":0,"brokerEpoch":42}'
    assert take_clean_shutdown(FILESYSTEM, str(tmp_path)) == 42
    assert take_clean_shutdown(FILESYSTEM, str(tmp_path)) is None


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"version":0,"brokerEpoch":"x"}'])
def test_clean_shutdown_marker_counts_even_if_it_says_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / ".kafka_cleanshutdown").write_text(content)
    assert take_clean_shutdown(FILESYSTEM, str(tmp_path)) == -1
