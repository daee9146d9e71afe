"""`tidelog dump-log` and Apache Kafka's own tool print the same lines, for either's directories."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.apache_kafka import TOOL_TIMEOUT_SECONDS, java_command, running_apache_kafka
from support.log_corpus import SAME_BYTES_TOPIC, dumpable_files, write_corpus
from support.log_file_rows import as_dump_line, record_lines, rows_of
from support.tidelog_process import running_tidelog

from tidelog.cli.commands.dump_log import dump
from tidelog.cli.dump_log.options import DumpOptions
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.replay import apply
from tidelog.metadata.snapshot_file import decode_snapshot

pytestmark = [pytest.mark.maven, pytest.mark.xdist_group("jvm"), pytest.mark.slow]

DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
# Java prints in the platform's charset otherwise.
UTF_8 = ("-Dfile.encoding=UTF-8", "-Dsun.stdout.encoding=UTF-8", "-Dsun.stderr.encoding=UTF-8")
# Often enough that both brokers take snapshots of so little metadata, and keep them.
SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "1000"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirectory:
    path: Path
    files: list[str]


@pytest.fixture(scope="module")
def tidelog_directory(tmp_path_factory: pytest.TempPathFactory) -> LogDirectory:
    with running_tidelog(tmp_path_factory.mktemp("dump-tidelog"), SNAPSHOTS) as broker:
        write_corpus(broker.bootstrap_servers)
    return LogDirectory(path=broker.log_directory, files=dumpable_files(broker.log_directory))


@pytest.fixture(scope="module")
def apache_directory(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> LogDirectory:
    with running_apache_kafka(jars, tmp_path_factory.mktemp("dump-apache"), SNAPSHOTS) as broker:
        write_corpus(broker.bootstrap_servers)
    return LogDirectory(path=broker.log_directory, files=dumpable_files(broker.log_directory))


@pytest.fixture(scope="module", params=["tidelog", "apache"])
def written(request: pytest.FixtureRequest) -> LogDirectory:
    """The directory of a broker that was filled and then stopped cleanly."""
    directory: LogDirectory = request.getfixturevalue(f"{request.param}_directory")
    # The tools need something to disagree about.
    segments = [name for name in directory.files if name.startswith("segments-") and name.endswith(".log")]
    assert len(segments) >= 4
    return directory


def run_theirs(jars: Path, directory: LogDirectory, files: list[str], *options: str) -> tuple[bytes, list[str]]:
    command = java_command(jars, DUMP_LOG, "--files", ",".join(files), *options, options=UTF_8)
    done = subprocess.run(
        command, cwd=directory.path, capture_output=True, timeout=TOOL_TIMEOUT_SECONDS, stdin=subprocess.DEVNULL
    )
    complaints = [line for line in done.stderr.decode().splitlines() if not line.startswith("SLF4J")]
    return done.stdout, _without_false_alarms(complaints)


def run_ours(files: list[str], options: dict[str, Any]) -> tuple[bytes, list[str]]:
    lines: list[str] = []
    complaints: list[str] = []
    dump(files, DumpOptions(**options), write=lines.append, write_error=complaints.append)
    return "".join(f"{line}\n" for line in lines).encode(), complaints


def _without_false_alarms(complaints: list[str]) -> list[str]:
    """Version 4.3.1 calls the first offset of each segment but the first a gap ("-1 is followed by ...")."""
    kept: list[str] = []
    for line in complaints:
        if line.startswith("  -1 is followed by "):
            if kept and kept[-1].startswith("Non-consecutive offsets"):
                kept.pop()
            continue
        kept.append(line)
    return kept


@pytest.mark.parametrize(
    ("options", "prefix", "suffixes"),
    [
        (["--print-data-log"], "", ()),
        (["--deep-iteration", "--skip-record-metadata"], "", (".log",)),
        (["--index-sanity-check"], "", (".index", ".timeindex")),
        (["--offsets-decoder"], "__consumer_offsets-", (".log",)),
        (["--transaction-log-decoder"], "__transaction_state-", (".log",)),
        (["--cluster-metadata-decoder"], "__cluster_metadata-", (".log", ".checkpoint")),
    ],
    ids=["data", "records", "index-check", "group-offsets", "transactions", "metadata"],
)
def test_both_tools_print_the_same_lines(
    monkeypatch: pytest.MonkeyPatch,
    jars: Path,
    written: LogDirectory,
    options: list[str],
    prefix: str,
    suffixes: tuple[str, ...],
) -> None:
    monkeypatch.chdir(written.path)
    files = [name for name in written.files if name.startswith(prefix) and (not suffixes or name.endswith(suffixes))]
    theirs, their_complaints = run_theirs(jars, written, files, *options)
    ours, our_complaints = run_ours(files, {option.strip("-").replace("-", "_"): True for option in options})
    assert theirs.count(b"Dumping ") >= len(files) > 0
    # Compared as lists: a difference then shows as the line that differs.
    assert ours.split(b"\n") == theirs.split(b"\n")
    assert (our_complaints, their_complaints) == ([], [])


def test_rows_for_spark_hold_what_the_tool_prints(jars: Path, written: LogDirectory) -> None:
    files = [name for name in written.files if name.endswith(".log")]
    theirs, _ = run_theirs(jars, written, files, "--print-data-log")
    rows = [row for name in files for row in rows_of(written.path / name)]
    # Values hold any bytes, also ends of lines.
    ours = record_lines("\n".join(as_dump_line(row) for row in rows).split("\n"))
    assert sorted(ours) == sorted(record_lines(theirs.decode().split("\n")))
    assert [row["error"] for row in rows if row["error"] is not None] == []
    assert {row["transactionState"] for row in rows if row["topic"] == "transactions"} == {"committed", "aborted"}


def test_snapshots_of_both_brokers_can_be_started_from(written: LogDirectory) -> None:
    snapshots = [name for name in written.files if name.endswith(".checkpoint")]
    assert snapshots
    topics = 0
    for name in snapshots:
        content = decode_snapshot((written.path / name).read_bytes())
        image, _ = apply(ClusterImage(cluster_id="any"), content.records)
        topics = max(topics, len(image.topics))
    assert topics > 0


def test_both_brokers_write_the_same_bytes(tidelog_directory: LogDirectory, apache_directory: LogDirectory) -> None:
    ours, theirs = (
        {
            path.name: path.read_bytes()
            for path in (directory.path / f"{SAME_BYTES_TOPIC}-0").iterdir()
            # The id of the topic is in there.
            if path.name != "partition.metadata"
        }
        for directory in (tidelog_directory, apache_directory)
    )
    assert sorted(ours) == sorted(theirs)
    assert len([name for name in theirs if name.endswith(".log")]) >= 3
    for name, content in theirs.items():
        assert ours[name] == content, name
