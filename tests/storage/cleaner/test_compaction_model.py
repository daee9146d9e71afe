"""Compaction against a dictionary: random histories with transactions, tombstones, restarts and crashes."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.compaction import batches, committed_records, compact
from support.crash_disk import MemoryDisk, crash_images
from support.default_settings import compaction_limits, log_config
from support.tracked_log import PATH, TrackedLog

from tidelog.records.compression import Compression

DELETE_RETENTION_MS = 500
CONFIG = log_config(
    segment_bytes=700,
    index_interval_bytes=150,
    compact=True,
    delete=False,
    delete_retention_ms=DELETE_RETENTION_MS,
    file_delete_delay_ms=0,
)
KEYS = [b"a", b"b", b"c", b"d", b"e"]
TRANSACTIONAL = (11, 12)
IDEMPOTENT = 13


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@dataclass
class History:
    """All records that were ever committed, and what of them a reader must or may find."""

    # Offset to key, value and producer; of transactions only once they are committed.
    committed: dict[int, tuple[bytes, bytes | None]] = field(default_factory=dict)
    undecided: dict[int, dict[int, tuple[bytes, bytes | None]]] = field(default_factory=dict)
    aborted: set[int] = field(default_factory=set)
    end: int = 0

    def add(self, pairs: list[tuple[bytes, bytes | None]], transaction: int | None) -> None:
        added = {self.end + at: pair for at, pair in enumerate(pairs)}
        if transaction is None:
            self.committed.update(added)
        else:
            self.undecided.setdefault(transaction, {}).update(added)
        self.end += len(pairs)

    def decide(self, transaction: int, *, commit: bool) -> None:
        records = self.undecided.pop(transaction, {})
        if commit:
            self.committed.update(records)
        else:
            self.aborted.update(records)
        self.end += 1

    def visible(self, bound: int) -> dict[int, tuple[bytes, bytes | None]]:
        return {offset: pair for offset, pair in self.committed.items() if offset < bound}

    def table(self, bound: int) -> dict[bytes, bytes]:
        """What a reader who keeps the last value of each key ends up with: the plain dictionary."""
        last: dict[bytes, bytes] = {}
        for _, (key, value) in sorted(self.visible(bound).items()):
            if value is None:
                last.pop(key, None)
            else:
                last[key] = value
        return last


pairs = st.lists(st.tuples(st.sampled_from(KEYS), st.one_of(st.none(), st.integers(0, 40))), min_size=1, max_size=4)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), pairs, st.sampled_from([-1, -1, IDEMPOTENT])),
        st.tuples(st.just("put"), pairs, st.sampled_from([-1, IDEMPOTENT])),
        st.tuples(st.just("put in transaction"), pairs, st.sampled_from(TRANSACTIONAL)),
        st.tuples(st.just("commit"), st.none(), st.sampled_from(TRANSACTIONAL)),
        st.tuples(st.just("abort"), st.none(), st.sampled_from(TRANSACTIONAL)),
        st.tuples(st.sampled_from(["roll", "wait", "restart", "kill"]), st.none(), st.none()),
        st.tuples(st.just("kill and lose snapshots"), st.none(), st.none()),
        st.tuples(st.just("compact"), st.booleans(), st.none()),
        st.tuples(st.just("compact"), st.booleans(), st.none()),
        st.tuples(st.just("crash while compacting"), st.integers(0, 1 << 30), st.none()),
    ),
    max_size=60,
)


class Player:
    def __init__(self) -> None:
        self.history = History()
        self.tracked = TrackedLog(MemoryDisk(directories=(PATH,)), CONFIG)
        self.tracked.open()
        self.open_transactions: set[int] = set()
        self.number = 0

    def play(self, step: str, first: Any, second: Any) -> None:
        tracked = self.tracked
        if step == "put":
            self._put(first, second, None)
        elif step == "put in transaction":
            self.open_transactions.add(second)
            self._put(first, second, second)
        elif step in ("commit", "abort"):
            if second in self.open_transactions:
                self.open_transactions.discard(second)
                tracked.end_transaction(second, commit=step == "commit")
                self.history.decide(second, commit=step == "commit")
        elif step == "roll":
            tracked.roll()
        elif step == "wait":
            tracked.now += DELETE_RETENTION_MS
        elif step == "restart":
            tracked.close()
            tracked.open()
        elif step in ("kill", "kill and lose snapshots"):
            tracked.directory.abandon()
            if step != "kill":
                # Then everything about producers and transactions has to be found in the batches that are left.
                folder = f"{PATH}/topic-0"
                for name in tracked.filesystem.list_names(folder):
                    if name.endswith(".snapshot"):
                        tracked.filesystem.remove(f"{folder}/{name}")
            tracked.open()
        elif step == "compact":
            # A map for seven keys: some rounds end early.
            limits = compaction_limits(dedupe_buffer_bytes=24 * 7 if first else 1 << 20)
            compact(tracked.directory, tracked.log, tracked.now, limits)
        else:
            self._crash_while_compacting(random.Random(first))

    def _put(self, chosen: list[tuple[bytes, int | None]], producer_id: int, transaction: int | None) -> None:
        written: list[tuple[bytes, bytes | None]] = []
        for key, size in chosen:
            self.number += 1
            written.append((key, None if size is None else b"%d-" % self.number + b"." * size))
        codec = Compression(self.number % 5)
        self.tracked.append(*written, producer_id=producer_id, transactional=transaction is not None, compression=codec)
        self.history.add(written, transaction)

    def _crash_while_compacting(self, chance: random.Random) -> None:
        """Everything is synced; then the power goes in a recovery or in the compaction after it."""
        tracked = self.tracked
        tracked.flush()
        tracked.write_checkpoints()
        disk = tracked.filesystem
        assert isinstance(disk, MemoryDisk)
        start = disk.image()
        recorded = MemoryDisk(start)
        again = TrackedLog(recorded, CONFIG)
        again.now = tracked.now
        again.open()
        compact(again.directory, again.log, again.now)
        states = [image for _, image in crash_images(recorded.journal, start, most_per_point=12)]
        tracked.filesystem = MemoryDisk(chance.choice(states))
        tracked.directory.abandon()
        tracked.open()
        assert tracked.log.log_end_offset == self.history.end

    def check(self) -> None:
        log = self.tracked.log
        bound = log.last_stable_offset
        visible = self.history.visible(bound)
        found = {record.offset: (record.key, record.value) for record in committed_records(log)}
        # Nothing is invented, moved or shown that was aborted.
        assert found.items() <= visible.items()
        table: dict[bytes | None, bytes] = {}
        for _, (key, value) in sorted(found.items()):
            if value is None:
                table.pop(key, None)
            else:
                table[key] = value
        assert table == self.history.table(bound)
        assert log.log_end_offset == self.history.end
        undecided = [min(records) for records in self.history.undecided.values() if records]
        assert bound == min([*undecided, self.history.end])
        entry = log.producer_states.get(IDEMPOTENT)
        assert (entry.last_sequence + 1 if entry else 0) == self.tracked.sequences.get(IDEMPOTENT, 0)

    def check_fully_compacted(self) -> None:
        """When all is decided, old enough and compacted with enough memory, each key is there once."""
        tracked = self.tracked
        for producer_id in sorted(self.open_transactions):
            tracked.end_transaction(producer_id, commit=False)
            self.history.decide(producer_id, commit=False)
        self.open_transactions.clear()
        tracked.roll()
        compact(tracked.directory, tracked.log, tracked.now)
        found = [(record.offset, record.key, record.value) for record in committed_records(tracked.log)]
        latest = {key: offset for offset, (key, _) in sorted(self.history.committed.items())}
        for offset, key, value in found:
            assert key is not None
            # The last one of its key, or left by a round that had too little memory for all keys.
            assert latest[key] == offset or value is not None
        # After that, tombstones and markers go: three more rounds, each after the retention time.
        for _ in range(3):
            tracked.now += DELETE_RETENTION_MS
            tracked.log.cleaned_up_to = None
            compact(tracked.directory, tracked.log, tracked.now)
        found = [(record.offset, record.key, record.value) for record in committed_records(tracked.log)]
        assert {key: value for _, key, value in found} == self.history.table(self.history.end)
        assert len(found) == len({key for _, key, _ in found})
        left = [header for header, _ in batches(tracked.log) if header.is_control and header.record_count]
        data = [header for header, _ in batches(tracked.log) if header.is_transactional and not header.is_control]
        # A marker is left only where batches of its producer are.
        assert {header.producer_id for header in left} <= {header.producer_id for header in data}


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=steps)
def test_compacted_log_says_what_a_dictionary_says(steps: list[tuple[str, Any, Any]]) -> None:
    player = Player()
    for step in steps:
        player.play(*step)
        if step[0] not in ("put", "put in transaction"):
            player.check()
    player.check()
    player.check_fully_compacted()
    player.check()
    player.play("kill and lose snapshots", None, None)
    player.check()
