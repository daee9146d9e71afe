"""Producer states against a naive model that keeps the whole log and searches it for every answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.model.errors import ErrorCode
from tidelog.partition.producer_entry import BatchMetadata
from tidelog.partition.producers import (
    AppendOrigin,
    AppendRefusal,
    ProducerPlan,
    ProducerStates,
)
from tidelog.records.batch import parse_header
from tidelog.records.control import EndTransactionMarker, encode_end_transaction_marker
from tidelog.records.record import encode_batch

MODULUS = 2**31


@dataclass(frozen=True, kw_only=True)
class Data:
    producer_id: int
    epoch: int
    sequence: int
    count: int
    transactional: bool
    offset: int = -1

    @property
    def sequences(self) -> list[int]:
        return [(self.sequence + index) % MODULUS for index in range(self.count)]


@dataclass(frozen=True, kw_only=True)
class Marker:
    producer_id: int
    epoch: int
    commit: bool
    coordinator_epoch: int
    offset: int = -1


@dataclass
class Model:
    """All that was ever appended, in order."""

    log: list[Data | Marker] = field(default_factory=list)
    end: int = 0

    def of(self, producer_id: int) -> list[Data | Marker]:
        return [item for item in self.log if item.producer_id == producer_id]

    def epoch(self, producer_id: int) -> int:
        mine = self.of(producer_id)
        return mine[-1].epoch if mine else -1

    def coordinator_epoch(self, producer_id: int) -> int:
        markers = [item.coordinator_epoch for item in self.of(producer_id) if isinstance(item, Marker)]
        return markers[-1] if markers else -1

    def batches(self, producer_id: int) -> list[Data]:
        """Since the epoch was raised for the last time."""
        epoch = self.epoch(producer_id)
        found: list[Data] = []
        for item in reversed(self.of(producer_id)):
            if item.epoch != epoch:
                break
            if isinstance(item, Data):
                found.insert(0, item)
        return found

    def open_since(self, producer_id: int) -> int | None:
        first = None
        for item in self.of(producer_id):
            if isinstance(item, Marker):
                first = None
            elif item.transactional and first is None:
                first = item.offset
        return first

    def answer_data(self, data: Data) -> ErrorCode | tuple[int, int] | None:
        """Why it is refused, or where its original is, or None: append it."""
        epoch = self.epoch(data.producer_id)
        batches = self.batches(data.producer_id)
        if data.epoch == epoch:
            for batch in batches[-5:]:
                if batch.sequences == data.sequences:
                    return batch.offset, batch.offset + batch.count - 1
        if data.epoch < epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if epoch >= 0:
            last = batches[-1].sequences[-1] if batches and data.epoch == epoch else -1
            if data.sequence != (last + 1) % MODULUS:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if self.open_since(data.producer_id) is not None and not data.transactional:
            return ErrorCode.INVALID_TXN_STATE
        return None

    def answer_marker(self, marker: Marker) -> ErrorCode | None:
        if marker.epoch < self.epoch(marker.producer_id):
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if marker.coordinator_epoch < self.coordinator_epoch(marker.producer_id):
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        return None

    def last_stable_offset(self, high_watermark: int) -> int:
        stable = high_watermark
        for producer_id in {item.producer_id for item in self.log}:
            first = None
            for item in self.of(producer_id):
                if isinstance(item, Data):
                    if item.transactional and first is None:
                        first = item.offset
                else:
                    if first is not None and item.offset >= high_watermark:
                        stable = min(stable, first)
                    first = None
            if first is not None:
                stable = min(stable, first)
        return stable


producer_ids = st.sampled_from([1, 1, 1, 2, 3])
# Which sequence to send, relative to what is expected: mostly the right one, sometimes a repeat or a jump.
shifts = st.sampled_from([0, 0, 0, 0, 0, 0, -1, -2, -3, -4, -5, -6, -7, 1, 2])
epoch_shifts = st.sampled_from([0] * 12 + [1, -1])
data_steps = st.tuples(st.just("data"), producer_ids, epoch_shifts, shifts, st.integers(1, 3), st.booleans())
marker_steps = st.tuples(st.just("marker"), producer_ids, epoch_shifts, st.integers(0, 2), st.booleans(), st.booleans())
steps = st.one_of(data_steps, data_steps, data_steps, marker_steps)
starts = st.sampled_from([0, 0, 7, MODULUS - 4, MODULUS - 1])


def encode(item: Data | Marker, offset: int) -> bytes:
    if isinstance(item, Data):
        return encode_batch(
            [(1_000, b"k", b"v", ())] * item.count,
            base_offset=offset,
            producer_id=item.producer_id,
            producer_epoch=item.epoch,
            base_sequence=item.sequence,
            transactional=item.transactional,
        )
    return encode_end_transaction_marker(
        EndTransactionMarker(commit=item.commit, coordinator_epoch=item.coordinator_epoch),
        producer_id=item.producer_id,
        producer_epoch=item.epoch,
        timestamp=1_000,
        base_offset=offset,
    )


def next_item(model: Model, step: tuple[object, ...], start: int) -> Data | Marker:
    kind, producer_id, epoch_shift, third, fourth, fifth = step
    assert isinstance(producer_id, int)
    assert isinstance(epoch_shift, int)
    assert isinstance(third, int)
    assert isinstance(fourth, int)
    epoch = max(model.epoch(producer_id) + epoch_shift, 0)
    if kind == "marker":
        return Marker(producer_id=producer_id, epoch=epoch, commit=bool(fourth), coordinator_epoch=third)
    batches = model.batches(producer_id)
    count = fourth
    if model.epoch(producer_id) < 0:
        sequence = start
    elif epoch != model.epoch(producer_id) or not batches:
        sequence = max(third, 0)
    elif third < 0 and -third <= len(batches):
        sequence, count = batches[third].sequence, batches[third].count
    else:
        sequence = (batches[-1].sequences[-1] + 1 + third) % MODULUS
    return Data(producer_id=producer_id, epoch=epoch, sequence=sequence, count=count, transactional=bool(fifth))


def try_append(states: ProducerStates, item: Data | Marker) -> tuple[bytes, ErrorCode | tuple[int, int] | None]:
    batch = encode(item, states.end_offset)
    origin = AppendOrigin.CLIENT if isinstance(item, Data) else AppendOrigin.COORDINATOR
    result = states.plan((parse_header(batch),), batch, states.end_offset, origin=origin)
    match result:
        case ProducerPlan():
            states.apply(result)
            return batch, None
        case BatchMetadata():
            return batch, (result.first_offset, result.last_offset)
        case AppendRefusal():
            return batch, result.code


@settings(max_examples=150)
@given(st.lists(steps, min_size=25, max_size=60), starts, st.integers(0, 100), st.integers(0, 50))
def test_any_history_agrees_with_the_model(
    history: list[tuple[object, ...]], start: int, watermark_percent: int, snapshot_at: int
) -> None:
    model = Model()
    states = ProducerStates()
    batches: list[bytes] = []
    high_watermark = 0
    for step in history:
        item = next_item(model, step, start)
        expected = model.answer_data(item) if isinstance(item, Data) else model.answer_marker(item)

        batch, answer = try_append(states, item)

        assert answer == expected
        if answer is None:
            batches.append(batch)
            model.log.append(type(item)(**{**vars(item), "offset": model.end}))
            model.end += item.count if isinstance(item, Data) else 1
        assert states.end_offset == model.end
        high_watermark = max(high_watermark, model.end * watermark_percent // 100)
        assert states.last_stable_offset(high_watermark) == model.last_stable_offset(high_watermark)

    check_replay(states, batches, model)
    check_snapshot(states, batches, model, snapshot_at)


def check_replay(states: ProducerStates, batches: list[bytes], model: Model) -> None:
    """A follower, and a recovery without snapshot, know the same."""
    follower = ProducerStates()
    for batch in batches:
        follower.replay(parse_header(batch), batch)
    assert sorted(follower) == sorted(states)
    assert follower.last_stable_offset(model.end) == states.last_stable_offset(model.end)


def check_snapshot(states: ProducerStates, batches: list[bytes], model: Model, snapshot_at: int) -> None:
    """From a snapshot the same, except for the older ones of five batches, which a snapshot does not keep."""
    restarted = ProducerStates()
    for batch in batches[:snapshot_at]:
        restarted.replay(parse_header(batch), batch)
    restarted.reload(restarted.snapshot(), restarted.end_offset, now_ms=1_000)
    for batch in batches[snapshot_at:]:
        restarted.replay(parse_header(batch), batch)

    assert restarted.end_offset == states.end_offset
    assert sorted(restarted.snapshot()) == sorted(states.snapshot())
    assert restarted.last_stable_offset(model.end) == states.last_stable_offset(model.end)
    for entry in restarted:
        original = states.get(entry.producer_id)
        assert original is not None
        assert original.batches[len(original.batches) - len(entry.batches) :] == entry.batches
