"""Pipelines of this machine are found by their files, and told from those that have ended."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tidelog.client.local_pipelines import (
    MOST_PIPELINES,
    PipelineLife,
    forget_ended,
    life_of,
    local_pipelines,
    own_status_directory,
    start_of_running_process,
)
from tidelog.model.pipeline_status import (
    HEARTBEAT_SECONDS,
    MOST_STATUS_BYTES,
    HealthReport,
    PipelineEnd,
    PipelineStatus,
    encode_status,
    status_file_name,
)

NOW_MS = 1_800_000_000_000
HOST = os.uname().nodename


def status(
    name: str = "orders", *, process: int | None = None, start: str | None = None, **more: object
) -> PipelineStatus:
    number = os.getpid() if process is None else process
    report = HealthReport(
        pipeline=name,
        healthy=True,
        status="running",
        reason="",
        batch=3,
        rows=12,
        lag=0,
        seconds_since_progress=0.1,
        next_attempt_in_seconds=None,
        retries=0,
        restarts=0,
        last_error="",
    )
    made = PipelineStatus(
        kind="transform",
        source=PipelineEnd(topics=("a",)),
        target=PipelineEnd(topics=("b",)),
        host=HOST,
        process=number,
        process_start=(start_of_running_process(number) or "") if start is None else start,
        started_ms=NOW_MS - 60_000,
        written_ms=NOW_MS - 1_000,
        service="",
        report=report,
    )
    return replace(made, **more)  # type: ignore[arg-type]


def put(directory: Path, each: PipelineStatus) -> Path:
    path = directory / status_file_name(each.report.pipeline, each.process)
    path.write_bytes(encode_status(each))
    return path


def ended_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        return process.pid


def found(directory: Path) -> list[tuple[str, str]]:
    return [(each.status.report.pipeline, each.life.value) for each in local_pipelines(directory, NOW_MS)]


def test_who_runs_is_found(tmp_path: Path) -> None:
    put(tmp_path, status())
    (one,) = local_pipelines(tmp_path, NOW_MS)
    assert (one.life, one.status) == (PipelineLife.RUNNING, status())


def test_without_a_directory_there_are_none(tmp_path: Path) -> None:
    assert local_pipelines(tmp_path / "nothing", NOW_MS) == []


@pytest.mark.parametrize(
    ("changed", "life"),
    [
        ({}, PipelineLife.RUNNING),
        ({"written_ms": NOW_MS - int(3000 * HEARTBEAT_SECONDS)}, PipelineLife.RUNNING),
        ({"written_ms": NOW_MS - int(5000 * HEARTBEAT_SECONDS)}, PipelineLife.SILENT),
        # A clock that was set back.
        ({"written_ms": NOW_MS + 3_600_000}, PipelineLife.RUNNING),
        ({"ended": "wrong password"}, PipelineLife.ENDED),
        ({"process": 0}, PipelineLife.ENDED),
        ({"process": -1}, PipelineLife.ENDED),
        ({"process": 2**31}, PipelineLife.ENDED),
        # Another process has its number now.
        ({"process_start": "1"}, PipelineLife.ENDED),
        # What runs on another machine that has the same directory is only known by its heartbeat.
        ({"host": "elsewhere", "process": 0}, PipelineLife.RUNNING),
        ({"host": "elsewhere", "written_ms": NOW_MS - 3_600_000}, PipelineLife.SILENT),
    ],
)
def test_life_is_told_by_the_process_and_its_heartbeat(changed: dict[str, object], life: PipelineLife) -> None:
    assert life_of(status(**changed), now_ms=NOW_MS) is life  # type: ignore[arg-type]


def test_who_was_killed_has_ended(tmp_path: Path) -> None:
    put(tmp_path, status(process=ended_process(), start="12345"))
    assert found(tmp_path) == [("orders", "ended")]


def test_a_process_whose_end_nobody_has_noted_has_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    made = status(process=process.pid)
    assert life_of(made, now_ms=NOW_MS) is PipelineLife.RUNNING
    process.kill()
    # It is a zombie until it is waited for; `waitid` leaves it one.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert life_of(made, now_ms=NOW_MS) is PipelineLife.ENDED
    process.communicate()


def test_who_has_ended_long_ago_is_forgotten(tmp_path: Path) -> None:
    put(tmp_path, status("recent", process=0, written_ms=NOW_MS - 24 * 3_600_000))
    put(tmp_path, status("old", process=0, written_ms=NOW_MS - 8 * 24 * 3_600_000))
    assert found(tmp_path) == [("recent", "ended")]


def test_what_is_no_file_of_a_pipeline_is_left_out(tmp_path: Path) -> None:
    put(tmp_path, status())
    (tmp_path / "empty.json").touch()
    (tmp_path / "large.json").write_bytes(b" " * (MOST_STATUS_BYTES + 1))
    (tmp_path / "other.json").write_text('{"name": "a"}')
    (tmp_path / "orders.1.new").write_bytes(encode_status(status("new")))
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "dangling.json").symlink_to(tmp_path / "nothing")
    (tmp_path / "link.json").symlink_to(tmp_path / status_file_name("orders", os.getpid()))
    # Whoever opened it for reading would wait for a writer.
    os.mkfifo(tmp_path / "pipe.json")
    assert found(tmp_path) == [("orders", "running")]


def test_of_very_many_the_last_written_are_shown(tmp_path: Path) -> None:
    for number in range(MOST_PIPELINES + 20):
        path = put(tmp_path, status(f"p{number:04}"))
        os.utime(path, (number, number))
    names = [name for name, _ in found(tmp_path)]
    assert len(names) == MOST_PIPELINES
    assert names[0] == "p0020"


def test_the_next_start_forgets_those_of_the_same_name_that_have_ended(tmp_path: Path) -> None:
    kept = [
        put(tmp_path, status()),
        put(tmp_path, status("other", process=0)),
        put(tmp_path, status(host="elsewhere", process=7)),
    ]
    gone = [put(tmp_path, status(process=0)), put(tmp_path, status(process=ended_process(), start="1", ended="why"))]
    forget_ended(tmp_path, "orders", now_ms=NOW_MS)
    assert all(path.exists() for path in kept)
    assert not any(path.exists() for path in gone)


def test_a_user_without_a_home_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    assert own_status_directory() is None


def test_on_systems_without_proc_a_process_is_only_known_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(path: Path, *_: object) -> bytes:
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "read_bytes", absent)
    monkeypatch.setattr(Path, "exists", lambda path: False)
    assert start_of_running_process(os.getpid()) == ""
    assert start_of_running_process(ended_process()) is None
