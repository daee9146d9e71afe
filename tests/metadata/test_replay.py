"""Applying records to an image: single records by example, batches of random ones against a naive model."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.metadata.draft import BrokenMetadata
from tidelog.metadata.image import (
    MIGRATING_DIRECTORY,
    ClusterImage,
    ConfiguredResource,
    Endpoint,
    LeaderRecovery,
    PartitionImage,
    VersionRange,
)
from tidelog.metadata.records import decode_record, encode_record
from tidelog.metadata.replay import FENCE, START_CONTROLLED_SHUTDOWN, UNFENCE, apply
from tidelog.metadata.snapshot import image_records
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.abort_transaction_record import AbortTransactionRecord
from tidelog.protocol.messages.begin_transaction_record import BeginTransactionRecord
from tidelog.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from tidelog.protocol.messages.clear_elr_record import ClearElrRecord
from tidelog.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData
from tidelog.protocol.messages.config_record import ConfigRecord
from tidelog.protocol.messages.feature_level_record import FeatureLevelRecord
from tidelog.protocol.messages.fence_broker_record import FenceBrokerRecord
from tidelog.protocol.messages.no_op_record import NoOpRecord
from tidelog.protocol.messages.partition_change_record import PartitionChangeRecord
from tidelog.protocol.messages.partition_record import PartitionRecord
from tidelog.protocol.messages.producer_ids_record import ProducerIdsRecord
from tidelog.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from tidelog.protocol.messages.register_controller_record import RegisterControllerRecord
from tidelog.protocol.messages.remove_topic_record import RemoveTopicRecord
from tidelog.protocol.messages.topic_record import TopicRecord
from tidelog.protocol.messages.unfence_broker_record import UnfenceBrokerRecord
from tidelog.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from tidelog.protocol.schema import Message

EMPTY = ClusterImage(cluster_id="cluster")
A, B = Uuid(b"a" * 16), Uuid(b"b" * 16)


def image_of(*records: Message) -> ClusterImage:
    return apply(EMPTY, records)[0]


def partition(number: int = 0, topic_id: bytes = A, **fields: Any) -> PartitionRecord:
    defaults: dict[str, Any] = {"replicas": (1, 2, 3), "isr": (1, 2, 3), "leader": 1, "leader_epoch": 0}
    return PartitionRecord(partition_id=number, topic_id=topic_id, **{**defaults, "partition_epoch": 0, **fields})


BROKER = RegisterBrokerRecord(
    broker_id=1,
    incarnation_id=b"i" * 16,
    broker_epoch=7,
    end_points=(BrokerEndpoint(name="PLAINTEXT", host="localhost", port=9092, security_protocol=0),),
    features=(BrokerFeature(name="metadata.version", min_supported_version=1, max_supported_version=25),),
    rack="r",
    log_dirs=(b"d" * 16,),
)


def test_a_topic_is_found_by_name_and_by_id() -> None:
    image = image_of(TopicRecord(name="t", topic_id=A), partition(0), partition(1, leader=2))
    assert image.topics["t"] is image.topics_by_id[A]
    assert [each.leader for each in image.topics["t"].partitions.values()] == [1, 2]
    assert image.partition("t", 1) == image.topics["t"].partitions[1]
    assert image.partition("t", 2) is None
    assert image.partition("u", 0) is None


def test_records_without_directories_leave_them_unknown() -> None:
    image = image_of(TopicRecord(name="t", topic_id=A), partition(0))
    assert image.topics["t"].partitions[0].directories == (MIGRATING_DIRECTORY,) * 3


def test_a_new_leader_raises_both_epochs_and_another_change_only_the_partitions() -> None:
    image = image_of(TopicRecord(name="t", topic_id=A), partition(0, leader_epoch=4, partition_epoch=9))
    shrunk, _ = apply(image, [PartitionChangeRecord(partition_id=0, topic_id=A, isr=(1, 2))])
    changed = shrunk.topics["t"].partitions[0]
    assert (changed.isr, changed.leader, changed.leader_epoch, changed.partition_epoch) == ((1, 2), 1, 4, 10)
    moved, _ = apply(shrunk, [PartitionChangeRecord(partition_id=0, topic_id=A, leader=2)])
    changed = moved.topics["t"].partitions[0]
    assert (changed.isr, changed.leader, changed.leader_epoch, changed.partition_epoch) == ((1, 2), 2, 5, 11)


def test_a_change_keeps_what_it_does_not_mention() -> None:
    image = image_of(
        TopicRecord(name="t", topic_id=A),
        partition(
            0,
            adding_replicas=(3,),
            removing_replicas=(2,),
            directories=(b"1" * 16, b"2" * 16, b"3" * 16),
            leader_recovery_state=1,
            eligible_leader_replicas=(2,),
            last_known_elr=(3,),
        ),
    )
    changed, _ = apply(image, [PartitionChangeRecord(partition_id=0, topic_id=A, replicas=(3, 1))])
    assert changed.topics["t"].partitions[0] == PartitionImage(
        replicas=(3, 1),
        isr=(1, 2, 3),
        leader=1,
        leader_epoch=0,
        partition_epoch=1,
        adding_replicas=(3,),
        removing_replicas=(2,),
        directories=(Uuid(b"3" * 16), Uuid(b"1" * 16)),
        leader_recovery=LeaderRecovery.RECOVERING,
        eligible_leaders=(2,),
        last_known_eligible_leaders=(3,),
    )


def test_deleting_a_topic_takes_its_properties_along() -> None:
    topic_config = ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="1")
    other_config = ConfigRecord(resource_type=2, resource_name="u", name="retention.ms", value="1")
    image = image_of(TopicRecord(name="t", topic_id=A), partition(0), topic_config, other_config)
    after, delta = apply(image, [RemoveTopicRecord(topic_id=A)])
    assert (after.topics, after.topics_by_id, after.topic_config("t")) == ({}, {}, {})
    assert after.topic_config("u") == {"retention.ms": "1"}
    assert delta.topics_deleted == (image.topics["t"],)
    assert delta.configs == (ConfiguredResource(2, "t"),)
    assert [(each.topic, each.partition, each.after) for each in delta.partitions] == [("t", 0, None)]


def test_a_topic_can_come_back_with_another_id_in_the_same_batch() -> None:
    image = image_of(TopicRecord(name="t", topic_id=A), partition(0))
    after, delta = apply(
        image, [RemoveTopicRecord(topic_id=A), TopicRecord(name="t", topic_id=B), partition(0, topic_id=B, leader=3)]
    )
    assert after.topics["t"].id == B
    assert [each.id for each in delta.topics_created] == [B]
    assert [each.id for each in delta.topics_deleted] == [A]
    assert [(each.topic_id, each.after is None) for each in delta.partitions] == [(A, True), (B, False)]


def test_what_comes_and_goes_within_a_batch_leaves_no_trace() -> None:
    after, delta = apply(
        EMPTY,
        [
            TopicRecord(name="t", topic_id=A),
            partition(0),
            ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="1"),
            RemoveTopicRecord(topic_id=A),
            FeatureLevelRecord(name="f", feature_level=1),
            FeatureLevelRecord(name="f", feature_level=0),
        ],
    )
    assert after == EMPTY
    assert delta == apply(EMPTY, [])[1]


def test_a_broker_registers_and_changes_its_state() -> None:
    image = image_of(BROKER)
    broker = image.brokers[1]
    assert (broker.epoch, broker.rack, broker.fenced, broker.active) == (7, "r", True, False)
    assert broker.endpoint("PLAINTEXT") == Endpoint("PLAINTEXT", "localhost", 9092, 0)
    assert broker.endpoint("OTHER") is None
    assert broker.features == {"metadata.version": VersionRange(1, 25)}
    image, delta = apply(image, [BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=7, fenced=UNFENCE)])
    assert image.is_active(1)
    assert delta.brokers == (1,)
    stopping = BrokerRegistrationChangeRecord(
        broker_id=1, broker_epoch=7, in_controlled_shutdown=START_CONTROLLED_SHUTDOWN
    )
    image, _ = apply(image, [stopping])
    assert (image.brokers[1].in_controlled_shutdown, image.is_active(1)) == (True, False)
    image, _ = apply(image, [BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=7, fenced=FENCE)])
    assert image.brokers[1].fenced
    image, _ = apply(image, [UnregisterBrokerRecord(broker_id=1, broker_epoch=7)])
    assert (image.brokers, image.is_active(1)) == ({}, False)


def test_the_older_records_fence_too() -> None:
    image = image_of(BROKER, UnfenceBrokerRecord(id=1, epoch=7))
    assert not image.brokers[1].fenced
    assert apply(image, [FenceBrokerRecord(id=1, epoch=7)])[0].brokers[1].fenced


def test_directories_of_a_broker_can_change() -> None:
    change = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=7, log_dirs=(b"e" * 16,))
    assert image_of(BROKER, change).brokers[1].directories == (b"e" * 16,)


def test_a_property_without_a_value_is_removed() -> None:
    def config(value: str | None) -> ConfigRecord:
        return ConfigRecord(resource_type=4, resource_name="1", name="max.connections", value=value)

    image = image_of(config("5"))
    assert image.broker_config(1) == {"max.connections": "5"}
    assert image.cluster_config() == {}
    after, delta = apply(image, [config(None)])
    assert (after.configs, delta.configs) == ({}, (ConfiguredResource(4, "1"),))


def test_quotas_features_and_producer_ids_are_kept() -> None:
    def quota(remove: bool) -> ClientQuotaRecord:
        entity = (
            EntityData(entity_type="user", entity_name="ann"),
            EntityData(entity_type="client-id", entity_name=None),
        )
        return ClientQuotaRecord(entity=entity, key="producer_byte_rate", value=5.0, remove=remove)

    image = image_of(
        quota(remove=False),
        FeatureLevelRecord(name="metadata.version", feature_level=25),
        ProducerIdsRecord(broker_id=1, broker_epoch=7, next_producer_id=1000),
    )
    assert image.client_quotas == {(("client-id", None), ("user", "ann")): {"producer_byte_rate": 5.0}}
    assert image.features == {"metadata.version": 25}
    assert image.next_producer_id == 1000
    assert apply(image, [quota(remove=True)])[0].client_quotas == {}


def test_the_offset_of_the_last_record_is_remembered() -> None:
    image, _ = apply(EMPTY, [NoOpRecord()], offset=41)
    assert image.offset == 41
    assert apply(image, [BeginTransactionRecord()])[0].offset == 41


def test_a_record_without_content_changes_nothing() -> None:
    assert image_of(NoOpRecord()) == EMPTY


def test_clearing_eligible_leaders() -> None:
    image = image_of(
        TopicRecord(name="t", topic_id=A), partition(0, eligible_leader_replicas=(2,), last_known_elr=(3,))
    )
    for name in ("t", ""):
        cleared = apply(image, [ClearElrRecord(topic_name=name)])[0].topics["t"].partitions[0]
        assert (cleared.eligible_leaders, cleared.last_known_eligible_leaders) == ((), ())


TOPIC = TopicRecord(name="t", topic_id=A)


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        ([TOPIC, TopicRecord(name="t", topic_id=B)], "the topic t is created a second time"),
        ([TOPIC, TopicRecord(name="u", topic_id=A)], "created a second time"),
        ([partition(0)], "unknown topic id"),
        ([PartitionChangeRecord(partition_id=0, topic_id=A)], "unknown topic id"),
        ([TOPIC, PartitionChangeRecord(partition_id=0, topic_id=A)], "t-0 is changed, but does not exist"),
        ([RemoveTopicRecord(topic_id=A)], "unknown topic id"),
        ([TOPIC, RemoveTopicRecord(topic_id=A), partition(0)], "unknown topic id"),
        ([TOPIC, partition(0, directories=(b"x" * 16,))], "3 replicas, but 1 directories"),
        ([FenceBrokerRecord(id=1, epoch=7)], "is not registered"),
        ([BROKER, FenceBrokerRecord(id=1, epoch=8)], "is registered with the epoch 7"),
        ([BROKER, UnregisterBrokerRecord(broker_id=1, broker_epoch=6)], "is registered with the epoch 7"),
        ([ProducerIdsRecord(next_producer_id=5), ProducerIdsRecord(next_producer_id=5)], "used twice"),
        ([ClearElrRecord(topic_name="t")], "unknown topic t"),
        ([AbortTransactionRecord()], "aborted metadata transaction"),
    ],
)
def test_records_that_contradict_the_image_raise(records: list[Message], problem: str) -> None:
    with pytest.raises(BrokenMetadata, match=problem):
        apply(EMPTY, records)


# --------------------------------------------------------------------------------------------------------------
# Random records against a model that knows nothing of sharing and batches.


class NaiveModel:
    """Plain dictionaries, changed in place, one record at a time."""

    def __init__(self) -> None:
        self.topics: dict[bytes, dict[str, Any]] = {}
        self.brokers: dict[int, dict[str, Any]] = {}
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        self.features: dict[str, int] = {}
        self.next_producer_id = 0
        self.used_ids: set[bytes] = set()

    def apply(self, record: Message) -> None:
        match record:
            case TopicRecord():
                self.used_ids.add(record.topic_id)
                self.topics[record.topic_id] = {"name": record.name, "partitions": {}}
            case RemoveTopicRecord():
                topic = self.topics.pop(record.topic_id)
                self.configs.pop((2, topic["name"]), None)
            case PartitionRecord():
                self.topics[record.topic_id]["partitions"][record.partition_id] = {
                    "replicas": tuple(record.replicas),
                    "isr": tuple(record.isr),
                    "leader": record.leader,
                    "leader_epoch": record.leader_epoch,
                    "partition_epoch": record.partition_epoch,
                }
            case PartitionChangeRecord():
                partition = self.topics[record.topic_id]["partitions"][record.partition_id]
                partition["partition_epoch"] += 1
                if record.isr is not None:
                    partition["isr"] = tuple(record.isr)
                if record.leader != -2:
                    partition["leader"] = record.leader
                    partition["leader_epoch"] += 1
            case ConfigRecord():
                entries = self.configs.setdefault((record.resource_type, record.resource_name), {})
                if record.value is None:
                    entries.pop(record.name, None)
                else:
                    entries[record.name] = record.value
                if not entries:
                    del self.configs[record.resource_type, record.resource_name]
            case RegisterBrokerRecord():
                self.brokers[record.broker_id] = {"epoch": record.broker_epoch, "fenced": record.fenced}
            case BrokerRegistrationChangeRecord():
                self.brokers[record.broker_id]["fenced"] = record.fenced == 1
            case UnregisterBrokerRecord():
                del self.brokers[record.broker_id]
            case ProducerIdsRecord():
                self.next_producer_id = record.next_producer_id
            case _:
                raise AssertionError(record)

    def view(self) -> dict[str, Any]:
        return copy.deepcopy({name: value for name, value in vars(self).items() if name != "used_ids"})


def view_of(image: ClusterImage) -> dict[str, Any]:
    """The image in the model's terms."""
    assert {topic.id: topic for topic in image.topics.values()} == image.topics_by_id
    return {
        "topics": {
            topic.id: {
                "name": topic.name,
                "partitions": {
                    number: {
                        name: getattr(each, name)
                        for name in ("replicas", "isr", "leader", "leader_epoch", "partition_epoch")
                    }
                    for number, each in topic.partitions.items()
                },
            }
            for topic in image.topics.values()
        },
        "brokers": {broker.id: {"epoch": broker.epoch, "fenced": broker.fenced} for broker in image.brokers.values()},
        "configs": {tuple(resource): dict(entries) for resource, entries in image.configs.items()},
        "features": dict(image.features),
        "next_producer_id": image.next_producer_id,
    }


replica_lists = st.lists(st.integers(1, 5), min_size=1, max_size=4, unique=True).map(tuple)


@st.composite
def next_record(draw: st.DrawFn, model: NaiveModel) -> Message:
    """A record that makes sense in the model's state."""
    choices = ["topic", "broker", "config", "producer ids"]
    partitions = [(key, number) for key, topic in model.topics.items() for number in topic["partitions"]]
    choices += ["partition", "remove topic"] * bool(model.topics)
    choices += ["change"] * (3 if partitions else 0)
    choices += ["fencing", "unregister"] * bool(model.brokers)
    match draw(st.sampled_from(choices)):
        case "topic":
            names = sorted({"a", "b", "c", "d"} - {topic["name"] for topic in model.topics.values()}) or ["e"]
            name = draw(st.sampled_from(names))
            if name == "e":
                return ProducerIdsRecord(next_producer_id=model.next_producer_id + 1)
            topic_id = draw(st.binary(min_size=16, max_size=16).filter(lambda each: each not in model.used_ids))
            return TopicRecord(name=name, topic_id=topic_id)
        case "partition":
            replicas = draw(replica_lists)
            return PartitionRecord(
                partition_id=draw(st.integers(0, 3)),
                topic_id=draw(st.sampled_from(sorted(model.topics))),
                replicas=replicas,
                isr=replicas,
                leader=replicas[0],
                leader_epoch=0,
                partition_epoch=0,
            )
        case "remove topic":
            return RemoveTopicRecord(topic_id=draw(st.sampled_from(sorted(model.topics))))
        case "change":
            topic_id, number = draw(st.sampled_from(partitions))
            return PartitionChangeRecord(
                partition_id=number,
                topic_id=topic_id,
                isr=draw(st.none() | replica_lists),
                leader=draw(st.sampled_from([-2, -1, 1, 2, 3])),
            )
        case "config":
            return ConfigRecord(
                resource_type=draw(st.sampled_from([2, 4])),
                resource_name=draw(st.sampled_from(["a", "b", ""])),
                name=draw(st.sampled_from(["x", "y"])),
                value=draw(st.none() | st.sampled_from(["1", "2"])),
            )
        case "broker":
            return RegisterBrokerRecord(
                broker_id=draw(st.integers(1, 3)), broker_epoch=draw(st.integers(0, 9)), fenced=draw(st.booleans())
            )
        case "fencing":
            broker = draw(st.sampled_from(sorted(model.brokers)))
            return BrokerRegistrationChangeRecord(
                broker_id=broker, broker_epoch=model.brokers[broker]["epoch"], fenced=draw(st.sampled_from([1, -1]))
            )
        case "unregister":
            broker = draw(st.sampled_from(sorted(model.brokers)))
            return UnregisterBrokerRecord(broker_id=broker, broker_epoch=model.brokers[broker]["epoch"])
        case _:
            return ProducerIdsRecord(next_producer_id=model.next_producer_id + draw(st.integers(1, 1000)))


@settings(max_examples=150)
@given(st.data())
def test_images_of_random_records_equal_a_naive_model(data: st.DataObject) -> None:
    model = NaiveModel()
    image = EMPTY
    history: list[tuple[ClusterImage, dict[str, Any]]] = []
    for _ in range(data.draw(st.integers(1, 6))):
        batch: list[Message] = []
        for _ in range(data.draw(st.integers(0, 8))):
            record = data.draw(next_record(model))
            model.apply(record)
            batch.append(decode_record(encode_record(record)).message)
        before = image
        image, delta = apply(image, batch)
        history.append((image, model.view()))
        assert view_of(image) == model.view()
        check_delta(before, image, delta)
    for earlier, view in history:
        assert view_of(earlier) == view
    assert apply(EMPTY, image_records(image))[0] == image


def check_delta(before: ClusterImage, after: ClusterImage, delta: Any) -> None:
    assert {each.id for each in delta.topics_created} == after.topics_by_id.keys() - before.topics_by_id.keys()
    assert {each.id for each in delta.topics_deleted} == before.topics_by_id.keys() - after.topics_by_id.keys()
    assert set(delta.configs) == changed_keys(before.configs, after.configs)
    assert set(delta.brokers) == changed_keys(before.brokers, after.brokers)
    assert delta.producer_ids == (before.next_producer_id != after.next_producer_id)
    partitions_before = all_partitions(before)
    partitions_after = all_partitions(after)
    assert {(each.topic_id, each.partition) for each in delta.partitions} == changed_keys(
        partitions_before, partitions_after
    )
    for each in delta.partitions:
        key = (each.topic_id, each.partition)
        assert (each.before, each.after) == (partitions_before.get(key), partitions_after.get(key))


def all_partitions(image: ClusterImage) -> dict[tuple[bytes, int], PartitionImage]:
    return {(topic.id, number): each for topic, number, each in image.all_partitions()}


def changed_keys(before: Any, after: Any) -> set[Any]:
    return {key for key in {*before, *after} if before.get(key) != after.get(key)}


def test_unchanged_topics_are_shared_between_images() -> None:
    records: list[Message] = []
    for number in range(100):
        topic_id = number.to_bytes(16, "big")
        records += [TopicRecord(name=f"t{number}", topic_id=topic_id), partition(0, topic_id=topic_id)]
    image = image_of(*records)
    topic_id = image.topics["t5"].id
    after, delta = apply(image, [PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=2)])
    assert [each.topic for each in delta.partitions] == ["t5"]
    assert all(after.topics[name] is image.topics[name] for name in image.topics if name != "t5")
    assert after.brokers is image.brokers


def test_a_record_that_sets_what_is_already_so_is_no_change() -> None:
    image = image_of(TOPIC, partition(0), BROKER)
    after, delta = apply(image, [partition(0), BROKER, FeatureLevelRecord(name="absent", feature_level=0)])
    assert after == image
    assert (delta.partitions, delta.brokers, delta.topics_created, delta.features) == ((), (), (), False)


def test_a_controller_registration_survives_a_snapshot() -> None:
    image = image_of(RegisterControllerRecord(controller_id=3, incarnation_id=b"c" * 16))
    assert image.controllers[3].incarnation_id == b"c" * 16
    assert image_of(*image_records(image)) == image
