"""`tidelog doctor`: versions, and what works on this machine."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata, util
from typing import Annotated, NamedTuple

import typer

import tidelog
from tidelog.cli.output import print_json
from tidelog.cli.session import Json

_JAVA_TIMEOUT_SECONDS = 10
# What one broker may need: connections, and a few open files for each partition.
_COMFORTABLE_FILES = 4096


class Advice(NamedTuple):
    """`good` is None for what is neither needed nor missed."""

    what: str
    good: bool | None
    detail: str


def doctor(
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if anything needs attention.")] = False,
    as_json: Json = False,
) -> None:
    """Show versions, and what works on this machine: event loop, compiled parts, Java, Spark.

    \b
    Examples:
      tidelog doctor
      tidelog doctor --json
    """
    findings = list(examine())
    if as_json:
        print_json([finding._asdict() for finding in findings])
    else:
        _print_table(findings)
    if strict and any(finding.good is False for finding in findings):
        raise typer.Exit(1)


def examine() -> Iterator[Advice]:
    yield Advice("tidelog", True, tidelog.__version__)
    yield Advice("Python", sys.version_info >= (3, 11), f"{platform.python_version()} ({sys.executable})")
    yield Advice("system", None, f"{platform.system()} {platform.release()}, {os.cpu_count()} cores")
    yield _package("event loop", "uvloop", "the fastest loop for asyncio")
    yield _checksum()
    yield _package("compression", "cramjam", "gzip, snappy, lz4 and zstd, compiled")
    yield _record_codec()
    yield _message_codec()
    yield _request_path()
    yield _open_files()
    yield _java()
    yield _spark()
    for package, extra in (("pyarrow", "arrow"), ("fastapi", "console"), ("psycopg", "postgres")):
        yield _optional(package, extra)


def _package(what: str, package: str, purpose: str) -> Advice:
    version = _version(package)
    if version is None:
        return Advice(what, False, f"{package} is not installed: pip install {package}")
    return Advice(what, True, f"{package} {version}: {purpose}")


def _checksum() -> Advice:
    try:
        import crc32c
    except ImportError:
        return Advice("checksum", False, "crc32c is not installed: pip install crc32c")
    how = "in hardware" if getattr(crc32c, "hardware_based", False) else "in software"
    return Advice("checksum", True, f"crc32c {_version('crc32c') or ''}: {how}")


def _record_codec() -> Advice:
    """Whether the loops over records run as machine code."""
    from tidelog.records import implementation

    if implementation.COMPILED:
        return Advice("record codec", True, "compiled")
    return Advice("record codec", None, f"plain Python: {implementation.REASON}")


def _message_codec() -> Advice:
    """Whether messages of the protocol are read and written by machine code."""
    from tidelog.protocol import implementation

    if implementation.COMPILED:
        return Advice("message codec", True, "compiled")
    return Advice("message codec", None, f"plain Python: {implementation.REASON}")


def _request_path() -> Advice:
    """Whether what a broker does for each request runs as machine code."""
    from tidelog import hot_path

    if hot_path.COMPILED:
        return Advice("request path", True, f"compiled: {len(hot_path.MODULES)} modules")
    return Advice("request path", None, f"plain Python: {hot_path.REASON}")


def _open_files() -> Advice:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < _COMFORTABLE_FILES:
        return Advice(
            "open files", False, f"{soft}, which is low for a broker; raise it with: ulimit -n {min(hard, 65536)}"
        )
    return Advice("open files", True, f"up to {soft}")


def _java() -> Advice:
    path = shutil.which("java")
    if path is None:
        return Advice("Java", None, "not found; only Spark and the comparison with Apache Kafka need it")
    try:
        done = subprocess.run(
            (path, "-version"), capture_output=True, text=True, timeout=_JAVA_TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Advice("Java", False, f"{path} does not run: {error}")
    first = next(iter((done.stderr or done.stdout).splitlines()), "")
    return Advice("Java", done.returncode == 0, f"{first} ({path})")


def _spark() -> Advice:
    version = _version("pyspark")
    if version is None:
        return Advice("Spark", None, "pyspark is not installed: pip install 'tidelog[spark]'")
    return Advice("Spark", True, f"pyspark {version}")


def _optional(package: str, extra: str) -> Advice:
    version = _version(package)
    if version is None:
        return Advice(package, None, f"not installed: pip install 'tidelog[{extra}]'")
    return Advice(package, True, version)


def _version(package: str) -> str | None:
    if util.find_spec(package) is None:
        return None
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "of unknown version"


def _print_table(findings: list[Advice]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    marks = {True: "[green]ok[/green]", False: "[red]look[/red]", None: "[dim]--[/dim]"}
    table = Table(box=None, show_header=False, pad_edge=False)
    for finding in findings:
        table.add_row(marks[finding.good], f"[bold]{finding.what}[/bold]", escape(finding.detail))
    Console().print(table)
