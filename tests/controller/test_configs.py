"""AlterConfigs and IncrementalAlterConfigs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tidelog.config.broker import BrokerConfig
from tidelog.controller.configs import alter_configs, incremental_alter_configs
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.replay import apply
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import alter_configs_request, incremental_alter_configs_request
from tidelog.protocol.messages.config_record import ConfigRecord

MakeCluster = Callable[..., ClusterImage]

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SESSION = "consumer.session.timeout.ms"
SET, DELETE, APPEND, SUBTRACT = range(4)

ONE_PARTITION = ({"replicas": (1,), "isr": (1,), "leader": 1},)

Operation = tuple[str, int, str | None]


@pytest.fixture
def image(make_cluster: MakeCluster) -> ClusterImage:
    """A topic "t" with a property, brokers 1 and 2."""
    cluster = make_cluster(1, 2, partitions=ONE_PARTITION)
    return apply(cluster, [ConfigRecord(resource_type=TOPIC, resource_name="t", name="retention.ms", value="5")])[0]


def incremental(
    kind: int, name: str, *operations: Operation, validate_only: bool = False
) -> incremental_alter_configs_request.IncrementalAlterConfigsRequest:
    resource = incremental_alter_configs_request.AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=tuple(
            incremental_alter_configs_request.AlterableConfig(name=entry, config_operation=operation, value=value)
            for entry, operation, value in operations
        ),
    )
    return incremental_alter_configs_request.IncrementalAlterConfigsRequest(
        resources=(resource,), validate_only=validate_only
    )


def replacing(
    kind: int, name: str, *entries: tuple[str, str | None], validate_only: bool = False
) -> alter_configs_request.AlterConfigsRequest:
    resource = alter_configs_request.AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=tuple(alter_configs_request.AlterableConfig(name=entry, value=value) for entry, value in entries),
    )
    return alter_configs_request.AlterConfigsRequest(resources=(resource,), validate_only=validate_only)


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([("segment.ms", SET, "7")], {"retention.ms": "5", "segment.ms": "7"}),
        ([("retention.ms", SET, "6")], {"retention.ms": "6"}),
        ([("retention.ms", DELETE, None)], {}),
        ([("retention.ms", DELETE, None), ("segment.ms", SET, "7")], {"segment.ms": "7"}),
        ([("cleanup.policy", APPEND, "compact")], {"retention.ms": "5", "cleanup.policy": "delete,compact"}),
        ([("cleanup.policy", SUBTRACT, "delete")], {"retention.ms": "5", "cleanup.policy": ""}),
        ([], {"retention.ms": "5"}),
    ],
)
def test_single_properties_of_a_topic_change(
    image: ClusterImage, config: BrokerConfig, operations: list[Operation], expected: dict[str, str]
) -> None:
    decision = incremental_alter_configs(image, incremental(TOPIC, "t", *operations), config=config)
    (result,) = decision.reply.responses
    assert (result.error_code, result.error_message, result.resource_type, result.resource_name) == (0, None, 2, "t")
    assert apply(image, decision.records)[0].topic_config("t") == expected


def test_setting_what_is_already_set_writes_nothing(image: ClusterImage, config: BrokerConfig) -> None:
    decision = incremental_alter_configs(image, incremental(TOPIC, "t", ("retention.ms", SET, "5")), config=config)
    assert decision.records == ()


def test_the_older_request_replaces_all_properties(image: ClusterImage, config: BrokerConfig) -> None:
    decision = alter_configs(image, replacing(TOPIC, "t", ("segment.ms", "7")), config=config)
    assert decision.reply.responses[0].error_code == 0
    assert apply(image, decision.records)[0].topic_config("t") == {"segment.ms": "7"}


def test_validating_changes_nothing(image: ClusterImage, config: BrokerConfig) -> None:
    changed = incremental(TOPIC, "t", ("segment.ms", SET, "7"), validate_only=True)
    assert incremental_alter_configs(image, changed, config=config).records == ()
    replaced = replacing(TOPIC, "t", ("segment.ms", "7"), validate_only=True)
    assert alter_configs(image, replaced, config=config).records == ()


def test_brokers_have_properties_one_by_one_and_together(image: ClusterImage, config: BrokerConfig) -> None:
    for name, value in (("1", "10"), ("", "20")):
        asked = incremental(BROKER, name, ("max.connections", SET, value))
        image, _ = apply(image, incremental_alter_configs(image, asked, config=config).records)
    assert image.broker_config(1) == {"max.connections": "10"}
    assert image.broker_config(2) == {}
    assert image.cluster_config() == {"max.connections": "20"}


@pytest.mark.parametrize(
    ("request_", "code", "message"),
    [
        (
            incremental(TOPIC, "u", ("segment.ms", SET, "7")),
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "the topic 'u' does not exist",
        ),
        (incremental(TOPIC, "", ("segment.ms", SET, "7")), ErrorCode.INVALID_REQUEST, "hold for all of them"),
        (
            incremental(TOPIC, "t", ("segment.ms", SET, "x")),
            ErrorCode.INVALID_CONFIG,
            "segment.ms must be a whole number, but is x",
        ),
        (incremental(TOPIC, "t", ("segment.md", SET, "7")), ErrorCode.INVALID_CONFIG, "did you mean segment.ms?"),
        (
            incremental(TOPIC, "t", ("segment.ms", SET, None)),
            ErrorCode.INVALID_REQUEST,
            "segment.ms: a value is missing",
        ),
        (incremental(TOPIC, "t", ("segment.ms", APPEND, "7")), ErrorCode.INVALID_CONFIG, "not a list"),
        (incremental(TOPIC, "t", ("segment.ms", 9, "7")), ErrorCode.INVALID_CONFIG, "9 is not an operation"),
        (
            incremental(TOPIC, "t", ("segment.ms", SET, "7"), ("segment.ms", SET, "8")),
            ErrorCode.INVALID_REQUEST,
            "segment.ms: in the request more than once",
        ),
        (
            incremental(TOPIC, "t", ("min.compaction.lag.ms", SET, "9"), ("max.compaction.lag.ms", SET, "8")),
            ErrorCode.INVALID_CONFIG,
            "min.compaction.lag.ms=9 is greater",
        ),
        (
            incremental(BROKER, "3", ("max.connections", SET, "7")),
            ErrorCode.BROKER_ID_NOT_REGISTERED,
            "broker 3 is not registered",
        ),
        (
            incremental(BROKER, "01", ("max.connections", SET, "7")),
            ErrorCode.BROKER_ID_NOT_REGISTERED,
            "broker 01 is not registered",
        ),
        (
            incremental(BROKER, "9" * 99, ("max.connections", SET, "7")),
            ErrorCode.BROKER_ID_NOT_REGISTERED,
            "is not registered",
        ),
        (
            incremental(BROKER, "one", ("max.connections", SET, "7")),
            ErrorCode.INVALID_REQUEST,
            "'one' is not the number",
        ),
        (incremental(BROKER, "-1", ("max.connections", SET, "7")), ErrorCode.INVALID_REQUEST, "is not the number"),
        (
            incremental(BROKER, "1", ("max.connections", SET, "x")),
            ErrorCode.INVALID_REQUEST,
            "max.connections must be a whole number, but is x",
        ),
        (incremental(BROKER, "1", ("num.partitions", SET, "7")), ErrorCode.INVALID_REQUEST, "cannot be changed while"),
        (incremental(LOGGER, "1", ("a", SET, "DEBUG")), ErrorCode.INVALID_REQUEST, "resource type 8"),
        (incremental(GROUP, "g", ("a", SET, "7")), ErrorCode.INVALID_CONFIG, "a is not a property of groups"),
        (
            incremental(GROUP, "", (SESSION, SET, "46000")),
            ErrorCode.INVALID_REQUEST,
            "name of the resource",
        ),
        (incremental(GROUP, "g", (SESSION, SET, "x")), ErrorCode.INVALID_CONFIG, "must be a whole number"),
        (
            incremental(GROUP, "g", (SESSION, SET, "1")),
            ErrorCode.INVALID_CONFIG,
            "group.consumer.min.session",
        ),
        (incremental(GROUP, "g", (SESSION, SET, "99999")), ErrorCode.INVALID_CONFIG, "must be from 45000 to 60000"),
        (incremental(GROUP, "g", (SESSION, APPEND, "1")), ErrorCode.INVALID_CONFIG, "can only be set or deleted"),
        (
            incremental(METRICS, "m", ("a", SET, "7")),
            ErrorCode.INVALID_REQUEST,
            "a is not a property of client metrics subscriptions",
        ),
        (
            incremental(METRICS, "m", ("interval.ms", SET, "7")),
            ErrorCode.INVALID_REQUEST,
            "must be from 100",
        ),
        (incremental(METRICS, "m", ("match", SET, "age=7")), ErrorCode.INVALID_CONFIG, "'age=7' is not a pair"),
        (incremental(METRICS, "m", ("match", SET, "client_id=((")), ErrorCode.INVALID_CONFIG, "is not a pair"),
        (
            incremental(METRICS, "", ("interval.ms", SET, "700")),
            ErrorCode.INVALID_REQUEST,
            "name of the resource",
        ),
    ],
)
def test_what_cannot_be_changed_is_explained(
    image: ClusterImage,
    config: BrokerConfig,
    request_: incremental_alter_configs_request.IncrementalAlterConfigsRequest,
    code: ErrorCode,
    message: str,
) -> None:
    decision = incremental_alter_configs(image, request_, config=config)
    (result,) = decision.reply.responses
    assert (decision.records, result.error_code) == ((), code)
    assert message in (result.error_message or "")


def test_a_missing_value_is_refused_by_the_older_request(image: ClusterImage, config: BrokerConfig) -> None:
    decision = alter_configs(image, replacing(TOPIC, "t", ("segment.ms", None)), config=config)
    (result,) = decision.reply.responses
    assert (decision.records, result.error_code) == ((), ErrorCode.INVALID_REQUEST)


def test_resources_stand_for_themselves_and_none_may_appear_twice(image: ClusterImage, config: BrokerConfig) -> None:
    good = incremental(TOPIC, "t", ("segment.ms", SET, "7")).resources
    bad = incremental(TOPIC, "u", ("segment.ms", SET, "7")).resources
    request = incremental_alter_configs_request.IncrementalAlterConfigsRequest
    decision = incremental_alter_configs(image, request(resources=(*good, *bad)), config=config)
    assert len(decision.records) == 1
    assert [each.error_code for each in decision.reply.responses] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    decision = incremental_alter_configs(image, request(resources=(*good, *good)), config=config)
    assert decision.records == ()
    assert [each.error_code for each in decision.reply.responses] == [ErrorCode.INVALID_REQUEST] * 2
