"""Administrators that speak old versions: they create, change and delete topics through whatever node they reach.

Each request goes to a random node in a random version that the node serves, so that most of them pass through a node
that is not the controller. A name is used for one topic only, and each of its properties is set once: a request whose
answer got lost may be carried out late, and must not undo what was asked for after it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import field

from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.client_connection import ClientConnection, ConnectionSettings, open_connection
from tidelog.protocol.api import response_class
from tidelog.protocol.messages import alter_configs_request, incremental_alter_configs_request
from tidelog.protocol.messages.alter_configs_request import AlterConfigsRequest
from tidelog.protocol.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tidelog.protocol.schema import Message
from tidelog.server.observability.metrics import error_codes
from tidelog.simulation.checks.history import Administered, TopicState
from tidelog.simulation.workloads.work import EXPECTED, Work

PORT = 9092
TIMEOUT_MS = 6_000
FIRST_VERSION_WITH_TOPIC_STATES = 6
TOPIC_RESOURCE = 2
MOST_TOPICS = 4
# Each is set at most once in a topic's life. None of them changes what the brokers have to do.
PROPERTIES = (
    ("retention.ms", "86400000"),
    ("max.message.bytes", "900000"),
    ("delete.retention.ms", "3600000"),
    ("min.compaction.lag.ms", "60000"),
)

Ask = Callable[[int], Message]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdministratorSettings:
    """Mean seconds between two requests."""

    pause_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    topic: str
    kind: type[Message]
    # The request in a version.
    ask: Ask
    # What holds once it is done; None if the topic is gone then.
    outcome: TopicState | None
    # Errors that say that an earlier attempt has done it: its answer was lost between two nodes.
    done_before: frozenset[ErrorCode]


@dataclass(eq=False, repr=False)
class AdministeringClient(Work):
    """Goes on until it is stopped. What it does not know the outcome of, it never touches again."""

    nodes: Sequence[str]
    settings: AdministratorSettings
    chance: random.Random
    _topics: dict[str, TopicState] = field(init=False, default_factory=dict)
    _count: int = field(init=False, default=0)

    async def _work(self) -> None:
        await asyncio.sleep(self.chance.expovariate(1 / self.settings.pause_seconds))
        connection = await self._connect(self.chance.choice(self.nodes))
        try:
            await self._carry_out(self._draw(), connection)
        finally:
            connection.close()

    async def _connect(self, node: str) -> ClientConnection:
        settings = ConnectionSettings(client_id=self.name, connect_timeout_ms=2_000, request_timeout_ms=2 * TIMEOUT_MS)
        return await open_connection(self.client.network, node, PORT, settings)

    async def _carry_out(self, change: _Change, connection: ClientConnection) -> None:
        self._topics.pop(change.topic, None)
        low, high = connection.versions[change.kind.SCHEMA.api_key]
        version = self.chance.randint(low, high)
        request = change.ask(version)
        expected = response_class(change.kind.SCHEMA.api_key)
        try:
            codes = set(error_codes(await connection.request(request, expected, version=version)))
        except EXPECTED:
            codes = {ErrorCode.NETWORK_EXCEPTION.value}
        known = codes <= change.done_before
        what = f"{change.kind.__name__} {version} to {connection.address}"
        self.history.add(Administered(self.loop.time(), self.name, change.topic, what, known, change.outcome))
        if known and change.outcome is not None:
            self._topics[change.topic] = change.outcome

    # -- what to do next -----------------------------------------------------------------------------------------

    def _draw(self) -> _Change:
        if not self._topics or (len(self._topics) < MOST_TOPICS and self.chance.random() < 0.4):
            return self._create()
        topic = self.chance.choice(sorted(self._topics))
        state = self._topics[topic]
        left = [each for each in PROPERTIES if each[0] not in dict(state.configs)]
        action = self.chance.choice((self._delete, self._grow, self._configure if left else self._delete))
        return action(topic, state)

    def _create(self) -> _Change:
        self._count += 1
        topic = f"{self.name}-{self._count}"
        configs = (self.chance.choice(PROPERTIES),)
        asked = CreatableTopic(
            name=topic,
            num_partitions=1,
            replication_factor=1,
            configs=[CreatableTopicConfig(name=name, value=value) for name, value in configs],
        )
        return _Change(
            topic=topic,
            kind=CreateTopicsRequest,
            ask=lambda version: CreateTopicsRequest(topics=[asked], timeout_ms=TIMEOUT_MS),
            outcome=TopicState(1, configs),
            done_before=frozenset({ErrorCode.TOPIC_ALREADY_EXISTS}),
        )

    def _delete(self, topic: str, state: TopicState) -> _Change:
        def ask(version: int) -> Message:
            if version < FIRST_VERSION_WITH_TOPIC_STATES:
                return DeleteTopicsRequest(topic_names=[topic], timeout_ms=TIMEOUT_MS)
            return DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], timeout_ms=TIMEOUT_MS)

        return _Change(
            topic=topic,
            kind=DeleteTopicsRequest,
            ask=ask,
            outcome=None,
            done_before=frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}),
        )

    def _grow(self, topic: str, state: TopicState) -> _Change:
        asked = CreatePartitionsTopic(name=topic, count=state.partitions + 1, assignments=None)
        return _Change(
            topic=topic,
            kind=CreatePartitionsRequest,
            ask=lambda version: CreatePartitionsRequest(topics=[asked], timeout_ms=TIMEOUT_MS),
            outcome=state._replace(partitions=state.partitions + 1),
            done_before=frozenset({ErrorCode.INVALID_PARTITIONS}),
        )

    def _configure(self, topic: str, state: TopicState) -> _Change:
        added = self.chance.choice([each for each in PROPERTIES if each[0] not in dict(state.configs)])
        configs = tuple(sorted((*state.configs, added)))
        incremental = incremental_alter_configs_request
        request: Message
        if self.chance.random() < 0.5:
            entry = incremental.AlterableConfig(name=added[0], value=added[1])
            resource = incremental.AlterConfigsResource(
                resource_type=TOPIC_RESOURCE, resource_name=topic, configs=[entry]
            )
            request = IncrementalAlterConfigsRequest(resources=[resource])
        else:
            replaced = alter_configs_request.AlterConfigsResource(
                resource_type=TOPIC_RESOURCE,
                resource_name=topic,
                configs=[alter_configs_request.AlterableConfig(name=name, value=value) for name, value in configs],
            )
            request = AlterConfigsRequest(resources=[replaced])
        return _Change(
            topic=topic,
            kind=type(request),
            ask=lambda version: request,
            outcome=state._replace(configs=configs),
            done_before=frozenset(),
        )
