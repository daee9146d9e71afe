"""Fetch sessions (KIP-227): a reader names its partitions once, and then only what has changed.

A session is the broker's memory of what a reader wants and of what it was last sent. The number of sessions is
bounded (max.incremental.fetch.session.cache.slots); the one that was unused longest makes room for a new one. A reader
that has lost its session gets FETCH_SESSION_ID_NOT_FOUND and starts over, so forgetting is always safe.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import field

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID
from tidelog.model.invariants import require
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Randomness
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest
from tidelog.protocol.messages.fetch_response import PartitionData

SESSIONLESS_EPOCH = -1
FIRST_EPOCH = 0
NO_SESSION = 0
_MAX_EPOCH = 2**31 - 1

# (topic name or "", topic id or zero, partition): versions up to 12 name topics, later ones give their ids.
PartitionKey = tuple[str, bytes, int]


@dataclass(slots=True)
class CachedPartition:
    """What a reader wants of one partition and what it knows. Changes with every fetch, hence not frozen."""

    wanted: FetchPartition
    high_watermark: int = -1
    log_start_offset: int = -1

    def is_news(self, answer: PartitionData) -> bool:
        """Whether an incremental response has to mention this partition."""
        return bool(
            (answer.records is not None and len(answer.records))
            or answer.error_code
            or answer.high_watermark != self.high_watermark
            or answer.log_start_offset != self.log_start_offset
            or answer.preferred_read_replica != -1
            or answer.diverging_epoch.epoch != -1
        )

    def sent(self, answer: PartitionData) -> None:
        """Remembers what the reader has been sent, or would have been, were it news."""
        # After an error the partition counts as unknown, so that the next good answer is sent. The same goes for a
        # divergence: a follower first truncates its log, which may not have reached the watermark that it was sent.
        unknown = answer.error_code or answer.diverging_epoch.epoch >= 0
        self.high_watermark = -1 if unknown else answer.high_watermark
        self.log_start_offset = -1 if unknown else answer.log_start_offset


@dataclass(slots=True)
class FetchSession:
    session_id: int
    epoch: int
    uses_topic_ids: bool
    partitions: OrderedDict[PartitionKey, CachedPartition] = field(default_factory=OrderedDict)

    def update(self, request: FetchRequest) -> None:
        for topic in request.forgotten_topics_data:
            for partition in topic.partitions:
                self.partitions.pop((topic.topic, topic.topic_id, partition), None)
        for key, wanted in requested_partitions(request):
            cached = self.partitions.get(key)
            if cached is None:
                self.partitions[key] = CachedPartition(wanted)
            else:
                cached.wanted = wanted

    def check_invariants(self) -> None:
        require(1 <= self.epoch <= _MAX_EPOCH, self, "the epoch names the next request", epoch=self.epoch)
        for key, cached in self.partitions.items():
            name, topic_id, number = key
            named = topic_id != ZERO_UUID if self.uses_topic_ids else bool(name)
            require(named and number == cached.wanted.partition, key, "a partition is found by what names it")
            start, mark = cached.log_start_offset, cached.high_watermark
            require(-1 <= start <= mark, key, "the reader knows a log's bounds, or nothing", start=start, mark=mark)

    def rotate(self, keys: Iterable[PartitionKey]) -> None:
        """Partitions that got records go to the end, so that no partition starves behind a busy one."""
        for key in keys:
            if key in self.partitions:
                self.partitions.move_to_end(key)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPlan:
    """What a request asks for. Without a session all partitions are answered and nothing is remembered."""

    session: FetchSession | None
    incremental: bool
    partitions: list[tuple[PartitionKey, FetchPartition]]

    @property
    def session_id(self) -> int:
        return NO_SESSION if self.session is None else self.session.session_id

    def already_told(self, key: PartitionKey, high_watermark: int, log_start_offset: int) -> bool:
        """Whether an answer without records and with these values would be left out. Most partitions of a session are
        idle most of the time, and need no answer then."""
        if not self.incremental or self.session is None:
            return False
        cached = self.session.partitions.get(key)
        return (
            cached is not None
            and cached.high_watermark == high_watermark
            and cached.log_start_offset == log_start_offset
        )

    def to_answer(
        self, answers: list[tuple[PartitionKey, PartitionData]], *, is_sent: bool = True
    ) -> list[tuple[PartitionKey, PartitionData]]:
        """The part of `answers` that must be sent to the reader. If that is done, the session remembers it."""
        session = self.session
        if session is None:
            return answers
        told = []
        with_records = []
        for key, answer in answers:
            cached = session.partitions.get(key)
            if cached is None:
                continue
            is_told = not self.incremental or cached.is_news(answer)
            if is_sent:
                cached.sent(answer)
            if is_told:
                told.append((key, answer))
                if answer.records is not None and len(answer.records):
                    with_records.append(key)
        if is_sent:
            session.rotate(with_records)
        return told


class FetchSessions:
    """All sessions of a broker, least recently used first."""

    def __init__(self, *, slots: int, randomness: Randomness) -> None:
        self._slots = slots
        self._randomness = randomness
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def check_invariants(self) -> None:
        require(len(self) <= self._slots, "fetch sessions", "there are no more than slots", count=len(self))
        for session_id, session in self._sessions.items():
            found = session_id == session.session_id != NO_SESSION
            require(found, "fetch sessions", "a session is found by its id", id=session.session_id, at=session_id)
            session.check_invariants()

    def plan(self, request: FetchRequest, version: int) -> FetchPlan | ErrorCode:
        uses_topic_ids = version >= 13
        if request.session_epoch in (SESSIONLESS_EPOCH, FIRST_EPOCH):
            # A full fetch replaces the session that it names, if any.
            self._sessions.pop(request.session_id, None)
            # A partition that is asked for twice is answered once, for what was asked last.
            wanted = list(dict(requested_partitions(request)).items())
            session = None
            if request.session_epoch == FIRST_EPOCH and wanted:
                session = self._create(request, uses_topic_ids)
            return FetchPlan(session=session, incremental=False, partitions=wanted)
        return self._continue(request, uses_topic_ids)

    def withdraw(self, plan: FetchPlan) -> int:
        """The request is throttled, so nothing of the plan is answered. The id of the session that it leaves: one that
        it would have begun does not exist, as the reader knows of none."""
        session = plan.session
        if session is None or plan.incremental:
            return plan.session_id
        if self._sessions.get(session.session_id) is session:
            del self._sessions[session.session_id]
        return NO_SESSION

    def _continue(self, request: FetchRequest, uses_topic_ids: bool) -> FetchPlan | ErrorCode:
        session = self._sessions.get(request.session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != request.session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.uses_topic_ids != uses_topic_ids:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        session.update(request)
        if not session.partitions:
            del self._sessions[session.session_id]
            return FetchPlan(session=None, incremental=True, partitions=[])
        session.epoch = 1 if session.epoch == _MAX_EPOCH else session.epoch + 1
        self._sessions.move_to_end(session.session_id)
        wanted = [(key, cached.wanted) for key, cached in session.partitions.items()]
        return FetchPlan(session=session, incremental=True, partitions=wanted)

    def _create(self, request: FetchRequest, uses_topic_ids: bool) -> FetchSession | None:
        if self._slots <= 0:
            return None
        while len(self._sessions) >= self._slots:
            self._sessions.popitem(last=False)
        session_id = NO_SESSION
        while session_id == NO_SESSION or session_id in self._sessions:
            session_id = 1 + self._randomness.below(2**31 - 2)
        session = FetchSession(session_id=session_id, epoch=1, uses_topic_ids=uses_topic_ids)
        session.update(request)
        self._sessions[session_id] = session
        return session


def requested_partitions(request: FetchRequest) -> Iterable[tuple[PartitionKey, FetchPartition]]:
    for topic in request.topics:
        for partition in topic.partitions:
            yield (topic.topic, topic.topic_id or ZERO_UUID, partition.partition), partition
