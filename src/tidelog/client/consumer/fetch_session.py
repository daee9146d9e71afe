"""One fetch session with one broker (KIP-227): what is sent again in each request, and what both sides remember.

The broker keeps the partitions of the session. A request names only those that are new, have changed or are not
wanted any more; a reply names only those with news. When the two sides disagree, the client starts over with a full
request.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, TopicPartition, Uuid, numbers_by_topic
from tidelog.model.invariants import require
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchTopic, ForgottenTopic

NO_SESSION = 0
FULL = 0
CLOSING = -1
_FIRST_INCREMENTAL = 1
_LARGEST_EPOCH = 2**31 - 1

# Up to this version a Fetch request names topics; from the next on it has their ids.
NAMED_TOPICS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPartition:
    topic_id: Uuid
    fetch_offset: int
    leader_epoch: int
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequestData:
    """What the next request says. `at_most` is the newest version of it that can say so."""

    session_id: int
    session_epoch: int
    topics: list[FetchTopic]
    forgotten: list[ForgottenTopic]
    at_most: int | None

    @property
    def full(self) -> bool:
        return self.session_epoch == FULL


class FetchSessionHandler:
    def __init__(self) -> None:
        self._id = NO_SESSION
        self._epoch = FULL
        self._known: dict[TopicPartition, WantedPartition] = {}
        self._next: dict[TopicPartition, WantedPartition] = {}
        self._named = False

    @property
    def open(self) -> bool:
        return self._id != NO_SESSION

    def check_invariants(self) -> None:
        known, epoch = self._known, self._epoch
        subject = f"fetch session {self._id}"
        require(not known or epoch != FULL, subject, "a full request takes nothing as known", known=known)
        going_on = self.open and _FIRST_INCREMENTAL <= epoch <= _LARGEST_EPOCH
        require(epoch == FULL or going_on, subject, "an incremental request goes on with a session", epoch=epoch)
        named = any(entry.topic_id == ZERO_UUID for entry in known.values())
        require(not known or named == self._named, subject, "a session names topics in one way", named=self._named)

    def plan(self, wanted: Mapping[TopicPartition, WantedPartition]) -> FetchRequestData:
        """Ask for exactly these. Follow with one of the three below."""
        named = any(entry.topic_id == ZERO_UUID for entry in wanted.values())
        moved = any(
            partition in self._known and self._known[partition].topic_id != entry.topic_id
            for partition, entry in wanted.items()
        )
        if named != self._named or moved:
            # A topic was recreated under its old name, or the way to name topics changes: too much for a session.
            self._begin_anew()
        self._named = named
        self._next = dict(wanted)
        told = dict(wanted)
        forgotten: dict[TopicPartition, WantedPartition] = {}
        if self._epoch != FULL:
            told = {partition: entry for partition, entry in wanted.items() if self._known.get(partition) != entry}
            forgotten = {partition: entry for partition, entry in self._known.items() if partition not in wanted}
        return FetchRequestData(
            session_id=self._id,
            session_epoch=self._epoch,
            topics=_fetch_topics(told),
            forgotten=_forgotten_topics(forgotten),
            at_most=NAMED_TOPICS if named else None,
        )

    def succeeded(self, session_id: int) -> None:
        """The broker may also refuse to keep a session, with the id 0: then every request is a full one."""
        if session_id == NO_SESSION:
            self._id = NO_SESSION
            self._begin_anew()
            return
        self._epoch = _FIRST_INCREMENTAL if self._epoch in (FULL, _LARGEST_EPOCH) else self._epoch + 1
        self._id = session_id
        self._known = self._next

    def refused(self, code: int) -> None:
        if code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
            # The broker has forgotten it, or was started again.
            self._id = NO_SESSION
        self._begin_anew()

    def failed(self) -> None:
        """No reply: whether the broker has seen the request is not known."""
        self._begin_anew()

    def close(self) -> FetchRequestData:
        """Tells the broker that it need not remember the session any longer."""
        session_id, self._id = self._id, NO_SESSION
        self._begin_anew()
        return FetchRequestData(session_id=session_id, session_epoch=CLOSING, topics=[], forgotten=[], at_most=None)

    def _begin_anew(self) -> None:
        """With the id of the old session, if there is one: the broker closes it with the same request."""
        self._epoch = FULL
        self._known = {}


def _fetch_topics(partitions: Mapping[TopicPartition, WantedPartition]) -> list[FetchTopic]:
    by_topic: dict[tuple[str, Uuid], list[FetchPartition]] = defaultdict(list)
    for partition, entry in partitions.items():
        by_topic[partition.topic, entry.topic_id].append(
            FetchPartition(
                partition=partition.partition,
                current_leader_epoch=entry.leader_epoch,
                fetch_offset=entry.fetch_offset,
                partition_max_bytes=entry.max_bytes,
            )
        )
    return [FetchTopic(topic=name, topic_id=uuid, partitions=parts) for (name, uuid), parts in by_topic.items()]


def _forgotten_topics(partitions: Mapping[TopicPartition, WantedPartition]) -> list[ForgottenTopic]:
    topics = numbers_by_topic(((name, entry.topic_id), number) for (name, number), entry in partitions.items())
    return [ForgottenTopic(topic=name, topic_id=uuid, partitions=numbers) for (name, uuid), numbers in topics.items()]
