"""Which records a user wants to see. No I/O.

A condition is about the key, the value (or what is at a path of its JSON), or a header. All conditions have to hold.
Regular expressions are not tried here: one can take for ever, and only a process of its own can be ended
(`tidelog.console.records.patterns`). This module says what they have to be tried on.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from tidelog.client.browsing import ControlEntry, Entry, RecordEntry, TransactionOutcome
from tidelog.console.findings import coordinator_records, json_text
from tidelog.console.findings.coordinator_records import ReadableRecord
from tidelog.console.findings.visible_text import decoded
from tidelog.model.lazy_dataclasses import dataclass

MOST_TEXT = 1000


class RecordPart(StrEnum):
    KEY = "key"
    VALUE = "value"
    HEADER = "header"


class FilterComparison(StrEnum):
    CONTAINS = "contains"
    EQUALS = "equals"
    PATTERN = "pattern"
    # There is none, or it is null: tombstones, records without a key.
    NULL = "null"


class OutcomeChoice(StrEnum):
    """By the transaction that a record belongs to."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"
    OUTSIDE = "outside"
    CONTROL = "control"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    part: RecordPart
    how: FilterComparison
    text: str
    # Of a value: the path in its JSON. Of a header: its name; empty for any.
    where: str = ""

    @property
    def asks_for_header(self) -> bool:
        """Whether it is enough that there is a header of this name, whatever its value."""
        is_null = self.how is FilterComparison.NULL
        return self.part is RecordPart.HEADER and bool(self.where) and not self.text and not is_null


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFilter:
    conditions: tuple[Condition, ...] = ()
    only: OutcomeChoice | None = None
    ignore_case: bool = False

    @property
    def is_empty(self) -> bool:
        return not self.conditions and self.only is None

    @property
    def patterns(self) -> tuple[Condition, ...]:
        """Those that have to be tried elsewhere."""
        return tuple(
            each for each in self.conditions if each.how is FilterComparison.PATTERN and not each.asks_for_header
        )


def problem_of(condition: Condition) -> str | None:
    """Why it cannot be used, as a sentence. Whether a regular expression is one is found out where it is tried."""
    if len(condition.text) > MOST_TEXT or len(condition.where) > MOST_TEXT:
        return f"the filter on the {condition.part.value} is longer than {MOST_TEXT} characters"
    if condition.part is RecordPart.VALUE and condition.where:
        try:
            json_text.parse_path(condition.where)
        except ValueError as problem:
            return str(problem)
    return None


def passes(wanted: MessageFilter, topic: str, entry: Entry) -> bool:
    """Whether all holds but the regular expressions."""
    if wanted.is_empty:
        return True
    if wanted.only is OutcomeChoice.CONTROL:
        return isinstance(entry, ControlEntry) and not wanted.conditions
    if not isinstance(entry, RecordEntry):
        return False
    if wanted.only is not None and not _is_of(entry.outcome, wanted.only):
        return False
    patterns = wanted.patterns
    return all(
        _holds(condition, topic, entry, wanted.ignore_case)
        for condition in wanted.conditions
        if condition not in patterns
    )


def subjects(condition: Condition, topic: str, entry: Entry) -> list[bytes]:
    """What a condition is about. More than one of headers: it is enough if it holds for one of them."""
    if not isinstance(entry, RecordEntry):
        return []
    if condition.part is RecordPart.HEADER:
        return list(_headers(condition, entry))
    key, value = _payloads(topic, entry)
    payload = key if condition.part is RecordPart.KEY else value
    if payload is None:
        return []
    if condition.part is RecordPart.VALUE and condition.where:
        found = json_text.text_at(decoded(payload), json_text.parse_path(condition.where))
        return [] if found is None else [found.encode("utf-8", "surrogatepass")]
    return [payload]


def _payloads(topic: str, entry: RecordEntry) -> tuple[bytes | None, bytes | None]:
    """As they are shown: records of coordinators as JSON."""
    found = coordinator_records.readable(topic, entry.key, entry.value)
    if isinstance(found, ReadableRecord):
        return found.key.encode(), None if found.value is None else found.value.encode()
    return entry.key, entry.value


def _headers(condition: Condition, entry: RecordEntry) -> Iterator[bytes]:
    for name, value in entry.headers:
        if condition.where and name != condition.where:
            continue
        if value is not None:
            yield value
        if not condition.where and condition.how is not FilterComparison.EQUALS:
            yield name.encode()


def _holds(condition: Condition, topic: str, entry: RecordEntry, ignore_case: bool) -> bool:
    if condition.how is FilterComparison.NULL:
        return _is_null(condition, topic, entry)
    if condition.asks_for_header:
        return any(name == condition.where for name, _ in entry.headers)
    found = subjects(condition, topic, entry)
    if not ignore_case:
        wanted = condition.text.encode("utf-8", "surrogatepass")
        if condition.how is FilterComparison.EQUALS:
            return wanted in found
        return any(wanted in each for each in found)
    folded = condition.text.casefold()
    texts = (decoded(each).casefold() for each in found)
    if condition.how is FilterComparison.EQUALS:
        return any(folded == text for text in texts)
    return any(folded in text for text in texts)


def _is_null(condition: Condition, topic: str, entry: RecordEntry) -> bool:
    if condition.part is RecordPart.HEADER:
        return not any(value is not None for name, value in entry.headers if condition.where in ("", name))
    if condition.part is RecordPart.VALUE and condition.where:
        _, payload = _payloads(topic, entry)
        return payload is None or json_text.is_null_at(decoded(payload), json_text.parse_path(condition.where))
    return (entry.key if condition.part is RecordPart.KEY else entry.value) is None


def _is_of(outcome: TransactionOutcome | None, wanted: OutcomeChoice) -> bool:
    match wanted:
        case OutcomeChoice.OUTSIDE:
            return outcome is None
        case OutcomeChoice.COMMITTED:
            return outcome is TransactionOutcome.COMMITTED
        case OutcomeChoice.ABORTED:
            return outcome is TransactionOutcome.ABORTED
        case OutcomeChoice.OPEN:
            return outcome is TransactionOutcome.OPEN
        case OutcomeChoice.CONTROL:
            return False
