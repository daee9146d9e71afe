"""Follows one leader: fetches all partitions that it leads and of which we have a replica.

A follower's fetch is an ordinary Fetch that says who asks. The offset it asks for shows the leader how far the
follower is; the answer has records, the leader's high watermark and its log start, or the epoch at which the logs
diverge, where ours is then truncated. An error of one partition delays that partition only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

from tidelog.metadata.image import Endpoint
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Randomness
from tidelog.network.client_connection import (
    ClientConnection,
    ConnectionLost,
    ConnectionProblem,
    ConnectionSettings,
    UnsupportedByBroker,
)
from tidelog.network.port import Network
from tidelog.protocol.messages.fetch_request import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)
from tidelog.protocol.messages.fetch_response import FetchResponse, PartitionData
from tidelog.records.batch import CorruptBatch
from tidelog.server.configuration.live import LiveConfig
from tidelog.server.configuration.node_security import NodeSecurity, unsecured
from tidelog.server.quorum.peers import Peers
from tidelog.server.replicas.flusher import ReplicaFlusher
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica
from tidelog.server.replication.followed import Asked, FetchStep, Followed, FollowedReplicas, Key
from tidelog.server.replication.leader_answers import apply_answer
from tidelog.server.replication.session import FollowerSession
from tidelog.server.replication.throttles import ReplicationThrottles
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.log.results import UnexpectedOffset

logger = logging.getLogger(__name__)

# The first version with the broker's epoch, without which a leader trusts no follower (KIP-903).
FIRST_FETCH_VERSION = 15
# After an error the first wait is short, because most often the other side is about to learn what we already know.
FIRST_RETRY_MS = 20.0
# An idle fetcher checks its partitions again after this time even if nobody wakes it.
IDLE_MS = 1_000.0
# A partition that is being flushed is left out of a fetch. So the next one is sent a little later, and does not wait
# long at the leader: otherwise the leader would learn of the flushed records only after that wait.
FLUSH_PATIENCE_MS = 10
# For each leader that is followed: a few batches of usual size.
REUSED_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """What all fetchers of a broker share."""

    broker_epoch: Callable[[], int]
    live: LiveConfig
    address_of: Callable[[int], Endpoint | None]
    randomness: Randomness
    network: Network
    replicas: Replicas
    flusher: ReplicaFlusher
    throttles: ReplicationThrottles
    security: NodeSecurity = unsecured


class LeaderFetcher:
    """One task, from `start` to `stop`."""

    def __init__(self, following: Following, leader_id: int) -> None:
        self.leader_id = leader_id
        self._following = following
        self._live = following.live
        self._clock = following.replicas.clock
        self._replicas = following.replicas
        self._throttles = following.throttles
        self._followed = FollowedReplicas()
        # Flushes that run, and replicas whose last one failed.
        self._flushing: dict[Followed, asyncio.Task[None]] = {}
        self._unflushed: dict[Followed, None] = {}
        self._changed = asyncio.Event()
        config = following.live.config
        connection_settings = ConnectionSettings(
            client_id=f"broker-{following.replicas.broker_id}-fetcher-{leader_id}",
            connect_timeout_ms=config.socket_connection_setup_timeout_ms,
            request_timeout_ms=config.replica_socket_timeout_ms,
            # The first batch is sent whole even if it alone is above the limit (KIP-74); none is larger than the
            # request that produced it.
            max_frame_bytes=config.replica_fetch_response_max_bytes + config.socket_request_max_bytes,
            reused_bytes=REUSED_BYTES,
        )
        self._peers = Peers(following.network, following.address_of, connection_settings, security=following.security)
        self._connection: ClientConnection | None = None
        self._session = FollowerSession()
        self._outage = False
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._followed)

    def add(self, replica: Replica) -> None:
        """Fetch for it from now on; also called when the leader has begun another epoch."""
        state = self._followed.add(replica)
        state.start_over()
        if not state.flushing:
            # A leader that becomes a follower may have appended what is not on the device yet.
            self._flush_if_due(state)
        self._changed.set()

    def remove(self, replica: Replica) -> None:
        self._followed.remove(replica)
        for state in [state for state in self._flushing if state not in self._followed]:
            del self._flushing[state]

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"follow broker {self.leader_id}")

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._disconnect()

    async def wait_stopped(self) -> None:
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    # -- the loop ------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        retry_ms = FIRST_RETRY_MS
        while True:
            if self._flushing:
                # As long as it is worth it.
                await asyncio.wait(list(self._flushing.values()), timeout=FLUSH_PATIENCE_MS / 1000)
            step = self._next_step()
            if step is None:
                await self._rest()
                continue
            response: FetchResponse | None = None
            try:
                connection = self._peers.current(self.leader_id)
                if connection is None or connection is not self._connection:
                    await self._connect()
                    continue
                # Nothing is awaited between looking at the replicas and sending: what the leader is told is true.
                response = await self._send(connection, step)
            except (ConnectionProblem, UnsupportedByBroker) as problem:
                self._report_outage(problem)
                self._disconnect()
            if response is None:
                # Not in the handler: what is suspended there leaves its exception to all others (decision 37).
                await asyncio.sleep(self._following.randomness.uniform(0.8, 1.2) * retry_ms / 1000)
                retry_ms = min(2 * retry_ms, float(self._live.config.replica_fetch_backoff_ms))
                continue
            retry_ms = FIRST_RETRY_MS
            self._take_all(response)
            # Then its memory can be used for the next answer.
            del response

    def _next_step(self) -> FetchStep | None:
        now_ms = self._clock.monotonic_ms()
        for state in list(self._unflushed):
            if state not in self._followed or state.flushing or not state.flush_failed:
                del self._unflushed[state]
            elif state.not_before_ms <= now_ms:
                del self._unflushed[state]
                self._flush_if_due(state)
        rests = None if self._throttles.follower.unlimited else self._throttled
        return self._followed.step(self._session, now_ms=now_ms, rests=rests)

    def _throttled(self, state: Followed) -> bool:
        known = state.leader_high_watermark
        in_sync = known is not None and state.replica.log.log_end_offset >= known
        return self._throttles.rests(state.replica, in_sync=in_sync)

    async def _rest(self) -> None:
        """Wait until a partition is added, a flush is done, or one with an error may be retried."""
        self._changed.clear()
        now_ms = self._clock.monotonic_ms()
        waits = [state.not_before_ms - now_ms for state in self._followed if not state.flushing]
        # One that is due and still not fetched is held back by a throttle.
        waits = [wait if wait > 0 else self._throttles.rest_ms() for wait in waits]
        delay_ms = max(1.0, min([IDLE_MS, *waits]))
        try:
            async with asyncio.timeout(delay_ms / 1000):
                await self._changed.wait()
        except TimeoutError:
            return

    async def _send(self, connection: ClientConnection, step: FetchStep) -> FetchResponse:
        config = self._live.config
        version = connection.version_for(FetchRequest)
        if version < FIRST_FETCH_VERSION:
            raise UnsupportedByBroker(
                f"broker {self.leader_id} serves Fetch up to version {version}; followers need {FIRST_FETCH_VERSION}"
            )
        patience_ms = FLUSH_PATIENCE_MS if self._flushing else config.replica_fetch_wait_max_ms
        replica_state = ReplicaState(replica_id=self._replicas.broker_id, replica_epoch=self._following.broker_epoch())
        response = await connection.submit(
            FetchRequest(
                cluster_id=self._replicas.image().cluster_id,
                replica_state=replica_state,
                max_wait_ms=min(patience_ms, config.replica_fetch_wait_max_ms),
                min_bytes=config.replica_fetch_min_bytes,
                max_bytes=config.replica_fetch_response_max_bytes,
                session_id=step.session_id,
                session_epoch=step.session_epoch,
                topics=self._topics(step.changed),
                forgotten_topics_data=_forgotten(step.forgotten),
            ),
            FetchResponse,
            version=version,
            timeout_ms=config.replica_socket_timeout_ms,
        )
        if response.error_code:
            # Whatever it is, a new session on a new connection is a fresh start.
            raise ConnectionLost(f"broker {self.leader_id} refused the fetch with error code {response.error_code}")
        if self._outage:
            self._outage = False
            logger.info("following broker %d again", self.leader_id)
        return response

    def _topics(self, asked: Mapping[Key, Asked]) -> list[FetchTopic]:
        topics: dict[bytes, list[FetchPartition]] = {}
        for (topic_id, partition), one in asked.items():
            topics.setdefault(topic_id, []).append(
                FetchPartition(
                    partition=partition,
                    current_leader_epoch=one.leader_epoch,
                    fetch_offset=one.fetch_offset,
                    last_fetched_epoch=one.last_fetched_epoch,
                    log_start_offset=one.log_start_offset,
                    partition_max_bytes=self._live.config.replica_fetch_max_bytes,
                )
            )
        return [FetchTopic(topic_id=topic_id, partitions=partitions) for topic_id, partitions in topics.items()]

    # -- the connection ------------------------------------------------------------------------------------------

    async def _connect(self) -> None:
        """Raises ConnectionProblem."""
        self._connection = await self._peers.connect(self.leader_id)
        self._forget_session()

    def _disconnect(self) -> None:
        self._peers.close()
        self._forget_session()

    def _forget_session(self) -> None:
        self._session.reset()
        self._followed.forget_session()

    def _report_outage(self, problem: Exception) -> None:
        # Once at the beginning: it may take long, and the end is logged.
        if not self._outage:
            logger.warning("cannot follow broker %d: %s", self.leader_id, problem)
        self._outage = True

    # -- answers -------------------------------------------------------------------------------------------------

    def _take_all(self, response: FetchResponse) -> None:
        is_kept = self._session.accepted(response.session_id)
        for topic in response.responses:
            topic_id = bytes(topic.topic_id)
            for answer in topic.partitions:
                state = self._followed.get((topic_id, answer.partition_index))
                # While it is being flushed nothing may be added: it would be reported before it is on the device.
                if state is not None and state.told is not None and not state.flushing:
                    self._take(state, state.told, answer)
        if not is_kept:
            self._followed.forget_session()

    def _take(self, state: Followed, asked: Asked, answer: PartitionData) -> None:
        replica = state.replica
        if not replica.follows(self.leader_id, leader_epoch=asked.leader_epoch):
            return
        if replica.log.log_end_offset != asked.fetch_offset:
            return
        try:
            done = apply_answer(self._replicas, replica, self.leader_id, answer)
        except StorageFailure as failure:
            self._replicas.storage_failed(replica, failure)
            # Where there is no disk space, the leader is asked again later.
            self._delay(state)
            return
        except (CorruptBatch, UnexpectedOffset) as problem:
            logger.error("%s: ignoring an answer of broker %d: %s", replica.topic_partition, self.leader_id, problem)
            done = False
        except Exception:
            # A bug that shows in one partition must not stop the others.
            logger.exception("%s: handling the answer of broker %d failed", replica.topic_partition, self.leader_id)
            done = False
        self._throttles.fetched(replica, len(answer.records or b""))
        if done:
            state.succeeded(answer.high_watermark)
            self._flush_if_due(state)
        else:
            self._delay(state)
        if answer.records:
            self._followed.to_the_end(state)

    def _delay(self, state: Followed) -> None:
        longest = float(self._live.config.replica_fetch_backoff_ms)
        wait_ms = min(FIRST_RETRY_MS * (1 << min(state.failures, 16)), longest)
        state.wait_until(self._clock.monotonic_ms() + wait_ms)

    # -- the device ----------------------------------------------------------------------------------------------

    def _flush_if_due(self, state: Followed) -> None:
        log = state.replica.log
        if log.flushed_end_offset < log.log_end_offset:
            state.begin_flush()
            self._flushing[state] = asyncio.get_running_loop().create_task(self._flush(state))
        else:
            state.end_flush()

    async def _flush(self, state: Followed) -> None:
        failed = False
        try:
            await self._following.flusher.flush(state.replica)
        except StorageFailure as failure:
            failed = True
            self._replicas.storage_failed(state.replica, failure)
            self._unflushed[state] = None
            self._delay(state)
        finally:
            state.end_flush(failed=failed)
            self._flushing.pop(state, None)
            self._changed.set()


def _forgotten(keys: Iterable[Key]) -> list[ForgottenTopic]:
    topics: dict[bytes, list[int]] = {}
    for topic_id, partition in keys:
        topics.setdefault(topic_id, []).append(partition)
    return [ForgottenTopic(topic_id=topic_id, partitions=partitions) for topic_id, partitions in topics.items()]
