"""`tidelog verify`: reads a log directory, or a partition's, and says exactly where something is damaged."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from tidelog.cli.failures import CommandFailure
from tidelog.cli.output import print_json, print_lines
from tidelog.cli.session import Json
from tidelog.storage.files.file_names import LOCK_FILE
from tidelog.storage.files.filesystem import FileSystem
from tidelog.storage.files.local_filesystem import LocalFileSystem
from tidelog.storage.verification.directory import NothingToVerify, partition_directories, total_bytes
from tidelog.storage.verification.directory import verify as verify_directory
from tidelog.storage.verification.findings import Finding, Report

DAMAGED = 1


def verify(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A log directory, or the directory of a partition.")],
    as_json: Json = False,
    progress: Annotated[bool, typer.Option("--progress/--no-progress", help="Show progress.")] = True,
) -> None:
    """Read every batch, index, leader epoch and snapshot, and say which of them are damaged. Nothing is changed.

    Works on directories of tidelog and of Apache Kafka 4. The exit code is 1 if there is damage. While a broker uses
    the directory, what it is writing now may look damaged.

    \b
    Examples:
      tidelog verify tidelog-data
      tidelog verify tidelog-data/orders-0 --json
    """
    filesystem = LocalFileSystem()
    path = str(directory)
    report = Report()
    with ExitStack() as stack:
        _keep_brokers_out(filesystem, path, report, stack)
        try:
            if progress and not as_json and sys.stderr.isatty():
                _show_progress(filesystem, path, report, stack)
            verify_directory(filesystem, path, report)
        except NothingToVerify as problem:
            raise CommandFailure(str(problem)) from problem
    if as_json:
        print_json(_as_json(report))
    else:
        print_lines(_lines(report))
    if report.damage:
        raise typer.Exit(DAMAGED)


def _keep_brokers_out(filesystem: FileSystem, path: str, report: Report, stack: ExitStack) -> None:
    lock_path = f"{path}/{LOCK_FILE}"
    if not filesystem.exists(lock_path):
        return
    lock = filesystem.lock(lock_path)
    if lock is None:
        report.add(path, None, "a broker is using it; what it is writing now may look damaged", is_note=True)
    else:
        stack.callback(lock.release)


def _show_progress(filesystem: FileSystem, path: str, report: Report, stack: ExitStack) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    total = total_bytes(filesystem, partition_directories(filesystem, path))
    bar = stack.enter_context(
        Progress(
            TextColumn("verifying"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
    )
    task = bar.add_task("", total=total)
    report.progress = lambda size: bar.advance(task, size)


def _lines(report: Report) -> list[str]:
    lines = [str(finding) for finding in report.damage]
    lines += [f"note: {finding}" for finding in report.notes]
    summary = (
        f"{report.partitions} partitions, {report.segments} segments, {report.batches} batches, "
        f"{report.records} records, {report.checked_bytes} bytes: "
    )
    if report.damage:
        count = len(report.damage)
        lines.append(f"{summary}{count} {'place is' if count == 1 else 'places are'} damaged")
    else:
        lines.append(f"{summary}no damage found")
    return lines


def _as_json(report: Report) -> dict[str, Any]:
    return {
        "damaged": bool(report.damage),
        "damage": [_finding(finding) for finding in report.damage],
        "notes": [_finding(finding) for finding in report.notes],
        "partitions": report.partitions,
        "segments": report.segments,
        "batches": report.batches,
        "records": report.records,
        "bytes": report.checked_bytes,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {"path": finding.path, "position": finding.position, "reason": finding.reason}
