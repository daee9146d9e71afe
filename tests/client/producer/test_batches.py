"""Gathering records into batches, and the order in which they wait."""

from __future__ import annotations

from tidelog.client.producer.batches import Accumulator, ProducerBatch, Stored, size_of_record
from tidelog.model.ids import TopicPartition
from tidelog.records.record import NewRecord, encode_batch

FIRST = TopicPartition("t", 0)
SECOND = TopicPartition("t", 1)


def record(size: int) -> NewRecord:
    return (0, None, b"x" * size, ())


def add(accumulator: Accumulator, partition: TopicPartition, size: int, now_ms: float = 0) -> ProducerBatch:
    entry = record(size)
    batch, _ = accumulator.append(partition, entry, size_of_record(entry[1], entry[2], entry[3]), lambda: now_ms)
    return batch


def test_records_share_a_batch_until_it_is_full() -> None:
    accumulator = Accumulator(batch_size=500, linger_ms=10)
    batches = [add(accumulator, FIRST, 100) for _ in range(9)]
    assert [len({id(batch) for batch in batches[:4]}), len({id(batch) for batch in batches})] == [2, 3]
    assert all(batch.size <= 500 for batch in batches)
    assert [batch.open for batch in dict.fromkeys(batches)] == [False, False, True]


def test_a_record_larger_than_a_batch_gets_one_of_its_own() -> None:
    accumulator = Accumulator(batch_size=100, linger_ms=10)
    large, after = add(accumulator, FIRST, 1000), add(accumulator, FIRST, 10)
    assert large is not after
    assert not large.open


def test_estimates_are_never_too_small() -> None:
    headers = (("name", b"value"), ("empty", None), ("ünïcödé", b""))
    for key, value in ((None, None), (b"", b""), (b"k" * 300, b"v" * 70_000)):
        size = len(encode_batch([(2**40, key, value, headers)])) - 61
        assert size <= size_of_record(key, value, headers)


def test_a_batch_may_go_when_it_has_lingered() -> None:
    accumulator = Accumulator(batch_size=500, linger_ms=10)
    batch = add(accumulator, FIRST, 10, now_ms=100)
    assert accumulator.ready_at_ms(batch) == 110


def test_a_full_batch_may_go_at_once() -> None:
    accumulator = Accumulator(batch_size=200, linger_ms=10_000)
    first = add(accumulator, FIRST, 100, now_ms=100)
    add(accumulator, FIRST, 100, now_ms=100)
    assert accumulator.ready_at_ms(first) <= 100


def test_flushing_does_not_wait_for_lingering() -> None:
    accumulator = Accumulator(batch_size=500, linger_ms=10_000)
    batch = add(accumulator, FIRST, 10, now_ms=100)
    accumulator.flushing = True
    assert accumulator.ready_at_ms(batch) <= 100


def test_a_failed_batch_waits_for_its_pause_also_while_flushing() -> None:
    accumulator = Accumulator(batch_size=500, linger_ms=10)
    batch = add(accumulator, FIRST, 10)
    accumulator.take(batch)
    batch.attempts, batch.retry_at_ms = 1, 777
    accumulator.put_back(batch)
    accumulator.flushing = True
    assert accumulator.ready_at_ms(batch) == 777


def test_a_batch_that_comes_back_goes_before_younger_ones() -> None:
    accumulator = Accumulator(batch_size=1, linger_ms=0)
    batches = [add(accumulator, FIRST, 10, now_ms=number) for number in range(4)]
    for sequence, batch in enumerate(batches[:3]):
        accumulator.take(batch)
        batch.attempts, batch.base_sequence, batch.producer_epoch = 1, sequence, 0
    for batch in (batches[1], batches[2], batches[0]):
        accumulator.put_back(batch)
    assert list(accumulator.waiting()) == batches


def test_order_survives_the_wrap_of_sequence_numbers() -> None:
    accumulator = Accumulator(batch_size=1, linger_ms=0)
    older, younger = (add(accumulator, FIRST, 10) for _ in range(2))
    for batch, sequence in ((older, 2**31 - 1), (younger, 0)):
        accumulator.take(batch)
        batch.attempts, batch.base_sequence, batch.producer_epoch = 1, sequence, 0
    accumulator.put_back(younger)
    accumulator.put_back(older)
    assert list(accumulator.waiting()) == [older, younger]


def test_each_partition_has_one_batch_that_goes_next() -> None:
    accumulator = Accumulator(batch_size=1, linger_ms=0)
    first = [add(accumulator, FIRST, 10) for _ in range(3)]
    second = [add(accumulator, SECOND, 10) for _ in range(2)]
    assert list(accumulator.heads()) == [first[0], second[0]]


def test_old_batches_are_taken_out_oldest_first() -> None:
    accumulator = Accumulator(batch_size=1, linger_ms=0)
    batches = [add(accumulator, FIRST, 10, now_ms=number * 100) for number in range(4)]
    assert accumulator.expired(100) == batches[:2]
    assert list(accumulator.waiting()) == batches[2:]


def test_memory_is_given_back_when_the_outcome_is_known() -> None:
    accumulator = Accumulator(batch_size=500, linger_ms=0)
    batches = {add(accumulator, partition, 100) for partition in (FIRST, FIRST, SECOND) for _ in range(5)}
    assert accumulator.pending_bytes == sum(batch.size for batch in batches)
    for batch in batches:
        accumulator.remove(batch)
        accumulator.release(batch)
    assert accumulator.pending_bytes == 0


def test_halves_of_a_batch_hold_all_of_its_records_in_order() -> None:
    accumulator = Accumulator(batch_size=10_000, linger_ms=0)
    for number in range(7):
        batch, _ = accumulator.append(FIRST, (number, None, b"%d" % number, ()), 30, lambda: 0.0)
    woken: list[str] = []
    batch.when_done(lambda: woken.append("parent"))
    first, second = batch.split()
    assert [entry[0] for entry in first.records + second.records] == list(range(7))
    assert woken == ["parent"]
    assert batch.done
    first.succeed(Stored(40, -1))
    assert first.done
    assert not second.done
