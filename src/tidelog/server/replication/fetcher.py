"""Follows one leader: fetches all partitions that it leads and of which we have a replica.

A follower's fetch is an ordinary Fetch that says who asks. The offset it asks for shows the leader how far the
follower is; the answer has records, the leader's high watermark and its log start, or the epoch at which the logs
diverge, where ours is then truncated. An error of one partition delays that partition only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tidelog.metadata.image import Endpoint
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
from tidelog.server.quorum.peers import Peers
from tidelog.server.replicas.flusher import ReplicaFlusher
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica
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


@dataclass(slots=True)
class _Followed:
    """What the fetcher keeps of one replica; everything else is in its log."""

    not_before_ms: float = 0.0
    failures: int = 0
    # What the leader last reported. None before its first answer: then there may be much to catch up.
    leader_high_watermark: int | None = None
    # Running because flush.messages asks for it: what is not flushed must not be reported as replicated.
    flush: asyncio.Task[None] | None = None
    # The last one lacked descriptors or disk space: there must be another one before the next fetch.
    flush_failed: bool = False


class _Asked(NamedTuple):
    """What is fetched of one partition. A tuple, because one is created for every partition of every fetch."""

    leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int


Key = tuple[bytes, int]


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


class LeaderFetcher:
    """One task, from `start` to `stop`."""

    def __init__(self, following: Following, leader_id: int) -> None:
        self.leader_id = leader_id
        self._following = following
        self._live = following.live
        self._clock = following.replicas.clock
        self._replicas = following.replicas
        self._throttles = following.throttles
        self._followed: dict[Replica, _Followed] = {}
        self._changed = asyncio.Event()
        config = following.live.config
        connection_settings = ConnectionSettings(
            client_id=f"broker-{following.replicas.broker_id}-fetcher-{leader_id}",
            connect_timeout_ms=config.socket_connection_setup_timeout_ms,
            request_timeout_ms=config.replica_socket_timeout_ms,
            # The first batch is sent whole even if it alone is above the limit (KIP-74); none is larger than the
            # request that produced it.
            max_frame_bytes=config.replica_fetch_response_max_bytes + config.socket_request_max_bytes,
        )
        self._peers = Peers(following.network, following.address_of, connection_settings)
        self._connection: ClientConnection | None = None
        self._session: FollowerSession[Key, _Asked] = FollowerSession()
        self._outage = False
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._followed)

    def add(self, replica: Replica) -> None:
        """Fetch for it from now on; also called when the leader has begun another epoch."""
        state = self._followed.setdefault(replica, _Followed())
        # Earlier errors do not matter in the new epoch; a running flush still does.
        state.not_before_ms = 0.0
        state.failures = 0
        if state.flush is None:
            # A leader that becomes a follower may have appended what is not on the device yet.
            self._flush_if_due(replica, state)
        self._changed.set()

    def remove(self, replica: Replica) -> None:
        self._followed.pop(replica, None)

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
            await self._flushed()
            replicas = self._due()
            if not replicas:
                await self._rest()
                continue
            asked = {key: _asked(replica) for key, replica in replicas.items()}
            try:
                response = await self._fetch(asked)
            except (ConnectionProblem, UnsupportedByBroker) as problem:
                self._report_outage(problem)
                self._disconnect()
                await asyncio.sleep(self._following.randomness.uniform(0.8, 1.2) * retry_ms / 1000)
                retry_ms = min(2 * retry_ms, float(self._live.config.replica_fetch_backoff_ms))
                continue
            retry_ms = FIRST_RETRY_MS
            for key, answer in _answers(response):
                if key in asked:
                    self._take(replicas[key], asked[key], answer)

    def _due(self) -> dict[Key, Replica]:
        now_ms = self._clock.monotonic_ms()
        due: dict[Key, Replica] = {}
        for replica, state in self._followed.items():
            if state.not_before_ms > now_ms:
                continue
            if state.flush_failed and state.flush is None:
                self._flush_if_due(replica, state)
            if state.flush is None and not self._throttled(replica, state):
                due[replica.topic_id, replica.topic_partition.partition] = replica
        return due

    def _throttled(self, replica: Replica, state: _Followed) -> bool:
        known = state.leader_high_watermark
        in_sync = known is not None and replica.log.log_end_offset >= known
        return self._throttles.rests(replica, in_sync=in_sync)

    async def _flushed(self) -> None:
        """Wait until all flushes are done, as long as it is worth it."""
        flushes = self._flushes()
        if flushes:
            await asyncio.wait(flushes, timeout=FLUSH_PATIENCE_MS / 1000)

    def _flushes(self) -> list[asyncio.Task[None]]:
        return [state.flush for state in self._followed.values() if state.flush is not None]

    async def _rest(self) -> None:
        """Wait until a partition is added, a flush is done, or one with an error may be retried."""
        self._changed.clear()
        now_ms = self._clock.monotonic_ms()
        waits = [state.not_before_ms - now_ms for state in self._followed.values() if state.flush is None]
        # One that is due and still not fetched is held back by a throttle.
        waits = [wait if wait > 0 else self._throttles.rest_ms() for wait in waits]
        delay_ms = max(1.0, min([IDLE_MS, *waits]))
        try:
            async with asyncio.timeout(delay_ms / 1000):
                await self._changed.wait()
        except TimeoutError:
            return

    async def _fetch(self, asked: Mapping[Key, _Asked]) -> FetchResponse:
        connection = await self._connect()
        following = self._following
        config = self._live.config
        version = connection.version_for(FetchRequest)
        if version < FIRST_FETCH_VERSION:
            raise UnsupportedByBroker(
                f"broker {self.leader_id} serves Fetch up to version {version}; followers need {FIRST_FETCH_VERSION}"
            )
        step = self._session.step(asked)
        patience_ms = FLUSH_PATIENCE_MS if self._flushes() else config.replica_fetch_wait_max_ms
        response = await connection.request(
            FetchRequest(
                cluster_id=self._replicas.image().cluster_id,
                replica_state=ReplicaState(replica_id=self._replicas.broker_id, replica_epoch=following.broker_epoch()),
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
        self._session.accepted(response.session_id)
        if self._outage:
            self._outage = False
            logger.info("following broker %d again", self.leader_id)
        return response

    def _topics(self, asked: Mapping[Key, _Asked]) -> list[FetchTopic]:
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

    async def _connect(self) -> ClientConnection:
        """Raises ConnectionProblem."""
        connection = await self._peers.connect(self.leader_id)
        if connection is not self._connection:
            self._connection = connection
            self._session.reset()
        return connection

    def _disconnect(self) -> None:
        self._peers.close()
        self._session.reset()

    def _report_outage(self, problem: Exception) -> None:
        # Once at the beginning: it may take long, and the end is logged.
        if not self._outage:
            logger.warning("cannot follow broker %d: %s", self.leader_id, problem)
        self._outage = True

    # -- answers -------------------------------------------------------------------------------------------------

    def _take(self, replica: Replica, asked: _Asked, answer: PartitionData) -> None:
        state = self._followed.get(replica)
        if state is None or not replica.follows(self.leader_id, leader_epoch=asked.leader_epoch):
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
            state.leader_high_watermark = answer.high_watermark
            state.failures = 0
            self._flush_if_due(replica, state)
        else:
            self._delay(state)
        if answer.records:
            # Those that got something go to the end, so that a busy partition does not starve the others.
            self._followed[replica] = self._followed.pop(replica)

    def _delay(self, state: _Followed) -> None:
        longest = float(self._live.config.replica_fetch_backoff_ms)
        wait_ms = min(FIRST_RETRY_MS * (1 << min(state.failures, 16)), longest)
        state.failures += 1
        state.not_before_ms = self._clock.monotonic_ms() + wait_ms

    # -- the device ----------------------------------------------------------------------------------------------

    def _flush_if_due(self, replica: Replica, state: _Followed) -> None:
        state.flush_failed = False
        if replica.log.flushed_end_offset < replica.log.log_end_offset:
            state.flush = asyncio.get_running_loop().create_task(self._flush(replica, state))

    async def _flush(self, replica: Replica, state: _Followed) -> None:
        try:
            await self._following.flusher.flush(replica)
        except StorageFailure as failure:
            self._replicas.storage_failed(replica, failure)
            state.flush_failed = True
            self._delay(state)
        finally:
            state.flush = None
            self._changed.set()


def _asked(replica: Replica) -> _Asked:
    log = replica.log
    return _Asked(replica.leader_epoch, log.log_end_offset, log.latest_epoch, log.log_start_offset)


def _forgotten(keys: Iterable[Key]) -> list[ForgottenTopic]:
    topics: dict[bytes, list[int]] = {}
    for topic_id, partition in keys:
        topics.setdefault(topic_id, []).append(partition)
    return [ForgottenTopic(topic_id=topic_id, partitions=partitions) for topic_id, partitions in topics.items()]


def _answers(response: FetchResponse) -> Iterator[tuple[Key, PartitionData]]:
    for topic in response.responses:
        topic_id = bytes(topic.topic_id)
        for answer in topic.partitions:
            yield (topic_id, answer.partition_index), answer
