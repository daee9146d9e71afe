"""Rows of log files, against `dump-log` over the same files and against what was written."""

from __future__ import annotations

import os
import random
import shutil
import zlib
from pathlib import Path

import pytest
from support.log_file_rows import Row, as_dump_line, dumped_records, milliseconds, rows_of

import tidelog
from tidelog.client.admin.topics import NewTopic
from tidelog.records.batch import HEADER_SIZE
from tidelog.records.compression import Compression
from tidelog.records.control import EndTransactionMarker, encode_end_transaction_marker
from tidelog.records.record import encode_batch
from tidelog.spark.log_files.reading import SegmentChanged, read_segment
from tidelog.spark.log_files.segments import InvalidLogFiles, find_segments, log_files_options
from tidelog.spark.source import batches
from tidelog.storage.indexes.transaction_index import TRANSACTION_ENTRY
from tidelog.testing.broker_thread import BrokerThread

WRITTEN_BY_KAFKA = Path(__file__).parents[2] / "cli" / "dump_log_samples" / "files"
START = 1_700_000_000_000


class LogWriter:
    """Writes a partition's directory batch by batch, and knows where each batch lies."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True)
        self.offset = 0
        self.places: list[tuple[Path, int, int]] = []
        self.roll()

    def roll(self) -> None:
        self.segment = self.directory / f"{self.offset:020d}.log"
        self.segment.touch()

    def append(self, batch: bytes, count: int) -> int:
        position = self.segment.stat().st_size
        with self.segment.open("ab") as file:
            file.write(batch)
        self.places.append((self.segment, position, len(batch)))
        first = self.offset
        self.offset += count
        return first

    def data(self, producer_id: int = -1, *, count: int = 2, sequence: int = 0, transactional: bool = True) -> int:
        records = [(START + n, b"k%d" % n, b"a value of some length %d" % (self.offset + n), ()) for n in range(count)]
        return self.append(
            encode_batch(
                records,
                base_offset=self.offset,
                producer_id=producer_id,
                producer_epoch=3 if producer_id >= 0 else -1,
                base_sequence=sequence if producer_id >= 0 else -1,
                leader_epoch=5,
                transactional=producer_id >= 0 and transactional,
            ),
            count,
        )

    def end(self, producer_id: int, *, commit: bool) -> int:
        marker = EndTransactionMarker(commit=commit, coordinator_epoch=7)
        return self.append(
            encode_end_transaction_marker(
                marker, producer_id=producer_id, producer_epoch=3, timestamp=START, base_offset=self.offset
            ),
            1,
        )


@pytest.fixture
def log(tmp_path: Path) -> LogWriter:
    return LogWriter(tmp_path / "orders-3")


def states(rows: list[Row]) -> dict[int, str | None]:
    return {row["offset"]: row["transactionState"] for row in rows if row["error"] is None}


# What is in the files


@pytest.mark.parametrize("name", sorted(path.name for path in WRITTEN_BY_KAFKA.iterdir()))
def test_rows_are_the_lines_of_dump_log_on_files_of_apache_kafka(name: str) -> None:
    rows = rows_of(WRITTEN_BY_KAFKA / name)
    assert [as_dump_line(row) for row in rows] == dumped_records(sorted((WRITTEN_BY_KAFKA / name).glob("*.log")))
    assert rows
    assert {(row["topic"], row["partition"], row["error"]) for row in rows} == {(*_named(name), None)}


def _named(directory: str) -> tuple[str, int]:
    topic, _, partition = directory.rpartition("-")
    return topic, int(partition)


def test_all_codecs_headers_and_nulls_of_apache_kafka() -> None:
    rows = rows_of(WRITTEN_BY_KAFKA / "codecs-0")
    assert {row["compression"] for row in rows} >= {"none", "gzip", "snappy", "lz4", "zstd"}
    assert any(row["key"] is None for row in rows)
    assert [header for row in rows for header in row["headers"] or ()][:2] == [
        {"key": "h", "value": b"1"},
        {"key": "이름", "value": None},
    ]


def test_transactions_of_apache_kafka() -> None:
    rows = rows_of(WRITTEN_BY_KAFKA / "txn-0")
    for row in rows:
        outcome = {"COMMIT": "committed", "ABORT": "aborted"}.get(row["controlType"] or "")
        assert outcome is None or row["transactionState"] == outcome
    of_records = {row["transactionState"] for row in rows if row["controlType"] is None}
    assert of_records == {"committed", "aborted", "open"}
    assert [row["value"] for row in rows if row["transactionState"] == "open"] == [b"open"]


async def test_a_broker_that_runs_is_read_as_it_is(tmp_path: Path) -> None:
    with BrokerThread(data_dir=str(tmp_path / "data")) as broker:
        async with tidelog.Admin(broker.bootstrap_servers) as admin:
            await admin.create_topics([NewTopic(name="orders", partitions=1)])
        servers = broker.bootstrap_servers
        async with tidelog.Producer(servers, transactional_id="done") as producer:
            await producer.init_transactions()
            for commit in (True, False):
                await producer.begin_transaction()
                await producer.send("orders", b"%d" % commit, partition=0)
                await producer.flush()
                await (producer.commit_transaction() if commit else producer.abort_transaction())
        async with tidelog.Producer(servers) as plain:
            await plain.send("orders", b"plain", partition=0)
            await plain.flush()
        async with tidelog.Producer(servers, transactional_id="open") as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            await producer.send("orders", b"open", partition=0)
            await producer.flush()
            before = _everything(tmp_path)
            rows = rows_of(tmp_path / "data" / "orders-0")
            assert _everything(tmp_path) == before
            everything = rows_of(tmp_path / "data")
            await producer.abort_transaction()
    kinds = [(row["value"], row["transactionState"]) for row in rows if row["controlType"] is None]
    assert kinds == [(b"1", "committed"), (b"0", "aborted"), (b"plain", None), (b"open", "open")]
    assert {"orders", "__transaction_state", "__cluster_metadata"} <= {row["topic"] for row in everything}


def _everything(directory: Path) -> dict[str, tuple[int, int]]:
    """Sizes and times of change: a read leaves them as they are. The quorum's own log may go on meanwhile."""
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in directory.rglob("orders-0/*")
        if path.is_file()
    }


def test_columns_of_a_record(log: LogWriter) -> None:
    log.data(4711, count=3, sequence=(1 << 31) - 2)
    log.end(4711, commit=True)
    log.data()
    rows = rows_of(log.directory)
    assert [row["sequence"] for row in rows] == [(1 << 31) - 2, (1 << 31) - 1, 0, None, None, None]
    assert [milliseconds(row) for row in rows[:3]] == [START, START + 1, START + 2]
    second = {**rows[1], "timestamp": None}
    assert second == {
        "topic": "orders",
        "partition": 3,
        "offset": 1,
        "timestamp": None,
        "timestampType": 0,
        "key": b"k1",
        "value": b"a value of some length 1",
        "headers": None,
        "producerId": 4711,
        "producerEpoch": 3,
        "sequence": (1 << 31) - 1,
        "leaderEpoch": 5,
        "transactionState": "committed",
        "controlType": None,
        "coordinatorEpoch": None,
        "compression": "none",
        "segment": "00000000000000000000.log",
        "batchBaseOffset": 0,
        "batchPosition": 0,
        "batchSize": log.places[0][2],
        "error": None,
    }
    assert (rows[3]["controlType"], rows[3]["coordinatorEpoch"]) == ("COMMIT", 7)
    assert rows[4]["producerId"] is None
    assert rows[4]["transactionState"] is None


def test_only_wanted_columns_are_made(log: LogWriter) -> None:
    log.data(1)
    log.places.clear()
    assert rows_of(log.directory, ["error", "offset"]) == [{"error": None, "offset": 0}, {"error": None, "offset": 1}]


def test_arrow_batches_are_bounded_and_complete(log: LogWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        log.data(9, count=5, sequence=5 * number)
        if number % 7 == 0:
            log.end(9, commit=True)
    monkeypatch.setattr(batches, "ROWS_PER_ARROW_BATCH", 20)
    (place,) = find_segments(log_files_options({"path": str(log.directory)}))
    found = list(read_segment(place, ["offset"], 1 << 20))
    assert max(batch.num_rows for batch in found) <= 24
    assert [row["offset"] for batch in found for row in batch.to_pylist()] == list(range(log.offset))


# Transactions over several segments


def test_markers_in_later_segments_decide(log: LogWriter) -> None:
    committed, aborted, hanging = log.data(1), log.data(2), log.data(3)
    log.roll()
    plain = log.data()
    log.roll()
    log.end(2, commit=False)
    log.end(1, commit=True)
    again = log.data(1)
    log.roll()
    log.data(3)
    found = states(rows_of(log.directory))
    assert [found[offset] for offset in (committed, aborted, hanging, plain, again)] == [
        "committed",
        "aborted",
        "open",
        None,
        "open",
    ]


def test_a_marker_that_came_after_planning_does_not_count(log: LogWriter) -> None:
    log.data(1)
    log.roll()
    log.data(2)
    places = find_segments(log_files_options({"path": str(log.directory)}))
    log.end(1, commit=True)
    log.end(2, commit=True)
    rows = [
        row for place in places for batch in read_segment(place, ["transactionState"], 1 << 20) for row in _list(batch)
    ]
    assert {row["transactionState"] for row in rows} == {"open"}


def _list(batch: object) -> list[Row]:
    return batch.to_pylist()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("seed", range(20))
def test_random_histories_have_the_states_that_were_written(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    log = LogWriter(tmp_path / "t-0")
    expected = _write_history(log, draw)
    assert states(rows_of(log.directory)) == expected


def _write_history(log: LogWriter, draw: random.Random) -> dict[int, str | None]:
    expected: dict[int, str | None] = {}
    running: dict[int, list[int]] = {}
    for _ in range(60):
        match draw.choice(("data", "data", "plain", "end", "roll")):
            case "data":
                producer_id = draw.randrange(4)
                first = log.data(producer_id, count=draw.randint(1, 3))
                running.setdefault(producer_id, []).extend(range(first, log.offset))
            case "plain":
                first = log.data(draw.choice((-1, 9)), count=1, transactional=False)
                expected[first] = None
            case "end" if running:
                producer_id = draw.choice(sorted(running))
                commit = draw.random() < 0.5
                marker = log.end(producer_id, commit=commit)
                for offset in [*running.pop(producer_id), marker]:
                    expected[offset] = "committed" if commit else "aborted"
            case "roll":
                log.roll()
    expected.update({offset: "open" for offsets in running.values() for offset in offsets})
    return dict(sorted(expected.items()))


# Damage


@pytest.mark.parametrize("seed", range(40))
def test_damage_is_told_and_hides_nothing_else(tmp_path: Path, seed: int) -> None:
    """Whatever is damaged: each batch that was not touched is there, with a state that is right or unknown, and each
    touched one is an error or unchanged in what it says."""
    draw = random.Random(1000 + seed)
    log = LogWriter(tmp_path / "t-0")
    expected = _write_history(log, draw)
    before = {row["offset"]: row for row in rows_of(log.directory)}
    touched = _damage(log, draw)
    rows = rows_of(log.directory)
    good = {row["offset"]: row for row in rows if row["error"] is None}
    errors = [row for row in rows if row["error"] is not None]
    untouched = {
        offset
        for offset, row in before.items()
        if not any(
            segment.name == row["segment"]
            and start < row["batchPosition"] + row["batchSize"]
            and row["batchPosition"] < end
            for segment, start, end in touched
        )
    }
    assert untouched <= good.keys()
    assert errors or good.keys() == before.keys()
    unchecked = ("leaderEpoch", "transactionState")
    for offset, row in good.items():
        # The leader epoch lies outside of the checksum, and nothing else says what it was.
        assert {**row, **dict.fromkeys(unchecked)} == {**before[offset], **dict.fromkeys(unchecked)}
        assert row["transactionState"] in (expected[offset], "unknown", "open" if touched[0][0] == log.segment else "")


def _damage(log: LogWriter, draw: random.Random) -> list[tuple[Path, int, int]]:
    """(segment, start, end) of what was changed."""
    segment, position, size = draw.choice(log.places)
    match draw.choice(("flip", "flip", "garbage", "cut", "zeros")):
        case "flip":
            # Of the last batch nothing says what its base offset was: no checksum covers it, and no batch follows.
            least = 8 if segment == log.places[-1][0] and position == log.places[-1][1] else 0
            at = position + draw.randrange(least, size)
            content = bytearray(segment.read_bytes())
            content[at] ^= 1 << draw.randrange(8)
            segment.write_bytes(content)
            return [(segment, at, at + 1)]
        case "garbage" | "zeros" as kind:
            content = bytearray(segment.read_bytes())
            end = min(len(content), position + draw.randint(1, 300))
            new = bytes(end - position) if kind == "zeros" else draw.randbytes(end - position)
            content[position:end] = new
            segment.write_bytes(content)
            return [(segment, position, end)]
        case _:
            at = position + draw.randrange(1, size)
            end = segment.stat().st_size
            os.truncate(segment, at)
            return [(segment, at, end)]


def test_a_bad_checksum_is_one_row_with_its_reason(log: LogWriter) -> None:
    log.data(), log.data(), log.data()
    _, position, size = log.places[1]
    content = bytearray(log.segment.read_bytes())
    content[position + HEADER_SIZE + 3] ^= 1
    log.segment.write_bytes(content)
    rows = rows_of(log.directory)
    (bad,) = [row for row in rows if row["error"] is not None]
    assert bad["error"] == "the checksum does not match"
    assert (bad["offset"], bad["batchPosition"], bad["batchSize"]) == (2, position, size)
    assert (bad["topic"], bad["partition"], bad["key"], bad["value"]) == ("orders", 3, None, None)
    assert [row["offset"] for row in rows] == [0, 1, 2, 4, 5]


def test_a_wrong_base_offset_is_found_though_no_checksum_covers_it(log: LogWriter) -> None:
    log.data(), log.data(), log.data()
    _, position, _ = log.places[1]
    for wrong, reason in ((0, "its offset 0 is below 2, which comes next"), (3, "offset 4 follows its offset 4")):
        content = bytearray(log.segment.read_bytes())
        content[position : position + 8] = wrong.to_bytes(8, "big")
        log.segment.write_bytes(content)
        rows = rows_of(log.directory)
        assert [row["error"] for row in rows if row["error"]] == [reason]
        assert [row["offset"] for row in rows if not row["error"]] == [0, 1, 4, 5]


def test_a_tail_that_is_cut_is_told_and_leaves_transactions_open(log: LogWriter) -> None:
    log.data(1)
    log.end(1, commit=True)
    os.truncate(log.segment, log.places[-1][1] + 30)
    *rows, torn = rows_of(log.directory)
    assert states(rows) == {0: "open", 1: "open"}
    assert torn["error"] == (
        "the last 30 bytes are not a whole batch: a write in progress, or left by a crash "
        "(30 bytes are too few for a batch header)"
    )


def test_zeros_at_the_end_are_told_and_are_no_marker(log: LogWriter) -> None:
    log.data()
    log.roll()
    log.data(1)
    size = log.places[-1][2]
    os.truncate(log.segment, 1 << 16)
    *rows, end = rows_of(log.directory)
    assert states(rows) == {0: None, 1: None, 2: "open", 3: "open"}
    assert f"the last {(1 << 16) - size} bytes are zeros: preallocated space" in end["error"]
    first = log.places[0][0]
    os.truncate(first, 1 << 16)
    error, _ = [row["error"] for row in rows_of(log.directory) if row["error"]]
    assert "batch length 0" in error or "magic 0" in error


def test_messages_of_old_formats_are_rows_with_the_remedy(log: LogWriter) -> None:
    body = b"\x01\x00" + START.to_bytes(8, "big") + b"\xff\xff\xff\xff" + b"\x00\x00\x00\x01v"
    message = zlib.crc32(body).to_bytes(4, "big") + body
    log.append((0).to_bytes(8, "big") + len(message).to_bytes(4, "big") + message, 1)
    log.data()
    first, *rest = rows_of(log.directory)
    assert "a message of format v1; tidelog reads only v2" in first["error"]
    assert [(row["offset"], row["error"]) for row in rest] == [(1, None), (2, None)]


def test_records_that_cannot_be_read_behind_a_right_checksum(log: LogWriter) -> None:
    good = encode_batch([(START, b"k", b"v" * 500, ())], base_offset=0, compression=Compression.ZSTD)
    log.append(good, 1)
    log.data()
    rows = rows_of(log.directory, maxBatchBytes="400")
    (bad,) = [row for row in rows if row["error"]]
    assert bad["error"].startswith("its records cannot be read: ")
    assert [row["offset"] for row in rows] == [0, 1, 2]


def test_a_batch_that_is_larger_than_allowed_is_not_read(log: LogWriter) -> None:
    log.data(count=50)
    log.data()
    rows = rows_of(log.directory, maxBatchBytes="1000")
    (bad,) = [row for row in rows if row["error"]]
    assert "is larger than the limit of 1000" in bad["error"]
    assert [row["offset"] for row in rows if not row["error"]] == [50, 51]


def test_a_damaged_marker_makes_states_unknown_unless_the_index_names_them(log: LogWriter) -> None:
    unknown, aborted = log.data(1), log.data(2)
    first = log.end(1, commit=True)
    second = log.end(2, commit=False)
    content = bytearray(log.segment.read_bytes())
    for marker in (2, 3):
        content[log.places[marker][1] + HEADER_SIZE + 5] ^= 1
    log.segment.write_bytes(content)
    entry = TRANSACTION_ENTRY.pack(0, 2, aborted, second, first)
    log.segment.with_suffix(".txnindex").write_bytes(entry + b"torn")
    found = states(rows_of(log.directory))
    assert (found[unknown], found[aborted]) == ("unknown", "aborted")


def test_damaged_data_does_not_make_states_unknown(log: LogWriter) -> None:
    before, damaged, after = log.data(1), log.data(2, count=3), log.data(1)
    log.end(1, commit=True)
    content = bytearray(log.segment.read_bytes())
    content[log.places[1][1] + HEADER_SIZE + 9] ^= 1
    log.segment.write_bytes(content)
    found = states(rows_of(log.directory))
    assert (found[before], found[after], damaged in found) == ("committed", "committed", False)


def test_an_exchange_of_segments_that_was_interrupted_is_told(log: LogWriter) -> None:
    log.data()
    log.roll()
    shutil.copy(log.places[0][0], log.directory / "00000000000000000000.log.swap")
    *_, told = rows_of(log.directory)
    assert "start the broker once, which finishes the exchange" in told["error"]


# Running brokers


def test_a_segment_that_was_deleted_since_planning_is_read_while_it_is_there(log: LogWriter) -> None:
    log.data()
    (place,) = find_segments(log_files_options({"path": str(log.directory)}))
    marked = log.segment.with_name(log.segment.name + ".deleted")
    log.segment.rename(marked)
    assert sum(batch.num_rows for batch in read_segment(place, ["offset"], 1 << 20)) == 2
    # The cleaner puts another file into the place.
    shutil.copy(marked, log.segment)
    marked.unlink()
    with pytest.raises(SegmentChanged, match="was removed or replaced since the query was planned"):
        list(read_segment(place, ["offset"], 1 << 20))


def test_what_is_written_after_planning_is_not_read(log: LogWriter) -> None:
    log.data()
    (place,) = find_segments(log_files_options({"path": str(log.directory)}))
    log.data()
    assert sum(batch.num_rows for batch in read_segment(place, ["offset"], 1 << 20)) == 2


# What load() takes


@pytest.fixture
def data(tmp_path: Path) -> Path:
    root = tmp_path / "data"
    for name in ("orders-0", "orders-1", "payments-0", "orders-2.0123abcd-delete"):
        LogWriter(root / name).data()
    (root / "meta.properties").touch()
    (root / "empty").mkdir()
    return root


def named(*paths: Path | str, **options: str) -> list[str]:
    import json

    given = {"path": str(paths[0])} if len(paths) == 1 else {"paths": json.dumps([str(path) for path in paths])}
    return [Path(place.directory).name for place in find_segments(log_files_options({**given, **options}))]


def test_paths_are_partitions_globs_lists_log_directories_and_segments(data: Path) -> None:
    assert named(data / "orders-0") == ["orders-0"]
    assert named(data / "orders-*") == ["orders-0", "orders-1"]
    assert named(data / "orders-0", data / "payments-0", data / "orders-*") == ["orders-0", "orders-1", "payments-0"]
    assert named(data) == ["orders-0", "orders-1", "payments-0"]
    assert named(f"file://{data}/orders-0/") == ["orders-0"]
    assert named(data / "orders-0" / "00000000000000000000.log") == ["orders-0"]
    assert named(data / "orders-0" / "*.log") == ["orders-0"]
    # One that waits for its deletion is read only where it is named.
    assert named(data / "orders-2.0123abcd-delete") == ["orders-2.0123abcd-delete"]


@pytest.mark.parametrize(
    ("paths", "options", "message"),
    [
        (["nowhere-0"], {}, "nowhere-0 does not exist"),
        (["nowhere-*"], {}, "nowhere-\\* matches nothing"),
        (["meta*"], {}, "matches no partition's directory"),
        (["empty"], {}, "is neither a partition's directory nor a log directory"),
        (["meta.properties"], {}, "is not a segment"),
        (["orders-0", "nowhere-0"], {}, "nowhere-0 does not exist"),
        (
            ["orders-0"],
            {"maxBatchByte": "1"},
            "maxbatchbyte is not an option of tidelog-log; did you mean maxBatchBytes",
        ),
        (["orders-0"], {"maxBatchBytes": "many"}, "maxBatchBytes=many must be a whole number from 1 to"),
    ],
)
def test_what_cannot_be_read_is_said(data: Path, paths: list[str], options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidLogFiles, match=message):
        named(*(data / path for path in paths), **options)


def test_paths_that_are_none(data: Path) -> None:
    for options, message in (
        ({}, "no path is given"),
        ({"path": " "}, "a path is empty"),
        ({"path": "hdfs://there/orders-0"}, "only local files are read"),
        ({"paths": "orders-0"}, "must be a JSON array"),
    ):
        with pytest.raises(InvalidLogFiles, match=message):
            find_segments(log_files_options(options))
    shutil.move(data / "orders-0", data / "copy")
    with pytest.raises(InvalidLogFiles, match="rename the copy to <topic>-<partition>"):
        named(data / "copy")
