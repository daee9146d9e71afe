"""The way to the cluster: bootstrap, connections, metadata, coordinators, and trying again.

Producer, consumer and admin each own a `Cluster`. What is asked of the brokers is their business; here is decided which
broker to ask, over which connection, and when to ask again. What is known is a value, `ClusterMetadata`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import replace
from enum import IntEnum
from typing import TypeVar

from tidelog.client.cluster.backoff import Backoff
from tidelog.client.cluster.metadata import BrokerAddress, ClusterMetadata, TopicMetadata, merge, with_leader
from tidelog.client.errors import ApiTimeout, NoBrokerAvailable, api_error, is_retriable, raise_for_code
from tidelog.client.options import Address, ClientConfig
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.ports import Clock, Randomness
from tidelog.network.client_connection import (
    AuthenticationError,
    CannotConnect,
    ClientConnection,
    ConnectionProblem,
    ConnectionSettings,
    open_connection,
)
from tidelog.network.frame_receiver import StagingArea
from tidelog.network.port import AsyncioNetwork, Network
from tidelog.network.system import SystemClock, SystemRandomness
from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.protocol.messages.find_coordinator_response import Coordinator as FoundCoordinator
from tidelog.protocol.messages.find_coordinator_response import FindCoordinatorResponse
from tidelog.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tidelog.protocol.messages.metadata_response import MetadataResponse
from tidelog.protocol.schema import Message
from tidelog.version import VERSION

logger = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R", bound=Message)

# From this version on, FindCoordinator takes several keys at once.
_FIND_COORDINATOR_BATCHED = 4
# A broker that has let requests wait for so long, without any reply, is not asked what others know as well.
_SILENT_MS = 1_000.0

# A name for what a connection is used for. Replies come in order, so a request that waits long on purpose (Fetch,
# JoinGroup) must not share a connection with those that should be quick.
GENERAL = "general"
FETCHING = "fetching"
# Of a connection that fetches: enough for a few replies with 1 MiB (max.partition.fetch.bytes) of some partitions each.
_REUSED_BYTES = 16 * 1024 * 1024

_ConnectionKey = tuple[int, str]


class CoordinatorKind(IntEnum):
    GROUP = 0
    TRANSACTION = 1


class Cluster:
    """Use with `async with`, or `start` and `close`."""

    def __init__(
        self,
        config: ClientConfig,
        *,
        network: Network | None = None,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        self.config = config
        self.clock: Clock = clock if clock is not None else SystemClock()
        self.randomness: Randomness = randomness if randomness is not None else SystemRandomness()
        self.metadata = ClusterMetadata()
        self.allow_auto_create = False
        self._network: Network = network if network is not None else AsyncioNetwork()
        self._settings = ConnectionSettings(
            client_id=config.client_id,
            software_version=VERSION,
            connect_timeout_ms=config.socket_connection_setup_timeout_ms,
            request_timeout_ms=config.request_timeout_ms,
            security=config.security,
        )
        self._fetch_settings = dataclasses.replace(self._settings, reused_bytes=_REUSED_BYTES)
        self._retry_backoff = Backoff(first_ms=config.retry_backoff_ms, longest_ms=config.retry_backoff_max_ms)
        self._connect_backoff = Backoff(
            first_ms=config.reconnect_backoff_ms, longest_ms=config.reconnect_backoff_max_ms
        )
        self._staging = StagingArea()
        self._topics: set[str] = set()
        self._stale = False
        self._listeners: list[Callable[[], None]] = []
        self._connections: dict[_ConnectionKey, ClientConnection] = {}
        self._opening: dict[_ConnectionKey, asyncio.Task[ClientConnection]] = {}
        # Failures in a row, and the time before which not to try again.
        self._connect_failures: dict[_ConnectionKey, tuple[int, float]] = {}
        self._coordinators: dict[tuple[CoordinatorKind, str], BrokerAddress] = {}
        # Of nodes that are no brokers, by their address.
        self._other_connections: dict[Address, ClientConnection] = {}
        self._bootstrap: ClientConnection | None = None
        self._refresh_task: asyncio.Task[None] | None = None
        self._refreshed_topics: frozenset[str] = frozenset()
        self._ageing: asyncio.Task[None] | None = None
        self._closed = False

    async def __aenter__(self) -> Cluster:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Find the cluster. One try per address: who starts a client wants to know at once that nobody is there."""
        try:
            await self._ask_for_metadata(())
        except BaseException:
            await self.close()
            raise
        self._ageing = asyncio.create_task(self._refresh_by_age())

    async def close(self) -> None:
        self._closed = True
        tasks = [task for task in (self._ageing, self._refresh_task, *self._opening.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in (*self._connections.values(), *self._other_connections.values(), self._bootstrap):
            if connection is not None:
                connection.close()
        self._connections.clear()
        self._other_connections.clear()

    # -- metadata ------------------------------------------------------------------------------------------------

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each refresh."""
        self._listeners.append(listener)

    def watch(self, topics: Iterable[str]) -> None:
        """Keep these topics' metadata from now on."""
        self._topics.update(topics)

    def unwatch_all(self) -> None:
        self._topics.clear()

    def mark_stale(self) -> None:
        """A broker has said, or not answered, something that the metadata did not let expect."""
        self._stale = True

    def note_leader(self, partition: TopicPartition, leader: int, leader_epoch: int) -> None:
        """A reply has named a newer leader (KIP-951)."""
        if leader >= 0:
            self.metadata = with_leader(self.metadata, partition, leader, leader_epoch)

    async def refresh(self) -> None:
        """Ask for the watched topics. Those who ask at the same time share one request."""
        while self._refresh_task is not None and not self._topics <= self._refreshed_topics:
            await asyncio.wait((self._refresh_task,))
        if self._refresh_task is None:
            self._refreshed_topics = frozenset(self._topics)
            self._refresh_task = asyncio.create_task(self._refresh(self._refreshed_topics))
            self._refresh_task.add_done_callback(self._refresh_done)
        await asyncio.shield(self._refresh_task)

    async def refresh_if_stale(self) -> None:
        if self._stale:
            await self.refresh()

    async def topic(self, name: str, *, timeout_ms: float, at_least: int = 1) -> TopicMetadata:
        """A topic with at least so many partitions; waits for them, since they may be just being created."""
        self._topics.add(name)
        known = self.metadata.topics.get(name)
        if known is not None and len(known.partitions) >= at_least:
            return known

        async def attempt() -> TopicMetadata:
            await self.refresh()
            found = self.metadata.topics.get(name)
            if found is not None and len(found.partitions) >= at_least:
                return found
            code = self.metadata.topic_errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            raise ApiError(code, f"topic {name!r}")

        return await self.retry(f"finding topic {name!r}", attempt, timeout_ms=timeout_ms)

    async def fetch_metadata(self, topics: Collection[str] | None, *, auto_create: bool = False) -> ClusterMetadata:
        """A fresh picture of these topics (None: of all), without keeping them, or (unless asked to) creating them."""
        response = await self._ask_for_metadata(topics, auto_create=auto_create, keep=False)
        return merge(ClusterMetadata(), response, None)

    # -- asking --------------------------------------------------------------------------------------------------

    async def ask_any(self, request: Message, expected: type[R]) -> R:
        """Of a broker that lets others wait only if there is no other."""
        connection = await self._any_connection()
        return await connection.request(request, expected)

    async def ask_node(
        self,
        node_id: int,
        request: Message,
        expected: type[R],
        *,
        purpose: str = GENERAL,
        timeout_ms: float | None = None,
        at_most: int | None = None,
    ) -> R:
        connection = await self.connection(node_id, purpose)
        version = connection.version_for(type(request), at_most=at_most)
        return await connection.request(request, expected, version=version, timeout_ms=timeout_ms)

    async def ask_controller(self, request: Message, expected: type[R]) -> R:
        await self.refresh_if_stale()
        if self.metadata.controller not in self.metadata.brokers:
            return await self.ask_any(request, expected)
        return await self.ask_node(self.metadata.controller, request, expected)

    async def coordinator(self, kind: CoordinatorKind, key: str) -> int:
        """The node that coordinates the group or transactional id."""
        known = self._coordinators.get((kind, key))
        if known is not None:
            return known.node_id
        found = (await self._find_coordinators(kind, (key,)))[key]
        if isinstance(found, ApiError):
            raise found
        return found

    async def coordinators(self, kind: CoordinatorKind, keys: Collection[str]) -> dict[str, int | ApiError]:
        """The nodes that coordinate these groups or transactional ids; those not known yet are asked for together."""
        nodes: dict[str, int | ApiError] = {
            key: known.node_id for key in keys if (known := self._coordinators.get((kind, key))) is not None
        }
        unknown = [key for key in keys if key not in nodes]
        if unknown:
            nodes.update(await self._find_coordinators(kind, unknown))
        return nodes

    async def _find_coordinators(self, kind: CoordinatorKind, keys: Collection[str]) -> dict[str, int | ApiError]:
        connection = await self._any_connection()
        version = connection.version_for(FindCoordinatorRequest)
        replies: list[tuple[str, FindCoordinatorResponse | FoundCoordinator]] = []
        if version >= _FIND_COORDINATOR_BATCHED:
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=tuple(keys))
            reply = await connection.request(request, FindCoordinatorResponse, version=version)
            replies += [(found.key, found) for found in reply.coordinators]
        else:
            for key in keys:
                request = FindCoordinatorRequest(key=key, key_type=kind)
                replies.append((key, await connection.request(request, FindCoordinatorResponse, version=version)))
        nodes: dict[str, int | ApiError] = {}
        for key, found in replies:
            if found.error_code:
                nodes[key] = api_error(found.error_code, found.error_message)
            else:
                address = BrokerAddress(node_id=found.node_id, host=found.host, port=found.port)
                self._coordinators[kind, key] = address
                nodes[key] = found.node_id
        return nodes

    def forget_coordinator(self, kind: CoordinatorKind, key: str) -> None:
        self._coordinators.pop((kind, key), None)

    async def retry(self, what: str, attempt: Callable[[], Awaitable[T]], *, timeout_ms: float | None = None) -> T:
        """Repeat `attempt` while it fails in a way that may pass by itself; ApiTimeout names the last problem."""
        limit_ms = self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline = self.clock.monotonic_ms() + limit_ms
        failures = 0
        last: Exception | None = None
        while True:
            left_ms = deadline - self.clock.monotonic_ms()
            try:
                async with asyncio.timeout(max(left_ms, 0) / 1000):
                    return await attempt()
            except (ApiError, ConnectionProblem, NoBrokerAvailable) as error:
                if not (isinstance(error, NoBrokerAvailable) or is_retriable(error)):
                    raise
                last = error
            except TimeoutError as error:
                raise self._gave_up(what, limit_ms, last) from (last or error)
            self.mark_stale()
            failures += 1
            pause_ms = self._retry_backoff.pause_ms(failures, self.randomness)
            if self.clock.monotonic_ms() + pause_ms >= deadline:
                raise self._gave_up(what, limit_ms, last) from last
            await asyncio.sleep(pause_ms / 1000)

    def retry_pause_ms(self, failures: int) -> float:
        """For those who keep their own account of failures."""
        return self._retry_backoff.pause_ms(failures, self.randomness)

    # -- connections ---------------------------------------------------------------------------------------------

    def open_connection_to(self, node_id: int, purpose: str = GENERAL) -> ClientConnection | None:
        """The connection, if there is one now."""
        connection = self._connections.get((node_id, purpose))
        return None if connection is None or connection.closed else connection

    def silence_of(self, node_id: int) -> float:
        """How long a node has let requests wait without any reply, in milliseconds, for those who choose one."""
        connection = self.open_connection_to(node_id)
        return 0.0 if connection is None else connection.silent_ms

    async def connection(self, node_id: int, purpose: str = GENERAL) -> ClientConnection:
        """The connection to a node, opened if need be. Those who need the same one share the wait."""
        existing = self.open_connection_to(node_id, purpose)
        if existing is not None:
            return existing
        key = (node_id, purpose)
        opening = self._opening.get(key)
        if opening is None:
            opening = asyncio.create_task(self._open(key))
            self._opening[key] = opening
            opening.add_done_callback(lambda task: self._opened(key, task))
        return await asyncio.shield(opening)

    async def connection_to(self, host: str, port: int) -> ClientConnection:
        """The connection to a node that may be no broker, such as a controller. Raises CannotConnect at once."""
        existing = self._other_connections.get((host, port))
        if existing is not None and not existing.closed:
            return existing
        opened = await open_connection(self._network, host, port, self._settings, self._staging)
        other = self._other_connections.get((host, port))
        if self._closed or (other is not None and not other.closed):
            # Closed, or opened by somebody else, in the meantime.
            opened.close()
            return opened if other is None else other
        self._other_connections[host, port] = opened
        return opened

    async def _open(self, key: _ConnectionKey) -> ClientConnection:
        node_id, purpose = key
        settings = self._fetch_settings if purpose == FETCHING else self._settings
        failures, not_before = self._connect_failures.get(key, (0, 0.0))
        pause_ms = not_before - self.clock.monotonic_ms()
        if pause_ms > 0:
            await asyncio.sleep(pause_ms / 1000)
        address = self._address_of(node_id)
        try:
            connection = await open_connection(self._network, address.host, address.port, settings, self._staging)
        except CannotConnect:
            pause_ms = self._connect_backoff.pause_ms(failures + 1, self.randomness)
            self._connect_failures[key] = (failures + 1, self.clock.monotonic_ms() + pause_ms)
            self.mark_stale()
            raise
        self._connect_failures.pop(key, None)
        self._connections[key] = connection
        return connection

    def _opened(self, key: _ConnectionKey, task: asyncio.Task[ClientConnection]) -> None:
        self._opening.pop(key, None)
        if not task.cancelled():
            # Looked at, so that asyncio does not complain when everybody who waited for it has been cancelled.
            task.exception()

    def _address_of(self, node_id: int) -> BrokerAddress:
        address = self.metadata.brokers.get(node_id)
        if address is not None:
            return address
        for coordinator in self._coordinators.values():
            if coordinator.node_id == node_id:
                return coordinator
        raise CannotConnect(f"the address of broker {node_id} is unknown")

    async def _any_connection(self) -> ClientConnection:
        """An open connection if there is one, else the first broker that answers, else a bootstrap server. Connections
        on which requests have waited for long without a reply come last.

        If one of them has refused this client, and none has accepted it, that is what counts: AuthenticationError.
        """
        for (_, purpose), connection in self._connections.items():
            if purpose == GENERAL and not connection.closed and connection.silent_ms < _SILENT_MS:
                return connection
        problems: list[CannotConnect] = []
        brokers = self._shuffled(self.metadata.brokers)
        for node_id in sorted(brokers, key=self.silence_of):
            try:
                return await self.connection(node_id)
            except CannotConnect as error:
                problems.append(error)
        for host, port in self._shuffled(self.config.bootstrap_servers):
            try:
                self._bootstrap = await open_connection(self._network, host, port, self._settings, self._staging)
            except CannotConnect as error:
                problems.append(error)
            else:
                return self._bootstrap
        for problem in problems:
            if isinstance(problem, AuthenticationError):
                raise problem
        raise NoBrokerAvailable(_nobody_there(self.config.bootstrap_servers, [str(problem) for problem in problems]))

    def _shuffled(self, items: Iterable[T]) -> list[T]:
        """In random order, so that clients spread over the brokers."""
        left = list(items)
        return [left.pop(self.randomness.below(len(left))) for _ in range(len(left))]

    # -- inside --------------------------------------------------------------------------------------------------

    async def _refresh(self, topics: frozenset[str]) -> None:
        await self._ask_for_metadata(sorted(topics), auto_create=self.allow_auto_create)
        self._stale = False
        for listener in self._listeners:
            listener()

    def _refresh_done(self, task: asyncio.Task[None]) -> None:
        self._refresh_task = None
        if not task.cancelled():
            task.exception()

    async def _refresh_by_age(self) -> None:
        while True:
            await asyncio.sleep(self.config.metadata_max_age_ms / 1000)
            try:
                await self.refresh()
            except (ConnectionProblem, NoBrokerAvailable, ApiError) as error:
                logger.warning("metadata could not be refreshed: %s", error)

    async def _ask_for_metadata(
        self, topics: Collection[str] | None, *, auto_create: bool = False, keep: bool = True
    ) -> MetadataResponse:
        request = MetadataRequest(
            topics=None if topics is None else [MetadataRequestTopic(name=name) for name in topics],
            allow_auto_topic_creation=auto_create,
        )
        response = await self._first_reply(request, MetadataResponse)
        raise_for_code(response.error_code)
        if keep:
            self.metadata = merge(self.metadata, response, self._topics)
        else:
            fresh = merge(self.metadata, response, ())
            self.metadata = replace(self.metadata, brokers=fresh.brokers, controller=fresh.controller)
        self._leave_bootstrap()
        return response

    async def _first_reply(self, request: Message, expected: type[R]) -> R:
        """Of any broker. While one is silent the others are asked as well, one after the other."""
        connection = await self._any_connection()
        # In the order in which they were asked, so that a simulation goes the same way again.
        asked = [asyncio.create_task(connection.request(request, expected))]
        # Drawn only when somebody is silent.
        others: list[int] | None = None
        try:
            while True:
                answered = next((each for each in asked if each.done() and each.exception() is None), None)
                silent = [each for each in asked if not each.done()]
                if answered is not None or not silent:
                    return (answered or asked[-1]).result()
                patience = None if others == [] else _SILENT_MS / 1000
                done, _ = await asyncio.wait(silent, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
                if done:
                    continue
                if others is None:
                    brokers = self._shuffled(self.metadata.brokers)
                    others = [node for node in brokers if self.open_connection_to(node) != connection]
                if others:
                    asked.append(asyncio.create_task(self.ask_node(others.pop(), request, expected)))
        finally:
            for each in asked:
                each.cancel()
                # Several may end in the same turn, and nobody else asks how.
                each.add_done_callback(lambda ended: ended.cancelled() or ended.exception())

    def _leave_bootstrap(self) -> None:
        """Bootstrap servers are only for finding the brokers; where one is a broker itself, its connection is kept."""
        connection, self._bootstrap = self._bootstrap, None
        if connection is None:
            return
        for broker in self.metadata.brokers.values():
            key = (broker.node_id, GENERAL)
            if connection.address == f"{broker.host}:{broker.port}" and self.open_connection_to(*key) is None:
                self._connections[key] = connection
                return
        connection.close()

    def _gave_up(self, what: str, limit_ms: float, last: Exception | None) -> ApiTimeout:
        reason = f"; the last error: {last}" if last is not None else ""
        return ApiTimeout(f"{what} did not succeed within {limit_ms:g} ms{reason}")


def _nobody_there(servers: Collection[Address], problems: list[str]) -> str:
    listed = ", ".join(f"{host}:{port}" for host, port in servers)
    reasons = "; ".join(dict.fromkeys(problems))
    return f"no broker answers at {listed} ({reasons}). Is one running there? `tidelog up` starts one"
