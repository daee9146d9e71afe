"""How the text of a property is read, refused and written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.config.definitions import (
    Between,
    ConfigDefinition,
    ConfigType,
    InvalidConfig,
    OneOf,
    Only,
    by_name,
    format_value,
    nearest_name,
    parse_text,
    unknown_name_problem,
)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (ConfigType.BOOLEAN, " TRUE ", True),
        (ConfigType.BOOLEAN, "false", False),
        (ConfigType.INT, " +5 ", 5),
        (ConfigType.INT, "-2147483648", -(2**31)),
        (ConfigType.LONG, "9223372036854775807", 2**63 - 1),
        (ConfigType.SHORT, "32767", 32767),
        (ConfigType.DOUBLE, "0.5", 0.5),
        (ConfigType.LIST, "a , b,c", ("a", "b", "c")),
        (ConfigType.LIST, "  ", ()),
        (ConfigType.STRING, " x ", "x"),
        (ConfigType.PASSWORD, " x ", " x "),
    ],
)
def test_text_is_read_by_type(kind: ConfigType, text: str, value: object) -> None:
    assert parse_text(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ConfigType.BOOLEAN, "yes"),
        (ConfigType.BOOLEAN, "1"),
        (ConfigType.INT, "5L"),
        (ConfigType.INT, ""),
        (ConfigType.INT, "1_000"),
        (ConfigType.INT, "٣"),
        (ConfigType.INT, "2147483648"),
        (ConfigType.INT, "9" * 5000),
        (ConfigType.SHORT, "32768"),
        (ConfigType.LONG, "9223372036854775808"),
        (ConfigType.LONG, "1.0"),
        (ConfigType.DOUBLE, "NaN"),
        (ConfigType.DOUBLE, "half"),
        (ConfigType.DOUBLE, "1_0.0"),
    ],
)
def test_text_of_another_type_is_refused(kind: ConfigType, text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_text(kind, text)


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_a_long_survives_writing_and_reading(number: int) -> None:
    assert parse_text(ConfigType.LONG, str(format_value(number))) == number


@given(st.floats(allow_nan=False))
def test_a_double_survives_writing_and_reading(number: float) -> None:
    assert parse_text(ConfigType.DOUBLE, str(format_value(number))) == number


def test_doubles_are_written_as_java_writes_them() -> None:
    assert format_value(1.7976931348623157e308) == "1.7976931348623157E308"
    assert format_value(0.5) == "0.5"


RETENTION = ConfigDefinition(
    name="retention.ms", type=ConfigType.LONG, default=1, allowed=Between(-1), documentation="How long."
)


def test_an_error_names_property_value_and_what_is_allowed() -> None:
    with pytest.raises(InvalidConfig) as caught:
        RETENTION.parse("-2")
    assert caught.value.problems == ("retention.ms must be at least -1, but is -2",)


def test_the_value_of_a_password_never_appears_in_an_error() -> None:
    secret = ConfigDefinition(
        name="key", type=ConfigType.PASSWORD, default=None, allowed=OneOf(("a",)), documentation="A key."
    )
    with pytest.raises(InvalidConfig) as caught:
        secret.parse("hunter2")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("constraint", "value", "allowed"),
    [
        (Between(1, 9, extra=(-1,)), -1, True),
        (Between(1, 9, extra=(-1,)), 0, False),
        (Between(1, 9, extra=(-1,)), 10, False),
        (OneOf(("a", "b")), ("a", "b"), True),
        (OneOf(("a", "b")), ("a", "c"), False),
        (OneOf(("a", "b")), (), True),
        (OneOf(("a", "b"), may_be_empty=False), (), False),
        (OneOf(("a",)), "A", False),
        (Only(False, "it is not built"), True, False),
        (Only(False, "it is not built"), False, True),
    ],
)
def test_constraints(constraint: Between | OneOf | Only, value: bool | int | str, allowed: bool) -> None:
    assert constraint.allows(value) is allowed


def test_a_misspelt_name_gets_the_nearest_one() -> None:
    known = ["retention.ms", "retention.bytes", "segment.ms"]
    assert nearest_name("retention.md", known) == "retention.ms"
    assert unknown_name_problem("topics", "rentention.ms", known) == (
        "rentention.ms is not a property of topics; did you mean retention.ms?"
    )


def test_a_name_that_resembles_nothing_gets_no_suggestion() -> None:
    assert unknown_name_problem("topics", "zzz", ["retention.ms"]) == "zzz is not a property of topics"


def test_a_name_cannot_be_defined_twice() -> None:
    with pytest.raises(AssertionError):
        by_name([RETENTION, RETENTION])
