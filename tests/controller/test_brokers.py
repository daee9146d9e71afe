"""Registration and removal of brokers, and blocks of producer ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.controller.bootstrap import bootstrap_records, fresh_uuid
from tidelog.controller.brokers import register_broker, unfence_broker, unregister_broker
from tidelog.controller.decision import Decision
from tidelog.controller.producer_ids import allocate_producer_ids
from tidelog.metadata.image import NO_LEADER, ClusterImage, Endpoint
from tidelog.metadata.records import METADATA_VERSION
from tidelog.metadata.replay import apply
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import format_uuid
from tidelog.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from tidelog.protocol.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from tidelog.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from tidelog.protocol.messages.producer_ids_record import ProducerIdsRecord
from tidelog.protocol.messages.unregister_broker_request import UnregisterBrokerRequest

MakeCluster = Callable[..., ClusterImage]

ASKED: dict[str, Any] = {
    "broker_id": 1,
    "cluster_id": "cluster",
    "incarnation_id": b"new-incarnation!",
    "listeners": (Listener(name="PLAINTEXT", host="localhost", port=9092, security_protocol=0),),
    "features": (
        Feature(name="metadata.version", min_supported_version=7, max_supported_version=METADATA_VERSION),
        Feature(name="transaction.version", min_supported_version=0, max_supported_version=2),
        Feature(name="group.version", min_supported_version=0, max_supported_version=1),
        Feature(name="eligible.leader.replicas.version", min_supported_version=0, max_supported_version=1),
    ),
    "rack": "r",
    "log_dirs": (b"directory-of-001",),
}


def never(topic: str) -> bool:
    return False


def register(image: ClusterImage, session_alive: bool = False, **changes: Any) -> Decision[BrokerRegistrationResponse]:
    request = BrokerRegistrationRequest(**{**ASKED, **changes})
    return register_broker(image, request, next_offset=50, session_alive=session_alive, unclean=never)


def test_a_new_broker_registers_and_is_fenced_at_first(make_cluster: MakeCluster) -> None:
    image, _ = apply(make_cluster(), bootstrap_records())
    decision = register(image)
    assert (decision.reply.error_code, decision.reply.broker_epoch) == (0, 50)
    image, _ = apply(image, decision.records)
    broker = image.brokers[1]
    assert (broker.epoch, broker.fenced, broker.rack) == (50, True, "r")
    assert broker.endpoints == (Endpoint("PLAINTEXT", "localhost", 9092, 0),)
    image, _ = apply(image, unfence_broker(image, 1, unclean=never).records)
    assert image.is_active(1)


def test_a_restart_after_a_crash_ends_the_old_leaderships(make_cluster: MakeCluster) -> None:
    image = make_cluster(1, partitions=({"replicas": (1,), "isr": (1,), "leader": 1},))
    decision = register(image)
    image, _ = apply(image, decision.records)
    assert image.topics["t"].partitions[0].leader == NO_LEADER
    # The epoch is the offset of the registration itself, which is the second record.
    assert decision.reply.broker_epoch == image.brokers[1].epoch == 51
    image, _ = apply(image, unfence_broker(image, 1, unclean=never).records)
    partition = image.topics["t"].partitions[0]
    assert (partition.leader, partition.isr, partition.leader_epoch) == (1, (1,), 7)


def test_the_same_process_may_register_again_and_keeps_its_state(make_cluster: MakeCluster) -> None:
    image = make_cluster(1, partitions=({"replicas": (1,), "isr": (1,), "leader": 1},))
    decision = register(image, session_alive=True, incarnation_id=b"incarnation-0001", rack="other")
    assert decision.reply.broker_epoch == 101
    after, delta = apply(image, decision.records)
    assert (after.brokers[1].fenced, after.brokers[1].rack) == (False, "other")
    assert delta.partitions == ()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"session_alive": True}, ErrorCode.DUPLICATE_BROKER_REGISTRATION),
        ({"cluster_id": "other"}, ErrorCode.INCONSISTENT_CLUSTER_ID),
        ({"log_dirs": ()}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": (b"x" * 16, b"x" * 16)}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": (bytes(15) + b"\x02",)}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": (b"directory-of-002",)}, ErrorCode.INVALID_REGISTRATION),
        ({"features": ()}, ErrorCode.UNSUPPORTED_VERSION),
        (
            {"features": (Feature(name="metadata.version", min_supported_version=1, max_supported_version=24),)},
            ErrorCode.UNSUPPORTED_VERSION,
        ),
    ],
)
def test_registrations_that_cannot_be_right_are_refused(
    make_cluster: MakeCluster, changes: dict[str, Any], code: ErrorCode
) -> None:
    image, _ = apply(make_cluster(1, 2), bootstrap_records())
    decision = register(image, **changes)
    assert (decision.records, decision.reply.error_code, decision.reply.broker_epoch) == ((), code, -1)


def test_a_broker_can_be_forgotten(make_cluster: MakeCluster) -> None:
    image = make_cluster(1, 2, partitions=({"replicas": (1, 2), "isr": (1, 2), "leader": 1},))
    decision = unregister_broker(image, UnregisterBrokerRequest(broker_id=1), unclean=never)
    assert decision.reply.error_code == 0
    after, _ = apply(image, decision.records)
    assert list(after.brokers) == [2]
    partition = after.topics["t"].partitions[0]
    assert (partition.replicas, partition.isr, partition.leader) == ((1, 2), (2,), 2)


def test_an_unknown_broker_cannot_be_forgotten(make_cluster: MakeCluster) -> None:
    decision = unregister_broker(make_cluster(1), UnregisterBrokerRequest(broker_id=9), unclean=never)
    assert (decision.records, decision.reply.error_code) == ((), ErrorCode.BROKER_ID_NOT_REGISTERED)


def test_producer_ids_come_in_blocks_that_never_overlap(make_cluster: MakeCluster) -> None:
    image = make_cluster(1, 2)
    blocks = []
    for broker in (1, 2, 1):
        decision = allocate_producer_ids(image, AllocateProducerIdsRequest(broker_id=broker, broker_epoch=100 + broker))
        blocks.append((decision.reply.error_code, decision.reply.producer_id_start, decision.reply.producer_id_len))
        image, _ = apply(image, decision.records)
    assert blocks == [(0, 0, 1000), (0, 1000, 1000), (0, 2000, 1000)]


@pytest.mark.parametrize("request_", [(1, 100), (9, 101), (1, -1)])
def test_a_broker_of_the_past_gets_no_producer_ids(make_cluster: MakeCluster, request_: tuple[int, int]) -> None:
    broker, epoch = request_
    decision = allocate_producer_ids(make_cluster(1), AllocateProducerIdsRequest(broker_id=broker, broker_epoch=epoch))
    assert (decision.records, decision.reply.error_code) == ((), ErrorCode.STALE_BROKER_EPOCH)


def test_producer_ids_end_before_they_wrap(make_cluster: MakeCluster) -> None:
    image, _ = apply(make_cluster(1), [ProducerIdsRecord(next_producer_id=2**63 - 500)])
    decision = allocate_producer_ids(image, AllocateProducerIdsRequest(broker_id=1, broker_epoch=101))
    assert (decision.records, decision.reply.error_code) == ((), ErrorCode.UNKNOWN_SERVER_ERROR)


def test_a_new_cluster_starts_with_its_features() -> None:
    image, _ = apply(ClusterImage(cluster_id="c"), bootstrap_records(min_in_sync=2))
    # Those of a new Apache Kafka 4.3, without what tidelog does not have.
    assert image.features == {
        "metadata.version": 30,
        "transaction.version": 2,
        "group.version": 1,
        "eligible.leader.replicas.version": 1,
    }
    assert image.cluster_config() == {"min.insync.replicas": "2"}


@given(st.binary(min_size=16, max_size=16))
def test_fresh_ids_are_version_four_and_safe_on_command_lines(random_bytes: bytes) -> None:
    value = fresh_uuid(random_bytes)
    assert value[6] >> 4 == 4
    assert value[8] >> 6 == 2
    assert not format_uuid(value).startswith("-")


def test_an_id_needs_sixteen_bytes() -> None:
    with pytest.raises(ValueError, match="not 5"):
        fresh_uuid(b"short")
