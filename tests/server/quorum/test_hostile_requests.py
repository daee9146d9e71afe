"""Whatever a request to the controller says: it is answered, and no record is written that a node cannot replay."""

from __future__ import annotations

from functools import partial
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from support.extreme_values import Hostile

from tidelog.config.broker import BrokerConfig
from tidelog.config.catalogue.authorization import STANDARD_AUTHORIZER
from tidelog.controller.bootstrap import INITIAL_FEATURES, bootstrap_records
from tidelog.controller.decision import Decision
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.replay import apply
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.network.port import AsyncioNetwork
from tidelog.network.system import SystemClock, SystemRandomness
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.partition_record import PartitionRecord
from tidelog.protocol.messages.register_broker_record import RegisterBrokerRecord
from tidelog.protocol.messages.topic_record import TopicRecord
from tidelog.protocol.schema import Message
from tidelog.server.quorum.active_controller import ActiveController

TOPIC_ID = b"t" * 16
DIRECTORY = b"directory-of-001"
TRIES = 30


def cluster() -> ClusterImage:
    brokers = [
        RegisterBrokerRecord(
            broker_id=number,
            broker_epoch=100 + number,
            incarnation_id=b"incarnation-%04d" % number,
            fenced=False,
            log_dirs=(b"directory-of-%03d" % number,),
        )
        for number in (1, 2, 3)
    ]
    partitions = [
        PartitionRecord(
            partition_id=number,
            topic_id=TOPIC_ID,
            replicas=[1, 2, 3],
            isr=[1, 2],
            leader=1,
            leader_epoch=5,
            partition_epoch=9,
            directories=[b"directory-of-%03d" % broker for broker in (1, 2, 3)],
        )
        for number in (0, 1)
    ]
    records: list[Message] = [*bootstrap_records(INITIAL_FEATURES), *brokers]
    records += [TopicRecord(name="t", topic_id=TOPIC_ID), *partitions]
    return apply(ClusterImage(cluster_id="cluster"), records)[0]


def controller_of(image: ClusterImage) -> ActiveController:
    quorum: Any = SimpleNamespace(log=SimpleNamespace(end_offset=200))
    metadata: Any = SimpleNamespace(latest=image)
    return ActiveController(
        quorum=quorum,
        metadata=metadata,
        config=BrokerConfig.from_properties(
            {"node.id": "1", "num.partitions": "2", "authorizer.class.name": STANDARD_AUTHORIZER}
        ),
        clock=SystemClock(),
        randomness=SystemRandomness(),
        network=AsyncioNetwork(),
        broker_gone=lambda broker_id, epoch: None,
    )


KINDS = sorted(controller_of(cluster())._decisions, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_controller_decides_on_whatever_it_is_asked(kind: type[Message]) -> None:
    random = Random(kind.__name__)
    image = cluster()
    controller = controller_of(image)
    hostile = Hostile(
        random,
        names=("t", "new", "retention.ms", "min.insync.replicas", "1", "metadata.version"),
        numbers=(0, 1, 1, 2, 3, 5, 9, 101, 102),
        ids=(TOPIC_ID, DIRECTORY),
    )
    low, high = kind.SCHEMA.valid
    for version in range(low, high + 1):
        for _ in range(TRIES):
            request = hostile.message(kind, version)
            encode(request, version)
            decided = controller._checked(partial(controller._decisions[kind], request=request))
            encode(decided.reply, version)


@pytest.mark.parametrize("count", [2**31 - 1, 1_000_000])
def test_more_partitions_than_anybody_can_mean_are_refused_without_being_made(count: int) -> None:
    controller = controller_of(cluster())
    topic = CreatableTopic(name="huge", num_partitions=count, replication_factor=1)
    created = partial(controller._decisions[CreateTopicsRequest], request=CreateTopicsRequest(topics=[topic]))
    decided: Any = controller._checked(created)
    assert (decided.records, decided.reply.topics[0].error_code) == ((), ErrorCode.POLICY_VIOLATION)
    grown = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=count, assignments=None)])
    decided = controller._checked(partial(controller._decisions[CreatePartitionsRequest], request=grown))
    assert (decided.records, decided.reply.results[0].error_code != 0) == ((), True)


def test_a_decision_that_raises_or_cannot_be_replayed_is_an_error_of_its_request() -> None:
    controller = controller_of(cluster())
    twice = TopicRecord(name="t", topic_id=TOPIC_ID)
    too_large = PartitionRecord(topic_id=TOPIC_ID, partition_id=1 << 40)
    for record in (twice, too_large):
        decision = Decision(records=(record,), reply=None)
        with pytest.raises(ApiError) as refused:
            controller._checked(partial(lambda decided, image: decided, decision))
        assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
