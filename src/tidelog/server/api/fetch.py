"""Fetch: records for readers, undecoded from the page cache to the socket.

Version 7 brought sessions (KIP-227), 11 the rack of the reader (KIP-392), 12 the check for divergence (KIP-595), 13
topic ids instead of names (KIP-516), 15 the replica state (KIP-903), 16 the address of the new leader (KIP-951).

On the listener of a controller the quorum answers instead: that is how its replicas read the cluster's metadata. A
client may read the committed part of that log from a broker, too (`quorum/log_reading.py`).

There are two kinds of readers. Consumers see what is committed; they read from the leader or, from version 11 on, from
any replica. Followers see everything up to the log end; the offset they ask for shows how far they are, and that may
commit records and bring them into the in-sync set.

A fetch is answered at once if there is an error to report, if min.bytes are available, or if the reader does not want
to wait. Otherwise it waits once, for at most max.wait, and answers with what is available then. The wait begins with
the reading: each partition knows of it from the moment it is read, so nothing can happen to it unnoticed.

A consumer that has used up its quota gets a reply without records (`routing/throttling.py`).
"""

from __future__ import annotations

import logging
from functools import partial
from typing import NamedTuple, cast

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import NO_LEADER_EPOCH, ZERO_UUID
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.unread import UnreadBytes
from tidelog.network.later import Later
from tidelog.partition.divergence import diverging_epoch
from tidelog.protocol.api import response_header_version
from tidelog.protocol.frames import LENGTH_SIZE, response_frame
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest
from tidelog.protocol.messages.fetch_response import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from tidelog.records.batch import Buffer, CorruptBatch
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.api.ports import Configuration, Metadata
from tidelog.server.declaration import BOTH, CLUSTER_ACTION, READ_TOPIC, Api, RefusalShape
from tidelog.server.fetching.nearby import THE_LEADER
from tidelog.server.fetching.sessions import SESSIONLESS_EPOCH, FetchPlan, FetchSessions, PartitionKey
from tidelog.server.observability.logs import INVARIANT_LOGGER
from tidelog.server.quorum.log_reading import MetadataLogReading
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import READ_COMMITTED, Replica
from tidelog.server.replicas.waits import FetchWait, FetchWaits
from tidelog.server.replication.runtime import Replication
from tidelog.server.replies.leader_hints import REDIRECTING, LeaderHints
from tidelog.server.routing.context import RequestContext
from tidelog.server.routing.throttling import ClientThrottling
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.log.reader import aborted_transactions, end_offset_of, sendable_records
from tidelog.storage.log.results import OffsetOutOfRange

API = Api(
    key=ApiKey.FETCH,
    versions=(4, 18),
    permissions=(READ_TOPIC, CLUSTER_ACTION),
    listeners=BOTH,
    refusal=RefusalShape(asked_as={"partition_index": "partition"}),
    differences=(
        "Who may do ClusterAction reads the committed metadata log from brokers too, with version 12 or newer, without "
        "a session and without waiting; Kafka's brokers say that they do not know `__cluster_metadata`.",
    ),
)

logger = logging.getLogger(__name__)
invariants = logging.getLogger(INVARIANT_LOGGER)

MAX_WAIT_MS = 5 * 60 * 1000
_CONSUMER = -1
_ANY_REPLICA_FROM = 11
_TOPIC_IDS_FROM = 13
_LEADER_HINTS_FROM = 16

Answers = list[tuple[PartitionKey, PartitionData]]


@dataclass(slots=True, kw_only=True)
class _Reader:
    """Who reads. Created for every fetch, so not frozen."""

    # The broker whose follower it is; -1 for consumers.
    broker_id: int
    broker_epoch: int
    isolation_level: int
    rack: str
    # Whether topics are named by their id.
    by_id: bool
    any_replica: bool
    max_bytes: int
    # Whether its connection can send records that are still in their files.
    takes_unread: bool
    # Whether it may read each topic that was asked for so far; None where everybody may read everything.
    may_read: dict[str, bool] | None

    @property
    def is_follower(self) -> bool:
        return self.broker_id >= 0


@dataclass(slots=True)
class _Round:
    """One pass over the wanted partitions."""

    answers: Answers
    readable_bytes: int
    # An error, a divergence or another replica to read from: the reader should learn of it at once.
    urgent: bool
    # Partitions of a session that have nothing new, and what they looked like.
    idle: dict[PartitionKey, tuple[Replica, tuple[int, ...]]]
    # Whether a throttle holds back available records.
    held_back: bool = False


class _Watch(NamedTuple):
    """The wait that partitions are registered with, as long as there are fewer bytes than these."""

    wait: FetchWait
    min_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchHandler:
    sessions: FetchSessions
    replication: Replication
    configuration: Configuration
    replicas: Replicas
    metadata: Metadata
    access: Access
    throttling: ClientThrottling
    metadata_log: MetadataLogReading

    def handle(self, request: FetchRequest, context: RequestContext) -> FetchResponse | Later[FetchResponse]:
        if request.session_epoch == SESSIONLESS_EPOCH and self.metadata_log.is_asked(request, context.version):
            return Later.run(self.metadata_log.fetch(request, context))
        plan = self.sessions.plan(request, context.version)
        if isinstance(plan, ErrorCode):
            return FetchResponse(error_code=plan, session_id=0)
        reader = self._reader(request, context)
        if reader.is_follower:
            if not self.access.allows_cluster(context, Operation.CLUSTER_ACTION):
                answers = [(key, _failed(key[2], ErrorCode.TOPIC_AUTHORIZATION_FAILED)) for key, _ in plan.partitions]
                return self._respond(plan, answers, context)
            if not self.replication.is_broker(reader.broker_id, reader.broker_epoch):
                # An impostor, a process that has been replaced, or one that this node does not know yet. It must not
                # read what is not committed, and does not count as a replica.
                answers = [(key, _failed(key[2], ErrorCode.NOT_LEADER_OR_FOLLOWER)) for key, _ in plan.partitions]
                return self._respond(plan, answers, context)
            context.exempt()
        # More than it may get cannot be waited for.
        min_bytes = min(request.min_bytes, reader.max_bytes)
        wait = FetchWait()
        watch = _Watch(wait, min_bytes) if request.max_wait_ms > 0 else None
        try:
            first = self._read_all(plan, reader, context, watch=watch)
        except BaseException:
            wait.release()
            raise
        if watch is None or not plan.partitions or first.urgent or first.readable_bytes >= min_bytes:
            wait.release()
            return self._respond(plan, first.answers, context)
        patience_ms = min(request.max_wait_ms, MAX_WAIT_MS)
        if first.held_back:
            patience_ms = min(patience_ms, self.replication.throttles.held_back_ms())
        woken = wait.begin(min_bytes - first.readable_bytes, patience_ms)

        def look_again(_: None) -> FetchResponse:
            second = self._read_all(plan, reader, context, first)
            if wait.overdue and second.readable_bytes >= min_bytes and not first.held_back:
                invariants.error(
                    "a fetch waited its full %d ms although %d bytes were available: its wake-up was lost",
                    request.max_wait_ms,
                    second.readable_bytes,
                )
            return self._respond(plan, second.answers, context)

        return Later[None](woken).then(look_again)

    def _reader(self, request: FetchRequest, context: RequestContext) -> _Reader:
        follower = max(request.replica_id, request.replica_state.replica_id)
        max_bytes = request.max_bytes
        # Followers have a limit of their own, which they send.
        if follower < 0:
            max_bytes = min(max_bytes, self.configuration.config.fetch_max_bytes)
            if self.throttling.limits_fetches:
                largest = self.throttling.largest_fetch(context)
                max_bytes = max_bytes if largest is None else min(max_bytes, largest)
        return _Reader(
            broker_id=follower if follower >= 0 else _CONSUMER,
            broker_epoch=request.replica_state.replica_epoch,
            isolation_level=request.isolation_level,
            rack=request.rack_id,
            by_id=context.version >= _TOPIC_IDS_FROM,
            any_replica=follower < 0 and context.version >= _ANY_REPLICA_FROM,
            max_bytes=max_bytes,
            takes_unread=context.connection.sends_files,
            may_read={} if self.access.enforced and follower < 0 else None,
        )

    def _read_all(
        self,
        plan: FetchPlan,
        reader: _Reader,
        context: RequestContext,
        first: _Round | None = None,
        *,
        watch: _Watch | None = None,
    ) -> _Round:
        """One pass; the second one, after a wait, is given the first. The first one notes how far a follower is, and
        watches each partition from the moment it is read, as long as a wait is likely."""
        result = _Round(answers=[], readable_bytes=0, urgent=False, idle={})
        left = reader.max_bytes
        names: dict[bytes, str] = {}
        for key, wanted in plan.partitions:
            if first is not None and key in first.idle:
                replica, seen = first.idle[key]
                if seen == _state_of(replica):
                    continue
            found = self._find(key, wanted, reader, context, names)
            if isinstance(found, ErrorCode):
                result.answers.append((key, _failed(wanted.partition, found)))
                result.urgent = True
                continue
            # The first batch is sent whole even above the limits: otherwise a reader could never get past it (KIP-74).
            min_one_batch = result.readable_bytes == 0
            try:
                answer = self._check(found, wanted, reader)
                if answer is None and reader.is_follower and first is None:
                    self._note_progress(found, wanted, reader)
                if answer is None:
                    log = found.log
                    if wanted.fetch_offset >= _readable_end(found, reader) and plan.already_told(
                        key, log.high_watermark, log.log_start_offset
                    ):
                        result.idle[key] = (found, _state_of(found))
                        if watch is not None and not result.urgent and result.readable_bytes < watch.min_bytes:
                            watch.wait.watch(_waits(found, reader))
                        continue
                    if reader.is_follower and self.replication.throttles.holds_back(found, reader.broker_id):
                        answer = _without_records(found, wanted)
                        result.held_back = True
                    else:
                        answer = self._read(found, wanted, reader, max(left, 0), min_one_batch)
            except StorageFailure as failure:
                self.replicas.storage_failed(found, failure)
                answer = _failed(wanted.partition, ErrorCode.KAFKA_STORAGE_ERROR)
            except CorruptBatch as damage:
                self.replicas.damage.found(found, damage)
                answer = _failed(wanted.partition, ErrorCode.CORRUPT_MESSAGE)
            result.answers.append((key, answer))
            if answer.error_code or answer.diverging_epoch.epoch >= 0 or answer.preferred_read_replica != THE_LEADER:
                result.urgent = True
            if answer.records is not None:
                result.readable_bytes += len(answer.records)
                left -= len(answer.records)
                if reader.is_follower:
                    self.replication.throttles.sent(found, len(answer.records))
            if watch is not None and not result.urgent and result.readable_bytes < watch.min_bytes:
                watch.wait.watch(_waits(found, reader))
        return result

    def _find(
        self,
        key: PartitionKey,
        wanted: FetchPartition,
        reader: _Reader,
        context: RequestContext,
        names: dict[bytes, str],
    ) -> Replica | ErrorCode:
        """`names` are those of the topics that this pass has looked up."""
        topic, topic_id, partition = key
        if topic_id != ZERO_UUID or reader.by_id:
            name = names.get(topic_id)
            if name is None:
                name = self.metadata.image.topic_name(topic_id)
                if name is None:
                    return ErrorCode.UNKNOWN_TOPIC_ID
                names[topic_id] = name
            topic = name
        may_read = reader.may_read
        if may_read is not None:
            allowed = may_read.get(topic)
            if allowed is None:
                allowed = self.access.allows(context, Operation.READ, AclResourceType.TOPIC, topic)
                may_read[topic] = allowed
            if not allowed:
                return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if reader.any_replica:
            return self.replicas.readable(topic, partition)
        return self.replicas.leader_in_epoch(
            topic, partition, current_leader_epoch=max(wanted.current_leader_epoch, NO_LEADER_EPOCH)
        )

    def _note_progress(self, replica: Replica, wanted: FetchPartition, reader: _Reader) -> None:
        """A follower has everything before the offset that it asks for. That may commit records, which wakes those that
        wait for them, and it may bring the follower into the in-sync set."""
        replica.record_fetch(
            reader.broker_id,
            broker_epoch=reader.broker_epoch,
            fetch_offset=wanted.fetch_offset,
            log_start_offset=wanted.log_start_offset,
        )
        progress = replica.progress
        # Asked here, where it is compiled: nearly always the answer is no.
        if progress is not None and progress.may_join(reader.broker_id):
            self.replication.in_sync.propose_joining(replica)

    def _check(self, replica: Replica, wanted: FetchPartition, reader: _Reader) -> PartitionData | None:
        """The answer if there is nothing for this reader to read here; None if there may be."""
        problem = replica.check_leader_epoch(max(wanted.current_leader_epoch, NO_LEADER_EPOCH))
        if problem:
            return _failed(wanted.partition, problem)
        if reader.is_follower and (replica.progress is None or replica.progress.follower(reader.broker_id) is None):
            # With the right leader epoch it may be a replica that is about to be added: it retries (KIP-903).
            known = wanted.current_leader_epoch != NO_LEADER_EPOCH
            code = ErrorCode.UNKNOWN_LEADER_EPOCH if known else ErrorCode.NOT_LEADER_OR_FOLLOWER
            return _failed(wanted.partition, code)
        log = replica.log
        if not log.log_start_offset <= wanted.fetch_offset:
            return _out_of_range(replica, wanted, reader)
        if wanted.last_fetched_epoch >= 0:
            diverging = _divergence(replica, wanted)
            if diverging is not None:
                return diverging
        if wanted.fetch_offset > log.log_end_offset:
            return _out_of_range(replica, wanted, reader)
        if reader.rack and not reader.is_follower:
            nearby = self.replication.preferred_replica(replica, reader.rack, wanted.fetch_offset)
            if nearby != THE_LEADER:
                return _without_records(replica, wanted, preferred_read_replica=nearby)
        return None

    def _read(
        self, replica: Replica, wanted: FetchPartition, reader: _Reader, response_left: int, min_one_batch: bool
    ) -> PartitionData:
        log = replica.log
        upper_bound = _readable_end(replica, reader)
        max_bytes = max(0, min(wanted.partition_max_bytes, response_left))
        records: Buffer = b""
        committed_only = reader.isolation_level == READ_COMMITTED and not reader.is_follower
        aborted: list[AbortedTransaction] | None = [] if committed_only else None
        if max_bytes > 0 or min_one_batch:
            offset = (
                wanted.fetch_offset
                if reader.is_follower
                else replica.past_emptied(wanted.fetch_offset, upper_bound=upper_bound)
            )
            result = sendable_records(
                log,
                offset,
                max_bytes=max_bytes,
                upper_bound=upper_bound,
                min_one_batch=min_one_batch,
                unread=reader.takes_unread,
            )
            if isinstance(result, OffsetOutOfRange):
                return _out_of_range(replica, wanted, reader)
            # The encoder leaves unread bytes as they are. Whoever decodes a reply gets buffers, so the type says that.
            records = cast(Buffer, result.records)
            if isinstance(result.records, UnreadBytes):
                result.records.report_to(partial(self._cannot_send, replica))
            if aborted is not None and records:
                aborted = [
                    AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
                    for each in aborted_transactions(log, wanted.fetch_offset, upper_bound=end_offset_of(log, result))
                ]
        return PartitionData(
            partition_index=wanted.partition,
            high_watermark=log.high_watermark,
            last_stable_offset=log.last_stable_offset,
            log_start_offset=log.log_start_offset,
            aborted_transactions=aborted,
            preferred_read_replica=THE_LEADER,
            records=records,
        )

    def _cannot_send(self, replica: Replica, cause: OSError) -> None:
        """The disk has refused what was to be sent from it, which takes it offline as if it had been read before."""
        try:
            with replica.log.guard:
                raise cause
        except StorageFailure as failure:
            self.replicas.storage_failed(replica, failure)

    def _respond(self, plan: FetchPlan, answers: Answers, context: RequestContext) -> FetchResponse:
        if self.throttling.limits_fetches and not context.is_exempt:
            response = self._response(plan.session_id, plan.to_answer(answers, is_sent=False), context)
            wait_ms = self.throttling.fetched(context, _size(response, context))
            if wait_ms > 0:
                return FetchResponse(throttle_time_ms=wait_ms, session_id=self.sessions.withdraw(plan))
            plan.to_answer(answers)
            return response
        return self._response(plan.session_id, plan.to_answer(answers), context)

    def _response(self, session_id: int, answers: Answers, context: RequestContext) -> FetchResponse:
        topics: dict[tuple[str, bytes], list[PartitionData]] = {}
        hints = LeaderHints(self.metadata.image, context.listener) if context.version >= _LEADER_HINTS_FROM else None
        for (topic, topic_id, _), answer in answers:
            told = answer
            if hints is not None and answer.error_code in REDIRECTING:
                name = self.metadata.image.topic_name(topic_id) if topic_id != ZERO_UUID else topic
                leader = hints.leader_of(name, answer.partition_index)
                told = _failed(answer.partition_index, ErrorCode(answer.error_code), leader=leader)
            topics.setdefault((topic, topic_id), []).append(told)
        return FetchResponse(
            session_id=session_id,
            responses=[
                FetchableTopicResponse(topic=topic, topic_id=topic_id, partitions=partitions)
                for (topic, topic_id), partitions in topics.items()
            ],
            node_endpoints=hints.addresses(NodeEndpoint) if hints is not None else (),
        )


def _size(response: FetchResponse, context: RequestContext) -> int:
    """What of a reply counts: as in Kafka all but the tags of its header. Nothing is read or copied for it."""
    frame = response_frame(ApiKey.FETCH, context.version, context.correlation_id, response)
    return sum(map(len, frame)) - LENGTH_SIZE - response_header_version(ApiKey.FETCH, context.version)


def _waits(replica: Replica, reader: _Reader) -> FetchWaits:
    """The waits of readers that may read what this reader may read."""
    if reader.is_follower:
        return replica.follower_waits
    return replica.stable_waits if reader.isolation_level == READ_COMMITTED else replica.fetch_waits


def _state_of(replica: Replica) -> tuple[int, ...]:
    """Everything that could make an idle partition worth an answer."""
    log = replica.log
    return (
        replica.leader_id,
        replica.leader_epoch,
        log.log_end_offset,
        log.high_watermark,
        log.log_start_offset,
        replica.offline,
    )


def _readable_end(replica: Replica, reader: _Reader) -> int:
    return replica.log.log_end_offset if reader.is_follower else replica.readable_end(reader.isolation_level)


def _divergence(replica: Replica, wanted: FetchPartition) -> PartitionData | None:
    """The reader's last record is of an epoch that ended earlier in our log: it has records that we do not have."""
    log = replica.log
    parted = diverging_epoch(
        log.leader_epochs,
        log.log_end_offset,
        fetch_offset=wanted.fetch_offset,
        last_fetched_epoch=wanted.last_fetched_epoch,
    )
    if parted is None:
        return None
    if parted.epoch < 0 or parted.end_offset < 0:
        return _failed(wanted.partition, ErrorCode.OFFSET_OUT_OF_RANGE)
    return _without_records(
        replica, wanted, diverging_epoch=EpochEndOffset(epoch=parted.epoch, end_offset=parted.end_offset)
    )


def _without_records(
    replica: Replica,
    wanted: FetchPartition,
    *,
    diverging_epoch: EpochEndOffset | None = None,
    preferred_read_replica: int = THE_LEADER,
) -> PartitionData:
    """An answer without records."""
    log = replica.log
    return PartitionData(
        partition_index=wanted.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.log_start_offset,
        diverging_epoch=diverging_epoch or EpochEndOffset(),
        preferred_read_replica=preferred_read_replica,
        records=b"",
    )


def _out_of_range(replica: Replica, wanted: FetchPartition, reader: _Reader) -> PartitionData:
    # A follower learns where our log starts, so that it can begin there without another request.
    start = replica.log.log_start_offset if reader.is_follower else -1
    return _failed(wanted.partition, ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=start)


_NOBODY_ASKED = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
}


def _failed(
    partition: int, code: ErrorCode, *, log_start_offset: int = -1, leader: tuple[int, int] = (-1, -1)
) -> PartitionData:
    return PartitionData(
        partition_index=partition,
        error_code=code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=log_start_offset,
        # Null where a replica has been asked, as Apache Kafka has it.
        aborted_transactions=() if code in _NOBODY_ASKED else None,
        current_leader=LeaderIdAndEpoch(leader_id=leader[0], leader_epoch=leader[1]),
        records=b"",
    )
