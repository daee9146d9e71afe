"""Whether there is a Java for Spark, and what people are told where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.spark.session.java import Java, advice, find_java, parse_java_version


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_402"', 8),
        ("command not found", None),
    ],
)
def test_version_is_read_from_what_java_prints(printed: str, version: int | None) -> None:
    assert parse_java_version(printed) == version


def test_advice_is_a_command_of_the_package_manager_that_is_there() -> None:
    text = advice(None, is_root=False, available=lambda program: program == "apt-get")

    assert "no Java was found" in text
    assert text.endswith("sudo apt-get install -y --no-install-recommends openjdk-17-jre-headless")


def test_advice_names_the_java_that_is_too_old() -> None:
    text = advice(Java(program="/opt/java", version=11), is_root=True, available=lambda _: False)

    assert "/opt/java is version 11" in text
    assert "JAVA_HOME" in text


def test_java_home_counts_before_the_path(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'openjdk version \"21.0.1\"' >&2\n")
    program.chmod(0o755)

    assert find_java({"JAVA_HOME": str(tmp_path), "PATH": "/nowhere"}) == Java(program=str(program), version=21)


def test_no_java_is_found_where_there_is_none() -> None:
    assert find_java({"PATH": "/nowhere"}) is None
