"""The state of the cluster as one immutable value: brokers, topics, partitions, properties, features, access.

An image only comes into being by replaying records (`tidelog.metadata.replay`); it can be written down as records
again (`tidelog.metadata.snapshot`). Mappings of an image are never changed once it is built, so that readers may
hold on to an image while the next one is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.model.invariants import require
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.security.acls import AclBinding
from tidelog.security.authorizer import AclSet
from tidelog.security.quotas.entities import QuotaEntity
from tidelog.security.scram import ScramCredential, ScramMechanism

NO_LEADER = -1

# Directory ids with a meaning of their own (KIP-858): not yet known, not yet chosen, gone.
MIGRATING_DIRECTORY = Uuid(bytes(16))
UNASSIGNED_DIRECTORY = Uuid(bytes(15) + b"\x01")
LOST_DIRECTORY = Uuid(bytes(15) + b"\x02")

_EMPTY: Mapping[Any, Any] = MappingProxyType({})
_NO_ACLS = AclSet()

# Of a SCRAM credential: a user has at most one for each mechanism.
CredentialKey = tuple[ScramMechanism, str]


def _nothing() -> Mapping[Any, Any]:
    return _EMPTY


class ResourceType(IntEnum):
    """What properties can belong to. The numbers are those of the config APIs and of ConfigRecord."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfiguredResource(NamedTuple):
    """A topic, a broker, ... The broker named "" stands for all brokers."""

    type: int
    name: str


class LeaderRecovery(IntEnum):
    """Whether a leader still has to repair what an unclean election left behind (KIP-704)."""

    RECOVERED = 0
    RECOVERING = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionImage:
    """One partition: where its replicas are, which of them are in sync, and who leads.

    The leader epoch grows with each new leader, the partition epoch with each change of any kind.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    directories: tuple[Uuid, ...] = ()
    leader_recovery: LeaderRecovery = LeaderRecovery.RECOVERED
    eligible_leaders: tuple[int, ...] = ()
    last_known_eligible_leaders: tuple[int, ...] = ()

    @property
    def preferred_leader(self) -> int:
        return self.replicas[0] if self.replicas else NO_LEADER

    @property
    def reassigning(self) -> bool:
        return bool(self.adding_replicas or self.removing_replicas)

    def check_invariants(self) -> None:
        replicas = set(self.replicas)
        require(bool(replicas) and len(replicas) == len(self.replicas), self, "replicas are distinct brokers")
        for name, members in (
            ("isr", self.isr),
            ("adding", self.adding_replicas),
            ("removing", self.removing_replicas),
            ("eligible", self.eligible_leaders),
        ):
            require(replicas.issuperset(members), self, f"{name} are replicas", members=members)
        require(self.leader == NO_LEADER or self.leader in self.isr, self, "the leader is in sync", leader=self.leader)
        require(set(self.eligible_leaders).isdisjoint(self.isr), self, "who is in sync need not be eligible")
        require(self.leader_epoch >= 0 and self.partition_epoch >= 0, self, "epochs are not negative")
        require(len(self.directories) in (0, len(replicas)), self, "each replica has a directory")

    def directory_of(self, broker: int) -> Uuid:
        """The directory of a broker's replica; not known for a broker that has none."""
        if broker in self.replicas and self.directories:
            return self.directories[self.replicas.index(broker)]
        return MIGRATING_DIRECTORY


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicImage:
    """One topic. Its partitions are numbered from 0 without gaps."""

    name: str
    id: Uuid
    partitions: Mapping[int, PartitionImage] = field(default_factory=_nothing)

    def check_invariants(self) -> None:
        numbers = sorted(self.partitions)
        require(numbers == list(range(len(numbers))), self.name, "partitions have no gaps", numbers=numbers)
        for partition in self.partitions.values():
            partition.check_invariants()


class Endpoint(NamedTuple):
    """An address under which a node says it can be reached."""

    listener: str
    host: str
    port: int
    security_protocol: int


class VersionRange(NamedTuple):
    """The levels of a feature that a node can work with."""

    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerImage:
    """A registered broker. It serves clients only while it is not fenced."""

    id: int
    epoch: int
    incarnation_id: Uuid
    endpoints: tuple[Endpoint, ...] = ()
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    directories: tuple[Uuid, ...] = ()
    features: Mapping[str, VersionRange] = field(default_factory=_nothing)

    @property
    def active(self) -> bool:
        """Whether the broker may lead partitions and join in-sync sets."""
        return not self.fenced and not self.in_controlled_shutdown

    def endpoint(self, listener: str) -> Endpoint | None:
        return next((each for each in self.endpoints if each.listener == listener), None)

    def endpoint_or_first(self, listener: str) -> Endpoint | None:
        return self.endpoint(listener) or next(iter(self.endpoints), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerImage:
    """A registered controller."""

    id: int
    incarnation_id: Uuid
    endpoints: tuple[Endpoint, ...] = ()
    features: Mapping[str, VersionRange] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterImage:
    """Everything the metadata log says. `offset` is that of the last record in it, -1 if there is none."""

    cluster_id: str
    offset: int = -1
    features: Mapping[str, int] = field(default_factory=_nothing)
    brokers: Mapping[int, BrokerImage] = field(default_factory=_nothing)
    controllers: Mapping[int, ControllerImage] = field(default_factory=_nothing)
    topics: Mapping[str, TopicImage] = field(default_factory=_nothing)
    topics_by_id: Mapping[Uuid, TopicImage] = field(default_factory=_nothing)
    configs: Mapping[ConfiguredResource, Mapping[str, str]] = field(default_factory=_nothing)
    client_quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=_nothing)
    acls: Mapping[Uuid, AclBinding] = field(default_factory=_nothing)
    # The same ACLs once more, for decisions over them.
    acl_set: AclSet = field(default=_NO_ACLS, compare=False, repr=False)
    scram_credentials: Mapping[CredentialKey, ScramCredential] = field(default_factory=_nothing)
    next_producer_id: int = 0

    def topic_name(self, topic_id: bytes) -> str | None:
        topic = self.topics_by_id.get(Uuid(topic_id))
        return None if topic is None else topic.name

    def name_of(self, name: str, topic_id: bytes) -> str | None:
        """Of a topic that a request gives by its id, or by its name where it gives no id."""
        return name if topic_id == ZERO_UUID else self.topic_name(topic_id)

    def topic_config(self, name: str) -> Mapping[str, str]:
        """The properties of its own that a topic has."""
        return self.configs.get(ConfiguredResource(ResourceType.TOPIC, name), _EMPTY)

    def broker_config(self, broker: int) -> Mapping[str, str]:
        """The dynamic properties of one broker."""
        return self.configs.get(ConfiguredResource(ResourceType.BROKER, str(broker)), _EMPTY)

    def cluster_config(self) -> Mapping[str, str]:
        """The dynamic properties of all brokers."""
        return self.configs.get(ConfiguredResource(ResourceType.BROKER, ""), _EMPTY)

    def partition(self, topic: str, partition: int) -> PartitionImage | None:
        image = self.topics.get(topic)
        return image.partitions.get(partition) if image is not None else None

    def is_active(self, broker: int) -> bool:
        """Whether the broker is registered and may lead."""
        image = self.brokers.get(broker)
        return image is not None and image.active

    def has_online_directory(self, partition: PartitionImage, broker: int) -> bool:
        """Whether the directory of the broker's replica is one that the broker has, or is not known yet (KIP-858)."""
        directory = partition.directory_of(broker)
        registered = self.brokers.get(broker)
        if directory in (MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY) or registered is None:
            return registered is not None
        return directory != LOST_DIRECTORY and (not registered.directories or directory in registered.directories)

    def all_partitions(self) -> Iterator[tuple[TopicImage, int, PartitionImage]]:
        for topic in self.topics.values():
            for number, partition in topic.partitions.items():
                yield topic, number, partition

    def check_invariants(self, before: ClusterImage | None = None) -> None:
        """Raises InvariantBroken. Topics shared with the checked image `before` are passed over."""
        by_name, by_id = self.topics, self.topics_by_id
        require(len(by_name) == len(by_id), self.cluster_id, "each topic has a name and an id", names=list(by_name))
        known = {} if before is None else before.topics
        for name, topic in by_name.items():
            found = topic.name == name and by_id.get(topic.id) is topic
            require(found, self.cluster_id, "a topic is found by its name and its id", name=name, topic=topic)
            if known.get(name) is not topic:
                topic.check_invariants()
        for broker_id, broker in self.brokers.items():
            require(broker.id == broker_id and broker.epoch >= 0, broker, "a broker is found by its id", id=broker_id)
        for resource in self.configs:
            exists = resource.type != ResourceType.TOPIC or resource.name in by_name
            require(exists, self.cluster_id, "only topics that exist have properties", resource=resource)
        counts = (len(self.acls), len(self.acl_set))
        require(counts[0] == counts[1], self.cluster_id, "each ACL has one id", counts=counts)
        numbers = (self.offset, self.next_producer_id)
        require(self.offset >= -1 and self.next_producer_id >= 0, self.cluster_id, "counters count", numbers=numbers)
        if before is not None:
            moved = self.offset >= before.offset and self.next_producer_id >= before.next_producer_id
            require(moved, self.cluster_id, "images follow each other", offset=self.offset, before=before.offset)
