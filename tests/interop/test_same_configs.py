"""The properties of every kind of resource are those of Apache Kafka: names, values, sources, synonyms, types."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from support.apache_kafka import ApacheKafka
from support.raw_client import RawClient, raw_client
from support.tidelog_process import TidelogBroker

from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tidelog.protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from tidelog.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

pytestmark = [pytest.mark.maven, pytest.mark.xdist_group("jvm"), pytest.mark.asyncio(loop_scope="module")]

TOPIC, BROKER, METRICS, GROUP = 2, 4, 16, 32
SET, DELETE, APPEND = 0, 1, 2
NAME = "same-configs"
# Share groups and Streams groups are not part of tidelog, nor are the features for them and for changing voters.
_NOT_HERE = ("share.", "streams.", "kraft.")
# What the tests start the two brokers with differs, and so does what a node can change while it runs: how strangers are
# let in changes for single listeners (`listener.name.<name>.`), and Kerberos is not part of tidelog.
_READ_ONLY_HERE = frozenset(
    {
        "listeners",
        "listener.security.protocol.map",
        "advertised.listeners",
        "principal.builder.class",
        "sasl.enabled.mechanisms",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.principal.to.local.rules",
        "sasl.kerberos.service.name",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.mechanism.inter.broker.protocol",
        "ssl.cipher.suites",
        "ssl.client.auth",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.engine.factory.class",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
    }
)
# Kafka's authorizer reads these by itself, so its broker does not describe them.
_OF_THE_AUTHORIZER = {"allow.everyone.if.no.acl.found", "super.users"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def both(apache_kafka: ApacheKafka, tidelog_process: TidelogBroker) -> AsyncIterator[tuple[RawClient, RawClient]]:
    async with (
        raw_client(apache_kafka.bootstrap_servers) as theirs,
        raw_client(tidelog_process.bootstrap_servers) as ours,
    ):
        for client in (theirs, ours):
            configs = [CreatableTopicConfig(name="retention.ms", value="1000")]
            topic = CreatableTopic(name=NAME, num_partitions=1, replication_factor=1, configs=configs)
            reply = await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
            assert reply.topics[0].error_code == 0
        yield theirs, ours


async def described(client: RawClient, kind: int, name: str, keys: list[str] | None, **options: bool) -> Any:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
    (result,) = (await client.ask(DescribeConfigsRequest(resources=[resource], **options))).results
    return result


def comparable(result: Any) -> Any:
    configs = {
        each.name: (
            each.value,
            each.config_source,
            each.read_only,
            each.is_sensitive,
            each.config_type,
            [(synonym.name, synonym.value, synonym.source) for synonym in each.synonyms],
            each.documentation is None,
        )
        for each in result.configs
        if not each.name.startswith(_NOT_HERE)
    }
    return result.error_code, result.error_message == "", configs


@pytest.mark.parametrize("synonyms", [False, True])
@pytest.mark.parametrize("documentation", [False, True])
@pytest.mark.parametrize("keys", [None, [], ["retention.ms", "not.there"]], ids=["all", "empty", "some"])
@pytest.mark.parametrize("kind", [TOPIC, GROUP, METRICS], ids=["topic", "group", "metrics"])
async def test_properties_are_described_alike(
    both: tuple[RawClient, RawClient], kind: int, keys: list[str] | None, documentation: bool, synonyms: bool
) -> None:
    options = {"include_synonyms": synonyms, "include_documentation": documentation}
    theirs, ours = [comparable(await described(client, kind, NAME, keys, **options)) for client in both]
    assert ours == theirs


async def test_a_broker_describes_its_properties_alike(both: tuple[RawClient, RawClient]) -> None:
    theirs, ours = [comparable(await described(client, BROKER, "1", [], include_synonyms=True))[2] for client in both]
    for name in sorted(theirs.keys() & ours.keys() - _READ_ONLY_HERE):
        assert ours[name][2:5] == theirs[name][2:5], name
        if theirs[name][1] == ours[name][1] == 5 and name != "metric.reporters":
            assert ours[name] == theirs[name], name
    assert ours["broker.id"] == theirs["broker.id"]
    # Nothing else is shown here that Kafka keeps to itself.
    shown = {name for name in ours.keys() - theirs.keys() if not name.startswith("tidelog.")}
    assert shown == _OF_THE_AUTHORIZER


CHANGES: list[tuple[int, str, str, int, str | None]] = [
    (BROKER, "1", "unknown.property", SET, "x"),
    (BROKER, "", "unknown.property", SET, "x"),
    (BROKER, "1", "log.dirs", SET, "x"),
    (BROKER, "9", "log.cleaner.threads", SET, "1"),
    (BROKER, "x", "log.cleaner.threads", SET, "1"),
    (TOPIC, NAME, "segment.bytes", SET, "200"),
    (TOPIC, NAME, "internal.segment.bytes", SET, "200"),
    (TOPIC, NAME, "unknown.property", SET, "x"),
    (TOPIC, "", "retention.ms", SET, "1"),
    (GROUP, NAME, "consumer.session.timeout.ms", SET, "50000"),
    (GROUP, NAME, "consumer.session.timeout.ms", SET, "1"),
    (GROUP, NAME, "consumer.heartbeat.interval.ms", SET, "99999"),
    (GROUP, NAME, "unknown.property", SET, "x"),
    (GROUP, NAME, "consumer.session.timeout.ms", APPEND, "1"),
    (GROUP, NAME, "consumer.session.timeout.ms", DELETE, None),
    (GROUP, "", "consumer.session.timeout.ms", SET, "50000"),
    (METRICS, NAME, "interval.ms", SET, "10000"),
    (METRICS, NAME, "interval.ms", SET, "1"),
    (METRICS, NAME, "match", SET, "client_id=a.*"),
    (METRICS, NAME, "match", SET, "age=7"),
    (METRICS, NAME, "unknown.property", SET, "x"),
    (METRICS, NAME, "metrics", APPEND, "a"),
    (METRICS, "", "interval.ms", SET, "10000"),
    (8, "9", "root", SET, "INFO"),
    (8, "1", "no.such.logger", SET, "INFO"),
    (8, "1", "root", DELETE, None),
    (8, "1", "root", APPEND, "INFO"),
    (8, "1", "root", SET, "WARN"),
    (77, "1", "a", SET, "b"),
]


async def test_changes_are_taken_and_refused_alike(both: tuple[RawClient, RawClient]) -> None:
    for kind, name, key, operation, value in CHANGES:
        codes = []
        for client in both:
            change = AlterableConfig(name=key, config_operation=operation, value=value)
            resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=[change])
            (result,) = (await client.ask(IncrementalAlterConfigsRequest(resources=[resource]))).responses
            codes.append((result.error_code, result.error_message is None))
        assert codes[1] == codes[0], (kind, name, key, operation, value)


async def test_features_have_the_same_levels(both: tuple[RawClient, RawClient]) -> None:
    found = []
    for client in both:
        reply = await client.ask(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 4)
        supported = {
            each.name: (each.min_version, each.max_version)
            for each in reply.supported_features
            if not each.name.startswith(_NOT_HERE)
        }
        finalized = {
            each.name: each.max_version_level
            for each in reply.finalized_features
            if not each.name.startswith(_NOT_HERE)
        }
        found.append((supported, finalized))
    assert found[1] == found[0]
