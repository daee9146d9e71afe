"""From messages of the log to transactions with events: which changes are events, and what is not allowed.

An insert into the outbox is an event, whatever happens to the row later: it may be deleted in the same transaction, so
that the table stays empty. Deletes and truncations are the usual cleaning. An update is neither: Debezium's option
`table.op.invalid.behavior` says what becomes of it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from tidelog.spark.outbox.pgoutput import (
    Begin,
    Commit,
    Field,
    Insert,
    MalformedMessage,
    Relation,
    Update,
    parse_message,
)

logger = logging.getLogger(__name__)


class InvalidChange(Exception):
    """A row of the outbox was updated, and the pipeline is to stop there."""


class OnUpdate(Enum):
    """The values of `table.op.invalid.behavior`."""

    WARN = "warn"
    ERROR = "error"
    FATAL = "fatal"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxEvent:
    """A row that was inserted, with the description of its columns."""

    relation: Relation
    values: tuple[Field, ...]


@dataclass(slots=True)
class ChangeReader:
    """Follows the messages of one peek at a slot. Descriptions of tables come before the first change of each."""

    table: int
    name: str
    on_update: OnUpdate
    _relations: dict[int, Relation] = field(default_factory=dict)
    _warned: bool = False

    def read(self, messages: Iterable[bytes]) -> Iterator[Begin | OutboxEvent | Commit]:
        for data in messages:
            message = parse_message(data)
            if isinstance(message, Insert):
                if message.relation == self.table:
                    yield self._event(message)
            elif isinstance(message, Begin | Commit):
                yield message
            elif isinstance(message, Relation):
                self._relations[message.oid] = message
            elif isinstance(message, Update) and message.relation == self.table:
                self._refuse_update()

    def _event(self, insert: Insert) -> OutboxEvent:
        relation = self._relations.get(insert.relation)
        if relation is None or len(relation.columns) != len(insert.values):
            raise MalformedMessage(f"a row of {self.name} came without a description of its columns")
        return OutboxEvent(relation=relation, values=insert.values)

    def _refuse_update(self) -> None:
        problem = f"a row of {self.name} was updated; events are only inserted, so the change is not relayed"
        if self.on_update is OnUpdate.FATAL:
            raise InvalidChange(f"{problem} (table.op.invalid.behavior=fatal). Set it to warn to continue")
        if not self._warned:
            self._warned = True
            logger.log(logging.WARNING if self.on_update is OnUpdate.WARN else logging.ERROR, "%s", problem)
