"""Random work on a log, with restarts and kills in between, against a plain list."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.default_settings import log_config
from support.log_harness import Harness, MakeHarness

from tidelog.records.batch import iterate_headers
from tidelog.storage.log.appending import roll
from tidelog.storage.log.retention import delete_old_segments

CONFIG = log_config(segment_bytes=1500, index_interval_bytes=200, retention_ms=-1)


@dataclass
class Model:
    # (base offset, values, leader epoch) of each batch.
    batches: list[tuple[int, list[bytes], int]] = field(default_factory=list)
    start: int = 0
    end: int = 0
    epoch: int = 0
    # Sequence numbers per producer.
    sequences: dict[int, int] = field(default_factory=dict)
    producers: list[tuple[int, int, int]] = field(default_factory=list)

    def append(self, values: list[bytes], producer_id: int) -> None:
        self.batches.append((self.end, values, self.epoch))
        self.producers.append((self.end, producer_id, self.next_sequence(producer_id) + len(values) - 1))
        self.end += len(values)

    def next_sequence(self, producer_id: int) -> int:
        known = [last for _, producer, last in self.producers if producer == producer_id]
        return known[-1] + 1 if known else 0

    def truncate(self, offset: int) -> None:
        self.batches = [batch for batch in self.batches if batch[0] < offset]
        self.producers = [entry for entry in self.producers if entry[0] < offset]
        self.end = offset
        self.start = min(self.start, offset)

    def records(self) -> list[tuple[int, bytes]]:
        found = []
        for base_offset, values, _ in self.batches:
            found += [(base_offset + at, value) for at, value in enumerate(values)]
        return [record for record in found if record[0] >= self.start]

    def epochs(self) -> tuple[tuple[int, int], ...]:
        entries: list[tuple[int, int]] = []
        for base_offset, _, epoch in self.batches:
            if not entries or entries[-1][0] != epoch:
                entries.append((epoch, base_offset))
        below = [entry for entry in entries if entry[1] <= self.start]
        if below:
            entries = [(below[-1][0], self.start), *[entry for entry in entries if entry[1] > self.start]]
        return tuple(entry for entry in entries if entry[1] < self.end)


OTHER_STEPS = ["new epoch", "roll", "flush", "checkpoint", "restart", "kill"]

Step = tuple[str, Any, Any]

steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 6), st.integers(1, 3)),
        st.tuples(st.just("append"), st.integers(1, 6), st.integers(1, 3)),
        st.tuples(st.just("append"), st.integers(1, 6), st.integers(1, 3)),
        st.tuples(st.just("truncate"), st.floats(0, 1), st.none()),
        st.tuples(
            st.sampled_from(["new epoch", "roll", "flush", "checkpoint", "restart", "kill"]), st.none(), st.none()
        ),
        st.tuples(st.just("advance start"), st.floats(0, 1), st.none()),
    ),
    max_size=60,
)


# The fixture only makes harnesses; each example has its own and its own directory.
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=steps)
def test_log_agrees_with_a_list(harness: MakeHarness, steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as path:
        h = harness(CONFIG, path=path)
        h.open()
        model = Model()
        for step, first, second in steps:
            run(h, model, step, first, second)
        check(h, model)
        h.crash_and_reopen()
        check(h, model)
        h.crash()


def run(h: Harness, model: Model, step: str, first: Any, second: Any) -> None:
    if step == "append":
        values = [b"%d-%d" % (model.end + at, model.epoch) * 4 for at in range(first)]
        sequence = model.next_sequence(second)
        result = h.append(*values, epoch=model.epoch, producer_id=second, producer_epoch=0, base_sequence=sequence)
        assert result.base_offset == model.end
        model.append(values, second)
        h.log.update_high_watermark(model.end)
    elif step == "truncate":
        boundaries = [base_offset for base_offset, _, _ in model.batches] or [0]
        offset = boundaries[int(first * (len(boundaries) - 1))]
        if offset < h.log.segments.first.base_offset:
            return
        h.directory.truncate(h.partition, offset, now_ms=h.now)
        model.truncate(offset)
        h.log.update_high_watermark(model.end)
        model.epoch += 1
    elif step == "new epoch":
        model.epoch += 1
    elif step == "roll":
        roll(h.log, h.now)
    elif step == "flush":
        h.log.flush(h.now)
    elif step == "checkpoint":
        h.directory.checkpoints.write_recovery_points()
    elif step == "restart":
        h.reopen()
        check(h, model)
    elif step == "kill":
        h.crash_and_reopen()
        check(h, model)
    else:
        boundaries = [base_offset for base_offset, _, _ in model.batches] or [0]
        offset = boundaries[int(first * (len(boundaries) - 1))]
        h.log.update_high_watermark(model.end)
        if h.log.advance_log_start(offset):
            model.start = offset
            h.directory.checkpoints.write_log_starts()
            for removal in delete_old_segments(h.log, h.now):
                removal.run(h.filesystem)


def check(h: Harness, model: Model) -> None:
    log = h.log
    assert h.values() == model.records()
    assert (log.log_start_offset, log.log_end_offset) == (model.start, model.end)
    # An epoch that begins where the log ends has no records: recovery may know it from a batch below the log's start.
    assert tuple(entry for entry in log.leader_epochs.entries if entry.start_offset < model.end) == model.epochs()
    assert log.recovery_point <= log.log_end_offset
    for producer_id in (1, 2, 3):
        # Producers whose batches were all deleted may be known or forgotten.
        known = [entry for entry in model.producers if entry[1] == producer_id and entry[0] >= model.start]
        if known:
            assert h.producer(producer_id).last_sequence == known[-1][2]
    for offset in range(model.start, model.end):
        headers = [header for _, header in iterate_headers(h.read(offset, 1).records)]
        assert headers[0].base_offset <= offset <= headers[0].last_offset
