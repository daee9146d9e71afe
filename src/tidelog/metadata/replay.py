"""Applies metadata records to an image. This is the only thing that changes what a node knows of the cluster.

A record that contradicts the image (a change to a partition that is not there) means that the log or our code is
broken: it raises, and the node must stop rather than go on with a wrong picture.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tidelog.metadata.delta import ImageDelta
from tidelog.metadata.draft import BrokenMetadata, ImageDraft
from tidelog.metadata.image import (
    MIGRATING_DIRECTORY,
    BrokerImage,
    ClusterImage,
    ConfiguredResource,
    ControllerImage,
    CredentialKey,
    Endpoint,
    LeaderRecovery,
    PartitionImage,
    ResourceType,
    TopicImage,
    VersionRange,
)
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.abort_transaction_record import AbortTransactionRecord
from tidelog.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from tidelog.protocol.messages.begin_transaction_record import BeginTransactionRecord
from tidelog.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from tidelog.protocol.messages.clear_elr_record import ClearElrRecord
from tidelog.protocol.messages.client_quota_record import ClientQuotaRecord
from tidelog.protocol.messages.config_record import ConfigRecord
from tidelog.protocol.messages.end_transaction_record import EndTransactionRecord
from tidelog.protocol.messages.feature_level_record import FeatureLevelRecord
from tidelog.protocol.messages.fence_broker_record import FenceBrokerRecord
from tidelog.protocol.messages.no_op_record import NoOpRecord
from tidelog.protocol.messages.partition_change_record import PartitionChangeRecord
from tidelog.protocol.messages.partition_record import PartitionRecord
from tidelog.protocol.messages.producer_ids_record import ProducerIdsRecord
from tidelog.protocol.messages.register_broker_record import RegisterBrokerRecord
from tidelog.protocol.messages.register_controller_record import RegisterControllerRecord
from tidelog.protocol.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from tidelog.protocol.messages.remove_topic_record import RemoveTopicRecord
from tidelog.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from tidelog.protocol.messages.topic_record import TopicRecord
from tidelog.protocol.messages.unfence_broker_record import UnfenceBrokerRecord
from tidelog.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from tidelog.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from tidelog.protocol.schema import Message
from tidelog.security.acls import acl_binding
from tidelog.security.quotas.entities import QuotaEntity
from tidelog.security.scram import ScramMechanism, credential_of_record

NO_LEADER_CHANGE = -2
_NO_RECOVERY_CHANGE = -1

# The values of BrokerRegistrationChangeRecord: 0 is no change.
FENCE = 1
UNFENCE = -1
START_CONTROLLED_SHUTDOWN = 1


def apply(
    image: ClusterImage, records: Iterable[Message], *, offset: int | None = None
) -> tuple[ClusterImage, ImageDelta]:
    """The image after the records, and what they changed. `image` itself stays as it is.

    `offset` is that of the last of the records, where they come from a log. Raises BrokenMetadata.
    """
    draft = ImageDraft(image)
    for record in records:
        handler = _HANDLERS.get(type(record))
        if handler is None:
            raise BrokenMetadata(f"{type(record).__name__} has no meaning in the metadata log")
        handler(draft, record)
    return draft.finish(image.offset if offset is None else offset)


def merge_partition(partition: PartitionImage, change: PartitionChangeRecord) -> PartitionImage:
    """The partition after a change: what the record leaves out stays, the partition epoch always grows."""
    replicas = partition.replicas if change.replicas is None else tuple(change.replicas)
    if change.directories is not None:
        directories = _directories(change.directories, len(replicas))
    else:
        directories = tuple(partition.directory_of(broker) for broker in replicas)
    leader_changes = change.leader != NO_LEADER_CHANGE
    recovery = change.leader_recovery_state
    return PartitionImage(
        replicas=replicas,
        isr=partition.isr if change.isr is None else tuple(change.isr),
        leader=change.leader if leader_changes else partition.leader,
        leader_epoch=partition.leader_epoch + leader_changes,
        partition_epoch=partition.partition_epoch + 1,
        adding_replicas=_changed(partition.adding_replicas, change.adding_replicas),
        removing_replicas=_changed(partition.removing_replicas, change.removing_replicas),
        directories=directories,
        leader_recovery=partition.leader_recovery if recovery == _NO_RECOVERY_CHANGE else LeaderRecovery(recovery),
        eligible_leaders=_changed(partition.eligible_leaders, change.eligible_leader_replicas),
        last_known_eligible_leaders=_changed(partition.last_known_eligible_leaders, change.last_known_elr),
    )


def _changed(current: tuple[int, ...], change: Sequence[int] | None) -> tuple[int, ...]:
    return current if change is None else tuple(change)


def _directories(directories: Sequence[bytes], count: int) -> tuple[Uuid, ...]:
    if not directories:
        # Written before directories were recorded (KIP-858).
        return (MIGRATING_DIRECTORY,) * count
    if len(directories) != count:
        raise BrokenMetadata(f"a partition has {count} replicas, but {len(directories)} directories")
    return tuple(Uuid(directory) for directory in directories)


# --------------------------------------------------------------------------------------------------------------
# Topics and partitions.


def _topic(draft: ImageDraft, record: TopicRecord) -> None:
    topic_id = Uuid(record.topic_id)
    if topic_id in draft.topics_by_id or record.name in draft.topics:
        raise BrokenMetadata(f"the topic {record.name} is created a second time")
    draft.add_topic(TopicImage(name=record.name, id=topic_id))


def _partition(draft: ImageDraft, record: PartitionRecord) -> None:
    replicas = tuple(record.replicas)
    partition = PartitionImage(
        replicas=replicas,
        isr=tuple(record.isr),
        leader=record.leader,
        leader_epoch=record.leader_epoch,
        partition_epoch=record.partition_epoch,
        adding_replicas=tuple(record.adding_replicas),
        removing_replicas=tuple(record.removing_replicas),
        directories=_directories(record.directories, len(replicas)),
        leader_recovery=LeaderRecovery(record.leader_recovery_state),
        eligible_leaders=tuple(record.eligible_leader_replicas or ()),
        last_known_eligible_leaders=tuple(record.last_known_elr or ()),
    )
    draft.set_partition(Uuid(record.topic_id), record.partition_id, partition)


def _partition_change(draft: ImageDraft, record: PartitionChangeRecord) -> None:
    topic_id = Uuid(record.topic_id)
    partition = draft.partition(topic_id, record.partition_id)
    draft.set_partition(topic_id, record.partition_id, merge_partition(partition, record))


def _remove_topic(draft: ImageDraft, record: RemoveTopicRecord) -> None:
    topic = draft.remove_topic(Uuid(record.topic_id))
    draft.remove_configs(ConfiguredResource(ResourceType.TOPIC, topic.name))


def _clear_elr(draft: ImageDraft, record: ClearElrRecord) -> None:
    names = [record.topic_name] if record.topic_name else list(draft.topics)
    for name in names:
        topic = draft.topics.get(name)
        if topic is None:
            raise BrokenMetadata(f"a record clears the eligible leaders of the unknown topic {name}")
        for number, partition in list(draft.partitions_of(topic.id).items()):
            if partition.eligible_leaders or partition.last_known_eligible_leaders:
                cleared = dataclasses.replace(partition, eligible_leaders=(), last_known_eligible_leaders=())
                draft.set_partition(topic.id, number, cleared)


# --------------------------------------------------------------------------------------------------------------
# Brokers and controllers.


def _register_broker(draft: ImageDraft, record: RegisterBrokerRecord) -> None:
    draft.brokers.put(
        record.broker_id,
        BrokerImage(
            id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=Uuid(record.incarnation_id),
            endpoints=_endpoints(record.end_points),
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            directories=tuple(Uuid(directory) for directory in record.log_dirs),
            features=_features(record.features),
        ),
    )


def _unregister_broker(draft: ImageDraft, record: UnregisterBrokerRecord) -> None:
    _registered(draft, record.broker_id, epoch=record.broker_epoch)
    draft.brokers.remove(record.broker_id)


def _fence_broker(draft: ImageDraft, record: FenceBrokerRecord) -> None:
    _change_broker(draft, record.id, epoch=record.epoch, fenced=True)


def _unfence_broker(draft: ImageDraft, record: UnfenceBrokerRecord) -> None:
    _change_broker(draft, record.id, epoch=record.epoch, fenced=False)


def _change_registration(draft: ImageDraft, record: BrokerRegistrationChangeRecord) -> None:
    changes: dict[str, Any] = {}
    if record.fenced:
        changes["fenced"] = record.fenced == FENCE
    if record.in_controlled_shutdown:
        changes["in_controlled_shutdown"] = record.in_controlled_shutdown == START_CONTROLLED_SHUTDOWN
    if record.log_dirs:
        changes["directories"] = tuple(Uuid(directory) for directory in record.log_dirs)
    _change_broker(draft, record.broker_id, epoch=record.broker_epoch, **changes)


def _change_broker(draft: ImageDraft, broker_id: int, *, epoch: int, **changes: Any) -> None:
    broker = _registered(draft, broker_id, epoch=epoch)
    draft.brokers.put(broker_id, dataclasses.replace(broker, **changes))


def _registered(draft: ImageDraft, broker_id: int, *, epoch: int) -> BrokerImage:
    broker = draft.brokers.get(broker_id)
    if broker is None or broker.epoch != epoch:
        known = "is not registered" if broker is None else f"is registered with the epoch {broker.epoch}"
        raise BrokenMetadata(f"a record changes broker {broker_id} at epoch {epoch}, but {known}")
    return broker


def _register_controller(draft: ImageDraft, record: RegisterControllerRecord) -> None:
    draft.controllers.put(
        record.controller_id,
        ControllerImage(
            id=record.controller_id,
            incarnation_id=Uuid(record.incarnation_id),
            endpoints=_endpoints(record.end_points),
            features=_features(record.features),
        ),
    )


def _endpoints(endpoints: Iterable[Any]) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(each.name, each.host, each.port, each.security_protocol) for each in endpoints)


def _features(features: Iterable[Any]) -> dict[str, VersionRange]:
    return {each.name: VersionRange(each.min_supported_version, each.max_supported_version) for each in features}


# --------------------------------------------------------------------------------------------------------------
# The rest.


def _config(draft: ImageDraft, record: ConfigRecord) -> None:
    draft.set_config(ConfiguredResource(record.resource_type, record.resource_name), record.name, record.value)


def _client_quota(draft: ImageDraft, record: ClientQuotaRecord) -> None:
    parts = sorted(record.entity, key=lambda each: each.entity_type)
    entity: QuotaEntity = tuple((each.entity_type, each.entity_name) for each in parts)
    draft.set_quota(entity, record.key, None if record.remove else record.value)


def _acl(draft: ImageDraft, record: AccessControlEntryRecord) -> None:
    binding = acl_binding(
        resource_type=record.resource_type,
        resource_name=record.resource_name,
        pattern_type=record.pattern_type,
        principal=record.principal,
        host=record.host,
        operation=record.operation,
        permission_type=record.permission_type,
    )
    draft.add_acl(Uuid(record.id), binding)


def _remove_acl(draft: ImageDraft, record: RemoveAccessControlEntryRecord) -> None:
    draft.remove_acl(Uuid(record.id))


def _scram_credential(draft: ImageDraft, record: UserScramCredentialRecord) -> None:
    draft.scram_credentials.put(_credential_key(record.mechanism, record.name), credential_of_record(record))


def _remove_scram_credential(draft: ImageDraft, record: RemoveUserScramCredentialRecord) -> None:
    key = _credential_key(record.mechanism, record.name)
    if key not in draft.scram_credentials:
        raise BrokenMetadata(f"a record removes the {key[0].sasl_name} credential of {key[1]!r}, who has none")
    draft.scram_credentials.remove(key)


def _credential_key(mechanism: int, user: str) -> CredentialKey:
    try:
        return ScramMechanism(mechanism), user
    except ValueError as error:
        raise BrokenMetadata(f"a credential of {user!r} has the unknown SCRAM mechanism {mechanism}") from error


def _feature_level(draft: ImageDraft, record: FeatureLevelRecord) -> None:
    if record.feature_level:
        draft.features.put(record.name, record.feature_level)
    elif record.name in draft.features:
        draft.features.remove(record.name)


def _producer_ids(draft: ImageDraft, record: ProducerIdsRecord) -> None:
    if record.next_producer_id <= draft.next_producer_id:
        raise BrokenMetadata(
            f"producer ids go back from {draft.next_producer_id} to {record.next_producer_id}: some would be used twice"
        )
    draft.next_producer_id = record.next_producer_id


def _ignore(draft: ImageDraft, record: Message) -> None:
    """Nothing in the image depends on it."""


def _abort_transaction(draft: ImageDraft, record: AbortTransactionRecord) -> None:
    # tidelog's controllers write each decision as one batch and never begin a metadata transaction (KIP-866); the
    # records of one that Apache Kafka aborted are already applied here.
    raise BrokenMetadata("the metadata log holds an aborted metadata transaction, which tidelog cannot undo")


_HANDLERS: dict[type[Message], Callable[[ImageDraft, Any], None]] = {
    TopicRecord: _topic,
    PartitionRecord: _partition,
    PartitionChangeRecord: _partition_change,
    RemoveTopicRecord: _remove_topic,
    ClearElrRecord: _clear_elr,
    RegisterBrokerRecord: _register_broker,
    UnregisterBrokerRecord: _unregister_broker,
    FenceBrokerRecord: _fence_broker,
    UnfenceBrokerRecord: _unfence_broker,
    BrokerRegistrationChangeRecord: _change_registration,
    RegisterControllerRecord: _register_controller,
    ConfigRecord: _config,
    ClientQuotaRecord: _client_quota,
    FeatureLevelRecord: _feature_level,
    ProducerIdsRecord: _producer_ids,
    NoOpRecord: _ignore,
    BeginTransactionRecord: _ignore,
    EndTransactionRecord: _ignore,
    AbortTransactionRecord: _abort_transaction,
    AccessControlEntryRecord: _acl,
    RemoveAccessControlEntryRecord: _remove_acl,
    UserScramCredentialRecord: _scram_credential,
    RemoveUserScramCredentialRecord: _remove_scram_credential,
}
