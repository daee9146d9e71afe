"""Decides on CreateTopics and DeleteTopics.

More partitions for an existing topic are decided in `tidelog.controller.partitions`. Who may create or delete what is
the server's question, asked before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tidelog.config.broker import BrokerConfig
from tidelog.config.describe import describe_topic
from tidelog.config.topic import topic_problems
from tidelog.controller.assignment import check_manual, new_partition_records
from tidelog.controller.decision import (
    MAX_RECORDS_PER_REQUEST,
    QUOTA_EXCEEDED,
    Decision,
    MayChange,
    Refusal,
    any_number,
    repeated_topic,
    too_many_records,
)
from tidelog.controller.placement import candidates, place
from tidelog.metadata.image import ClusterImage, ResourceType, TopicImage
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid, format_uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.topics import CLUSTER_METADATA_TOPIC, COLLIDING, colliding_name, topic_name_problem
from tidelog.protocol.messages.config_record import ConfigRecord
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.create_topics_response import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsResponse,
)
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from tidelog.protocol.messages.partition_record import PartitionRecord
from tidelog.protocol.messages.remove_topic_record import RemoveTopicRecord
from tidelog.protocol.messages.topic_record import TopicRecord
from tidelog.protocol.schema import Message

# What a client sends for "take the broker's default" (KIP-464).
USE_DEFAULT = -1


def create_topics(
    image: ClusterImage,
    request: CreateTopicsRequest,
    *,
    config: BrokerConfig,
    topic_ids: Sequence[Uuid],
    placement_start: int,
    may_change: MayChange = any_number,
) -> Decision[CreateTopicsResponse]:
    """Create the topics that can be created and say for the others why not.

    `topic_ids` are fresh random ids, one for each topic of the request; `placement_start` is a random number that
    is not negative. `may_change` is asked for each topic that can be created, as in Kafka also if the request only
    asks whether it could be.
    """
    names = Counter(topic.name for topic in request.topics)
    plan = _CreationPlan(image, config, may_change)
    results: list[CreatableTopicResult] = []
    repeated: set[str] = set()
    for topic, topic_id in zip(request.topics, topic_ids, strict=True):
        if names[topic.name] > 1:
            if topic.name not in repeated:
                results.append(_refused(topic.name, repeated_topic(topic.name)))
                repeated.add(topic.name)
            continue
        created = plan.add(topic, topic_id, placement_start)
        results.append(_refused(topic.name, created) if isinstance(created, Refusal) else created)
        # Topics of one request are spread like those of several.
        placement_start += 1
    records = () if request.validate_only else tuple(plan.records)
    return Decision(records=records, reply=CreateTopicsResponse(topics=tuple(results)))


def _refused(name: str, refusal: Refusal) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=refusal.code, error_message=refusal.message)


class _CreationPlan:
    """The records of the topics that were accepted so far; each `add` sees the ones before it."""

    def __init__(self, image: ClusterImage, config: BrokerConfig, may_change: MayChange) -> None:
        self._image = image
        self._config = config
        self._may_change = may_change
        self._candidates = candidates(image)
        # The topics of this plan; those of the image are added when a name is to be created that may collide with
        # others than itself.
        self._names_by_collision: dict[str, str] = {}
        self._knows_collisions = False
        # Most topics of a request have the same properties.
        self._described_as: dict[tuple[tuple[str, str], ...], tuple[CreatableTopicConfigs, ...]] = {}
        self.records: list[Message] = []

    def add(self, topic: CreatableTopic, topic_id: Uuid, placement_start: int) -> CreatableTopicResult | Refusal:
        refusal = self._check_name(topic.name) or _check_configs(topic)
        if refusal is not None:
            return refusal
        created = TopicImage(name=topic.name, id=topic_id)
        overrides = {entry.name: entry.value for entry in topic.configs if entry.value is not None}
        partitions = self._partitions(created, topic, placement_start)
        if isinstance(partitions, Refusal):
            return partitions
        wanted = len(self.records) + 1 + len(overrides) + len(partitions)
        if wanted > MAX_RECORDS_PER_REQUEST:
            return too_many_records(wanted)
        if not self._may_change(len(partitions)):
            return QUOTA_EXCEEDED
        self._names_by_collision[colliding_name(topic.name)] = topic.name
        self.records.append(TopicRecord(name=topic.name, topic_id=topic_id))
        self.records.extend(
            ConfigRecord(resource_type=ResourceType.TOPIC, resource_name=topic.name, name=name, value=value)
            for name, value in overrides.items()
        )
        self.records.extend(partitions)
        return CreatableTopicResult(
            name=topic.name,
            topic_id=topic_id,
            error_message=None,
            num_partitions=len(partitions),
            replication_factor=len(partitions[0].replicas),
            configs=self._described(overrides),
        )

    def _check_name(self, name: str) -> Refusal | None:
        problem = topic_name_problem(name)
        if problem is not None:
            return Refusal(code=ErrorCode.INVALID_TOPIC_EXCEPTION, message=problem)
        if name == CLUSTER_METADATA_TOPIC:
            return Refusal(code=ErrorCode.INVALID_REQUEST, message=f"{name} belongs to the controllers")
        existing = self._existing(name)
        if existing == name:
            return Refusal(code=ErrorCode.TOPIC_ALREADY_EXISTS, message=f"the topic {name!r} already exists")
        if existing is not None:
            return Refusal(
                code=ErrorCode.INVALID_TOPIC_EXCEPTION,
                message=f"the topic {name!r} would have the same name as {existing!r} in metrics, where '.' and '_' "
                f"are the same",
            )
        return None

    def _existing(self, name: str) -> str | None:
        """The topic that has this name already, or one that cannot be told from it in metrics."""
        if name in self._image.topics:
            return name
        if not self._knows_collisions and any(each in name for each in COLLIDING):
            found = {colliding_name(known): known for known in self._image.topics}
            self._names_by_collision = {**found, **self._names_by_collision}
            self._knows_collisions = True
        return self._names_by_collision.get(colliding_name(name))

    def _partitions(
        self, created: TopicImage, topic: CreatableTopic, placement_start: int
    ) -> list[PartitionRecord] | Refusal:
        replicas = _manual_replicas(self._image, topic) if topic.assignments else self._placed(topic, placement_start)
        if isinstance(replicas, Refusal):
            return replicas
        return new_partition_records(self._image, created, replicas)

    def _placed(self, topic: CreatableTopic, start: int) -> list[tuple[int, ...]] | Refusal:
        factor, count = topic.replication_factor, topic.num_partitions
        if factor < USE_DEFAULT or factor == 0:
            return Refusal(
                code=ErrorCode.INVALID_REPLICATION_FACTOR,
                message=f"a replication factor of {factor} is not possible; it must be at least 1, or -1 for the "
                f"broker's default",
            )
        if count < USE_DEFAULT or count == 0:
            return Refusal(
                code=ErrorCode.INVALID_PARTITIONS,
                message=f"{count} partitions are not possible; it must be at least 1, or -1 for the broker's default",
            )
        partitions = self._config.num_partitions if count == USE_DEFAULT else count
        # Before any work is done for them: a small request can ask for two thousand million partitions.
        wanted = len(self.records) + 1 + partitions
        if wanted > MAX_RECORDS_PER_REQUEST:
            return too_many_records(wanted)
        return place(
            self._candidates,
            partitions=partitions,
            replication_factor=self._config.default_replication_factor if factor == USE_DEFAULT else factor,
            start=start,
        )

    def _described(self, overrides: dict[str, str]) -> tuple[CreatableTopicConfigs, ...]:
        key = tuple(overrides.items())
        found = self._described_as.get(key)
        if found is None:
            found = self._described_as[key] = self._describe(overrides)
        return found

    def _describe(self, overrides: dict[str, str]) -> tuple[CreatableTopicConfigs, ...]:
        described = sorted(describe_topic(overrides, self._config), key=lambda each: each.name)
        return tuple(
            CreatableTopicConfigs(
                name=each.name,
                value=each.value,
                read_only=each.read_only,
                config_source=each.source,
                is_sensitive=each.sensitive,
            )
            for each in described
        )


def _check_configs(topic: CreatableTopic) -> Refusal | None:
    without_value = [entry.name for entry in topic.configs if entry.value is None]
    if without_value:
        return Refusal(code=ErrorCode.INVALID_CONFIG, message=f"{', '.join(without_value)}: a value is missing")
    problems = topic_problems({entry.name: entry.value for entry in topic.configs if entry.value is not None})
    return Refusal(code=ErrorCode.INVALID_CONFIG, message="; ".join(problems)) if problems else None


def _manual_replicas(image: ClusterImage, topic: CreatableTopic) -> list[tuple[int, ...]] | Refusal:
    if topic.replication_factor != USE_DEFAULT or topic.num_partitions != USE_DEFAULT:
        return Refusal(
            code=ErrorCode.INVALID_REQUEST,
            message="with an assignment of replicas, the number of partitions and the replication factor must be -1",
        )
    replicas: dict[int, tuple[int, ...]] = {}
    replication_factor: int | None = None
    for assignment in topic.assignments:
        if assignment.partition_index in replicas:
            return Refusal(
                code=ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                message=f"partition {assignment.partition_index} is assigned more than once",
            )
        refusal = check_manual(image, assignment.broker_ids, replication_factor)
        if refusal is not None:
            return refusal
        replication_factor = len(assignment.broker_ids)
        replicas[assignment.partition_index] = tuple(assignment.broker_ids)
    if sorted(replicas) != list(range(len(replicas))):
        return Refusal(
            code=ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            message=f"partitions must be numbered from 0 without gaps, not {sorted(replicas)}",
        )
    return [replicas[number] for number in range(len(replicas))]


# --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deletion:
    """A topic as the request names it, and either what it is or why it cannot be deleted."""

    name: str | None
    id: Uuid
    outcome: TopicImage | Refusal


def delete_topics(
    image: ClusterImage, request: DeleteTopicsRequest, *, config: BrokerConfig, may_change: MayChange = any_number
) -> Decision[DeleteTopicsResponse]:
    """Delete topics by name or by id. Their replicas go when brokers replay the records."""
    asked = [*(DeleteTopicState(name=name) for name in request.topic_names), *request.topics]
    asked, repeated = _once(asked)
    deletions = [*repeated, *_resolve(image, asked, enabled=config.delete_topic_enable)]
    seen: set[Uuid] = set()
    records: list[Message] = []
    results: list[DeletableTopicResult] = []
    for deletion in deletions:
        outcome = deletion.outcome
        if isinstance(outcome, TopicImage) and outcome.id in seen:
            outcome = repeated_topic(outcome.name)
        elif isinstance(outcome, TopicImage) and not may_change(len(outcome.partitions)):
            outcome = QUOTA_EXCEEDED
        if isinstance(outcome, Refusal):
            results.append(
                DeletableTopicResult(
                    name=deletion.name,
                    topic_id=deletion.id,
                    error_code=outcome.code,
                    error_message=outcome.message,
                )
            )
            continue
        seen.add(outcome.id)
        records.append(RemoveTopicRecord(topic_id=outcome.id))
        results.append(DeletableTopicResult(name=outcome.name, topic_id=outcome.id))
    return Decision(records=tuple(records), reply=DeleteTopicsResponse(responses=tuple(results)))


def _once(asked: list[DeleteTopicState]) -> tuple[list[DeleteTopicState], list[_Deletion]]:
    """Those that are in the request once, and one refusal for each name or id that is there more often."""
    counts = Counter((state.name, bytes(state.topic_id)) for state in asked)
    refused = [
        _Deletion(name=name, id=Uuid(topic_id), outcome=repeated_topic(name or format_uuid(Uuid(topic_id))))
        for (name, topic_id), count in counts.items()
        if count > 1
    ]
    return [state for state in asked if counts[state.name, bytes(state.topic_id)] == 1], refused


def _resolve(image: ClusterImage, asked: list[DeleteTopicState], *, enabled: bool) -> Iterator[_Deletion]:
    for state in asked:
        topic_id = Uuid(bytes(state.topic_id))
        outcome: TopicImage | Refusal | None
        if not enabled:
            outcome = Refusal(
                code=ErrorCode.TOPIC_DELETION_DISABLED,
                message="topics cannot be deleted on this cluster (delete.topic.enable=false)",
            )
        elif state.name is None and topic_id == ZERO_UUID:
            outcome = Refusal(code=ErrorCode.INVALID_REQUEST, message="neither a name nor an id is given")
        elif state.name is not None and topic_id != ZERO_UUID:
            outcome = Refusal(code=ErrorCode.INVALID_REQUEST, message="both a name and an id are given")
        elif state.name is not None:
            outcome = image.topics.get(state.name) or Refusal(
                code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message=f"the topic {state.name!r} does not exist"
            )
        else:
            outcome = image.topics_by_id.get(topic_id) or Refusal(
                code=ErrorCode.UNKNOWN_TOPIC_ID, message=f"a topic with the id {format_uuid(topic_id)} does not exist"
            )
        yield _Deletion(name=state.name, id=topic_id, outcome=outcome)
