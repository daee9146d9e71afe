"""`tidelog dump-log` on files that Apache Kafka wrote, against the lines that Kafka's own tool printed for them.

`dump_log_samples/files` was written by Apache Kafka 4.3.1 (with all codecs, transactions, compaction, both group
protocols); each text file beside it is what `org.apache.kafka.tools.DumpLogSegments` of that version says about them
with the option it is named after. `tests/interop/test_dump_log.py` compares the two tools on fresh directories.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from tidelog.cli.commands.dump_log import dump, dump_log
from tidelog.cli.dump_log.decoders import decode_text
from tidelog.cli.dump_log.options import DumpOptions
from tidelog.records.batch import HEADER_SIZE
from tidelog.records.compression import Compression
from tidelog.records.record import encode_batch

SAMPLES = Path(__file__).with_name("dump_log_samples")
FILES = SAMPLES / "files"
TOPICS = ("codecs-0/0*", "compacted-0/0*", "txn-0/0*")


class Output:
    """What was printed, and what was complained about."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.errors: list[str] = []
        self.code = -1

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


def run(*files: Path | str, **options: Any) -> Output:
    output = Output()
    output.code = dump(
        [str(file) for file in files],
        DumpOptions(**options),
        write=output.lines.append,
        write_error=output.errors.append,
    )
    return output


def samples(*patterns: str) -> list[str]:
    return sorted(str(path.relative_to(FILES)) for pattern in patterns for path in FILES.glob(pattern))


@pytest.mark.parametrize(
    ("expected", "patterns", "options"),
    [
        ("batches", TOPICS, {}),
        ("print-data-log", TOPICS, {"print_data_log": True}),
        ("deep-iteration", TOPICS, {"deep_iteration": True}),
        ("skip-record-metadata", TOPICS, {"print_data_log": True, "skip_record_metadata": True}),
        ("max-bytes", TOPICS, {"print_data_log": True, "max_bytes": 400}),
        ("verify-index-only", TOPICS, {"verify_index_only": True}),
        ("index-sanity-check", TOPICS, {"index_sanity_check": True}),
        ("offsets-decoder", ["__consumer_offsets-*/*"], {"offsets_decoder": True}),
        ("transaction-log-decoder", ["__transaction_state-*/*"], {"transaction_log_decoder": True}),
        ("cluster-metadata-decoder", ["__cluster_metadata-*/*"], {"cluster_metadata_decoder": True}),
    ],
)
def test_the_lines_are_those_of_kafkas_tool(
    monkeypatch: pytest.MonkeyPatch, expected: str, patterns: list[str], options: dict[str, bool]
) -> None:
    monkeypatch.chdir(FILES)
    files = samples(*patterns)
    assert files
    output = run(*files, **options)
    assert output.text.encode() == (SAMPLES / f"{expected}.txt").read_bytes()
    assert (output.errors, output.code) == ([], 0)


def test_leader_epochs_are_shown() -> None:
    path = FILES / "txn-0" / "leader-epoch-checkpoint"
    output = run(path)
    assert output.lines == [f"Dumping {path}", "epoch: 0 startOffset: 0"]
    assert output.code == 0


def test_integers_are_shown_by_the_integer_decoders(tmp_path: Path) -> None:
    log = write_log(tmp_path, encode_batch([(5, b"\x00\x00\x00\x07", (-1).to_bytes(8, "big", signed=True), ())]))
    output = run(log, key_decoder_class="org.apache.kafka.tools.api.IntegerDecoder", value_decoder_class="LongDecoder")
    assert output.lines[-1].endswith("headerKeys: [] key: 7 payload: -1")
    damaged = run(log, key_decoder_class="LongDecoder")
    assert damaged.code == 1
    assert "offset 0 is not a number" in damaged.errors[0]


def test_an_unknown_decoder_class_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"com\.example\.Avro.*StringDecoder"):
        run(tmp_path / "0.log", value_decoder_class="com.example.Avro")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain", "plain"),
        (b"\xed\xa0\x80", "\ufffd"),
        (b"\xed\xa0\x80\xed\xb0\x80x", "\ufffd\ufffdx"),
        (b"\xed\xa0", "\ufffd"),
        (b"\xed\xa0x", "\ufffdx"),
        (b"\xed", "\ufffd"),
        (b"\xedx", "\ufffdx"),
        (b"\xff\xfe\xc0\x80", "\ufffd" * 4),
        (b"\xf0\x9f\x8c", "\ufffd"),
    ],
)
def test_text_that_is_no_utf8_is_replaced_as_java_does(data: bytes, text: str) -> None:
    assert decode_text(data) == text


# Damage


def write_log(folder: Path, *batches: bytes, base_offset: int = 0) -> Path:
    path = folder / f"{base_offset:020d}.log"
    path.write_bytes(b"".join(batches))
    return path


def test_bytes_behind_the_last_whole_batch_are_counted(tmp_path: Path) -> None:
    batch = encode_batch([(5, b"k", b"v", ())])
    log = write_log(tmp_path, batch, batch[:-1])
    output = run(log)
    assert output.lines[-1] == f"Found {len(batch) - 1} invalid bytes at the end of {log.name}"
    assert len(output.lines) == 4
    assert run(log, max_bytes=len(batch) + 5).lines == output.lines[:-1]


def test_a_wrong_checksum_is_shown_and_does_not_end_the_dump(tmp_path: Path) -> None:
    batch = bytearray(encode_batch([(5, b"k", b"v", ())]))
    batch[-2] ^= 1  # the value
    output = run(
        write_log(tmp_path, bytes(batch), encode_batch([(6, b"k", b"w", ())], base_offset=1)), print_data_log=True
    )
    assert [line.endswith("isvalid: true") for line in output.lines if line.startswith("baseOffset")] == [False, True]
    assert output.lines[3].endswith("key: k payload: w")
    assert output.lines[5].endswith("key: k payload: w")


def test_a_batch_that_cannot_be_decompressed_is_named_and_the_next_file_is_shown(tmp_path: Path) -> None:
    batch = bytearray(encode_batch([(5, b"k", b"v" * 100, ())], compression=Compression.GZIP))
    batch[HEADER_SIZE] ^= 0xFF
    damaged = write_log(tmp_path, bytes(batch))
    whole = write_log(tmp_path, encode_batch([(5, b"k", b"v", ())], base_offset=7), base_offset=7)
    output = run(damaged, whole, deep_iteration=True)
    assert output.code == 1
    assert output.errors[0].startswith(f"{damaged}, batch at byte 0: ")
    assert output.lines[-1].startswith("| offset: 7 ")


def test_a_length_that_cannot_be_one_is_named(tmp_path: Path) -> None:
    batch = encode_batch([(5, b"k", b"v", ())])
    log = write_log(tmp_path, batch, bytes(100))
    output = run(log)
    assert output.code == 1
    assert output.errors == [f"{log}, at byte {len(batch)}: batch length 0 is less than the size of a header"]


def test_missing_offsets_inside_of_a_log_are_reported_at_the_end(tmp_path: Path) -> None:
    log = write_log(
        tmp_path,
        encode_batch([(5, b"k", b"v", ())], base_offset=3),
        encode_batch([(5, b"k", b"v", ())], base_offset=9),
        base_offset=3,
    )
    output = run(log, deep_iteration=True)
    assert output.errors == [f"Non-consecutive offsets in {log}", "  3 is followed by 9"]
    assert output.code == 1


def test_an_index_that_does_not_fit_to_its_log_is_reported(tmp_path: Path) -> None:
    for name in samples("txn-0/00000000000000000000.*"):
        shutil.copy(FILES / name, tmp_path)
    index = tmp_path / "00000000000000000000.index"
    content = bytearray(index.read_bytes())
    content[3] += 1
    index.write_bytes(content)
    output = run(index)
    assert output.lines[1] == "offset: 5 position: 302"
    assert output.errors == [f"Mismatches in :{index}", "  Index offset: 5, log offset: 4"]


def test_a_time_index_that_does_not_fit_to_its_log_is_reported(tmp_path: Path) -> None:
    for name in samples("txn-0/00000000000000000000.*"):
        shutil.copy(FILES / name, tmp_path)
    index = tmp_path / "00000000000000000000.timeindex"
    content = bytearray(index.read_bytes())
    content[7] += 1  # of the first timestamp
    content[23] = 200  # the second offset
    index.write_bytes(content)
    output = run(index, verify_index_only=True)
    assert output.lines == [f"Dumping {index}"]
    assert output.errors[0] == f"Found timestamp mismatch in :{index}"
    assert output.errors[2] == f"The following indexed offsets are not found in :{index}"
    assert output.errors[3] == "Indexed offset: 200, found log offset: -1"
    assert len(output.errors) == 4


def test_unused_entries_of_an_index_are_not_shown(tmp_path: Path) -> None:
    """An index that its broker had allocated in advance and not yet cut when the dump was made."""
    for name in samples("txn-0/00000000000000000000.*"):
        shutil.copy(FILES / name, tmp_path)
    for name, unused in (("00000000000000000000.index", 800), ("00000000000000000000.timeindex", 1200)):
        before = run(tmp_path / name).lines
        with (tmp_path / name).open("ab") as file:
            file.write(bytes(unused))
        assert run(tmp_path / name).lines == before


def test_a_damaged_snapshot_is_named(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000019.snapshot"
    content = bytearray((FILES / "txn-0" / path.name).read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    output = run(path)
    assert output.lines == [f"Dumping {path}"]
    assert output.errors == [f"{path}: its checksum does not match"]
    assert output.code == 1


def test_a_record_without_a_key_is_no_record_of_a_coordinator() -> None:
    log = FILES / "codecs-0" / "00000000000000000000.log"
    output = run(log, offsets_decoder=True)
    assert output.errors == [
        f"{log}: Failed to decode message at offset 0 using the specified decoder (message had a missing key)"
    ]


def test_files_that_are_missing_or_unknown_are_named(tmp_path: Path) -> None:
    unknown = tmp_path / "partition.metadata"
    unknown.write_text("version: 0\n")
    missing = tmp_path / "0.log"
    output = run(unknown, missing)
    assert output.errors == [f"Ignoring unknown file {unknown}", f"{missing}: No such file or directory"]
    assert output.code == 1


# Command


def test_the_command_takes_files_with_commas_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FILES)
    application = typer.Typer()
    application.command()(dump_log)
    result = CliRunner().invoke(application, ["--files", ",".join(samples(*TOPICS)), "--print-data-log"])
    assert result.exit_code == 0
    assert result.stdout_bytes == (SAMPLES / "print-data-log.txt").read_bytes()
    refused = CliRunner().invoke(application, ["--files", "0.log", "--value-decoder-class", "Avro"])
    assert refused.exit_code == 2
