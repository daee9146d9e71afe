"""The part of the cluster's image that a record of the metadata log touches, as plain values. No I/O.

What is secret is replaced by "hidden": keys of SCRAM credentials, and properties of brokers that are sensitive or that
nobody here knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from tidelog.config.broker import definition_of
from tidelog.metadata.image import (
    BrokerImage,
    ClusterImage,
    ConfiguredResource,
    ControllerImage,
    Endpoint,
    PartitionImage,
    ResourceType,
    TopicImage,
    VersionRange,
)
from tidelog.model.ids import Uuid, format_uuid
from tidelog.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from tidelog.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from tidelog.protocol.messages.clear_elr_record import ClearElrRecord
from tidelog.protocol.messages.client_quota_record import ClientQuotaRecord
from tidelog.protocol.messages.config_record import ConfigRecord
from tidelog.protocol.messages.feature_level_record import FeatureLevelRecord
from tidelog.protocol.messages.fence_broker_record import FenceBrokerRecord
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
from tidelog.protocol.schema import Message, covers
from tidelog.security.scram import ScramMechanism

HIDDEN = "hidden"

Plain = Mapping[str, Any]

_SECRET_FIELDS: Mapping[type[Message], frozenset[str]] = {
    UserScramCredentialRecord: frozenset({"salt", "stored_key", "server_key"})
}


class Touched(NamedTuple):
    """What a record is about: its kind, the name that people know it by, and how to find it in an image."""

    kind: str
    name: str
    find: Callable[[ClusterImage], Plain | None]


# --------------------------------------------------------------------------------------------------------------
# The fields of a record.


def plain_fields(message: Message, version: int) -> dict[str, Any]:
    """The fields that the record has in this version; ids as Kafka's tools print them, other bytes in hexadecimal."""
    secret = _SECRET_FIELDS.get(type(message), frozenset())
    fields = {
        field.name: HIDDEN if field.name in secret else _plain(getattr(message, field.name), field.kind, version)
        for field in message.SCHEMA.fields
        if covers(field.versions, version)
    }
    if isinstance(message, ConfigRecord):
        fields["value"] = _shown(message.resource_type, message.name, message.value)
    return fields


def _plain(value: Any, kind: str, version: int) -> Any:
    if value is None:
        return None
    if kind.startswith("[]"):
        return [_plain(each, kind[2:], version) for each in value]
    if isinstance(value, Message):
        return plain_fields(value, version)
    if kind == "uuid":
        return format_uuid(bytes(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    return value


def _shown(resource_type: int, name: str, value: str | None) -> str | None:
    if value is None or resource_type != ResourceType.BROKER:
        return value
    definition = definition_of(name)
    return HIDDEN if definition is None or definition.sensitive else value


# --------------------------------------------------------------------------------------------------------------
# What a record touches.


def touched_by(record: Message, before: ClusterImage, after: ClusterImage) -> Touched | None:
    """None of a record that changes nothing in the image, such as NoOpRecord."""
    match record:
        case TopicRecord() | RemoveTopicRecord():
            return _topic(Uuid(record.topic_id), before, after)
        case PartitionRecord() | PartitionChangeRecord():
            return _partition(Uuid(record.topic_id), record.partition_id, before, after)
        case ClearElrRecord():
            return _eligible_leaders(record.topic_name)
        case RegisterBrokerRecord() | UnregisterBrokerRecord() | BrokerRegistrationChangeRecord():
            return _broker(record.broker_id)
        case FenceBrokerRecord() | UnfenceBrokerRecord():
            return _broker(record.id)
        case RegisterControllerRecord():
            controller_id = record.controller_id
            return Touched(
                "controller", str(controller_id), lambda image: _if_any(image.controllers.get(controller_id), _node)
            )
        case ConfigRecord():
            return _configs(ConfiguredResource(record.resource_type, record.resource_name))
        case ClientQuotaRecord():
            return _quotas(record)
        case FeatureLevelRecord():
            return _feature(record.name)
        case ProducerIdsRecord():
            return Touched("producer ids", "", lambda image: {"next_producer_id": image.next_producer_id})
        case AccessControlEntryRecord() | RemoveAccessControlEntryRecord():
            return _acl(Uuid(record.id))
        case UserScramCredentialRecord() | RemoveUserScramCredentialRecord():
            return _credential(record.name, record.mechanism)
        case _:
            return None


def _topic(topic_id: Uuid, before: ClusterImage, after: ClusterImage) -> Touched:
    def find(image: ClusterImage) -> Plain | None:
        topic = image.topics_by_id.get(topic_id)
        return None if topic is None else _topic_part(image, topic)

    return Touched("topic", _topic_name(topic_id, before, after), find)


def _topic_part(image: ClusterImage, topic: TopicImage) -> Plain:
    resource = ConfiguredResource(ResourceType.TOPIC, topic.name)
    return {
        "name": topic.name,
        "topic_id": format_uuid(topic.id),
        "partitions": {str(number): _partition_part(each) for number, each in sorted(topic.partitions.items())},
        "configs": _configs_part(image, resource) or {},
    }


def _topic_name(topic_id: Uuid, *images: ClusterImage) -> str:
    return next((name for image in images if (name := image.topic_name(topic_id)) is not None), format_uuid(topic_id))


def _partition(topic_id: Uuid, number: int, before: ClusterImage, after: ClusterImage) -> Touched:
    def find(image: ClusterImage) -> Plain | None:
        topic = image.topics_by_id.get(topic_id)
        return None if topic is None else _if_any(topic.partitions.get(number), _partition_part)

    return Touched("partition", f"{_topic_name(topic_id, before, after)}-{number}", find)


def _partition_part(partition: PartitionImage) -> Plain:
    return {
        "leader": partition.leader,
        "leader_epoch": partition.leader_epoch,
        "partition_epoch": partition.partition_epoch,
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "adding_replicas": list(partition.adding_replicas),
        "removing_replicas": list(partition.removing_replicas),
        "eligible_leaders": list(partition.eligible_leaders),
        "last_known_eligible_leaders": list(partition.last_known_eligible_leaders),
        "leader_recovery": partition.leader_recovery.name,
        "directories": [format_uuid(directory) for directory in partition.directories],
    }


def _eligible_leaders(topic_name: str) -> Touched:
    """Of one topic or, without a name, of all: only the partitions that have any."""

    def find(image: ClusterImage) -> Plain:
        return {
            f"{topic.name}-{number}": {
                "eligible_leaders": list(partition.eligible_leaders),
                "last_known_eligible_leaders": list(partition.last_known_eligible_leaders),
            }
            for topic, number, partition in image.all_partitions()
            if topic_name in ("", topic.name) and (partition.eligible_leaders or partition.last_known_eligible_leaders)
        }

    return Touched("eligible leaders", topic_name, find)


def _broker(broker_id: int) -> Touched:
    return Touched("broker", str(broker_id), lambda image: _if_any(image.brokers.get(broker_id), _broker_part))


def _broker_part(broker: BrokerImage) -> Plain:
    return {
        **_node(broker),
        "epoch": broker.epoch,
        "rack": broker.rack,
        "fenced": broker.fenced,
        "in_controlled_shutdown": broker.in_controlled_shutdown,
        "directories": [format_uuid(directory) for directory in broker.directories],
    }


def _node(node: BrokerImage | ControllerImage) -> Plain:
    return {
        "id": node.id,
        "incarnation_id": format_uuid(node.incarnation_id),
        "endpoints": [_endpoint(endpoint) for endpoint in node.endpoints],
        "features": {name: _range(supported) for name, supported in node.features.items()},
    }


def _endpoint(endpoint: Endpoint) -> Plain:
    return endpoint._asdict()


def _range(supported: VersionRange) -> Plain:
    return supported._asdict()


def _configs(resource: ConfiguredResource) -> Touched:
    kind = (
        ResourceType(resource.type).name.lower().replace("_", " ") if resource.type in _RESOURCE_TYPES else "resource"
    )
    return Touched("configs", f"{kind} {resource.name or '<default>'}", lambda image: _configs_part(image, resource))


_RESOURCE_TYPES = frozenset(ResourceType)


def _configs_part(image: ClusterImage, resource: ConfiguredResource) -> Plain | None:
    entries = image.configs.get(resource)
    if entries is None:
        return None
    return {name: _shown(resource.type, name, value) for name, value in sorted(entries.items())}


def configs_of(image: ClusterImage) -> dict[ConfiguredResource, Plain]:
    """All properties that are set while the cluster runs, by what they are set for."""
    return {resource: _configs_part(image, resource) or {} for resource in image.configs}


def _quotas(record: ClientQuotaRecord) -> Touched:
    parts = sorted(record.entity, key=lambda each: each.entity_type)
    entity = tuple((each.entity_type, each.entity_name) for each in parts)
    name = _words(f"{kind} {'<default>' if value is None else value}" for kind, value in entity)

    def find(image: ClusterImage) -> Plain | None:
        quotas = image.client_quotas.get(entity)
        return None if quotas is None else dict(sorted(quotas.items()))

    return Touched("quotas", name, find)


def _words(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _feature(name: str) -> Touched:
    def find(image: ClusterImage) -> Plain | None:
        level = image.features.get(name)
        return None if level is None else {"level": level}

    return Touched("feature", name, find)


def _acl(acl_id: Uuid) -> Touched:
    def find(image: ClusterImage) -> Plain | None:
        binding = image.acls.get(acl_id)
        if binding is None:
            return None
        return {
            "resource_type": binding.pattern.resource_type.name,
            "resource_name": binding.pattern.name,
            "pattern_type": binding.pattern.pattern_type.name,
            "principal": binding.entry.principal,
            "host": binding.entry.host,
            "operation": binding.entry.operation.name,
            "permission_type": binding.entry.permission_type.name,
        }

    return Touched("acl", format_uuid(acl_id), find)


def _credential(user: str, mechanism: int) -> Touched | None:
    try:
        known = ScramMechanism(mechanism)
    except ValueError:
        return None

    def find(image: ClusterImage) -> Plain | None:
        credential = image.scram_credentials.get((known, user))
        if credential is None:
            return None
        keys = dict.fromkeys(("salt", "stored_key", "server_key"), HIDDEN)
        return {"user": user, "mechanism": known.sasl_name, "iterations": credential.iterations, **keys}

    return Touched("scram credential", f"{user} {known.sasl_name}", find)


def _if_any(value: Any, part: Callable[[Any], Plain]) -> Plain | None:
    return None if value is None else part(value)
