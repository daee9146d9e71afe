"""Writes an image down as the records that build it again from nothing: the content of a metadata snapshot."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.metadata.image import BrokerImage, ClusterImage, ControllerImage, PartitionImage, TopicImage
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from tidelog.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData
from tidelog.protocol.messages.config_record import ConfigRecord
from tidelog.protocol.messages.feature_level_record import FeatureLevelRecord
from tidelog.protocol.messages.partition_record import PartitionRecord
from tidelog.protocol.messages.producer_ids_record import ProducerIdsRecord
from tidelog.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from tidelog.protocol.messages.register_controller_record import (
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
)
from tidelog.protocol.messages.topic_record import TopicRecord
from tidelog.protocol.schema import Message
from tidelog.security.acls import AclBinding
from tidelog.security.quotas.entities import QuotaEntity
from tidelog.security.scram import credential_record


def image_records(image: ClusterImage) -> Iterator[Message]:
    """Records in an order in which they can be replayed: features first, topics before their partitions."""
    for name, level in image.features.items():
        yield FeatureLevelRecord(name=name, feature_level=level)
    for controller in image.controllers.values():
        yield _controller_record(controller)
    for broker in image.brokers.values():
        yield _broker_record(broker)
    for topic in image.topics.values():
        yield TopicRecord(name=topic.name, topic_id=topic.id)
        for number, partition in topic.partitions.items():
            yield partition_record(topic, number, partition)
    for resource, entries in image.configs.items():
        for name, value in entries.items():
            yield ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value)
    for entity, quotas in image.client_quotas.items():
        for name, quota in quotas.items():
            yield quota_record(entity, name, quota)
    for acl_id, binding in image.acls.items():
        yield acl_record(acl_id, binding)
    for (mechanism, user), credential in image.scram_credentials.items():
        yield credential_record(user, mechanism, credential)
    if image.next_producer_id:
        yield ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id)


def quota_record(entity: QuotaEntity, key: str, value: float | None) -> ClientQuotaRecord:
    """The record that sets the quota, or removes it."""
    parts = tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in entity)
    if value is None:
        return ClientQuotaRecord(entity=parts, key=key, remove=True)
    return ClientQuotaRecord(entity=parts, key=key, value=value)


def acl_record(acl_id: Uuid, binding: AclBinding) -> AccessControlEntryRecord:
    """The record that adds the ACL."""
    pattern, entry = binding.pattern, binding.entry
    return AccessControlEntryRecord(
        id=acl_id,
        resource_type=pattern.resource_type,
        resource_name=pattern.name,
        pattern_type=pattern.pattern_type,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission_type,
    )


def partition_record(topic: TopicImage, number: int, partition: PartitionImage) -> PartitionRecord:
    """The record that sets the partition to this state."""
    return PartitionRecord(
        partition_id=number,
        topic_id=topic.id,
        replicas=partition.replicas,
        isr=partition.isr,
        removing_replicas=partition.removing_replicas,
        adding_replicas=partition.adding_replicas,
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=partition.directories,
        # Null rather than empty, so that nothing is written where the feature is not in use.
        eligible_leader_replicas=partition.eligible_leaders or None,
        last_known_elr=partition.last_known_eligible_leaders or None,
    )


def _broker_record(broker: BrokerImage) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=tuple(
            BrokerEndpoint(name=name, host=host, port=port, security_protocol=protocol)
            for name, host, port, protocol in broker.endpoints
        ),
        features=tuple(
            BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in broker.features.items()
        ),
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=broker.directories,
    )


def _controller_record(controller: ControllerImage) -> RegisterControllerRecord:
    return RegisterControllerRecord(
        controller_id=controller.id,
        incarnation_id=controller.incarnation_id,
        end_points=tuple(
            ControllerEndpoint(name=name, host=host, port=port, security_protocol=protocol)
            for name, host, port, protocol in controller.endpoints
        ),
        features=tuple(
            ControllerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in controller.features.items()
        ),
    )
