"""The way of a record into its batch, as long as nothing has to be waited for."""

from __future__ import annotations

from typing import Any

import pytest
from support.intake import BATCH_SIZE, LARGEST, MEMORY, KnownCluster, Taking

from tidelog.client.errors import WrongUse
from tidelog.client.producer.batches import size_of_record


def test_a_record_goes_into_the_batch_of_its_partition() -> None:
    taking = Taking(KnownCluster(t=3))
    headers = (("trace", b"1"),)

    delivery = taking.take("text", key=bytearray(b"k"), headers=headers, partition=2, timestamp_ms=7)

    assert not delivery.done()
    (batch,) = taking.batches()
    assert (batch.partition, batch.created_ms, batch.records) == (("t", 2), 5.0, [(7, b"k", b"text", headers)])
    assert taking.accumulator.pending_bytes == batch.size
    assert size_of_record(b"k", b"text", headers) > size_of_record(b"k", b"text", ())


def test_the_time_is_that_of_the_clock_unless_it_is_given() -> None:
    taking = Taking(KnownCluster(t=1))
    assert taking.take(b"a") is not None
    assert taking.take(b"b", timestamp_ms=9) is not None
    assert [record[0] for record in taking.batches()[0].records] == [1_234, 9]


def test_the_sender_learns_of_batches_that_begin_or_are_full() -> None:
    taking = Taking(KnownCluster(t=1))
    taking.take(bytes(300))
    assert (taking.wakes, taking.intake.has_closed_a_batch) == (1, False)
    taking.take(bytes(300))
    assert (taking.wakes, taking.intake.has_closed_a_batch) == (1, False), "nothing new"
    taking.take(bytes(BATCH_SIZE - 2 * (300 + 21) - 61 - 21))
    assert (taking.wakes, taking.intake.has_closed_a_batch) == (2, True), "not one more byte fits"
    taking.take(bytes(500))
    assert (taking.wakes, taking.intake.has_closed_a_batch) == (3, False)
    taking.take(bytes(500))
    assert (taking.wakes, taking.intake.has_closed_a_batch) == (4, True), "it did not fit into the last one"
    assert [batch.record_count for batch in taking.batches()] == [3, 1, 1]


@pytest.mark.parametrize(
    ("value", "options"),
    [
        pytest.param(b"a", {"topic": "other"}, id="unknown topic"),
        pytest.param(b"a", {"topic": "empty"}, id="topic without partitions"),
        pytest.param(b"a", {"partition": 3}, id="partition that does not exist yet"),
        pytest.param(bytes(LARGEST), {}, id="too large a record"),
        pytest.param(b"a", {"partition": True}, id="partition that is no plain number"),
        pytest.param(b"a", {"timestamp_ms": 1.5}, id="time that is no plain number"),
    ],
)
def test_what_may_have_to_wait_or_be_refused_is_left_alone(value: bytes, options: dict[str, Any]) -> None:
    taking = Taking(KnownCluster(t=3, empty=0))
    assert taking.take(value, **options) is None
    assert not taking.batches()
    assert taking.accumulator.pending_bytes == 0


def test_without_room_nothing_is_taken() -> None:
    taking = Taking(KnownCluster(t=1))
    while taking.take(bytes(300)) is not None:
        assert taking.accumulator.pending_bytes <= MEMORY
    assert taking.accumulator.pending_bytes + 300 > MEMORY - 100


def test_what_is_no_payload_is_an_error() -> None:
    with pytest.raises(TypeError, match="value must be bytes, str or None, not int"):
        Taking(KnownCluster(t=1)).take(5)


@pytest.mark.parametrize(("partitioner", "options"), [(lambda *_: 3, {}), (None, {"partition": -1})])
def test_a_partition_that_does_not_exist_is_refused(partitioner: Any, options: dict[str, Any]) -> None:
    taking = Taking(KnownCluster(t=3), partitioner)
    with pytest.raises(WrongUse):
        taking.take(b"a", **options)
    assert not taking.batches()


def test_partitions_that_were_added_are_used() -> None:
    cluster = KnownCluster(t=1)
    taking = Taking(cluster, lambda topic, key, value, count: count - 1)
    taking.take(b"a")
    cluster.know("t", 4)
    taking.take(b"b")
    assert taking.take(b"c", partition=2) is not None
    assert [batch.partition.partition for batch in taking.batches()] == [0, 3, 2]
