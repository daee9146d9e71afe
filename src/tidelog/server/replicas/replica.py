"""One replica of one partition on this broker: the log, what is known about the other replicas, and who waits.

All decisions are made in `tidelog.partition` and `tidelog.storage`; here they are put together in the order that keeps
memory from running ahead of the log: check, write, then move the watermark and wake those who wait. A replica has one
writer, the event loop, and nothing is awaited between check and write.

A replica leads, follows another broker, or does neither while the partition has no leader. What a follower fetches and
how it finds out that its log has to be truncated is in `tidelog.server.replication`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from tidelog.metadata.image import PartitionImage
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import NO_LEADER_EPOCH, TopicPartition
from tidelog.model.invariants import require
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock
from tidelog.partition.producers import AppendOrigin, AppendRefusal
from tidelog.partition.progress import Eligible, PartitionProgress, everybody_eligible, follower_high_watermark
from tidelog.partition.verification import VerificationGuard
from tidelog.records.batch import BatchHeader, Buffer
from tidelog.server.configuration.topic_settings import TopicSettings
from tidelog.server.observability.logs import STATE_CHANGE_LOGGER
from tidelog.server.replicas.waits import FetchWaits, OffsetWaits
from tidelog.storage.log.appending import append_as_follower, append_as_leader
from tidelog.storage.log.log import Log
from tidelog.storage.log.reader import past_emptied
from tidelog.storage.log.results import AppendResult

logger = logging.getLogger(__name__)
state_change_logger = logging.getLogger(STATE_CHANGE_LOGGER)

READ_UNCOMMITTED = 0
READ_COMMITTED = 1

NOBODY = -1
_NO_PARTITION_EPOCH = -1
# More than any reader waits for.
_UNKNOWN_BYTES = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InSyncProposal:
    """A set of in-sync replicas that the controller is asked for, and the state of the partition it is meant for."""

    in_sync: tuple[int, ...]
    # Of the followers among them, -1 where none has fetched yet.
    broker_epochs: Mapping[int, int]
    leader_epoch: int
    partition_epoch: int


@dataclass(slots=True, kw_only=True, eq=False)
class Replica:
    """Lives as long as the partition's directory is in use. `offline` once the disk under it has failed."""

    topic_partition: TopicPartition
    topic_id: bytes
    broker_id: int
    log: Log
    settings: TopicSettings
    clock: Clock
    # Called when the log has to be flushed before the watermark may move (flush.messages).
    flush_wanted: Callable[[Replica], None]
    # Who may be in sync at all.
    eligible: Eligible = everybody_eligible
    leader_epoch: int = field(default=NO_LEADER_EPOCH, init=False)
    partition_epoch: int = field(default=_NO_PARTITION_EPOCH, init=False)
    leader_id: int = field(default=NOBODY, init=False)
    progress: PartitionProgress | None = field(default=None, init=False)
    proposal: InSyncProposal | None = field(default=None, init=False)
    # Producers with acks=all, and those who delete records.
    commit_waits: OffsetWaits = field(default_factory=OffsetWaits, init=False)
    deletion_waits: OffsetWaits = field(default_factory=OffsetWaits, init=False)
    # Consumers wait for the high watermark, or for the last stable offset if they read what is committed; followers
    # wait for the end of the log.
    fetch_waits: FetchWaits = field(default_factory=dict, init=False)
    stable_waits: FetchWaits = field(default_factory=dict, init=False)
    follower_waits: FetchWaits = field(default_factory=dict, init=False)
    offline: bool = field(default=False, init=False)

    # -- leading and following -----------------------------------------------------------------------------------

    @property
    def is_leader(self) -> bool:
        return self.progress is not None

    @property
    def is_follower(self) -> bool:
        return self.leader_id not in (NOBODY, self.broker_id) and not self.offline

    def follows(self, leader: int, *, leader_epoch: int) -> bool:
        """Whether the replica still is what it was when something was asked of this leader."""
        return self.is_follower and self.leader_id == leader and self.leader_epoch == leader_epoch

    def become_leader(self, partition: PartitionImage, max_lag_ms: int) -> None:
        """Lead, or continue to lead with what is new: another in-sync set, other replicas, other rules."""
        progress = self.progress
        if progress is None or partition.leader_epoch != self.leader_epoch:
            progress = self._begin_to_lead(partition, max_lag_ms)
        else:
            progress.change_rules(min_in_sync=self.settings.config.min_insync_replicas, max_lag_ms=max_lag_ms)
            # The reply to a proposal may be newer than this image. And the same epoch says nothing new: until a
            # proposal is decided, it may already be in force.
            if partition.partition_epoch > self.partition_epoch:
                progress.change_replicas(partition.replicas)
                self.confirm_in_sync(partition.isr, partition.partition_epoch)
        if progress.record_append(self.log.flushed_end_offset, now_ms=self.monotonic_ms()):
            self._watermark_moved()
        if self.log.flushed_end_offset < self.log.log_end_offset:
            self.flush_wanted(self)

    def _begin_to_lead(self, partition: PartitionImage, max_lag_ms: int) -> PartitionProgress:
        end = self.log.log_end_offset
        # Waits for a commit continue if this broker led before: its log is still the one that counts.
        self.progress = PartitionProgress(
            local_id=self.broker_id,
            replicas=partition.replicas,
            in_sync=partition.isr,
            log_end_offset=end,
            high_watermark=min(self.log.high_watermark, end),
            now_ms=self.monotonic_ms(),
            min_in_sync=self.settings.config.min_insync_replicas,
            max_lag_ms=max_lag_ms,
            eligible=self.eligible,
        )
        # From here on every record is of the new epoch, which is what followers find divergence with (KIP-101).
        self.log.assign_leader_epoch(partition.leader_epoch)
        members = (
            f" ISR [{_listed(partition.isr)}] addingReplicas [{_listed(partition.adding_replicas)}] "
            f"removingReplicas [{_listed(partition.removing_replicas)}]"
        )
        self._log_start("Leader", partition, members)
        self._take_over(partition)
        # Followers of the epoch before learn of the new one.
        self.wake_readers()
        return self.progress

    def become_follower(self, partition: PartitionImage) -> None:
        """Another broker leads, or nobody does."""
        if partition.leader_epoch == self.leader_epoch and partition.leader == self.leader_id:
            self.partition_epoch = partition.partition_epoch
            return
        if partition.leader_epoch != self.leader_epoch:
            self._log_start("Follower", partition)
        self._take_over(partition)
        self._stop_leading(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def _log_start(self, role: str, partition: PartitionImage, members: str = "") -> None:
        """As Kafka's state change log has it."""
        state_change_logger.info(
            "[Broker id=%d] %s %s starts at leader epoch %d from offset %d with high watermark %d%s. "
            "Previous leader epoch was %d.",
            self.broker_id,
            role,
            self.topic_partition,
            partition.leader_epoch,
            self.log.log_end_offset,
            self.log.high_watermark,
            members,
            self.leader_epoch,
        )

    def stop(self, reason: ErrorCode) -> None:
        """The replica must not be used any more: those who wait are notified or look again."""
        self.leader_id = NOBODY
        self._stop_leading(reason)

    def take_offline(self) -> None:
        """The disk under it has failed."""
        self.offline = True
        self.stop(ErrorCode.KAFKA_STORAGE_ERROR)

    def reconfigure(self, settings: TopicSettings) -> None:
        self.settings = settings
        self.log.reconfigure(settings.log)

    def exchange_log(self, log: Log) -> None:
        """Continue with a copy of the log in another directory."""
        self.log = log

    def _take_over(self, partition: PartitionImage) -> None:
        self.leader_id = partition.leader
        self.leader_epoch = partition.leader_epoch
        self.partition_epoch = partition.partition_epoch
        self.proposal = None

    def _stop_leading(self, reason: ErrorCode) -> None:
        self.progress = None
        self.proposal = None
        self.commit_waits.fail(reason)
        self.deletion_waits.fail(reason)
        self.wake_readers()

    def check_leader_epoch(self, claimed: int) -> ErrorCode:
        """A client's view of who leads: NONE if it is ours or if the client has none."""
        if claimed == NO_LEADER_EPOCH or claimed == self.leader_epoch:
            return ErrorCode.NONE
        return ErrorCode.FENCED_LEADER_EPOCH if claimed < self.leader_epoch else ErrorCode.UNKNOWN_LEADER_EPOCH

    # -- the in-sync replicas, as the leader sees them -------------------------------------------------------------

    def record_fetch(self, broker_id: int, *, broker_epoch: int, fetch_offset: int, log_start_offset: int) -> None:
        """A follower fetches from `fetch_offset`: it has everything below."""
        progress = self.progress
        if progress is None:
            return
        if progress.record_fetch(
            broker_id,
            fetch_offset=fetch_offset,
            log_start_offset=log_start_offset,
            now_ms=self.monotonic_ms(),
            broker_epoch=broker_epoch,
        ):
            self._watermark_moved()
        self._low_watermark_moved()

    def reconsider_watermark(self) -> None:
        """Time has passed, or brokers have died: a follower that was waited for may not be any more."""
        if self.progress is not None and self.progress.reconsider(self.monotonic_ms()):
            self._watermark_moved()

    def propose(self, in_sync: frozenset[int]) -> InSyncProposal:
        """Ask the controller for this set; until it has decided, the larger one of both counts. Only for the leader."""
        assert self.progress is not None
        self.progress.propose(in_sync)
        self.proposal = InSyncProposal(
            in_sync=tuple(sorted(in_sync)),
            broker_epochs=self.progress.broker_epochs(in_sync),
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
        )
        return self.proposal

    def confirm_in_sync(self, in_sync: Sequence[int], partition_epoch: int) -> None:
        """The controller has recorded this set. Whatever was proposed before is decided by that."""
        progress = self.progress
        if progress is None:
            return
        before = progress.in_sync
        self.partition_epoch = partition_epoch
        self.proposal = None
        moved = progress.confirm(in_sync, self.monotonic_ms())
        if progress.in_sync != before:
            logger.info(
                "%s: ISR updated to %s%s",
                self.topic_partition,
                _listed(in_sync),
                "" if progress.has_enough_in_sync else " (under-min-isr)",
            )
        if moved:
            self._watermark_moved()
        self._low_watermark_moved()

    def withdraw_proposal(self) -> None:
        """The controller has refused it for certain."""
        self.proposal = None
        if self.progress is not None:
            self.progress.withdraw()

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
                f"min.insync.replicas requires {progress.effective_min_in_sync}",
            )
        end_before = self.log.log_end_offset
        # Offsets are stamped in place; only what the broker itself has encoded is passed as bytes.
        writable = bytearray(data) if isinstance(data, bytes) else data
        result = append_as_leader(
            self.log,
            writable,
            headers,
            self.leader_epoch,
            now_ms=self.clock.now_ms(),
            origin=origin,
            guard=guard,
            transaction_version=transaction_version,
        )
        if self.log.log_end_offset != end_before:
            flushed = self.log.flushed_end_offset
            if progress.record_append(flushed, now_ms=self.monotonic_ms()):
                self._watermark_moved(len(data))
            if flushed != self.log.log_end_offset:
                self.flush_wanted(self)
            if self.follower_waits:
                for waiting in list(self.follower_waits):
                    waiting.grown(len(data))
        return result

    def flushed(self) -> None:
        """More of the log is flushed: what waited for that may be shown now."""
        progress = self.progress
        if progress is not None and progress.record_append(self.log.flushed_end_offset, now_ms=self.monotonic_ms()):
            self._watermark_moved()

    def append_fetched(self, records: Buffer, *, leader_high_watermark: int, leader_log_start: int) -> None:
        """Append what the leader has sent, as a follower. Raises UnexpectedOffset, CorruptBatch, StorageFailure."""
        log = self.log
        if len(records):
            append_as_follower(log, records, self.clock.now_ms(), leader_epoch=self.leader_epoch)
        before = log.high_watermark
        stable_before = log.last_stable_offset if self.stable_waits else None
        log.update_high_watermark(
            follower_high_watermark(
                before, leader_high_watermark=leader_high_watermark, log_end_offset=log.log_end_offset
            )
        )
        # Sent again with every answer, so it needs no checkpoint of its own.
        log.advance_log_start(min(leader_log_start, log.high_watermark))
        if log.high_watermark != before:
            for waiting in list(self.fetch_waits):
                waiting.wake()
        if self.stable_waits and log.last_stable_offset != stable_before:
            for waiting in list(self.stable_waits):
                waiting.wake()

    def _watermark_moved(self, readable_bytes: int = _UNKNOWN_BYTES) -> None:
        progress = self.progress
        assert progress is not None
        log = self.log
        before = log.high_watermark
        stable_before = log.last_stable_offset if self.stable_waits else None
        log.update_high_watermark(progress.high_watermark)
        self.commit_waits.advanced(progress.high_watermark)
        if self.fetch_waits:
            for waiting in list(self.fetch_waits):
                waiting.grown(readable_bytes)
        if self.stable_waits and log.last_stable_offset != stable_before:
            # Where open transactions held readers back, more than what was written just now becomes readable.
            stable_bytes = readable_bytes if stable_before == before else _UNKNOWN_BYTES
            for waiting in list(self.stable_waits):
                waiting.grown(stable_bytes)

    @property
    def low_watermark(self) -> int:
        """No in-sync replica has anything below it any more."""
        progress = self.progress
        return -1 if progress is None else progress.low_watermark(self.log.log_start_offset)

    def when_deleted(self, offset: int) -> asyncio.Future[ErrorCode]:
        """Done with NONE when no in-sync replica has records below `offset`: whoever leads next will not either."""
        waiting = self.deletion_waits.add(offset)
        if self.progress is None:
            self.deletion_waits.fail(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._low_watermark_moved()
        return waiting

    def _low_watermark_moved(self) -> None:
        if len(self.deletion_waits):
            self.deletion_waits.advanced(self.low_watermark)

    def wake_readers(self) -> None:
        """The log has changed other than by growth: wake those who wait for it."""
        for waiting in [*self.fetch_waits, *self.stable_waits, *self.follower_waits]:
            waiting.wake()

    def all_committed(self) -> bool:
        """Whether all in-sync replicas have everything that is in the log."""
        return self.progress is not None and self.progress.high_watermark >= self.log.log_end_offset

    def when_committed(self, end_offset: int) -> asyncio.Future[ErrorCode]:
        """Done with NONE when everything below `end_offset` is committed, and with an error if that will not happen.

        To be called right after the append and before anything is awaited: if this broker lost its leadership and got
        it back in between, other records could be at these offsets, and their commit says nothing about ours.
        """
        waiting = self.commit_waits.add(end_offset)
        if self.progress is None:
            self.commit_waits.fail(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        else:
            self.commit_waits.advanced(self.progress.high_watermark)
        return waiting

    # -- reading -------------------------------------------------------------------------------------------------

    def readable_end(self, isolation_level: int) -> int:
        """Readers never see what is not committed, or what belongs to a transaction that is still open."""
        if isolation_level == READ_COMMITTED:
            return self.log.last_stable_offset
        return self.log.high_watermark

    def past_emptied(self, offset: int, *, upper_bound: int) -> int:
        """Where to read for a reader of the records from `offset` on; followers read the batches."""
        log = self.log
        if log.cleaned_up_to is None or not log.log_start_offset <= offset < min(upper_bound, log.cleaned_up_to):
            return offset
        return past_emptied(log, offset, upper_bound=upper_bound)

    def check_invariants(self) -> None:
        """Raises InvariantBroken. Not for a replica whose disk has failed."""
        log, progress = self.log, self.progress
        log.check_invariants()
        stable, high_watermark = log.last_stable_offset, log.high_watermark
        within = log.log_start_offset <= stable <= high_watermark
        require(within, log, "the last stable offset lies below the high watermark", stable=stable, mark=high_watermark)
        require(log.latest_epoch <= self.leader_epoch, log, "no record is of a later leader", epoch=self.leader_epoch)
        if progress is not None:
            require(self.leader_id == self.broker_id, log, "a leader knows that it leads", leader=self.leader_id)
            progress.check_invariants()
            ends = progress.high_watermark <= high_watermark and progress.log_end_offset <= log.log_end_offset
            require(ends, log, "the leader promises no more than its log has", mark=progress.high_watermark)

    def monotonic_ms(self) -> int:
        """For lags: a clock that is set must not make all followers look late."""
        return int(self.clock.monotonic_ms())


def _listed(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))
