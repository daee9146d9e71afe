"""Sends batches: to the leaders of their partitions, a bounded number of requests at once, and again after failures.

Driven by callbacks of the event loop and not by a task that waits: `wake` looks for what may go, sends it, and sets a
timer for what may go later. What may go is decided in `tidelog.client.producer.batches`,
`tidelog.client.producer.sequences` and `tidelog.client.transactions`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, assert_never

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.errors import (
    ApiTimeout,
    ClientError,
    DeliveryFailed,
    DeliveryTimedOut,
    NoBrokerAvailable,
    api_error,
    is_retriable,
    raise_for_code,
)
from tidelog.client.options import ProducerConfig
from tidelog.client.producer.batches import NO_OFFSET, Accumulator, PreencodedBatch, ProducerBatch, Stored
from tidelog.client.producer.encoded_batches import stamp
from tidelog.client.producer.metrics import ProducerMetrics
from tidelog.client.producer.sequences import BatchRefusal, Sequences
from tidelog.client.transactions.coordinator_requests import CONCURRENT_PAUSE_MS, CoordinatorRequests
from tidelog.client.transactions.transactions import Transactions
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import ZERO_UUID, TopicPartition, Uuid
from tidelog.network.client_connection import (
    AuthenticationError,
    ClientConnection,
    ConnectionProblem,
    UnsupportedByBroker,
)
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.protocol.messages.init_producer_id_response import InitProducerIdResponse
from tidelog.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.protocol.messages.produce_response import PartitionProduceResponse, ProduceResponse
from tidelog.records.batch import Buffer
from tidelog.records.record import encode_batch

logger = logging.getLogger(__name__)

PRODUCING = "producing"

# Up to this version a Produce request names topics; from the next on it has their ids.
_NAMED_TOPICS = 12
# Room in a request for its header and the names of topics, beside the batches.
_REQUEST_OVERHEAD = 512


class BatchSender:
    """The part of a producer that talks to brokers."""

    def __init__(
        self,
        cluster: Cluster,
        config: ProducerConfig,
        accumulator: Accumulator,
        on_done: Callable[[ProducerBatch], None],
    ) -> None:
        self._cluster = cluster
        self._config = config
        self._accumulator = accumulator
        self._on_done = on_done
        self._loop = asyncio.get_running_loop()
        transactional_id = config.transactional_id
        self.sequences = Sequences(transactional=transactional_id is not None) if config.enable_idempotence else None
        self.transactions: Transactions | None = None
        if transactional_id is not None:
            assert self.sequences is not None
            coordinator = CoordinatorRequests(cluster, config, transactional_id)
            self.transactions = Transactions(coordinator, self.sequences, self.wake)
        self.metrics = ProducerMetrics(cluster.clock, accumulator, config.buffer_memory)
        self._in_flight: Counter[int] = Counter()
        self._in_flight_batches: dict[ProducerBatch, None] = {}
        # Partitions with a batch on the way, for a producer that keeps their order by sending one at a time.
        self._muted: set[TopicPartition] = set()
        self._one_at_a_time = self.sequences is None and config.max_in_flight_requests_per_connection == 1
        self._timer: asyncio.TimerHandle | None = None
        self._woken = False
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._failures: Counter[str] = Counter()
        self._closed = False
        cluster.on_change(self.wake)

    def start(self) -> None:
        self._ask_for_producer_id_if_needed()

    async def close(self) -> None:
        """Stop. Whatever is not delivered by now fails."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.transactions is not None:
            await self.transactions.close()
        for batch in (*self._accumulator.waiting(), *self._in_flight_batches):
            self._fail(batch, DeliveryFailed("the producer was closed before the record was delivered"))

    def wake(self) -> None:
        """Something may go now. Cheap, and may be called as often as one likes."""
        if not self._woken and not self._closed:
            self._woken = True
            self._loop.call_soon(self._send_what_may_go)

    # -- what goes, and when -------------------------------------------------------------------------------------

    def _send_what_may_go(self) -> None:
        self._woken = False
        if self._closed:
            return
        now = self._cluster.clock.monotonic_ms()
        self._expire(now)
        self._drop_what_is_doomed()
        next_at: float | None = None
        while True:
            by_node, wait_until = self._choose(now)
            if wait_until is not None and (next_at is None or wait_until < next_at):
                next_at = wait_until
            if not by_node:
                break
            for node, batches in by_node.items():
                self._send(node, batches)
        self._set_timer(now, next_at)

    def _choose(self, now: float) -> tuple[dict[int, list[ProducerBatch]], float | None]:
        """(batches to send now, at most one request per node and one batch per partition; when to look again)."""
        chosen: dict[int, list[ProducerBatch]] = defaultdict(list)
        sizes: Counter[int] = Counter()
        wait_until: float | None = None
        leaderless = False
        for batch in self._accumulator.heads():
            ready_at = self._accumulator.ready_at_ms(batch)
            if ready_at > now:
                wait_until = ready_at if wait_until is None else min(wait_until, ready_at)
                continue
            if batch.partition in self._muted or not (self.sequences is None or self.sequences.may_send(batch)):
                continue
            if self.transactions is not None and not self.transactions.may_send(batch):
                continue
            leader = self._cluster.metadata.leader_of(batch.partition)
            if leader is None:
                leaderless = True
                continue
            node = leader.leader
            if self._in_flight[node] >= self._config.max_in_flight_requests_per_connection:
                continue
            connection = self._cluster.open_connection_to(node, PRODUCING)
            if connection is None:
                self._in_background(f"connection to broker {node}", partial(self._connect, node))
                continue
            if connection.congested:
                self._in_background(f"writing to broker {node}", connection.drained)
                continue
            if chosen[node] and sizes[node] + batch.size + _REQUEST_OVERHEAD > self._config.max_request_size:
                continue
            chosen[node].append(batch)
            sizes[node] += batch.size
        if leaderless:
            self._in_background("leaders", self._look_for_leaders)
        self._ask_for_producer_id_if_needed()
        return {node: batches for node, batches in chosen.items() if batches}, wait_until

    def _set_timer(self, now: float, next_at: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # Batches that wait for something else than time must still expire.
        expiries = [batch.created_ms + self._config.delivery_timeout_ms for batch in self._accumulator.heads()]
        moments = expiries if next_at is None else [next_at, *expiries]
        if moments:
            self._timer = self._loop.call_later(max(min(moments) - now, 0) / 1000, self.wake)

    def _expire(self, now: float) -> None:
        limit = self._config.delivery_timeout_ms
        for batch in self._accumulator.expired(now - limit):
            self._fail(batch, _timed_out(batch, limit))

    def _drop_what_is_doomed(self) -> None:
        """A transaction that has failed or is being aborted takes with it what has not been sent."""
        transactions = self.transactions
        if transactions is None or not transactions.has_doomed:
            return
        doomed = [batch for batch in self._accumulator.waiting() if transactions.drops(batch)]
        for batch in doomed:
            self._accumulator.remove(batch)
            self._fail(batch, transactions.why_dropped())

    # -- requests and replies ------------------------------------------------------------------------------------

    def _send(self, node: int, batches: list[ProducerBatch]) -> None:
        connection = self._cluster.open_connection_to(node, PRODUCING)
        assert connection is not None
        for batch in batches:
            self._accumulator.take(batch)
            if self.sequences is not None:
                self.sequences.assign(batch)
            batch.attempts += 1
            self._in_flight_batches[batch] = None
            if self._one_at_a_time:
                self._muted.add(batch.partition)
        if self.transactions is not None:
            self.transactions.sending()
        try:
            request, version = self._request(connection, batches)
            if self._config.acks == 0:
                connection.submit_unanswered(request, version=version)
                self.metrics.unanswered_sent(batches)
                for batch in batches:
                    self._landed(batch)
                    self._succeed(batch, Stored(NO_OFFSET, -1))
                return
            reply = connection.submit(request, ProduceResponse, version=version)
        except (ConnectionProblem, UnsupportedByBroker) as error:
            self._all_failed(batches, error)
            return
        self._in_flight[node] += 1
        reply.add_done_callback(self.metrics.request_sent(batches))
        reply.add_done_callback(partial(self._answered, node, batches))

    def _request(self, connection: ClientConnection, batches: list[ProducerBatch]) -> tuple[ProduceRequest, int]:
        by_topic: dict[str, list[PartitionProduceData]] = defaultdict(list)
        for batch in batches:
            if batch.encoded is None:
                batch.encoded = self._encode(batch)
            entry = PartitionProduceData(index=batch.partition.partition, records=batch.encoded)
            by_topic[batch.partition.topic].append(entry)
        ids = {name: self._topic_id(name) for name in by_topic}
        at_most = _NAMED_TOPICS if ZERO_UUID in ids.values() else None
        if self.transactions is not None and self.transactions.produce_at_most is not None:
            at_most = self.transactions.produce_at_most
        request = ProduceRequest(
            transactional_id=self._config.transactional_id,
            acks=self._config.acks,
            timeout_ms=self._config.request_timeout_ms,
            topic_data=[
                TopicProduceData(name=name, topic_id=ids[name], partition_data=entries)
                for name, entries in by_topic.items()
            ],
        )
        return request, connection.version_for(ProduceRequest, at_most=at_most)

    def _encode(self, batch: ProducerBatch) -> Buffer:
        transactional = self.transactions is not None
        if isinstance(batch, PreencodedBatch):
            return stamp(batch, transactional=transactional)
        return encode_batch(
            batch.records,
            compression=self._config.compression,
            level=self._config.compression_level,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            transactional=transactional,
        )

    def _topic_id(self, name: str) -> Uuid:
        topic = self._cluster.metadata.topics.get(name)
        return ZERO_UUID if topic is None else topic.topic_id

    def _answered(self, node: int, batches: list[ProducerBatch], reply: asyncio.Future[ProduceResponse]) -> None:
        self._in_flight[node] -= 1
        if self._closed:
            reply.cancelled() or reply.exception()
            return
        problem = reply.exception()
        if problem is not None:
            self._all_failed(batches, problem)
        else:
            self._take_reply(batches, reply.result())
        self.wake()

    def _take_reply(self, batches: list[ProducerBatch], reply: ProduceResponse) -> None:
        answers: dict[TopicPartition, PartitionProduceResponse] = {}
        names = self._cluster.metadata.topic_names
        for topic in reply.responses:
            name = topic.name or names.get(Uuid(topic.topic_id), "")
            for entry in topic.partition_responses:
                answers[TopicPartition(name, entry.index)] = entry
        for batch in batches:
            self._landed(batch)
            answer = answers.get(batch.partition)
            if answer is None:
                # The topic got another id while the request was on its way.
                lost = ApiError(ErrorCode.UNKNOWN_TOPIC_ID, f"the broker's answer lacks {batch.partition}")
                self._try_again(batch, lost)
            else:
                self._take_answer(batch, answer)

    def _take_answer(self, batch: ProducerBatch, answer: PartitionProduceResponse) -> None:
        code = answer.error_code
        if code == ErrorCode.NONE:
            self._succeed(batch, Stored(answer.base_offset, answer.log_append_time_ms))
            return
        error = api_error(code, answer.error_message or f"partition {batch.partition}")
        self._cluster.note_leader(batch.partition, answer.current_leader.leader_id, answer.current_leader.leader_epoch)
        match error.code:
            case ErrorCode.DUPLICATE_SEQUENCE_NUMBER if self.sequences is not None:
                self._succeed(batch, Stored(NO_OFFSET, -1))
            case ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER if self.sequences is not None:
                self._refused(batch, error, self.sequences.refused(batch))
            case ErrorCode.UNKNOWN_PRODUCER_ID if self.sequences is not None:
                self._refused(batch, error, self.sequences.forgotten(batch))
            case ErrorCode.MESSAGE_TOO_LARGE if batch.can_be_split:
                self._split(batch)
            case _ if is_retriable(error):
                self._try_again(batch, error)
            case _:
                self._fail(batch, DeliveryFailed(_not_stored(batch, error), error), refused=True)

    def _refused(self, batch: ProducerBatch, error: ApiError, refusal: BatchRefusal) -> None:
        match refusal:
            case BatchRefusal.BEHIND | BatchRefusal.RENUMBER:
                # Not its own failure: it goes as soon as the sequence allows, and this does not count as a try.
                batch.last_problem = error
                batch.retry_at_ms = 0.0
                self._accumulator.put_back(batch)
            case BatchRefusal.AGAIN:
                self._try_again(batch, error)
            case BatchRefusal.GAP:
                lost = (
                    f"partition {batch.partition} lacks records that it had acknowledged before this one, so data was "
                    f"lost there (perhaps by an unclean leader election): {error}"
                )
                self._fail(batch, DeliveryFailed(lost, error), refused=True)
            case _:
                assert_never(refusal)

    def _split(self, batch: ProducerBatch) -> None:
        self.metrics.split()
        halves = batch.split()
        if self.sequences is not None:
            self.sequences.replace(batch, halves)
        for half in halves:
            self._accumulator.pending_bytes += half.size
            self._accumulator.put_back(half)
        self._accumulator.release(batch)
        self._on_done(batch)

    def _all_failed(self, batches: Iterable[ProducerBatch], problem: BaseException) -> None:
        self.refresh_metadata()
        for batch in batches:
            self._landed(batch)
            if isinstance(problem, ConnectionProblem):
                batch.unanswered = True
                self._try_again(batch, problem)
            else:
                self._fail(batch, DeliveryFailed(_not_stored(batch, problem), _as_exception(problem)))

    def _landed(self, batch: ProducerBatch) -> None:
        self._in_flight_batches.pop(batch, None)
        self._muted.discard(batch.partition)

    def _try_again(self, batch: ProducerBatch, problem: Exception) -> None:
        now = self._cluster.clock.monotonic_ms()
        batch.last_problem = problem
        if now - batch.created_ms >= self._config.delivery_timeout_ms:
            self._fail(batch, _timed_out(batch, self._config.delivery_timeout_ms))
        elif batch.attempts > self._config.retries:
            self._fail(batch, DeliveryFailed(_not_stored(batch, problem), problem))
        else:
            pause_ms = self._cluster.retry_pause_ms(batch.attempts)
            if isinstance(problem, ApiError) and problem.code is ErrorCode.CONCURRENT_TRANSACTIONS:
                # The transaction before is about to end.
                pause_ms = min(pause_ms, CONCURRENT_PAUSE_MS)
            elif isinstance(problem, ApiError):
                self.refresh_metadata()
            batch.retry_at_ms = now + pause_ms
            self.metrics.retried(batch)
            self._accumulator.put_back(batch)

    def _succeed(self, batch: ProducerBatch, stored: Stored) -> None:
        if self.sequences is not None:
            self.sequences.stored(batch)
        self._accumulator.release(batch)
        batch.succeed(stored)
        self._on_done(batch)

    def _fail(self, batch: ProducerBatch, failure: DeliveryFailed, *, refused: bool = False) -> None:
        if self.sequences is not None:
            self.sequences.give_up(batch, refused=refused)
        if self.transactions is not None:
            self.transactions.delivery_failed(failure)
        self.metrics.failed(batch)
        self._accumulator.release(batch)
        batch.fail(failure)
        self._on_done(batch)

    # -- what has to be awaited runs beside ----------------------------------------------------------------------

    def refresh_metadata(self) -> None:
        self._in_background("metadata", self._cluster.refresh)

    def _in_background(self, name: str, start: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run at most one such task at a time, after a pause if the last ones failed; wake when it is done."""
        if name in self._tasks or self._closed:
            return

        async def run() -> None:
            failures = self._failures[name]
            if failures:
                await asyncio.sleep(self._cluster.retry_pause_ms(failures) / 1000)
            try:
                await start()
                self._failures.pop(name, None)
            except AuthenticationError as error:
                # No use in waiting: credentials do not become right by themselves.
                self._failures[name] += 1
                self._fail_waiting(f"the record was not sent: {error}", error)
            except (ConnectionProblem, ApiError, ClientError) as error:
                self._failures[name] += 1
                logger.info("%s: %s", name, error)

        task = asyncio.create_task(run())
        self._tasks[name] = task
        task.add_done_callback(lambda _: self._background_done(name))

    def _background_done(self, name: str) -> None:
        self._tasks.pop(name, None)
        self.wake()

    async def _look_for_leaders(self) -> None:
        await self._cluster.refresh()
        for batch in self._accumulator.heads():
            if self._cluster.metadata.leader_of(batch.partition) is None:
                raise ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {batch.partition}")

    async def _connect(self, node: int) -> None:
        await self._cluster.refresh_if_stale()
        await self._cluster.connection(node, PRODUCING)

    def _ask_for_producer_id_if_needed(self) -> None:
        """With a transactional id it comes from the coordinator, when the user asks for it."""
        if self.sequences is not None and self.transactions is None and not self.sequences.initialized:
            self._in_background("producer id", self._ask_for_producer_id)

    async def _ask_for_producer_id(self) -> None:
        assert self.sequences is not None
        if self.sequences.initialized:
            return
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1)

        async def attempt() -> InitProducerIdResponse:
            reply = await self._cluster.ask_any(request, InitProducerIdResponse)
            raise_for_code(reply.error_code, "asking for a producer id")
            return reply

        try:
            reply = await self._cluster.retry("asking for a producer id", attempt)
        except (ApiTimeout, NoBrokerAvailable):
            raise
        except (ApiError, UnsupportedByBroker) as error:
            # No use in waiting: without an id nothing can be sent.
            self._fail_waiting(f"no producer id was assigned, which idempotence needs: {error}", error)
            return
        self.sequences.initialize(reply.producer_id, reply.producer_epoch)

    def _fail_waiting(self, reason: str, error: Exception) -> None:
        for batch in list(self._accumulator.waiting()):
            self._accumulator.remove(batch)
            self._fail(batch, DeliveryFailed(reason, error))


def _not_stored(batch: ProducerBatch, problem: BaseException) -> str:
    tries = "" if batch.attempts == 1 else f" after {batch.attempts} tries"
    return f"{batch.record_count} record(s) for partition {batch.partition} were not stored{tries}: {problem}"


def _timed_out(batch: ProducerBatch, limit_ms: float) -> DeliveryTimedOut:
    reason = "no leader or connection was available in time" if batch.last_problem is None else str(batch.last_problem)
    sent = "was never sent" if batch.attempts == 0 else f"may or may not be stored after {batch.attempts} tries"
    return DeliveryTimedOut(
        f"a batch of {batch.record_count} record(s) for partition {batch.partition} {sent}: "
        f"delivery.timeout.ms={limit_ms:g} has passed ({reason})",
        batch.last_problem,
    )


def _as_exception(problem: BaseException) -> Exception | None:
    return problem if isinstance(problem, Exception) else None
