"""What `make run` does, with fewer orders: the job is killed, and its output still equals its input."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from support.class_archives import small_spark_jvm

from tidelog.spark.demo.__main__ import Demonstration
from tidelog.spark.session.java import find_java

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(find_java(dict(os.environ)) is None, reason="Spark needs Java 17 or newer"),
]


def table_cells(text: str) -> Iterator[tuple[str, list[str]]]:
    for line in text.splitlines():
        if "│" in line:
            label, *cells = (cell.strip() for cell in line.strip().strip("│").split("│"))
            yield label, cells


def test_output_equals_input_exactly_beside_duplicates_of_at_least_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", small_spark_jvm())
    written = io.StringIO()
    console = Console(file=written, width=120, force_terminal=False)

    code = Demonstration(console, tmp_path, orders=2000).run()

    cells = dict(table_cells(written.getvalue()))
    assert code == 0, written.getvalue()
    assert cells["output equals input"] == ["yes", "no"]
    assert cells["missing"] == ["0", "0"]
    # Batches of about 500; the one in whose commit the driver died was written twice.
    assert cells["duplicates"][0] == "0"
    assert 400 <= int(cells["duplicates"][1]) <= 500
