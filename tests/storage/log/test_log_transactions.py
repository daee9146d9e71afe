"""Transactions in the log: the last stable offset, and aborted ones found again wherever they were written."""

from __future__ import annotations

import pytest
from support.default_settings import log_config
from support.log_harness import Harness, MakeHarness

from tidelog.partition.transactions import AbortedTransaction
from tidelog.storage.log.reader import aborted_transactions, end_offset_of

SMALL = log_config(segment_bytes=400)


def produce(h: Harness, producer_id: int, sequence: int, value: bytes = b"v" * 30) -> None:
    result = h.append(value, producer_id=producer_id, producer_epoch=0, base_sequence=sequence, transactional=True)
    assert result.base_offset >= 0


def fill(h: Harness) -> None:
    """Two aborted transactions and a committed one, interleaved over segments:

    0..3: producers 1 2 1 3;  4: abort 1;  5: producer 2;  6: commit 3;  7: abort 2;  8: producer 4, open
    """
    produce(h, 1, 0)
    produce(h, 2, 0)
    produce(h, 1, 1)
    produce(h, 3, 0)
    h.append_marker(1, commit=False)
    produce(h, 2, 1)
    h.append_marker(3, commit=True)
    h.append_marker(2, commit=False)
    produce(h, 4, 0)
    h.log.update_high_watermark(h.log.log_end_offset)


EXPECTED = [AbortedTransaction(1, 0, 4, 1), AbortedTransaction(2, 1, 7, 8)]


@pytest.mark.parametrize("restart", ["none", "clean", "crash", "crash without indexes"])
def test_aborted_transactions_over_segments_stay_hidden_after_a_restart(harness: MakeHarness, restart: str) -> None:
    h = harness(SMALL)
    h.open()
    fill(h)
    assert len(h.log.segments) >= 3
    if restart == "clean":
        h.reopen()
    elif restart != "none":
        h.crash()
        if restart == "crash without indexes":
            for path in h.partition_path.iterdir():
                if path.suffix in (".index", ".timeindex", ".txnindex", ".snapshot"):
                    path.unlink()
        h.open()
        h.log.update_high_watermark(h.log.log_end_offset)
    log = h.log
    assert log.log_end_offset == 9
    assert aborted_transactions(log, 0, upper_bound=9) == EXPECTED
    assert aborted_transactions(log, 5, upper_bound=9) == EXPECTED[1:]
    assert aborted_transactions(log, 0, upper_bound=1) == EXPECTED[:1]
    assert aborted_transactions(log, 8, upper_bound=9) == []
    assert log.last_stable_offset == 8


def test_last_stable_offset_waits_for_the_marker_and_the_watermark(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.append(b"plain")
    h.log.update_high_watermark(1)
    assert h.log.last_stable_offset == 1
    produce(h, 1, 0)
    h.log.update_high_watermark(2)
    assert h.log.last_stable_offset == 1
    h.append_marker(1, commit=True)
    assert h.log.last_stable_offset == 1
    h.log.update_high_watermark(3)
    assert h.log.last_stable_offset == 3


def test_reader_of_committed_data_gets_what_concerns_its_records(harness: MakeHarness) -> None:
    h = harness(SMALL)
    h.open()
    fill(h)
    log = h.log
    result = h.read(0, 1, upper_bound=log.last_stable_offset)
    found = aborted_transactions(log, 0, upper_bound=end_offset_of(log, result))
    assert EXPECTED[0] in found


def test_transaction_index_follows_a_truncation(harness: MakeHarness) -> None:
    h = harness(SMALL)
    h.open()
    fill(h)
    h.directory.truncate(h.partition, 7, now_ms=h.now)
    assert aborted_transactions(h.log, 0, upper_bound=7) == EXPECTED[:1]
    h.log.update_high_watermark(7)
    assert h.log.last_stable_offset == 1
    h.append_marker(2, commit=False)
    assert aborted_transactions(h.log, 0, upper_bound=8) == EXPECTED


def test_log_without_aborts_has_no_transaction_index(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    produce(h, 1, 0)
    h.append_marker(1, commit=True)
    assert aborted_transactions(h.log, 0, upper_bound=2) == []
    h.close()
    assert not h.file(".txnindex").exists()
