"""The newest records while they come."""

from __future__ import annotations

from support.log_entries import marker_entry, record_entry

from tidelog.client.browsing import Gap, RecordEntry, TransactionOutcome
from tidelog.console.findings.live_window import LiveWindow


def outcomes(window: LiveWindow) -> list[TransactionOutcome | None]:
    return [entry.outcome for _, entry in window.rows if isinstance(entry, RecordEntry)]


def open_record(offset: int, producer_id: int = 7) -> RecordEntry:
    return record_entry(offset, producer_id=producer_id, outcome=TransactionOutcome.OPEN)


def test_the_newest_are_kept_and_all_are_counted() -> None:
    window = LiveWindow(3)
    window.note((0, record_entry(offset), offset != 1) for offset in range(6))
    assert [entry.offset for _, entry in window.rows] == [3, 4, 5]
    assert (window.seen, window.found) == (6, 5)


def test_gaps_are_not_shown_and_control_records_do_not_count() -> None:
    window = LiveWindow(10)
    window.note([(0, Gap(offset=0, last_offset=3), True), (0, marker_entry(4), True), (0, record_entry(5), True)])
    assert [entry.offset for _, entry in window.rows] == [4, 5]
    assert (window.seen, window.found) == (1, 1)


def test_a_marker_ends_the_transaction_of_its_producer_in_its_partition() -> None:
    window = LiveWindow(10)
    window.note([(0, open_record(0), True), (1, open_record(0), True), (0, open_record(1, producer_id=8), True)])
    window.note([(0, marker_entry(2, "ABORT", producer_id=7), False)])
    assert outcomes(window) == [TransactionOutcome.ABORTED, TransactionOutcome.OPEN, TransactionOutcome.OPEN]
    window.note([(0, marker_entry(3, "COMMIT", producer_id=8), False)])
    assert outcomes(window) == [TransactionOutcome.ABORTED, TransactionOutcome.OPEN, TransactionOutcome.COMMITTED]


def test_a_marker_does_not_change_what_has_ended() -> None:
    window = LiveWindow(10)
    window.note([(0, record_entry(0, producer_id=7, outcome=TransactionOutcome.ABORTED), True)])
    window.note([(0, record_entry(1, producer_id=7), True), (0, marker_entry(2, "COMMIT"), False)])
    assert outcomes(window) == [TransactionOutcome.ABORTED, None]


def test_other_control_records_end_nothing() -> None:
    window = LiveWindow(10)
    window.note([(0, open_record(0), True), (0, marker_entry(1, "LEADER_CHANGE"), False)])
    assert outcomes(window) == [TransactionOutcome.OPEN]
