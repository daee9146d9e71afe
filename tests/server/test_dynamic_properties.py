"""Every dynamic property takes effect on a running broker, in the way that the catalogue says.

The broker runs with a configuration that notes who reads which dynamic property, and with which value. All dynamic
properties are altered through the protocol. Those that are handed over must have been read with the new value once the
alteration is known; those that are read at each use when they are needed next. What a topic gets by default is seen in
the settings of a replica and of its log.
"""

from __future__ import annotations

import asyncio
import dataclasses
import sys
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest
from server.conftest import create_topic
from server.test_cleaning import COMPACTED, keyed, log_of, wait_until
from support.raw_client import RawClient, raw_client
from support.raw_transactions import RawProducer

import tidelog
from tidelog.config.broker import BROKER_DEFINITIONS, BrokerConfig
from tidelog.config.catalogue.topic_defaults import TOPIC_SYNONYMS
from tidelog.config.definitions import ConfigDefinition, ConfigType, Effect, OneOf, UpdateMode, format_value
from tidelog.config.fields import field_name
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.protocol.messages.metadata_request import MetadataRequest
from tidelog.server.configuration.topic_settings import log_config

# Declared as dynamic by the test although the broker looks at it only when it starts: the test must find it.
PLANTED = "socket.request.max.bytes"


class Read(NamedTuple):
    name: str
    value: Any


class TracedConfig(BrokerConfig):
    """Notes reads by anything but the configuration itself."""

    reads: list[Read] = []  # noqa: RUF012

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if not sys._getframe(1).f_globals["__name__"].startswith(("tidelog.config", "dataclasses", __name__)):
            TracedConfig.reads.append(Read(name.replace("_", "."), value))
        return value


def other_value(definition: ConfigDefinition) -> str:
    """A valid one that is not the default."""
    default = definition.default
    if definition.name == "max.connections.per.ip.overrides":
        return "127.0.0.9:7"
    if isinstance(definition.allowed, OneOf):
        return next(word for word in definition.allowed.words if word not in (default, "uncompressed", "delete"))
    if isinstance(default, bool):
        return str(format_value(not default))
    if definition.type is ConfigType.DOUBLE:
        return "0.75"
    if isinstance(default, int) and default < 1 << 30:
        return str(default + 1 if default > 0 else 2)
    return "123456789"


# The cleaner must get on with its work, and the memory for keys must suffice for its threads.
CHOSEN = {"log.cleaner.io.max.bytes.per.second": "1.0e9", "log.cleaner.backoff.ms": "21"}


@pytest.fixture
async def broker(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tidelog.Broker]:
    planted = dataclasses.replace(BROKER_DEFINITIONS[PLANTED], update_mode=UpdateMode.ON_USE)
    monkeypatch.setitem(BROKER_DEFINITIONS, PLANTED, planted)
    monkeypatch.setattr("tidelog.server.broker.BrokerConfig", TracedConfig)
    async with tidelog.Broker(properties={"log.cleaner.backoff.ms": "20"}) as running:
        yield running


async def alter(client: RawClient, texts: dict[str, str]) -> None:
    configs = [AlterableConfig(name=name, config_operation=0, value=text) for name, text in texts.items()]
    # Of all brokers.
    resource = AlterConfigsResource(resource_type=4, resource_name="", configs=configs)
    (result,) = (await client.ask(IncrementalAlterConfigsRequest(resources=[resource]))).responses
    assert (result.error_code, result.error_message) == (0, None)


async def use_everything(broker: tidelog.Broker, client: RawClient) -> None:
    """Whatever makes parts look at properties that they read at each use."""
    async with raw_client(broker.bootstrap_servers):
        pass
    producer = RawProducer(client, "dynamic")
    assert await producer.init() is ErrorCode.NONE
    assert await producer.send("transacted", "x") is ErrorCode.NONE
    assert await producer.end(commit=True) is ErrorCode.NONE
    log = log_of(broker, "compacted")
    for number in range(200):
        await client.produce_batch("compacted", keyed((b"k%d" % (number % 5), b"." * 400)), acks=1)
    await wait_until(lambda: (log.cleaned_up_to or 0) > 0)


def unseen(expected: dict[str, ConfigDefinition], texts: dict[str, str], mode: UpdateMode) -> set[str]:
    """The properties of this mode that nobody has read with their new value."""
    return {
        name
        for name, definition in expected.items()
        if definition.update_mode is mode and Read(name, definition.parse(texts[name])) not in TracedConfig.reads
    }


async def test_each_dynamic_property_takes_effect_as_the_catalogue_says(broker: tidelog.Broker) -> None:
    dynamic = {
        name: definition
        for name, definition in BROKER_DEFINITIONS.items()
        # Those of single listeners are tested in tests/server/listening.
        if definition.dynamic and definition.effect is Effect.EFFECTIVE
        if definition.update_mode is not UpdateMode.PER_LISTENER
    }
    texts = {name: CHOSEN.get(name) or other_value(definition) for name, definition in dynamic.items()}
    async with raw_client(broker.bootstrap_servers) as client:
        await create_topic(client, "plain")
        await create_topic(client, "transacted", min_insync_replicas="1", cleanup_policy="delete")
        await create_topic(client, "compacted", compression_type="producer", **COMPACTED)
        # A group coordinator that has loaded its partitions.
        await client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4)
        node = broker.running.node
        await wait_until(lambda: log_of(broker, "__consumer_offsets") is not None)
        TracedConfig.reads.clear()
        await alter(client, texts)
        await wait_until(lambda: node.config.max_connections == int(texts["max.connections"]))
        await asyncio.sleep(0)

        assert unseen(dynamic, texts, UpdateMode.ON_CHANGE) == set()
        replica = node.replicas.get("plain", 0)
        assert replica is not None
        for topic_property, chain in TOPIC_SYNONYMS.items():
            first = chain[0]
            if first.name in dynamic:
                value = getattr(replica.settings.config, field_name(topic_property))
                assert value == first.parse(texts[first.name]), topic_property
        expiration = int(texts["producer.id.expiration.ms"])
        assert replica.log.config == log_config(replica.settings.config, producer_id_expiration_ms=expiration)

        TracedConfig.reads.clear()
        await use_everything(broker, client)
        assert unseen(dynamic, texts, UpdateMode.ON_USE) == {PLANTED}


@pytest.mark.parametrize(
    "limits",
    [
        {"max.connections.per.ip": "1"},
        {"max.connections.per.ip.overrides": "127.0.0.1:1"},
        {"max.connections.per.ip": "1", "max.connections.per.ip.overrides": "127.0.0.2:9"},
    ],
    ids=str,
)
async def test_limits_of_connections_count_from_the_next_connection_on(
    broker: tidelog.Broker, limits: dict[str, str]
) -> None:
    async with raw_client(broker.bootstrap_servers) as client:

        def is_limited() -> bool:
            return limits.items() <= broker.running.node.config.layers.cluster.items()

        await alter(client, limits)
        await wait_until(is_limited)
        async with raw_client(broker.bootstrap_servers) as refused:
            assert await refused.closed_by_broker()
        await alter(client, dict.fromkeys(limits, "") | {name: "9" for name in limits if "overrides" not in name})
        await wait_until(lambda: not is_limited())
        async with raw_client(broker.bootstrap_servers) as admitted:
            await create_topic(admitted, "t")


@pytest.mark.parametrize("name", ["max.connections", "listener.name.plaintext.max.connections"])
async def test_a_connection_that_waits_is_let_in_when_the_limit_is_raised(broker: tidelog.Broker, name: str) -> None:
    config, connections = broker.running.node.live, broker.running.node.connections
    async with raw_client(broker.bootstrap_servers) as client:
        await alter(client, {name: "1"})
        await wait_until(lambda: config.config.of_listener("PLAINTEXT").max_connections == 1)
        async with raw_client(broker.bootstrap_servers) as waiting:
            asked = waiting.send(MetadataRequest())
            await wait_until(lambda: connections.waiting == 1)
            assert len(connections) == 1
            await alter(client, {name: "2"})
            assert (await waiting.receive(asked)).brokers
            assert (len(connections), connections.waiting) == (2, 0)


async def test_a_connection_that_waits_is_let_in_when_another_ends(broker: tidelog.Broker) -> None:
    connections = broker.running.node.connections
    async with raw_client(broker.bootstrap_servers) as client:
        await alter(client, {"max.connections": "1"})
        await wait_until(lambda: broker.running.node.config.max_connections == 1)
        async with raw_client(broker.bootstrap_servers) as waiting:
            asked = waiting.send(MetadataRequest())
            await wait_until(lambda: connections.waiting == 1)
            client.close()
            assert (await waiting.receive(asked)).brokers


async def test_more_cleaners_start_when_log_cleaner_threads_grows(broker: tidelog.Broker) -> None:
    def cleaners() -> int:
        return sum("Cleaning._run" in str(task.get_coro()) for task in asyncio.all_tasks())

    assert cleaners() == 1
    async with raw_client(broker.bootstrap_servers) as client:
        await alter(client, {"log.cleaner.threads": "3"})
    await wait_until(lambda: cleaners() == 3)
