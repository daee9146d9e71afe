"""Two states of the same thing, field by field, with what is different between them marked. No I/O."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from tidelog.console.replies import Json
from tidelog.model.lazy_dataclasses import dataclass

# A topic has eleven fields for each of its partitions; nobody reads more in one table.
MOST_FIELDS = 200
MOST_CHARACTERS = 1_000
# Of a sentence, so that a row of a list stays a row.
_NAMED = 3
_SENTENCE_CHARACTERS = 60

_UNTELLING = frozenset({"id", "name", "epoch", "directories", "leader_recovery"})
# What the client puts in the place of secrets.
HIDDEN = "hidden"
_NOTHING = "none"
_EMPTY = "empty"


class ChangeMark(StrEnum):
    ADDED = "+"
    REMOVED = "-"
    CHANGED = "→"
    SAME = "="


class FieldDifference(NamedTuple):
    """One field in both states. A text is None where the field does not exist; `gone` and `come` are the elements that
    a list has lost and got."""

    mark: ChangeMark
    name: str
    before: str | None
    after: str | None
    gone: tuple[str, ...] = ()
    come: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Json]:
        return {
            "mark": self.mark.value,
            "name": self.name,
            "before": None if self.before is None else cut(self.before, MOST_CHARACTERS),
            "after": None if self.after is None else cut(self.after, MOST_CHARACTERS),
            "gone": [cut(each, MOST_CHARACTERS) for each in self.gone[:MOST_FIELDS]],
            "come": [cut(each, MOST_CHARACTERS) for each in self.come[:MOST_FIELDS]],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    fields: tuple[FieldDifference, ...]
    # How many more there are than are shown.
    left_out: int

    def as_json(self) -> dict[str, Json]:
        return {"fields": [field.as_json() for field in self.fields], "left_out": self.left_out}


def difference(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Difference:
    """None is what does not exist. If there are too many fields, those that are the same are left out first."""
    fields = list(_fields(before, after))
    shown = fields
    if len(fields) > MOST_FIELDS:
        shown = [field for field in fields if field.mark is not ChangeMark.SAME][:MOST_FIELDS]
    return Difference(fields=tuple(shown), left_out=len(fields) - len(shown))


def in_words(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> str:
    """The same in one line, as a list of records shows it."""
    if before is None and after is None:
        return ""
    fields = [field for field in _fields(before, after) if field.mark is not ChangeMark.SAME]
    if before is None or after is None:
        whole = [f"{field.name} {_short(text)}" for field in fields if (text := _worth_telling(field)) is not None]
        return _joined("new" if before is None else "removed", whole)
    # Epochs grow with every change, so they tell the least.
    fields.sort(key=lambda field: field.name.endswith("_epoch"))
    return _joined("", [_change(field) for field in fields]) if fields else "changes nothing"


def plain_text(value: Any) -> str:
    """A value of a record as people read it: lists without brackets, what is not there as a word."""
    if value is None:
        return _NOTHING
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Mapping | Sequence):
        if not value:
            return _EMPTY
        if isinstance(value, Sequence) and not any(isinstance(each, Mapping | list | tuple) for each in value):
            return ", ".join(map(plain_text, value))
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def cut(text: str, most: int) -> str:
    """With a word on how much is missing."""
    return text if len(text) <= most else f"{text[:most]} … and {len(text) - most:,} more characters"


def _change(field: FieldDifference) -> str:
    if field.mark is ChangeMark.ADDED:
        return f"+ {field.name} {_short(field.after)}"
    if field.mark is ChangeMark.REMOVED:
        return f"- {field.name} {_short(field.before)}"
    return f"{field.name} {_short(field.before)} → {_short(field.after)}"


def _worth_telling(field: FieldDifference) -> str | None:
    """What a new or removed thing is like: neither numbers that only tell it from others, nor what it does not have,
    nor what needs more than a line."""
    text = field.after if field.before is None else field.before
    if text in (None, _NOTHING, _EMPTY, HIDDEN) or is_nested(text or ""):
        return None
    untelling = field.name in _UNTELLING or field.name.startswith("features.") or field.name.endswith(("_id", "_epoch"))
    return None if untelling else text


def is_nested(text: str) -> bool:
    """Whether `plain_text` has written it as JSON."""
    return text.startswith(("[{", "[[", "{"))


def _short(text: str | None) -> str:
    text = text or ""
    return text if len(text) <= _SENTENCE_CHARACTERS else f"{text[:_SENTENCE_CHARACTERS]}…"


def _joined(first: str, parts: Sequence[str]) -> str:
    shown = "; ".join(parts[:_NAMED])
    more = len(parts) - _NAMED
    text = f"{first}: {shown}" if first and shown else first or shown
    return text + (f"; and {more:,} more" if more > 0 else "")


def _fields(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, prefix: str = ""
) -> list[FieldDifference]:
    old, new = before or {}, after or {}
    found: list[FieldDifference] = []
    for name in dict.fromkeys((*old, *new)):
        was, now, full = old.get(name), new.get(name), f"{prefix}{name}"
        if any(isinstance(each, Mapping) and each for each in (was, now)) and all(
            each is None or isinstance(each, Mapping) for each in (was, now)
        ):
            found += _fields(was, now, f"{full}.")
        elif name not in new:
            found.append(FieldDifference(ChangeMark.REMOVED, full, plain_text(was), None))
        elif name not in old:
            found.append(FieldDifference(ChangeMark.ADDED, full, None, plain_text(now)))
        elif was == now:
            found.append(FieldDifference(ChangeMark.SAME, full, plain_text(was), plain_text(now)))
        else:
            found.append(
                FieldDifference(ChangeMark.CHANGED, full, plain_text(was), plain_text(now), *_elements(was, now))
            )
    return found


def _elements(was: Any, now: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of lists, such as the in-sync set: what has gone, and what has come."""
    if not isinstance(was, list | tuple) or not isinstance(now, list | tuple):
        return (), ()
    return (
        tuple(plain_text(each) for each in was if each not in now),
        tuple(plain_text(each) for each in now if each not in was),
    )
