"""The rules for reading by transaction id, against a model of a database whose transactions overlap at will."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.spark.outbox.windows import START, Position, end_of, open_window, position_from, slice_between


@dataclass
class Row:
    transaction: int
    sequence: int


@dataclass
class Database:
    """Transactions take ids and sequence numbers when they please, and become visible when they commit."""

    next_transaction: int = 3
    next_sequence: int = 1
    running: dict[int, list[Row]] = field(default_factory=dict)
    visible: list[Row] = field(default_factory=list)

    def begin(self) -> None:
        self.running[self.next_transaction] = []
        self.next_transaction += 1

    def insert(self, transaction: int) -> None:
        self.running[transaction].append(Row(transaction, self.next_sequence))
        self.next_sequence += 1

    def end(self, transaction: int, *, commits: bool) -> None:
        rows = self.running.pop(transaction)
        if commits:
            self.visible += rows

    def oldest_running(self) -> int:
        return min(self.running, default=self.next_transaction)


def select(database: Database, start: Position, end: Position) -> list[Row]:
    wanted = slice_between(start, end)
    if wanted is None:
        return []
    rows = [
        row
        for row in database.visible
        if wanted.low <= row.transaction < wanted.high
        and row.sequence > wanted.after
        and (wanted.up_to is None or row.sequence <= wanted.up_to)
    ]
    return sorted(rows, key=lambda row: row.sequence)


def latest(database: Database, start: Position, limit: int | None) -> Position:
    window = open_window(start, database.oldest_running())
    rows = select(database, start, Position(low=window.high, high=window.high))
    if not rows:
        return start
    return end_of(window, rows[limit - 1].sequence if limit is not None and len(rows) > limit else None)


ACTIONS = st.lists(
    st.one_of(
        st.just(("begin", 0)),
        st.tuples(st.sampled_from(["insert", "insert", "commit", "abort"]), st.integers(0, 5)),
        st.tuples(st.just("read"), st.integers(0, 3)),
    ),
    max_size=60,
)


@settings(max_examples=300)
@given(ACTIONS)
def test_every_committed_row_is_read_once_and_causal_order_is_kept(actions: list[tuple[str, int]]) -> None:
    database = Database()
    position = START
    read: list[Row] = []
    # (earlier row, later row): the later one was inserted after the earlier one was visible.
    caused: list[tuple[Row, Row]] = []
    for action, number in [*actions, *[("commit", 0)] * 20, ("read", 0), ("read", 0)]:
        running = sorted(database.running)
        if action == "begin":
            database.begin()
        elif action == "read":
            end = latest(database, position, number or None)
            rows = select(database, position, end)
            # The checkpoint holds the positions: a batch that is read again has the same rows.
            again = position_from(asdict(position)), position_from(asdict(end))
            assert select(database, *again) == rows
            assert number == 0 or len(rows) <= number
            read += rows
            position = end
        elif running:
            transaction = running[number % len(running)]
            if action == "insert":
                before = list(database.visible)
                database.insert(transaction)
                caused += [(row, database.running[transaction][-1]) for row in before]
            else:
                database.end(transaction, commits=action == "commit")
    # Windows that limits have cut are finished.
    while (end := latest(database, position, None)) != position:
        read += select(database, position, end)
        position = end
    assert sorted(read, key=lambda row: row.sequence) == sorted(database.visible, key=lambda row: row.sequence)
    places = {row.sequence: number for number, row in enumerate(read)}
    for earlier, later in caused:
        if later.sequence in places:
            assert places[earlier.sequence] < places[later.sequence]


def test_reading_by_sequence_alone_would_lose_a_row() -> None:
    """What the model must be able to show: the second transaction commits first."""
    database = Database()
    database.begin()
    database.begin()
    database.insert(3)
    database.insert(4)
    database.end(4, commits=True)
    assert [row.sequence for row in database.visible] == [2]
    assert latest(database, START, None) == START
    database.end(3, commits=True)
    assert [row.sequence for row in select(database, START, latest(database, START, None))] == [1, 2]
