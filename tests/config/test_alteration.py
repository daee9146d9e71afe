"""Set, delete, append and subtract on stored properties."""

from __future__ import annotations

import pytest

from tidelog.config.alteration import AlterOperation, ConfigChange, plan_incremental
from tidelog.config.definitions import InvalidConfig
from tidelog.config.topic import TOPIC_DEFINITIONS

SET, DELETE, APPEND, SUBTRACT = AlterOperation


def change(name: str, operation: AlterOperation, text: str | None) -> ConfigChange:
    return ConfigChange(name=name, operation=operation, text=text)


@pytest.mark.parametrize(
    ("current", "operation", "name", "text", "expected"),
    [
        ({}, SET, "retention.ms", "5", {"retention.ms": "5"}),
        ({"retention.ms": "5"}, SET, "retention.ms", "6", {"retention.ms": "6"}),
        ({"retention.ms": "5"}, DELETE, "retention.ms", None, {}),
        ({"retention.ms": "5"}, DELETE, "retention.ms", "ignored", {}),
        ({"a": "1"}, DELETE, "b", None, {"a": "1"}),
        ({}, APPEND, "cleanup.policy", "compact", {"cleanup.policy": "delete,compact"}),
        ({"cleanup.policy": "compact"}, APPEND, "cleanup.policy", "compact", {"cleanup.policy": "compact"}),
        ({"cleanup.policy": "compact"}, APPEND, "cleanup.policy", " delete ,", {"cleanup.policy": "compact,delete"}),
        ({"cleanup.policy": "compact,delete"}, SUBTRACT, "cleanup.policy", "delete", {"cleanup.policy": "compact"}),
        ({"cleanup.policy": "compact"}, SUBTRACT, "cleanup.policy", "delete", {"cleanup.policy": "compact"}),
        ({}, SUBTRACT, "cleanup.policy", "delete", {"cleanup.policy": ""}),
    ],
)
def test_operations(
    current: dict[str, str], operation: AlterOperation, name: str, text: str | None, expected: dict[str, str]
) -> None:
    before = dict(current)
    assert plan_incremental(TOPIC_DEFINITIONS, current, [change(name, operation, text)], "topics") == expected
    assert current == before


def test_several_changes_are_applied_together() -> None:
    changes = [change("retention.ms", SET, "1"), change("segment.ms", SET, "2"), change("flush.ms", DELETE, None)]
    planned = plan_incremental(TOPIC_DEFINITIONS, {"flush.ms": "3"}, changes, "topics")
    assert planned == {"retention.ms": "1", "segment.ms": "2"}


@pytest.mark.parametrize(
    ("operation", "name", "text", "problem"),
    [
        (APPEND, "retention.ms", "5", "nothing can be appended to it"),
        (SUBTRACT, "retention.ms", "5", "nothing can be subtracted from it"),
        (APPEND, "cleanup.polcy", "compact", "did you mean cleanup.policy?"),
        (SET, "retention.ms", None, "retention.ms needs a value for SET"),
        (APPEND, "cleanup.policy", None, "cleanup.policy needs a value for APPEND"),
    ],
)
def test_impossible_operations_are_explained(
    operation: AlterOperation, name: str, text: str | None, problem: str
) -> None:
    with pytest.raises(InvalidConfig) as caught:
        plan_incremental(TOPIC_DEFINITIONS, {}, [change(name, operation, text)], "topics")
    assert problem in str(caught.value)
