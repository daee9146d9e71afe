"""The expected numbers were computed by Java."""

from __future__ import annotations

import pytest

from tidelog.coordinators.placement import java_hash, partition_for


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("test", 3556498),
        ("my-group", -1906497762),
        ("console-consumer-12345", 158455506),
        ("그룹", 1427969),
        ("emoji-😀", 1164511306),
        ("polygenelubricants", -2147483648),
    ],
)
def test_hash_is_that_of_java(text: str, expected: int) -> None:
    assert java_hash(text) == expected


def test_partition_is_that_of_kafka() -> None:
    assert partition_for("test", 50) == 48
    assert partition_for("my-group", 50) == 1906497762 % 50


def test_the_smallest_integer_goes_to_partition_zero() -> None:
    assert partition_for("polygenelubricants", 50) == 0
