"""The checkers find what is planted in a history, and nothing in a history that is as it should be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tidelog.model.ids import TopicPartition
from tidelog.simulation.checks.checkers import check
from tidelog.simulation.checks.history import (
    Acknowledged,
    Administered,
    Ended,
    Ending,
    Event,
    FinalState,
    Guarantee,
    History,
    Isolation,
    Outcome,
    Positioned,
    Read,
    ReplicaLog,
    Sent,
    StoredRecord,
    TopicState,
)

PARTITION = TopicPartition("records", 0)
OUTPUT = TopicPartition("output", 0)


def sent(number: int, *, guarantee: Guarantee = Guarantee.EXACTLY_ONCE, transaction: str | None = None) -> Sent:
    return Sent(number, "producer", number, PARTITION, f"v{number}".encode(), guarantee, transaction)


def acknowledged(number: int, offset: int) -> Acknowledged:
    return Acknowledged(number + 0.5, f"v{number}".encode(), PARTITION, offset)


def read(
    number: int, offset: int, *, isolation: Isolation = Isolation.UNCOMMITTED, partition: TopicPartition = PARTITION
) -> Read:
    return Read(number + 0.7, "reader", partition, offset, f"v{number}".encode(), isolation)


def replica(node: str, *numbers: int, end: int | None = None) -> ReplicaLog:
    records = [StoredRecord(offset, f"v{number}".encode(), 0) for offset, number in enumerate(numbers)]
    length = len(numbers) if end is None else end
    return ReplicaLog(
        node=node, partition=PARTITION, start_offset=0, end_offset=length, high_watermark=length, records=records
    )


def good_history() -> tuple[list[Event], FinalState]:
    """Three records, sent, acknowledged and read; three replicas that agree."""
    events: list[Event] = [Positioned(0, "reader", PARTITION, 0, Isolation.UNCOMMITTED)]
    for number in range(3):
        events += [sent(number), acknowledged(number, number), read(number, number)]
    final = FinalState(
        replicas=[replica(f"node-{node}", 0, 1, 2) for node in (1, 2, 3)],
        uncommitted=[read(number, number) for number in range(3)],
        committed=[read(number, number, isolation=Isolation.COMMITTED) for number in range(3)],
    )
    return events, final


def transaction_history(outcome: Outcome, *, visible: tuple[int, ...]) -> tuple[list[Event], FinalState]:
    """Two records in one transaction; `visible` are those that a reader of committed records finds at the end."""
    events: list[Event] = [
        sent(0, transaction="t"),
        acknowledged(0, 0),
        sent(1, transaction="t"),
        acknowledged(1, 1),
        Ending(2, "t", commit=outcome is not Outcome.ABORTED),
        Ended(3, "t", outcome),
    ]
    final = FinalState(
        replicas=[replica("node-1", 0, 1, end=3)],
        uncommitted=[read(0, 0), read(1, 1)],
        committed=[read(number, number, isolation=Isolation.COMMITTED) for number in visible],
    )
    return events, final


def found(events: list[Event], final: FinalState) -> set[str]:
    return {violation.invariant for violation in check(History(events), final)}


def test_a_good_history_has_no_violations() -> None:
    assert found(*good_history()) == set()


def test_an_empty_history_has_no_violations() -> None:
    assert found([], FinalState()) == set()


Plant = Callable[[list[Event], FinalState], tuple[list[Event], FinalState]]

ANOMALIES: dict[str, tuple[str, Plant]] = {
    "two readers see different values at one offset": (
        "I1",
        lambda events, final: ([*events, read(7, 1)._replace(reader="another")], final),
    ),
    "a replica holds another value below its watermark": (
        "I1",
        lambda events, final: (events, replace(final, replicas=[*final.replicas, replica("node-4", 0, 9, 2)])),
    ),
    "an answer names an offset at which another record is": (
        "I1",
        lambda events, final: ([*events, sent(9), acknowledged(9, 1)], final),
    ),
    "an acknowledged record is gone": (
        "I2",
        lambda events, final: (
            [*events, sent(3), acknowledged(3, 3)],
            final,
        ),
    ),
    "a record that was acknowledged without its offset is gone": (
        "I2",
        lambda events, final: ([*events, sent(3), acknowledged(3, -1)], final),
    ),
    "a record is stored twice": (
        "I4",
        lambda events, final: (events, replace(final, uncommitted=[*final.uncommitted, read(1, 3)])),
    ),
    "a record was seen where it is not at the end": (
        "I4",
        lambda events, final: ([*events, read(2, 5)._replace(reader="another")], final),
    ),
    "a reader goes back": ("I5", lambda events, final: ([*events, read(1, 1)], final)),
    "a reader skips": (
        "I5",
        lambda events, final: ([event for event in events if event != read(1, 1)], final),
    ),
    "a reader skips the first record": (
        "I5",
        lambda events, final: ([event for event in events if event != read(0, 0)], final),
    ),
    "records change their order": (
        "I6",
        lambda events, final: (
            [event._replace(number=5) if isinstance(event, Sent) and event.number == 0 else event for event in events],
            final,
        ),
    ),
    "a replica stays behind": (
        "I7",
        lambda events, final: (events, replace(final, replicas=[*final.replicas, replica("node-4", 0, 1)])),
    ),
    "a replica never learns what is committed": (
        "I7",
        lambda events, final: (
            events,
            replace(
                final, replicas=[replica("node-1", 0, 1, 2), replace(replica("node-2", 0, 1, 2), high_watermark=1)]
            ),
        ),
    ),
    "replicas differ above every offset that was read": (
        "I7",
        lambda events, final: (
            events,
            replace(final, replicas=[replica("node-1", 0, 1, 2), replica("node-2", 0, 1, 8)]),
        ),
    ),
    "somebody did not come to an end": (
        "I7",
        lambda events, final: (events, replace(final, unfinished=["reader-1 has not finished"])),
    ),
}


@pytest.mark.parametrize("name", ANOMALIES)
def test_a_planted_anomaly_is_found(name: str) -> None:
    invariant, plant = ANOMALIES[name]
    assert invariant in found(*plant(*good_history()))


def test_records_without_guarantee_may_get_lost_and_be_stored_twice() -> None:
    events, final = good_history()
    for guarantee in (Guarantee.NONE, Guarantee.AT_LEAST_ONCE):
        duplicate = replace(final, uncommitted=[*final.uncommitted, read(3, 3), read(3, 4)], replicas=())
        repeated = [*events, sent(3, guarantee=guarantee), acknowledged(3, 3)]
        assert found(repeated, duplicate) == set()
    assert found([*events, sent(3, guarantee=Guarantee.NONE), acknowledged(3, 3)], final) == set()


def test_an_acknowledgement_of_at_least_once_is_binding() -> None:
    events, final = good_history()
    assert found([*events, sent(3, guarantee=Guarantee.AT_LEAST_ONCE), acknowledged(3, 3)], final) == {"I2"}


def test_records_before_the_start_of_the_log_are_deleted_not_lost() -> None:
    events, final = good_history()
    trimmed = replace(
        final,
        uncommitted=final.uncommitted[1:],
        committed=final.committed[1:],
        replicas=[replace(each, start_offset=1, records=each.records[1:]) for each in final.replicas],
    )
    assert found(events, trimmed) == set()


def test_a_record_that_was_never_answered_may_be_there_or_not() -> None:
    events, final = good_history()
    assert found([*events, sent(3)], final) == set()
    there = replace(
        final,
        uncommitted=[*final.uncommitted, read(3, 3)],
        replicas=[replica("node-1", 0, 1, 2, 3)],
    )
    assert found([*events, sent(3)], there) == set()


def test_a_group_member_may_read_again_after_an_assignment() -> None:
    events, final = good_history()
    again: list[Event] = [Positioned(9, "reader", PARTITION, -1, Isolation.UNCOMMITTED), read(1, 1), read(2, 2)]
    assert found([*events, *again], final) == set()


def test_nothing_is_called_lost_when_the_end_was_not_reached() -> None:
    events, final = good_history()
    unread = replace(final, uncommitted=(), committed=(), unfinished=["no leader"])
    assert found(events, unread) == {"I7"}


@pytest.mark.parametrize(
    ("outcome", "visible", "expected"),
    [
        (Outcome.COMMITTED, (0, 1), set()),
        (Outcome.COMMITTED, (0,), {"I2"}),
        (Outcome.COMMITTED, (), {"I2"}),
        (Outcome.UNKNOWN, (0, 1), set()),
        (Outcome.UNKNOWN, (), set()),
        (Outcome.UNKNOWN, (1,), {"I2"}),
        (Outcome.ABORTED, (), set()),
        (Outcome.ABORTED, (0, 1), {"I3"}),
        (Outcome.ABORTED, (1,), {"I2", "I3"}),
    ],
)
def test_a_transaction_is_visible_whole_or_not_at_all(
    outcome: Outcome, visible: tuple[int, ...], expected: set[str]
) -> None:
    assert found(*transaction_history(outcome, visible=visible)) == expected


def test_a_record_of_an_open_transaction_must_not_be_seen() -> None:
    events, final = transaction_history(Outcome.COMMITTED, visible=(0, 1))
    early = read(0, 0, isolation=Isolation.COMMITTED)
    assert found([events[0], events[1], early, *events[2:]], final) == {"I3"}
    assert found([*events, early], final) == set()


def test_a_transaction_that_nobody_tried_to_commit_stays_hidden() -> None:
    events, final = transaction_history(Outcome.UNKNOWN, visible=(0, 1))
    without_ending: list[Event] = [event for event in events if not isinstance(event, Ending | Ended)]
    assert found(without_ending, final) == {"I3"}


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ((0, 1, 2), set()),
        ((0, 1), {"I8"}),
        ((0, 1, 1, 2), {"I8"}),
        ((1, 0, 2), {"I8"}),
        ((0, 1, 2, 3), {"I8"}),
    ],
)
def test_output_must_equal_input(output: tuple[int, ...], expected: set[str]) -> None:
    events, final = good_history()
    derived = [
        Read(9, "final", OUTPUT, offset, f"from v{number}".encode(), Isolation.COMMITTED)
        for offset, number in enumerate(output)
    ]
    with_output = replace(final, committed=[*final.committed, *derived], derived={"output": "records"})
    assert found(events, with_output) == expected


GROWN = TopicState(2, (("retention.ms", "1"),))


@pytest.mark.parametrize(
    ("told", "known", "on_node_2", "expected"),
    [
        (GROWN, True, GROWN, set()),
        (None, True, None, set()),
        (GROWN, True, None, {"I9"}),
        (None, True, GROWN, {"I9"}),
        (GROWN, True, TopicState(1, GROWN.configs), {"I9"}),
        (GROWN, True, TopicState(2, ()), {"I9"}),
        # Nobody got an answer.
        (GROWN, False, None, set()),
    ],
)
def test_what_an_administrator_was_told_must_hold_on_every_node(
    told: TopicState | None, known: bool, on_node_2: TopicState | None, expected: set[str]
) -> None:
    events, final = good_history()
    events += [
        Administered(1, "administrator", "t", "CreateTopics 2", True, TopicState(1, ())),
        Administered(2, "administrator", "t", "another", known, told),
    ]
    views = {"node-1": told if known else on_node_2, "node-2": on_node_2}
    topics = {node: {} if state is None else {"t": state} for node, state in views.items()}
    assert found(events, replace(final, topics=topics)) == expected


def test_the_number_of_messages_is_bounded() -> None:
    events, final = good_history()
    lost = [event for number in range(100, 200) for event in (sent(number), acknowledged(number, number))]
    assert len(check(History([*events, *lost]), final)) < 10
