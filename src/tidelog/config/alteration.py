"""Changes to the stored properties of a topic or broker: what IncrementalAlterConfigs and AlterConfigs ask for,
turned into the new set of overrides.

Storing them is the controller's work: `tidelog.controller.configs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import IntEnum

from tidelog.config.definitions import (
    ConfigDefinition,
    ConfigType,
    InvalidConfig,
    format_value,
    unknown_name_problem,
)
from tidelog.model.lazy_dataclasses import dataclass


class AlterOperation(IntEnum):
    """The numbers are those of IncrementalAlterConfigs (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChange:
    """One operation on one property. DELETE needs no text."""

    name: str
    operation: AlterOperation
    # It may be a secret.
    text: str | None = field(repr=False)


def plan_incremental(
    definitions: Mapping[str, ConfigDefinition],
    current: Mapping[str, str],
    changes: Iterable[ConfigChange],
    kind: str,
) -> dict[str, str]:
    """The overrides after the changes; `current` stays as it is. Raises InvalidConfig.

    The values are not checked here: whether they fit is a question about all overrides together.
    """
    overrides = dict(current)
    for change in changes:
        if change.operation is AlterOperation.DELETE:
            # Also for unknown names: that is how to get rid of them.
            overrides.pop(change.name, None)
            continue
        if change.text is None:
            raise InvalidConfig(f"{change.name} needs a value for {change.operation.name}")
        if change.operation is AlterOperation.SET:
            overrides[change.name] = change.text
            continue
        definition = definitions.get(change.name)
        if definition is None:
            raise InvalidConfig(unknown_name_problem(kind, change.name, definitions.keys()))
        overrides[change.name] = _alter_list(definition, overrides.get(change.name), change)
    return overrides


def _alter_list(definition: ConfigDefinition, current: str | None, change: ConfigChange) -> str:
    if definition.type is not ConfigType.LIST:
        raise InvalidConfig(
            f"{definition.name} is not a list: it can be set, but nothing can be "
            f"{'appended to' if change.operation is AlterOperation.APPEND else 'subtracted from'} it"
        )
    text = format_value(definition.default) if current is None else current
    words = _split(text or "")
    operands = _split(change.text or "")
    if change.operation is AlterOperation.APPEND:
        words.extend(word for word in dict.fromkeys(operands) if word not in words)
    else:
        words = [word for word in words if word not in operands]
    return ",".join(words)


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
