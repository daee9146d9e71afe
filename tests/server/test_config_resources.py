"""The properties of everything that has some: topics, brokers, loggers, groups and subscriptions to client metrics."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from server.conftest import create_topic
from support.nodes_in_process import nodes
from support.processes import HANG_SECONDS
from support.raw_client import RawClient, raw_client

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import alter_configs_request as replacing
from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.describe_cluster_request import DescribeClusterRequest
from tidelog.protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from tidelog.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.protocol.messages.list_config_resources_request import ListConfigResourcesRequest

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND = 0, 1, 2
Change = tuple[str, int, str | None]
LOUD = "tidelog.server.routing.router"


async def describe(client: RawClient, kind: int, name: str, *keys: str) -> Any:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
    (result,) = (await client.ask(DescribeConfigsRequest(resources=[resource], include_synonyms=True))).results
    return result


async def values(client: RawClient, kind: int, name: str, *keys: str) -> dict[str, str | None]:
    result = await describe(client, kind, name, *keys)
    assert (result.error_code, result.error_message) == (0, "")
    return {each.name: each.value for each in result.configs}


def resource(kind: int, name: str, *changes: Change) -> AlterConfigsResource:
    configs = [AlterableConfig(name=key, config_operation=operation, value=value) for key, operation, value in changes]
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)


async def alter(client: RawClient, *resources: AlterConfigsResource, validate_only: bool = False) -> list[int]:
    reply = await client.ask(IncrementalAlterConfigsRequest(resources=resources, validate_only=validate_only))
    asked = [(each.resource_type, each.resource_name) for each in resources]
    assert [(each.resource_type, each.resource_name) for each in reply.responses] == asked
    return [each.error_code for each in reply.responses]


@pytest.fixture(autouse=True)
def levels() -> Iterator[None]:
    """Loggers are the process's, so a test gives back what it changes."""
    loggers = (logging.getLogger(), logging.getLogger(LOUD))
    before = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)


async def test_an_empty_list_of_names_asks_for_everything(client: RawClient) -> None:
    await create_topic(client, "t")
    for kind, name in ((TOPIC, "t"), (BROKER, "1"), (GROUP, "g"), (METRICS, "m"), (LOGGER, "1")):
        everything = await values(client, kind, name)
        assert everything
        some = sorted(everything)[0]
        assert await values(client, kind, name, some, "not.there") == {some: everything[some]}


async def test_a_broker_knows_its_number(client: RawClient) -> None:
    assert await values(client, BROKER, "1", "broker.id", "node.id") == {"broker.id": "1", "node.id": "1"}


async def test_a_topic_shows_no_synonym_in_another_unit(client: RawClient) -> None:
    await create_topic(client, "t", retention_ms="1000")
    result = await describe(client, TOPIC, "t", "retention.ms")
    assert [(each.name, each.value) for each in result.configs[0].synonyms] == [("retention.ms", "1000")]


async def test_segments_of_users_have_at_least_a_mebibyte(client: RawClient) -> None:
    await create_topic(client, "t", segment_bytes="1048576")
    for key, value, code in (
        ("segment.bytes", "1048575", ErrorCode.INVALID_CONFIG),
        ("internal.segment.bytes", "200", ErrorCode.NONE),
    ):
        assert await alter(client, resource(TOPIC, "t", (key, SET, value))) == [code]
    assert await alter(client, resource(BROKER, "", ("log.segment.bytes", SET, "200"))) == [ErrorCode.INVALID_REQUEST]


async def test_an_unknown_broker_property_is_stored_and_shown_without_its_value(client: RawClient) -> None:
    for name in ("1", ""):
        assert await alter(client, resource(BROKER, name, ("plugin.secret", SET, "x"))) == [0]
        result = await describe(client, BROKER, name, "plugin.secret")
        (shown,) = result.configs
        assert (shown.value, shown.is_sensitive, shown.read_only, shown.config_type) == (None, True, True, 0)
    assert await alter(client, resource(BROKER, "1", ("plugin.secret", DELETE, None))) == [0]


async def test_only_a_broker_itself_changes_its_properties(client: RawClient) -> None:
    known = ("log.cleaner.threads", SET, "2")
    codes = await alter(
        client, resource(BROKER, "1", known), resource(BROKER, "2", known), resource(BROKER, "x", known)
    )
    assert codes == [0, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST]


async def find_coordinators(client: RawClient, *groups: str) -> None:
    async def found() -> bool:
        reply = await client.ask(FindCoordinatorRequest(coordinator_keys=groups), 6)
        return all(each.error_code == 0 for each in reply.coordinators)

    async with asyncio.timeout(HANG_SECONDS):
        while not await found():
            await asyncio.sleep(0.05)


async def test_the_properties_of_a_group_steer_its_members(client: RawClient) -> None:
    beat = "consumer.heartbeat.interval.ms"
    assert await alter(client, resource(GROUP, "g", (beat, SET, "7000"))) == [0]
    await create_topic(client, "t")
    await find_coordinators(client, "g", "other")
    intervals = {}
    epochs = {}
    for group in ("g", "other"):
        joining = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=f"{group}-member",
            rebalance_timeout_ms=5000,
            subscribed_topic_names=["t"],
            topic_partitions=[],
        )
        reply = await client.ask(joining)
        assert reply.error_code == 0, reply.error_message
        intervals[group] = reply.heartbeat_interval_ms
        epochs[group] = reply.member_epoch
    assert intervals == {"g": 7000, "other": 5000}
    assert await alter(client, resource(GROUP, "g", (beat, DELETE, None))) == [0]
    again = ConsumerGroupHeartbeatRequest(group_id="g", member_id="g-member", member_epoch=epochs["g"])
    assert (await client.ask(again)).heartbeat_interval_ms == 5000
    assert (await values(client, GROUP, "g", beat)) == {beat: "5000"}


async def test_what_has_properties_is_listed(client: RawClient) -> None:
    assert await alter(
        client,
        resource(GROUP, "g", ("consumer.session.timeout.ms", SET, "46000")),
        resource(METRICS, "m", ("interval.ms", SET, "1000"), ("match", SET, "client_id=a.*")),
    ) == [0, 0]
    reply = await client.ask(ListConfigResourcesRequest())
    listed = [(each.resource_type, each.resource_name) for each in reply.config_resources]
    assert listed == [(GROUP, "g"), (METRICS, "m"), (LOGGER, "1"), (BROKER, "1")]
    reply = await client.ask(ListConfigResourcesRequest(), 0)
    assert [each.resource_name for each in reply.config_resources] == ["m"]
    assert await values(client, METRICS, "m") == {"interval.ms": "1000", "match": "client_id=a.*", "metrics": ""}


async def test_log_levels_are_seen_and_changed(client: RawClient) -> None:
    router = logging.getLogger(LOUD)
    assert (await values(client, LOGGER, "1"))[LOUD] is not None
    assert await alter(client, resource(LOGGER, "1", (LOUD, SET, "TRACE")), validate_only=True) == [0]
    assert router.level == logging.NOTSET
    assert await alter(client, resource(LOGGER, "1", (LOUD, SET, "DEBUG"))) == [0]
    assert router.level == logging.DEBUG
    assert await values(client, LOGGER, "1", LOUD) == {LOUD: "DEBUG"}
    assert await alter(client, resource(LOGGER, "1", (LOUD, DELETE, None))) == [0]
    assert router.level == logging.NOTSET


@pytest.mark.parametrize(
    ("name", "change", "code"),
    [
        ("1", ("tidelog.no.such", SET, "INFO"), ErrorCode.INVALID_CONFIG),
        ("1", (LOUD, SET, "LOUD"), ErrorCode.INVALID_CONFIG),
        ("1", (LOUD, SET, "debug"), ErrorCode.INVALID_CONFIG),
        ("1", (LOUD, APPEND, "INFO"), ErrorCode.INVALID_REQUEST),
        ("1", ("root", DELETE, None), ErrorCode.INVALID_REQUEST),
        ("2", (LOUD, SET, "INFO"), ErrorCode.INVALID_REQUEST),
        ("", (LOUD, SET, "INFO"), ErrorCode.INVALID_REQUEST),
    ],
)
async def test_a_log_level_that_cannot_be_is_refused_whole(
    client: RawClient, name: str, change: Change, code: ErrorCode
) -> None:
    before = logging.getLogger(LOUD).level
    assert await alter(client, resource(LOGGER, name, ("tidelog", SET, "INFO"), change)) == [code]
    assert logging.getLogger(LOUD).level == before


async def test_loggers_and_topics_in_one_request_are_answered_in_order(client: RawClient) -> None:
    await create_topic(client, "t")
    level = resource(LOGGER, "1", (LOUD, SET, "ERROR"))
    codes = await alter(client, resource(TOPIC, "t", ("retention.ms", SET, "77")), level, resource(TOPIC, "missing"))
    assert codes == [0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert await values(client, TOPIC, "t", "retention.ms") == {"retention.ms": "77"}
    old = replacing.AlterConfigsResource(resource_type=LOGGER, resource_name="1")
    reply = await client.ask(replacing.AlterConfigsRequest(resources=[old]))
    assert [each.error_code for each in reply.responses] == [ErrorCode.INVALID_REQUEST]


async def test_controllers_answer_clients_that_know_only_them(tmp_path: Path) -> None:
    async with nodes(tmp_path, {1: "controller", 2: "controller", 3: "broker"}) as cluster:
        leading = cluster.controller()
        voters = cluster.config(1).controller_quorum_voters
        for voter in voters:
            async with raw_client(f"{voter.host}:{voter.port}") as client:
                described = await client.ask(DescribeClusterRequest(endpoint_type=2))
                assert (described.error_code, described.controller_id) == (0, leading)
                assert [(each.broker_id, each.host, each.port) for each in described.brokers] == [
                    (each.id, each.host, each.port) for each in voters
                ]
                for version, kind, code in (
                    (0, 1, ErrorCode.INVALID_REQUEST),
                    (1, 1, ErrorCode.MISMATCHED_ENDPOINT_TYPE),
                    (2, 3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
                ):
                    refused = await client.ask(DescribeClusterRequest(endpoint_type=kind), version)
                    assert refused.error_code == code
                own = str(voter.id)
                assert (await values(client, BROKER, own, "node.id")) == {"node.id": own}
                assert (await describe(client, BROKER, "3")).error_code == ErrorCode.INVALID_REQUEST
                assert await alter(client, resource(LOGGER, own, (LOUD, SET, "INFO"))) == [0]
                expected = ErrorCode.NONE if voter.id == leading else ErrorCode.NOT_CONTROLLER
                assert await alter(client, resource(BROKER, "", ("log.cleaner.threads", SET, "2"))) == [expected]
                versions = await client.ask(ApiVersionsRequest(client_software_name="x", client_software_version="1"))
                assert {each.name for each in versions.finalized_features} >= {"metadata.version"}
                if voter.id == leading:
                    assert (await client.ask(DescribeQuorumRequest())).error_code == 0
