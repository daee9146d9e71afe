"""Records of the metadata log as rows of a list, and what each of them is about. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from tidelog.client.admin import ResourceType
from tidelog.client.browsing import MetadataEntry
from tidelog.console.findings.differences import cut, difference, in_words, is_nested, plain_text
from tidelog.console.replies import Json
from tidelog.model.lazy_dataclasses import dataclass

# Apache Kafka's controllers write one each 0.5 s if nothing else happens.
_IDLE = "NoOpRecord"
_NAMED = 2
_WORDS_CHARACTERS = 200
_USER = "User:"
# As images name what stands for all that have nothing of their own.
DEFAULT_NAME = "<default>"


class Subject(StrEnum):
    """What people ask about. A record may be about several of them: an ACL is about a topic and a user."""

    TOPIC = "topic"
    PARTITION = "partition"
    BROKER = "broker"
    CONTROLLER = "controller"
    USER = "user"
    CLIENT_ID = "client-id"
    GROUP = "group"
    TRANSACTIONAL_ID = "transactional-id"
    FEATURE = "feature"


class About(NamedTuple):
    subject: Subject
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """What is None or empty accepts everything."""

    type: str | None = None
    subject: Subject | None = None
    name: str = ""

    def __bool__(self) -> bool:
        return bool(self.type or self.subject or self.name)

    def accepts(self, entry: MetadataEntry) -> bool:
        if self.type is not None and entry.type != self.type:
            return False
        if self.subject is None and not self.name:
            return True
        return any(
            self.subject in (None, about.subject) and self.name in ("", about.name) for about in subjects_of(entry)
        )


class Row(NamedTuple):
    """One record, or several in a row that only say that the log goes on: `first` and `last` are different then."""

    first: MetadataEntry
    last: MetadataEntry

    def as_json(self) -> dict[str, Json]:
        entry = self.first
        return {
            "offset": entry.offset,
            "end": self.last.offset,
            "epoch": entry.leader_epoch,
            "at": entry.timestamp_ms,
            "until": self.last.timestamp_ms,
            "type": entry.type,
            "kind": entry.entity_kind,
            "name": entry.entity_name,
            "control": entry.is_control,
            "words": words_for(entry),
            "problem": entry.problem,
            "about": [[about.subject.value, about.name] for about in subjects_of(entry)],
        }


def rows_of(entries: Iterable[MetadataEntry], before: Sequence[Row] = ()) -> list[Row]:
    """With those `before` them, of which the last one may go on."""
    rows = list(before)
    for entry in entries:
        last = rows[-1].last if rows else None
        if (
            last is not None
            and last.type == entry.type == _IDLE
            and (last.offset + 1, last.leader_epoch) == (entry.offset, entry.leader_epoch)
        ):
            rows[-1] = Row(rows[-1].first, entry)
        else:
            rows.append(Row(entry, entry))
    return rows


def words_for(entry: MetadataEntry) -> str:
    """What the record does, in one line."""
    if entry.type == _IDLE:
        return "only says that the log goes on"
    if entry.entity_kind == "acl" and (entry.before or entry.after):
        return _acl_in_words(entry)
    if entry.before is not None or entry.after is not None:
        return in_words(entry.before, entry.after)
    texts = {name: plain_text(value) for name, value in entry.fields.items() if name != "version"}
    told = [f"{name} {text}" for name, text in texts.items() if not is_nested(text)]
    return cut("; ".join(told[:_NAMED]), _WORDS_CHARACTERS)


def _acl_in_words(entry: MetadataEntry) -> str:
    """As a sentence: the name of an ACL is a number that nobody knows."""
    acl = entry.after or entry.before or {}
    may = "may not" if acl.get("permission_type") == "DENY" else "may"
    host = "" if acl.get("host") == "*" else f" from {acl.get('host')}"
    pattern = " names that begin with" if acl.get("pattern_type") == "PREFIXED" else ""
    operation, kind = (str(acl.get(each, "")).lower().replace("_", " ") for each in ("operation", "resource_type"))
    sentence = f"{acl.get('principal')} {may} {operation}: {kind}{pattern} {acl.get('resource_name')}{host}"
    return cut(f"{'removed' if entry.after is None else 'new'}: {sentence}", _WORDS_CHARACTERS)


def details_of(entry: MetadataEntry) -> dict[str, Json]:
    """All of one record."""
    nothing = entry.before is None and entry.after is None
    return {
        **Row(entry, entry).as_json(),
        "type_number": entry.type_number,
        "version": entry.version,
        "size": entry.size_bytes,
        # Both states are the record: its fields in the form that those of images have.
        "fields": difference(entry.fields, entry.fields).as_json(),
        "existed": entry.before is not None,
        "exists": entry.after is not None,
        "image": None if nothing else difference(entry.before, entry.after).as_json(),
    }


def whole_of(entry: MetadataEntry) -> dict[str, Json]:
    """The same with nothing cut, for programs and for values that are too long for a page."""
    return {
        "offset": entry.offset,
        "leader_epoch": entry.leader_epoch,
        "timestamp_ms": entry.timestamp_ms,
        "type": entry.type,
        "version": entry.version,
        "fields": entry.fields,
        "entity": {"kind": entry.entity_kind, "name": entry.entity_name},
        "before": entry.before,
        "after": entry.after,
        "problem": entry.problem,
    }


def subjects_of(entry: MetadataEntry) -> tuple[About, ...]:
    return tuple(dict.fromkeys(_subjects(entry)))


def _subjects(entry: MetadataEntry) -> Iterator[About]:
    kind, name = entry.entity_kind, entry.entity_name or ""
    match kind:
        case "topic" | "broker" | "controller" | "feature":
            yield About(Subject(kind), name)
        case "partition":
            yield About(Subject.TOPIC, name.rpartition("-")[0])
            yield About(Subject.PARTITION, name)
        case "configs":
            subject = _CONFIGURED.get(entry.fields.get("resource_type", 0))
            if subject is not None:
                yield About(subject, entry.fields.get("resource_name") or DEFAULT_NAME)
        case "quotas":
            for part in entry.fields.get("entity", ()):
                if part["entity_type"] in _SUBJECTS:
                    yield About(Subject(part["entity_type"]), part["entity_name"] or DEFAULT_NAME)
        case "scram credential":
            yield About(Subject.USER, name.rpartition(" ")[0])
        case "eligible leaders" if name:
            yield About(Subject.TOPIC, name)
        case "acl":
            yield from _of_acl(entry)
        case _:
            return


def _of_acl(entry: MetadataEntry) -> Iterator[About]:
    acl = entry.after or entry.before or {}
    kind = str(acl.get("resource_type", "")).lower().replace("_", "-")
    if kind in _SUBJECTS:
        yield About(Subject(kind), str(acl.get("resource_name", "")))
    principal = str(acl.get("principal", ""))
    if principal.startswith(_USER):
        yield About(Subject.USER, principal.removeprefix(_USER))


_SUBJECTS = frozenset(subject.value for subject in Subject)
_CONFIGURED = {
    ResourceType.TOPIC: Subject.TOPIC,
    ResourceType.BROKER: Subject.BROKER,
    ResourceType.BROKER_LOGGER: Subject.BROKER,
    ResourceType.GROUP: Subject.GROUP,
}
