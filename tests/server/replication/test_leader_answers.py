"""What a follower does with an answer that it cannot act on."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.default_settings import log_config, replica_settings
from support.log_harness import NOW, Harness, UnsyncedFileSystem

from tidelog.metadata.image import ClusterImage
from tidelog.protocol.messages.fetch_response import EpochEndOffset, PartitionData
from tidelog.records.batch import CorruptBatch
from tidelog.server.notice import Notice
from tidelog.server.replicas.damage import Damage
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica
from tidelog.server.replication.leader_answers import apply_answer


class _StandingClock:
    def now_ms(self) -> int:
        return NOW

    def monotonic_ms(self) -> float:
        return 0.0


def with_replica(h: Harness) -> tuple[Replicas, Replica]:
    """A broker that has this one log."""
    replicas = Replicas(
        broker_id=1,
        image=lambda: ClusterImage(cluster_id="test"),
        directories=[h.directory],
        clock=_StandingClock(),
        damage=Damage(1),
        storage_failing=Notice(),
        shortage=Notice(),
    )
    replica = Replica(
        topic_partition=h.partition,
        topic_id=bytes(h.topic_id),
        broker_id=1,
        log=h.log,
        settings=replica_settings(),
        clock=_StandingClock(),
        flush_wanted=lambda _: None,
    )
    replicas.add(replica, h.directory)
    return replicas, replica


def test_damage_that_truncation_would_turn_into_a_hole_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    h = Harness(str(tmp_path), UnsyncedFileSystem(), log_config())
    h.open()
    for number in range(6):
        h.append(b"%d" % number)
    size = h.log.size // 6
    h.close()
    path = h.file(".log")
    content = bytearray(path.read_bytes())
    # The fourth batch seems to begin where the fifth does.
    content[3 * size + 7] = 4
    path.write_bytes(content)
    h.open()
    replicas, replica = with_replica(h)
    answer = PartitionData(diverging_epoch=EpochEndOffset(epoch=0, end_offset=4))
    for _ in range(2):
        # As often as the leader says so.
        assert not apply_answer(replicas, replica, 2, answer)
    assert replicas.damage.partitions == {h.partition}
    assert caplog.text.count("offset 4 is out of place") == 1
    assert h.log.log_end_offset == 6
    with pytest.raises(CorruptBatch):
        h.read(3, 1)
