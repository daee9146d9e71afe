"""The newest records while they come."""

from __future__ import annotations

from support.log_entries import marker_entry, record_entry

from tidelog.client.browsing import Gap, RecordEntry, TransactionOutcome, Unreadable
from tidelog.console.findings.entry_documents import row_of
from tidelog.console.findings.live_window import LiveWindow
from tidelog.console.findings.payload_forms import Form
from tidelog.console.replies import Json, encoded

OPEN, COMMITTED, ABORTED = "open", "committed", "aborted"


def window_of(most: int) -> LiveWindow:
    return LiveWindow(most, "orders", Form.AUTO)


def offsets(window: LiveWindow) -> list[Json]:
    return [row["offset"] for row in window.rows]


def outcomes(window: LiveWindow) -> list[Json]:
    return [row["outcome"] for row in window.rows if row["kind"] == "record"]


def open_record(offset: int, producer_id: int = 7) -> RecordEntry:
    return record_entry(offset, producer_id=producer_id, outcome=TransactionOutcome.OPEN)


def test_the_newest_are_kept_and_all_are_counted() -> None:
    window = window_of(3)
    window.note((0, record_entry(offset), offset != 1) for offset in range(6))
    assert offsets(window) == [3, 4, 5]
    assert (window.seen, window.found) == (6, 5)


def test_gaps_are_not_shown_and_control_records_do_not_count() -> None:
    window = window_of(10)
    window.note([(0, Gap(offset=0, last_offset=3), True), (0, marker_entry(4), True), (0, record_entry(5), True)])
    assert offsets(window) == [4, 5]
    assert (window.seen, window.found) == (1, 1)


def test_damaged_batches_are_shown() -> None:
    """Consumers stop in front of them: who looks for the reason sees it."""
    damaged = Unreadable(offset=1, last_offset=3, reason="its checksum is wrong")
    window = window_of(10)
    window.note([(0, record_entry(0), True), (0, damaged, True), (0, record_entry(4), True)])
    assert [row["kind"] for row in window.rows] == ["record", "unreadable", "record"]
    assert window.rows[1] == row_of("orders", 0, damaged, Form.AUTO)
    assert (window.seen, window.found) == (2, 2)
    window.note([(0, damaged, False)])
    assert len(window.rows) == 3


def test_large_records_are_not_kept_whole() -> None:
    window = window_of(200)
    window.note((0, record_entry(offset, b"x" * (1 << 20)), True) for offset in range(200))
    assert len(window.rows) == 200
    assert len(encoded(window.rows)) < 1 << 20


def test_a_marker_ends_the_transaction_of_its_producer_in_its_partition() -> None:
    window = window_of(10)
    window.note([(0, open_record(0), True), (1, open_record(0), True), (0, open_record(1, producer_id=8), True)])
    window.note([(0, marker_entry(2, "ABORT", producer_id=7), False)])
    assert outcomes(window) == [ABORTED, OPEN, OPEN]
    window.note([(0, marker_entry(3, "COMMIT", producer_id=8), False)])
    assert outcomes(window) == [ABORTED, OPEN, COMMITTED]


def test_a_marker_does_not_change_what_has_ended() -> None:
    window = window_of(10)
    window.note([(0, record_entry(0, producer_id=7, outcome=TransactionOutcome.ABORTED), True)])
    window.note([(0, record_entry(1, producer_id=7), True), (0, marker_entry(2, "COMMIT"), False)])
    assert outcomes(window) == [ABORTED, None]


def test_other_control_records_end_nothing() -> None:
    window = window_of(10)
    window.note([(0, open_record(0), True), (0, marker_entry(1, "LEADER_CHANGE"), False)])
    assert outcomes(window) == [OPEN]
