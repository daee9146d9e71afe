"""One replica of one partition on this broker: the log, what is known about the other replicas, and who waits.

All decisions are made in `tidelog.partition` and `tidelog.storage`; here they are put together in the order that keeps
memory from running ahead of the log: check, write, then move the watermark and wake those who wait. A replica has one
writer, the event loop, and no step between check and write gives it away.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import NO_LEADER_EPOCH, TopicPartition
from tidelog.model.ports import Clock
from tidelog.partition.producers import AppendOrigin
from tidelog.partition.progress import PartitionProgress
from tidelog.partition.verification import VerificationGuard
from tidelog.records.batch import BatchHeader, Buffer
from tidelog.server.logs import STATE_CHANGE_LOGGER
from tidelog.server.replicas.waits import CommitWaits, FetchWait
from tidelog.server.topic_settings import TopicSettings
from tidelog.storage.log import Log
from tidelog.storage.log_results import AppendRefusal, AppendResult, OffsetOutOfRange, ReadResult

logger = logging.getLogger(__name__)
state_change_logger = logging.getLogger(STATE_CHANGE_LOGGER)

READ_UNCOMMITTED = 0
READ_COMMITTED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Leadership:
    """What the controller has decided about a partition."""

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


class Replica:
    """Lives as long as the partition's directory is in use. `offline` once the disk under it has failed."""

    def __init__(
        self,
        *,
        topic_partition: TopicPartition,
        topic_id: bytes,
        broker_id: int,
        log: Log,
        settings: TopicSettings,
        clock: Clock,
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.log = log
        self.settings = settings
        self.leader_epoch: int = NO_LEADER_EPOCH
        self.leader_id = -1
        self.progress: PartitionProgress | None = None
        self.commit_waits = CommitWaits()
        self.fetch_waits: set[FetchWait] = set()
        self.offline = False
        self._broker_id = broker_id
        self._clock = clock

    # -- leadership ----------------------------------------------------------------------------------------------

    @property
    def is_leader(self) -> bool:
        return self.progress is not None

    def become_leader(self, leadership: Leadership, *, min_in_sync: int, max_lag_ms: int) -> None:
        previous = self.leader_epoch
        end = self.log.log_end_offset
        if leadership.leader_epoch != previous or self.progress is None:
            self.progress = PartitionProgress(
                local_id=self._broker_id,
                replicas=leadership.replicas,
                in_sync=leadership.in_sync,
                log_end_offset=end,
                high_watermark=min(self.log.high_watermark, end),
                now_ms=self._clock.now_ms(),
                min_in_sync=min_in_sync,
                max_lag_ms=max_lag_ms,
            )
            # From here on every record is of the new epoch, which is what followers find divergence with (KIP-101).
            self.log.assign_leader_epoch(leadership.leader_epoch)
            state_change_logger.info(
                "[Broker id=%d] Leader %s starts at leader epoch %d from offset %d with high watermark %d ISR [%s] "
                "addingReplicas [] removingReplicas []. Previous leader epoch was %d.",
                self._broker_id,
                self.topic_partition,
                leadership.leader_epoch,
                end,
                self.log.high_watermark,
                ",".join(map(str, leadership.in_sync)),
                previous,
            )
        else:
            self.progress.min_in_sync = min_in_sync
            self.progress.confirm(leadership.in_sync, self._clock.now_ms())
        self.leader_epoch = leadership.leader_epoch
        self.leader_id = leadership.leader
        if self.progress.record_append(end, self._clock.now_ms()):
            self._watermark_moved()

    def stop(self, reason: ErrorCode) -> None:
        """The replica is not to be used any more: those who wait are told or look again."""
        self.progress = None
        self.commit_waits.fail(ApiError(reason, f"{self.topic_partition} is no longer led by this broker"))
        for waiting in list(self.fetch_waits):
            waiting.wake()

    def check_leader_epoch(self, claimed: int) -> ErrorCode:
        """A client's view of who leads: NONE if it is ours or if the client has none."""
        if claimed == NO_LEADER_EPOCH or claimed == self.leader_epoch:
            return ErrorCode.NONE
        return ErrorCode.FENCED_LEADER_EPOCH if claimed < self.leader_epoch else ErrorCode.UNKNOWN_LEADER_EPOCH

    # -- writing -------------------------------------------------------------------------------------------------

    def append(
        self,
        data: Buffer,
        headers: Sequence[BatchHeader],
        *,
        origin: AppendOrigin,
        all_in_sync: bool,
        guard: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> AppendResult | AppendRefusal:
        """Append as the leader. `all_in_sync` is acks=all, which needs min.insync.replicas.

        `guard` shows that the coordinator was asked about the transaction (see `ProducerStates.begin_verification`);
        `transaction_version` is that of a marker.
        """
        progress = self.progress
        if progress is None:
            return AppendRefusal(code=ErrorCode.NOT_LEADER_OR_FOLLOWER, message="")
        if all_in_sync and not progress.has_enough_in_sync:
            return AppendRefusal(
                code=ErrorCode.NOT_ENOUGH_REPLICAS,
                message=f"{self.topic_partition} has {len(progress.in_sync)} in-sync replicas, "
                f"min.insync.replicas asks for {progress.effective_min_in_sync}",
            )
        now_ms = self._clock.now_ms()
        end_before = self.log.log_end_offset
        # Offsets are stamped in place; only what the broker itself has encoded comes as bytes.
        writable = bytearray(data) if isinstance(data, bytes) else data
        result = self.log.append_as_leader(
            writable,
            headers,
            self.leader_epoch,
            now_ms,
            origin=origin,
            guard=guard,
            transaction_version=transaction_version,
        )
        grown = self.log.log_end_offset != end_before
        if grown and progress.record_append(self.log.log_end_offset, now_ms):
            self._watermark_moved(len(data))
        return result

    def _watermark_moved(self, readable_bytes: int = 1 << 30) -> None:
        progress = self.progress
        assert progress is not None
        self.log.update_high_watermark(progress.high_watermark)
        self.commit_waits.advanced(progress.high_watermark)
        if self.fetch_waits:
            for waiting in list(self.fetch_waits):
                waiting.grown(readable_bytes)

    def all_committed(self) -> bool:
        """Whether all in-sync replicas have everything that is in the log."""
        return self.progress is not None and self.progress.high_watermark >= self.log.log_end_offset

    async def wait_committed(self, end_offset: int) -> None:
        """Until everything below `end_offset` is committed. Raises ApiError if this broker stops leading."""
        progress = self.progress
        if progress is None:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.topic_partition} is not led by this broker")
        if progress.high_watermark < end_offset:
            await self.commit_waits.add(end_offset)

    # -- reading -------------------------------------------------------------------------------------------------

    def readable_end(self, isolation_level: int) -> int:
        """Readers never see what is not committed, or what belongs to a transaction that is still open."""
        if isolation_level == READ_COMMITTED:
            return self.log.last_stable_offset
        return self.log.high_watermark

    def read(
        self, offset: int, max_bytes: int, *, upper_bound: int, min_one_batch: bool
    ) -> ReadResult | OffsetOutOfRange:
        """Undecoded batches from the one that holds `offset`, below `upper_bound`. Raises StorageFailure and, where
        the log is damaged, CorruptBatch."""
        return self.log.read(offset, max_bytes, upper_bound=upper_bound, min_one_batch=min_one_batch)
