"""Sequence numbers of an idempotent producer: single decisions, and random histories against a model of a leader."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tidelog.client.producer.batches import Accumulator, ProducerBatch, Stored
from tidelog.client.producer.sequences import LARGEST_EPOCH, MAX_UNRESOLVED, MODULUS, BatchRefusal, Sequences
from tidelog.model.ids import TopicPartition

PARTITION = TopicPartition("t", 0)
OTHER = TopicPartition("t", 1)


def batch_of(count: int, partition: TopicPartition = PARTITION) -> ProducerBatch:
    batch = ProducerBatch(partition, 0)
    for number in range(count):
        batch.add((number, None, b"", ()), 30)
    batch.open = False
    return batch


def started(producer_id: int = 7, epoch: int = 0) -> Sequences:
    sequences = Sequences()
    sequences.initialize(producer_id, epoch)
    return sequences


def send(sequences: Sequences, *counts: int, partition: TopicPartition = PARTITION) -> list[ProducerBatch]:
    """To a leader that knows the producer already."""
    batches = [batch_of(count, partition) for count in counts]
    for batch in batches:
        assert sequences.may_send(batch)
        sequences.assign(batch)
        sequences._partitions[partition].known = True
    return batches


def test_nothing_goes_without_a_producer_id() -> None:
    assert not Sequences().may_send(batch_of(1))


def test_numbers_follow_each_other_per_partition() -> None:
    sequences = started()
    here = send(sequences, 3, 5)
    there = send(sequences, 2, partition=OTHER)
    assert [batch.base_sequence for batch in here + there] == [0, 3, 0]
    assert {(batch.producer_id, batch.producer_epoch) for batch in here + there} == {(7, 0)}


def test_numbers_wrap() -> None:
    sequences = started()
    (first,) = send(sequences, 1)
    sequences._partitions[PARTITION].next_sequence = MODULUS - 2
    near, after = send(sequences, 5, 1)
    assert (first.base_sequence, near.base_sequence, after.base_sequence) == (0, MODULUS - 2, 3)


def test_the_first_batch_for_a_leader_goes_alone() -> None:
    """The leader would take the second one for the first, if it was not ready when the first one came."""
    sequences = started()
    first = batch_of(1)
    sequences.assign(first)
    assert not sequences.may_send(batch_of(1))
    assert sequences.may_send(batch_of(1, OTHER))
    sequences.stored(first)
    (second,) = send(sequences, 1)
    assert (second.base_sequence, sequences.may_send(batch_of(1))) == (1, True)


def test_a_new_producer_id_is_unknown_again_but_a_new_epoch_is_not() -> None:
    sequences = started()
    (first,) = send(sequences, 1)
    sequences.stored(first)
    sequences.initialize(7, 1)
    sequences.assign(batch_of(1))
    assert sequences.may_send(batch_of(1))
    sequences = started()
    (first,) = send(sequences, 1)
    sequences.stored(first)
    sequences.initialize(8, 0)
    sequences.assign(batch_of(1))
    assert not sequences.may_send(batch_of(1))


def test_in_transactions_too_the_first_batch_goes_alone() -> None:
    """A leader that does not know the partition yet remembers no number, and may know it when the second one comes."""
    sequences = Sequences(transactional=True)
    sequences.restart(7, 0)
    first = batch_of(1)
    sequences.assign(first)
    assert not sequences.may_send(batch_of(1))
    sequences.stored(first)
    # The leader takes nothing but zero as the first number of the next epoch, so nothing has to wait.
    sequences.restart(7, 1)
    second = batch_of(1)
    sequences.assign(second)
    assert (second.producer_epoch, second.base_sequence) == (1, 0)
    assert sequences.may_send(batch_of(1))
    sequences.restart(8, 0)
    sequences.assign(batch_of(1))
    assert not sequences.may_send(batch_of(1))


def test_a_transaction_never_numbers_anew() -> None:
    sequences = Sequences(transactional=True)
    sequences.restart(7, 3)
    first, second = send(sequences, 1, 1)
    sequences.give_up(first, refused=True)
    assert sequences.broken
    assert sequences.refused(second) is BatchRefusal.GAP
    assert (sequences.producer_id, sequences.epoch) == (7, 3)
    sequences.restart(7, 4)
    assert not sequences.broken
    (third,) = send(sequences, 1)
    assert (third.producer_epoch, third.base_sequence) == (4, 0)


def test_no_more_batches_are_on_their_way_than_a_leader_knows_again() -> None:
    sequences = started()
    batches = send(sequences, *[1] * MAX_UNRESOLVED)
    assert not sequences.may_send(batch_of(1))
    sequences.stored(batches[0])
    assert sequences.may_send(batch_of(1))


def test_retries_go_one_by_one_in_order() -> None:
    sequences = started()
    first, second, third = send(sequences, 1, 1, 1)
    assert [sequences.may_send(batch) for batch in (first, second, third)] == [True, False, False]
    sequences.stored(first)
    assert [sequences.may_send(batch) for batch in (second, third)] == [True, False]


def test_out_of_order_behind_an_unresolved_batch_is_tried_again() -> None:
    sequences = started()
    _, second = send(sequences, 1, 1)
    assert sequences.refused(second) is BatchRefusal.BEHIND


def test_out_of_order_with_nothing_before_it_is_a_gap() -> None:
    sequences = started()
    first, second = send(sequences, 1, 1)
    sequences.stored(first)
    assert sequences.refused(second) is BatchRefusal.GAP


def test_a_refused_batch_makes_those_behind_it_start_anew_once_their_fate_is_known() -> None:
    sequences = started()
    first, second, third = send(sequences, 2, 3, 4)
    sequences.give_up(first, refused=True)
    assert not sequences.may_send(batch_of(1)), "new batches wait until the numbers are settled"
    assert sequences.refused(second) is BatchRefusal.RENUMBER
    assert second.producer_epoch == 0, "the third may still be stored under its old number"
    assert sequences.refused(third) is BatchRefusal.RENUMBER
    assert [(batch.producer_epoch, batch.base_sequence) for batch in (second, third)] == [(1, 0), (1, 3)]
    assert sequences.may_send(second)


def test_batches_behind_a_given_up_one_may_turn_out_to_be_stored() -> None:
    sequences = started()
    first, second, third = send(sequences, 1, 1, 1)
    sequences.give_up(first, refused=True)
    sequences.stored(second)
    assert sequences.refused(third) is BatchRefusal.RENUMBER
    assert (third.producer_epoch, third.base_sequence) == (1, 0)


def test_batches_of_unknown_fate_go_on_under_their_old_numbers() -> None:
    sequences = started()
    first, second, third = send(sequences, 1, 1, 1)
    sequences.give_up(first, refused=True)
    sequences.refused(second)
    assert sequences.may_send(third)
    assert not sequences.may_send(second)


def test_other_partitions_take_the_new_epoch_when_they_have_nothing_on_the_way() -> None:
    sequences = started()
    (elsewhere,) = send(sequences, 5, partition=OTHER)
    (failed,) = send(sequences, 1)
    sequences.give_up(failed, refused=True)
    assert sequences.epoch == 1
    assert not sequences.may_send(batch_of(1, OTHER))
    sequences.stored(elsewhere)
    (next_one,) = send(sequences, 1, partition=OTHER)
    assert (next_one.producer_epoch, next_one.base_sequence) == (1, 0)


def test_a_leader_that_forgot_the_producer_gets_everything_anew() -> None:
    sequences = started()
    first, second = send(sequences, 1, 1)
    assert sequences.forgotten(first) is BatchRefusal.RENUMBER
    assert sequences.forgotten(second) is BatchRefusal.RENUMBER
    assert [(batch.producer_epoch, batch.base_sequence) for batch in (first, second)] == [(1, 0), (1, 1)]


def test_the_last_epoch_calls_for_a_new_producer_id() -> None:
    sequences = started(epoch=LARGEST_EPOCH)
    first, second = send(sequences, 1, 1)
    sequences.give_up(first, refused=True)
    sequences.refused(second)
    assert not sequences.initialized
    sequences.initialize(8, 0)
    assert (second.producer_id, second.producer_epoch, second.base_sequence) == (8, 0, 0)
    assert sequences.may_send(second)


def test_parts_of_a_batch_take_over_its_numbers() -> None:
    sequences = started()
    large, behind = send(sequences, 5, 1)
    parts = large.split()
    sequences.replace(large, parts)
    assert [part.base_sequence for part in parts] == [0, 2]
    assert sequences.may_send(parts[0])
    sequences.stored(parts[0])
    sequences.stored(parts[1])
    assert sequences.may_send(behind)


def test_a_batch_that_may_still_arrive_keeps_its_number() -> None:
    sequences = started()
    first, second, third = send(sequences, 1, 1, 1)
    first.unanswered = second.unanswered = True
    sequences.give_up(first, refused=False)
    assert sequences.refused(second) is BatchRefusal.AGAIN, "both may lie in a buffer of the broker, in order"
    assert sequences.refused(third) is BatchRefusal.RENUMBER
    assert sequences.may_send(second)
    sequences.give_up(second, refused=False)
    assert (third.producer_epoch, third.base_sequence) == (1, 0)


# -- random histories ------------------------------------------------------------------------------------------------


@dataclass
class Request:
    """What is on the wire: the numbers as they were when it was sent."""

    batch: ProducerBatch
    producer: tuple[int, int]
    base_sequence: int
    values: tuple[int, ...]


@dataclass
class Leader:
    """The rules by which a partition's leader takes batches, as Kafka has them."""

    log: list[int] = field(default_factory=list)
    producer: tuple[int, int] | None = None
    recent: list[tuple[int, int]] = field(default_factory=list)
    not_valid: set[int] = field(default_factory=set)

    def append(self, request: Request) -> str:
        if self.not_valid & set(request.values):
            return "not valid"
        first = request.base_sequence
        last = (first + len(request.values) - 1) % MODULUS
        if self.producer is not None:
            if request.producer < self.producer:
                return "fenced"
            if request.producer > self.producer:
                if first != 0:
                    return "out of order"
                self.recent.clear()
            elif (first, last) in self.recent:
                return "duplicate"
            elif first != (self.recent[-1][1] + 1) % MODULUS:
                return "out of order"
        self.producer = request.producer
        self.recent = [*self.recent[-4:], (first, last)]
        self.log.extend(request.values)
        return "stored"


class Histories(RuleBasedStateMachine):
    """A producer and a leader, with a connection between them that breaks at any moment.

    Requests of a broken connection are not gone: the leader may still find them in its buffers, any time later.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sequences = started()
        self.accumulator = Accumulator(batch_size=1, linger_ms=0)
        self.leader = Leader()
        self.wire: list[Request] = []
        self.zombies: list[Request] = []
        self.sent_values = 0
        self.batches: list[ProducerBatch] = []

    @rule(count=st.integers(1, 4))
    def produce(self, count: int) -> None:
        batch: ProducerBatch | None = None
        for _ in range(count):
            record = (self.sent_values, None, None, ())
            if batch is None:
                batch, _ = self.accumulator.append(PARTITION, record, 30, lambda: float(self.sent_values))
            else:
                batch.add(record, 30)
            self.sent_values += 1
        assert batch is not None
        self.batches.append(batch)

    @rule(times=st.integers(1, MAX_UNRESOLVED))
    def send(self, times: int = 1) -> None:
        for batch in itertools.chain.from_iterable(self.accumulator.heads() for _ in range(times)):
            if self.sequences.may_send(batch) and len(self.wire) < MAX_UNRESOLVED:
                self.accumulator.take(batch)
                self.sequences.assign(batch)
                batch.attempts += 1
                values = tuple(record[0] for record in batch.records)
                producer = (batch.producer_id, batch.producer_epoch)
                self.wire.append(Request(batch, producer, batch.base_sequence, values))

    @precondition(lambda self: self.wire)
    @rule()
    def answer(self) -> None:
        request = self.wire.pop(0)
        batch = request.batch
        match self.leader.append(request):
            case "stored" | "duplicate":
                self.sequences.stored(batch)
                batch.succeed(Stored(0, 0))
            case "out of order":
                # This leader loses nothing, so there are no gaps.
                assert self.sequences.refused(batch) is not BatchRefusal.GAP
                self.accumulator.put_back(batch)
            case _:
                self.fail(batch, refused=True)

    @precondition(lambda self: self.wire)
    @rule()
    def refuse(self) -> None:
        """For reasons of its own, such as a record that is not valid. It will not take it later either."""
        values = set(self.wire[0].values)
        if not values & set(self.leader.log):
            self.leader.not_valid |= values
            self.answer()

    @precondition(lambda self: self.wire)
    @rule()
    def not_ready(self) -> None:
        """For this request the leader is not ready; for those behind it, which are on their way, it may be."""
        self.accumulator.put_back(self.wire.pop(0).batch)

    @precondition(lambda self: self.wire)
    @rule(processed=st.integers(0, 5))
    def lose_connection(self, processed: int) -> None:
        """Some requests have been processed, and only their answers are lost; the others may be processed later."""
        for number, request in enumerate(self.wire):
            if number < processed:
                self.leader.append(request)
            else:
                self.zombies.append(request)
        for request in self.wire:
            request.batch.unanswered = True
            self.accumulator.put_back(request.batch)
        self.wire.clear()

    @precondition(lambda self: self.zombies)
    @rule(which=st.integers(0, 100))
    def zombie_arrives(self, which: int) -> None:
        self.leader.append(self.zombies.pop(which % len(self.zombies)))

    @rule(which=st.integers(0, 100))
    def expire(self, which: int) -> None:
        waiting = list(self.accumulator.waiting())
        if waiting:
            # Batches expire in the order of their age.
            for batch in waiting[: which % len(waiting) + 1]:
                self.accumulator.remove(batch)
                self.fail(batch, refused=False)

    def fail(self, batch: ProducerBatch, *, refused: bool) -> None:
        self.sequences.give_up(batch, refused=refused)
        batch.fail(RuntimeError("given up"))

    @invariant()
    def nothing_is_stored_twice_or_out_of_order(self) -> None:
        log = self.leader.log
        assert all(earlier < later for earlier, later in itertools.pairwise(log)), log

    @invariant()
    def what_is_acknowledged_is_stored(self) -> None:
        stored = set(self.leader.log)
        for batch in self.batches:
            if batch.stored is not None:
                assert all(record[0] in stored for record in batch.records)

    def teardown(self) -> None:
        """Without faults everything comes to an end, and all that has not failed is stored."""
        for _ in range(100):
            self.send()
            while self.wire:
                self.answer()
            if all(batch.done for batch in self.batches):
                break
        for batch in list(self.accumulator.waiting()):
            # Only what may still arrive on its own is left for its time to be over.
            assert batch.unanswered or any(other.unanswered for other in self.batches if not other.done)
        self.expire_all()
        assert all(batch.done for batch in self.batches)
        self.nothing_is_stored_twice_or_out_of_order()
        self.what_is_acknowledged_is_stored()

    def expire_all(self) -> None:
        while waiting := list(self.accumulator.waiting()):
            self.accumulator.remove(waiting[0])
            self.fail(waiting[0], refused=False)
            self.send()
            while self.wire:
                self.answer()


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=150, stateful_step_count=50)


def test_a_leader_that_is_not_ready_for_the_first_batch_still_stores_all_in_order() -> None:
    history = Histories()
    for _ in range(3):
        history.produce(count=2)
    history.send(times=3)
    history.not_ready()
    for _ in range(8):
        history.send(times=3)
        while history.wire:
            history.answer()
    assert history.leader.log == list(range(6))
