"""CreateTopics and DeleteTopics: every outcome by example, and what must hold for all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.present import present

import tidelog.controller.topics
from tidelog.config.broker import BrokerConfig
from tidelog.config.definitions import ConfigSource
from tidelog.config.describe import DescribedConfig, describe_topic
from tidelog.controller.automatic import automatic_topic
from tidelog.controller.decision import MAX_RECORDS_PER_REQUEST
from tidelog.controller.topics import create_topics, delete_topics
from tidelog.metadata.image import UNASSIGNED_DIRECTORY, ClusterImage, TopicImage
from tidelog.metadata.replay import apply
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from tidelog.protocol.messages.config_record import ConfigRecord
from tidelog.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tidelog.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.partition_record import PartitionRecord
from tidelog.protocol.messages.register_broker_record import RegisterBrokerRecord
from tidelog.protocol.messages.topic_record import TopicRecord
from tidelog.protocol.schema import Message

MakeCluster = Callable[..., ClusterImage]

ONE_PARTITION = ({"replicas": (1,), "isr": (1,), "leader": 1},)


def topic(name: str = "new", partitions: int = 1, replicas: int = 1, **fields: Any) -> CreatableTopic:
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=replicas, **fields)


def with_config(**configs: str | None) -> CreatableTopic:
    entries = tuple(CreatableTopicConfig(name=name.replace("_", "."), value=value) for name, value in configs.items())
    return topic(configs=entries)


def assigned(*replicas: tuple[int, ...], numbers: tuple[int, ...] | None = None, **fields: Any) -> CreatableTopic:
    assignments = tuple(
        CreatableReplicaAssignment(partition_index=number, broker_ids=brokers)
        for number, brokers in zip(numbers or range(len(replicas)), replicas, strict=True)
    )
    return topic(assignments=assignments, **{"partitions": -1, "replicas": -1, **fields})


def ids(count: int) -> list[Uuid]:
    return [Uuid(b"%016d" % number) for number in range(1, count + 1)]


def create(
    image: ClusterImage, config: BrokerConfig, *topics: CreatableTopic, start: int = 0, validate_only: bool = False
) -> tuple[tuple[Message, ...], CreateTopicsResponse]:
    request = CreateTopicsRequest(topics=topics, validate_only=validate_only)
    decision = create_topics(image, request, config=config, topic_ids=ids(len(topics)), placement_start=start)
    return decision.records, decision.reply


def only(reply: CreateTopicsResponse) -> CreatableTopicResult:
    (result,) = reply.topics
    return result


def test_a_topic_is_created_with_its_properties_and_partitions(make_cluster: MakeCluster, config: BrokerConfig) -> None:
    asked = topic("new", 2, 2, configs=(CreatableTopicConfig(name="retention.ms", value="5"),))
    records, reply = create(make_cluster(1, 2, 3), config, asked)
    assert [type(record) for record in records] == [TopicRecord, ConfigRecord, PartitionRecord, PartitionRecord]
    image, _ = apply(make_cluster(1, 2, 3), records)
    created = image.topics["new"]
    assert created.id == only(reply).topic_id == ids(1)[0]
    assert [each.replicas for each in created.partitions.values()] == [(1, 2), (2, 3)]
    first = created.partitions[0]
    assert (first.isr, first.leader, first.leader_epoch, first.partition_epoch) == ((1, 2), 1, 0, 0)
    assert first.directories == (b"directory-of-001", b"directory-of-002")
    assert image.topic_config("new") == {"retention.ms": "5"}
    result = only(reply)
    assert (result.error_code, result.error_message) == (0, None)
    assert (result.num_partitions, result.replication_factor) == (2, 2)
    shown = {each.name: (each.value, each.config_source) for each in result.configs or ()}
    assert shown["retention.ms"] == ("5", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert shown["segment.bytes"] == ("1073741824", ConfigSource.DEFAULT_CONFIG)
    assert list(shown) == sorted(shown)


def test_what_the_client_leaves_open_comes_from_the_broker(make_cluster: MakeCluster, config: BrokerConfig) -> None:
    _, reply = create(make_cluster(1), config, topic("new", -1, -1))
    assert (only(reply).num_partitions, only(reply).replication_factor) == (2, 1)


def test_validating_gives_the_same_reply_and_no_records(make_cluster: MakeCluster, config: BrokerConfig) -> None:
    image = make_cluster(1, 2)
    records, reply = create(image, config, topic(), topic("bad", 0))
    assert records
    assert create(image, config, topic(), topic("bad", 0), validate_only=True) == ((), reply)


def test_replicas_on_dead_brokers_are_not_in_sync(make_cluster: MakeCluster, config: BrokerConfig) -> None:
    image = make_cluster(1, 2, 3, fenced=(1,), stopping=(3,))
    records, _ = create(image, config, assigned((1, 2, 3)))
    (partition,) = apply(image, records)[0].topics["new"].partitions.values()
    assert (partition.replicas, partition.isr, partition.leader) == ((1, 2, 3), (2,), 2)


def test_a_broker_with_several_directories_chooses_itself(make_cluster: MakeCluster, config: BrokerConfig) -> None:
    two = RegisterBrokerRecord(broker_id=1, fenced=False, log_dirs=(b"x" * 16, b"y" * 16), rack=None)
    image, _ = apply(make_cluster(), [two])
    records, _ = create(image, config, topic())
    assert records[-1].directories == (UNASSIGNED_DIRECTORY,)  # type: ignore[attr-defined]


E = ErrorCode

REFUSED = [
    (topic("t"), E.TOPIC_ALREADY_EXISTS, "the topic 't' already exists"),
    (topic(""), E.INVALID_TOPIC_EXCEPTION, "empty"),
    (topic(".."), E.INVALID_TOPIC_EXCEPTION, "file systems"),
    (topic("a/b"), E.INVALID_TOPIC_EXCEPTION, "'a/b' may only contain"),
    (topic("x" * 250), E.INVALID_TOPIC_EXCEPTION, "250 characters"),
    (topic("__cluster_metadata"), E.INVALID_REQUEST, "belongs to the controllers"),
    (topic(partitions=0), E.INVALID_PARTITIONS, "0 partitions are not possible"),
    (topic(partitions=-2), E.INVALID_PARTITIONS, "-2 partitions"),
    (topic(replicas=0), E.INVALID_REPLICATION_FACTOR, "0 is not possible"),
    (topic(replicas=-2), E.INVALID_REPLICATION_FACTOR, "-2 is not possible"),
    (topic(replicas=3), E.INVALID_REPLICATION_FACTOR, "only 2 brokers are available"),
    (topic(partitions=2**31 - 1), E.POLICY_VIOLATION, "at most 10000 are allowed"),
    (with_config(retention_ms="soon"), E.INVALID_CONFIG, "retention.ms must be a whole number, but is soon"),
    (with_config(retention_mss="1"), E.INVALID_CONFIG, "did you mean retention.ms?"),
    (with_config(retention_ms=None), E.INVALID_CONFIG, "retention.ms: a value is missing"),
    (assigned((1,), partitions=1), E.INVALID_REQUEST, "must be -1"),
    (assigned((1,), replicas=1), E.INVALID_REQUEST, "must be -1"),
    (assigned((1,), (1,), numbers=(0, 0)), E.INVALID_REPLICA_ASSIGNMENT, "partition 0 is assigned more than once"),
    (assigned((1,), (1,), numbers=(0, 2)), E.INVALID_REPLICA_ASSIGNMENT, "without gaps, not [0, 2]"),
    (assigned((1,), numbers=(1,)), E.INVALID_REPLICA_ASSIGNMENT, "without gaps"),
    (assigned(()), E.INVALID_REPLICA_ASSIGNMENT, "assigned to no broker"),
    (assigned((1, 9)), E.INVALID_REPLICA_ASSIGNMENT, "broker 9 is not registered"),
    (assigned((1, 1)), E.INVALID_REPLICA_ASSIGNMENT, "more than once"),
    (assigned((1,), (1, 2)), E.INVALID_REPLICA_ASSIGNMENT, "where the other partitions of the topic have 1"),
]


@pytest.mark.parametrize(("asked", "code", "message"), REFUSED, ids=[message for _, _, message in REFUSED])
def test_a_topic_that_cannot_be_created_is_explained(
    make_cluster: MakeCluster, config: BrokerConfig, asked: CreatableTopic, code: ErrorCode, message: str
) -> None:
    records, reply = create(make_cluster(1, 2, partitions=ONE_PARTITION), config, asked)
    assert records == ()
    assert (only(reply).name, only(reply).error_code) == (asked.name, code)
    assert message in (only(reply).error_message or "")


def test_a_cluster_without_a_live_broker_creates_nothing(make_cluster: MakeCluster, config: BrokerConfig) -> None:
    image = make_cluster(1, 2, fenced=(1, 2))
    for asked in (topic(), assigned((1, 2))):
        records, reply = create(image, config, asked)
        assert records == ()
        assert only(reply).error_code in (E.INVALID_REPLICATION_FACTOR, E.INVALID_REPLICA_ASSIGNMENT)


@pytest.mark.parametrize(("existing", "asked"), [("a.b", "a_b"), ("a_b", "a.b"), ("a.b_c", "a_b.c")])
def test_names_that_differ_only_in_dots_and_underscores_collide(
    make_cluster: MakeCluster, config: BrokerConfig, existing: str, asked: str
) -> None:
    image, _ = apply(make_cluster(1), [TopicRecord(name=existing, topic_id=b"x" * 16)])
    _, reply = create(image, config, topic(asked))
    assert only(reply).error_code == E.INVALID_TOPIC_EXCEPTION
    assert existing in (only(reply).error_message or "")
    _, reply = create(make_cluster(1), config, topic(existing), topic(asked))
    assert [each.error_code for each in reply.topics] == [0, E.INVALID_TOPIC_EXCEPTION]


class CountedTopics(dict[str, TopicImage]):
    """Counts how often somebody walks over all topics."""

    walks = 0

    def __iter__(self) -> Iterator[str]:
        self.walks += 1
        return super().__iter__()


def test_creating_a_topic_does_not_look_at_all_the_others(make_cluster: MakeCluster, config: BrokerConfig) -> None:
    image = make_cluster(1, partitions=ONE_PARTITION)
    topics = CountedTopics(image.topics)
    image = dataclasses.replace(image, topics=topics)
    _, reply = create(image, config, topic("topic-1"), topic("topic-2"))
    assert [each.error_code for each in reply.topics] == [ErrorCode.NONE, ErrorCode.NONE]
    _, reply = create(image, config, topic("t"))
    assert only(reply).error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    assert topics.walks == 0
    # Only these can collide with other names than their own.
    create(image, config, topic("a.b"), topic("a.c"), topic("a_d"))
    assert topics.walks == 1


def test_properties_are_described_once_for_all_topics_that_have_the_same(
    make_cluster: MakeCluster, config: BrokerConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    described: list[Mapping[str, str]] = []

    def count(overrides: Mapping[str, str], broker: BrokerConfig) -> Iterator[DescribedConfig]:
        described.append(overrides)
        return describe_topic(overrides, broker)

    monkeypatch.setattr(tidelog.controller.topics, "describe_topic", count)
    compacted = with_config(cleanup_policy="compact")
    _, reply = create(make_cluster(1), config, topic("one"), topic("two"), compacted)
    one, two, three = reply.topics
    assert described == [{}, {"cleanup.policy": "compact"}]
    assert one.configs == two.configs
    assert {each.value for each in present(three.configs) if each.name == "cleanup.policy"} == {"compact"}
    assert {each.value for each in present(one.configs) if each.name == "cleanup.policy"} == {"delete"}


def test_a_name_that_appears_twice_is_refused_once(make_cluster: MakeCluster, config: BrokerConfig) -> None:
    records, reply = create(make_cluster(1), config, topic("a"), topic("b"), topic("a"))
    assert [(each.name, each.error_code) for each in reply.topics] == [("a", E.INVALID_REQUEST), ("b", 0)]
    assert list(apply(make_cluster(1), records)[0].topics) == ["b"]


def test_one_bad_topic_does_not_hold_up_the_others(make_cluster: MakeCluster, config: BrokerConfig) -> None:
    records, reply = create(make_cluster(1), config, topic("a"), topic("b", 0), topic("c"))
    assert [each.error_code for each in reply.topics] == [0, E.INVALID_PARTITIONS, 0]
    assert list(apply(make_cluster(1), records)[0].topics) == ["a", "c"]


def test_a_request_cannot_flood_the_metadata_log(make_cluster: MakeCluster, config: BrokerConfig) -> None:
    records, reply = create(make_cluster(1), config, topic("a", 6000), topic("b", 6000), topic("c", 10))
    assert [each.error_code for each in reply.topics] == [0, E.POLICY_VIOLATION, 0]
    assert len(records) <= MAX_RECORDS_PER_REQUEST


requests = st.lists(
    st.one_of(
        st.builds(
            topic,
            st.sampled_from(["t", "a", "b", "a.b", "a_b", "", "x/y"]),
            st.integers(-3, 6),
            st.integers(-3, 4),
        ),
        st.builds(
            lambda lists: assigned(*lists), st.lists(st.lists(st.integers(1, 4), max_size=3).map(tuple), max_size=3)
        ),
        st.builds(lambda value: with_config(retention_ms=value), st.sampled_from(["1", "-1", "x", None])),
    ),
    max_size=5,
)


@settings(max_examples=200)
@given(asked=requests, start=st.integers(0, 100), fenced=st.sets(st.integers(1, 3), max_size=2))
def test_accepted_topics_exist_afterwards_and_refused_ones_leave_no_trace(
    asked: list[CreatableTopic], start: int, fenced: set[int]
) -> None:
    brokers = [
        RegisterBrokerRecord(broker_id=number, fenced=number in fenced, log_dirs=(b"%016d" % number,), rack=None)
        for number in (1, 2, 3)
    ]
    image, _ = apply(ClusterImage(cluster_id="c"), [*brokers, TopicRecord(name="t", topic_id=b"t" * 16)])
    records, reply = create(image, BrokerConfig.from_properties({"node.id": "1"}), *asked, start=start)
    after, delta = apply(image, records)
    accepted = {each.name for each in reply.topics if not each.error_code}
    assert {each.name for each in reply.topics} == {each.name for each in asked}
    assert after.topics.keys() == image.topics.keys() | accepted
    assert {each.name for each in delta.topics_created} == accepted
    for result in reply.topics:
        if result.error_code:
            assert result.error_message
            continue
        created = after.topics[result.name]
        assert list(created.partitions) == list(range(result.num_partitions))
        for partition in created.partitions.values():
            assert len(partition.replicas) == result.replication_factor
            assert partition.leader == partition.isr[0]
            assert all(after.is_active(broker) for broker in partition.isr)


# --------------------------------------------------------------------------------------------------------------


def delete(image: ClusterImage, config: BrokerConfig, *states: DeleteTopicState) -> Any:
    return delete_topics(image, DeleteTopicsRequest(topics=states), config=config)


T_ID = Uuid(b"t" * 16)


@pytest.mark.parametrize("state", [DeleteTopicState(name="t"), DeleteTopicState(topic_id=T_ID)])
def test_a_topic_is_deleted_by_name_or_by_id(
    make_cluster: MakeCluster, config: BrokerConfig, state: DeleteTopicState
) -> None:
    image = make_cluster(1, partitions=ONE_PARTITION)
    decision = delete(image, config, state)
    (result,) = decision.reply.responses
    assert (result.name, result.topic_id, result.error_code) == ("t", T_ID, 0)
    assert apply(image, decision.records)[0].topics == {}


def test_older_versions_send_plain_names(make_cluster: MakeCluster, config: BrokerConfig) -> None:
    image = make_cluster(1, partitions=ONE_PARTITION)
    decision = delete_topics(image, DeleteTopicsRequest(topic_names=("t", "u")), config=config)
    assert [(each.name, each.error_code) for each in decision.reply.responses] == [
        ("t", 0),
        ("u", E.UNKNOWN_TOPIC_OR_PARTITION),
    ]


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (DeleteTopicState(name="u"), E.UNKNOWN_TOPIC_OR_PARTITION),
        (DeleteTopicState(topic_id=b"u" * 16), E.UNKNOWN_TOPIC_ID),
        (DeleteTopicState(), E.INVALID_REQUEST),
        (DeleteTopicState(name="t", topic_id=T_ID), E.INVALID_REQUEST),
    ],
)
def test_what_cannot_be_deleted_is_explained(
    make_cluster: MakeCluster, config: BrokerConfig, state: DeleteTopicState, code: ErrorCode
) -> None:
    decision = delete(make_cluster(1, partitions=ONE_PARTITION), config, state)
    (result,) = decision.reply.responses
    assert (decision.records, result.name, result.topic_id) == ((), state.name, state.topic_id)
    assert result.error_code == code
    assert result.error_message


def test_a_topic_meant_by_name_and_by_id_is_deleted_once(make_cluster: MakeCluster, config: BrokerConfig) -> None:
    states = (DeleteTopicState(name="t"), DeleteTopicState(topic_id=T_ID))
    decision = delete(make_cluster(1, partitions=ONE_PARTITION), config, *states)
    assert len(decision.records) == 1
    assert [each.error_code for each in decision.reply.responses] == [0, E.INVALID_REQUEST]


def test_a_topic_named_twice_is_not_deleted_and_answered_for_once(
    make_cluster: MakeCluster, config: BrokerConfig
) -> None:
    decision = delete(make_cluster(1, partitions=ONE_PARTITION), config, *[DeleteTopicState(name="t")] * 2)
    assert decision.records == ()
    assert [each.error_code for each in decision.reply.responses] == [E.INVALID_REQUEST]


def test_deletion_can_be_switched_off(make_cluster: MakeCluster) -> None:
    config = BrokerConfig.from_properties({"node.id": "1", "delete.topic.enable": "false"})
    decision = delete(make_cluster(1, partitions=ONE_PARTITION), config, DeleteTopicState(name="t"))
    (result,) = decision.reply.responses
    assert (decision.records, result.error_code) == ((), E.TOPIC_DELETION_DISABLED)
    assert result.topic_id == ZERO_UUID


# --------------------------------------------------------------------------------------------------------------


def test_the_coordinators_topics_get_their_own_settings(make_cluster: MakeCluster) -> None:
    config = BrokerConfig.from_properties(
        {
            "node.id": "1",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
        }
    )
    image = make_cluster(1)
    asked = [automatic_topic(name, config) for name in (CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, "other")]
    records, reply = create(image, config, *asked)
    assert [each.error_code for each in reply.topics] == [0, 0, 0]
    after, _ = apply(image, records)
    assert [len(each.partitions) for each in after.topics.values()] == [4, 50, 1]
    assert after.topic_config(CONSUMER_OFFSETS_TOPIC)["cleanup.policy"] == "compact"
    assert after.topic_config(TRANSACTION_STATE_TOPIC)["min.insync.replicas"] == "1"
    assert after.topic_config("other") == {}
