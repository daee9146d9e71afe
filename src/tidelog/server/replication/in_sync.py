"""Keeps the in-sync sets of the partitions that this broker leads: who lags leaves, who has caught up joins.

A leader only proposes; the controller decides and records (KIP-497). One request is in flight at a time and carries all
proposals there are. Until a proposal is known to be decided the replica uses the larger of both sets, so a reply that
is lost, late or doubtful can only delay a commit. What decides a proposal is the controller's reply or the next image.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from tidelog.metadata.image import LeaderRecovery
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.client_connection import ConnectionProblem, UnsupportedByBroker
from tidelog.protocol.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from tidelog.protocol.messages.alter_partition_response import AlterPartitionResponse
from tidelog.protocol.messages.alter_partition_response import PartitionData as PartitionAnswer
from tidelog.server.quorum.channel import ControllerChannel
from tidelog.server.replicas.replica import InSyncProposal, Replica

logger = logging.getLogger(__name__)

# The caller retries, so one attempt need not wait for a controller that has just died.
ATTEMPT_SECONDS = 2.0
FIRST_RETRY_MS = 50
LONGEST_RETRY_MS = 1_000

# The controller has refused based on the current state: nothing was changed, and nothing will be.
_REFUSED_FOR_CERTAIN = frozenset({ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED})
# The controller knows more than we do. Asking again is useless; the image will show it.
_DECIDED_BY_THE_IMAGE = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.INVALID_REQUEST,
    }
)

Key = tuple[bytes, int]


@dataclass(slots=True, kw_only=True, eq=False)
class InSyncSets:
    """Proposes in `propose_joining` and `drop_lagging`; `run` sends the proposals to the controller."""

    broker_id: int
    broker_epoch: Callable[[], int]
    channel: ControllerChannel
    # Proposals that are still to be answered.
    _open: dict[Replica, InSyncProposal] = field(default_factory=dict, init=False)
    _work: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def drop_lagging(self, replicas: Iterable[Replica]) -> None:
        """At intervals: followers that have not had everything for replica.lag.time.max.ms leave."""
        for replica in replicas:
            replica.reconsider_watermark()
            progress = replica.progress
            lagging = None if progress is None else progress.lagging(replica.monotonic_ms())
            if progress is None or not lagging:
                continue
            logger.info(
                "%s: brokers %s are out of sync with the end offset %d and the high watermark %d",
                replica.topic_partition,
                sorted(lagging),
                progress.log_end_offset,
                progress.high_watermark,
            )
            self._propose(replica, progress.in_sync - lagging)

    def reconsider(self, replicas: Iterable[Replica]) -> None:
        """Brokers were fenced or unfenced: whom to wait for, and who may join, must be decided again."""
        for replica in replicas:
            replica.reconsider_watermark()
            self.propose_joining(replica)

    def propose_joining(self, replica: Replica) -> None:
        """After a fetch of a follower that may join now."""
        progress = replica.progress
        joining = None if progress is None else progress.joining()
        if progress is not None and joining:
            self._propose(replica, progress.in_sync | joining)

    def _propose(self, replica: Replica, in_sync: frozenset[int]) -> None:
        self._open[replica] = replica.propose(in_sync)
        self._work.set()

    async def run(self) -> None:
        """As long as the broker runs."""
        retry_ms = FIRST_RETRY_MS
        while True:
            await self._work.wait()
            self._work.clear()
            # Those that nothing has decided yet.
            self._open = {replica: each for replica, each in self._open.items() if replica.proposal is each}
            if not self._open:
                continue
            try:
                answered = await self._ask(dict(self._open))
            except Exception:
                # Without this loop no follower would ever leave or join again.
                logger.exception("proposing %d in-sync sets failed", len(self._open))
                answered = False
            if answered:
                retry_ms = FIRST_RETRY_MS
            else:
                await asyncio.sleep(retry_ms / 1000)
                retry_ms = min(2 * retry_ms, LONGEST_RETRY_MS)
            if self._open:
                self._work.set()

    async def _ask(self, asked: Mapping[Replica, InSyncProposal]) -> bool:
        """Whether all proposals were answered."""
        request = self._request(asked)
        try:
            # Without an answer it is unknown whether the request was carried out. The channel never goes back to a
            # controller of an earlier epoch, which could refuse what was already granted.
            response = await self.channel.try_once(request, AlterPartitionResponse, ATTEMPT_SECONDS)
        except (ApiError, ConnectionProblem, UnsupportedByBroker) as problem:
            logger.warning("the controller did not answer the proposal of %d in-sync sets: %s", len(asked), problem)
            return False
        if response.error_code:
            logger.warning("the controller did not change %d in-sync sets: %s", len(asked), _name(response.error_code))
            return False
        answers = _by_key(response)
        complete = True
        for replica, proposal in asked.items():
            answer = answers.get(_key(replica))
            # What the image has decided meanwhile no longer needs an answer.
            open_still = replica.proposal is proposal
            if open_still and (answer is None or not self._take(replica, proposal, answer)):
                complete = False
                continue
            if self._open.get(replica) is proposal:
                del self._open[replica]
            # Somebody else may have caught up while this was being decided.
            if answer is None or not answer.error_code:
                self.propose_joining(replica)
        return complete

    def _take(self, replica: Replica, proposal: InSyncProposal, answer: PartitionAnswer) -> bool:
        """Whether the answer is final."""
        code = answer.error_code
        if not code:
            # A leader epoch of its own comes with it if this completed a reassignment; the image brings that.
            if answer.leader_epoch == replica.leader_epoch and answer.partition_epoch >= replica.partition_epoch:
                replica.confirm_in_sync(tuple(answer.isr), answer.partition_epoch)
            return True
        if code in _REFUSED_FOR_CERTAIN:
            logger.info("%s keeps its in-sync set: %s", replica.topic_partition, _name(code))
            replica.withdraw_proposal()
            return True
        if code in _DECIDED_BY_THE_IMAGE:
            logger.info(
                "%s: the proposed in-sync set %s is outdated, waiting for the metadata: %s",
                replica.topic_partition,
                list(proposal.in_sync),
                _name(code),
            )
            return True
        logger.warning("%s proposes its in-sync set again: %s", replica.topic_partition, _name(code))
        return False

    def _request(self, asked: Mapping[Replica, InSyncProposal]) -> AlterPartitionRequest:
        topics: dict[bytes, list[PartitionData]] = {}
        for replica, proposal in asked.items():
            topic_id, partition = _key(replica)
            topics.setdefault(topic_id, []).append(
                PartitionData(
                    partition_index=partition,
                    leader_epoch=proposal.leader_epoch,
                    partition_epoch=proposal.partition_epoch,
                    new_isr_with_epochs=[self._state(broker_id, proposal) for broker_id in proposal.in_sync],
                    leader_recovery_state=LeaderRecovery.RECOVERED,
                )
            )
        return AlterPartitionRequest(
            broker_id=self.broker_id,
            broker_epoch=self.broker_epoch(),
            topics=[TopicData(topic_id=topic_id, partitions=partitions) for topic_id, partitions in topics.items()],
        )

    def _state(self, broker_id: int, proposal: InSyncProposal) -> BrokerState:
        if broker_id == self.broker_id:
            return BrokerState(broker_id=broker_id, broker_epoch=self.broker_epoch())
        # Of the process that had everything: one that was started since may have less (KIP-903).
        return BrokerState(broker_id=broker_id, broker_epoch=proposal.broker_epochs[broker_id])


def _key(replica: Replica) -> Key:
    return replica.topic_id, replica.topic_partition.partition


def _by_key(response: AlterPartitionResponse) -> dict[Key, PartitionAnswer]:
    return {
        (bytes(topic.topic_id), partition.partition_index): partition
        for topic in response.topics
        for partition in topic.partitions
    }


def _name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"
