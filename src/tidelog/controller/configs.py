"""Decides on AlterConfigs and IncrementalAlterConfigs for topics, brokers, groups and subscriptions to client metrics.

What a property allows is in `tidelog.config`. Log levels (BROKER_LOGGER) are not stored and never come here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from tidelog.config.alteration import AlterOperation, ConfigChange, plan_incremental
from tidelog.config.broker import BROKER_DEFINITIONS, BrokerConfig, broker_problems
from tidelog.config.client_metrics import client_metrics_request_problems, client_metrics_value_problems
from tidelog.config.definitions import ConfigDefinition, InvalidConfig
from tidelog.config.group import group_problems
from tidelog.config.topic import TOPIC_DEFINITIONS, topic_problems
from tidelog.controller.decision import MAX_RECORDS_PER_REQUEST, Decision, Refusal, error_fields, too_many_records
from tidelog.controller.eligible_leaders import eligibility_problems, forget_eligible
from tidelog.metadata.image import ClusterImage, ConfiguredResource, ResourceType
from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.topics import topic_name_problem
from tidelog.protocol.messages import alter_configs_response, incremental_alter_configs_response
from tidelog.protocol.messages.alter_configs_request import AlterConfigsRequest
from tidelog.protocol.messages.alter_configs_response import AlterConfigsResponse
from tidelog.protocol.messages.config_record import ConfigRecord
from tidelog.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tidelog.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from tidelog.protocol.schema import Message

# The properties that can be lists. As in Kafka, nothing can be appended to those of other resources.
_LISTS: Mapping[int, Mapping[str, ConfigDefinition]] = {
    ResourceType.TOPIC: TOPIC_DEFINITIONS,
    ResourceType.BROKER: BROKER_DEFINITIONS,
}

_Outcome = tuple[ConfiguredResource, Refusal | None]
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alteration:
    """What a request asks of one resource: operations as name, kind and value."""

    resource: ConfiguredResource
    operations: Sequence[tuple[str, int, str | None]]
    # Whether what the request does not mention goes back to its default.
    replaces_all: bool = False

    def planned(self, current: Mapping[str, str]) -> dict[str, str]:
        """The properties afterwards. Raises InvalidConfig."""
        if self.replaces_all:
            return {name: value for name, _, value in self.operations if value is not None}
        kind = self.resource.type
        changes = [_change(*operation) for operation in self.operations]
        if kind not in _LISTS:
            _refuse_lists(changes)
        return plan_incremental(_LISTS.get(kind, {}), current, changes, ResourceType(kind).name.lower() + "s")


def incremental_alter_configs(
    image: ClusterImage, request: IncrementalAlterConfigsRequest, *, config: BrokerConfig
) -> Decision[IncrementalAlterConfigsResponse]:
    """Change single properties (KIP-339). A resource is changed as a whole or not at all."""
    alterations = [
        _Alteration(
            resource=ConfiguredResource(asked.resource_type, asked.resource_name),
            operations=[(entry.name, entry.config_operation, entry.value) for entry in asked.configs],
        )
        for asked in request.resources
    ]
    records, outcomes = _alter(image, alterations, config)
    responses = _responses(incremental_alter_configs_response.AlterConfigsResourceResponse, outcomes)
    return Decision(
        records=() if request.validate_only else records,
        reply=IncrementalAlterConfigsResponse(responses=responses),
    )


def alter_configs(
    image: ClusterImage, request: AlterConfigsRequest, *, config: BrokerConfig
) -> Decision[AlterConfigsResponse]:
    """Replace all properties of a resource: what the request does not mention goes back to its default."""
    alterations = [
        _Alteration(
            resource=ConfiguredResource(asked.resource_type, asked.resource_name),
            operations=[(entry.name, AlterOperation.SET, entry.value) for entry in asked.configs],
            replaces_all=True,
        )
        for asked in request.resources
    ]
    records, outcomes = _alter(image, alterations, config)
    responses = _responses(alter_configs_response.AlterConfigsResourceResponse, outcomes)
    return Decision(records=() if request.validate_only else records, reply=AlterConfigsResponse(responses=responses))


def _responses(kind: Callable[..., R], outcomes: Sequence[_Outcome]) -> tuple[R, ...]:
    return tuple(
        kind(resource_type=resource.type, resource_name=resource.name, **error_fields(refusal))
        for resource, refusal in outcomes
    )


def _alter(
    image: ClusterImage, alterations: Sequence[_Alteration], config: BrokerConfig
) -> tuple[tuple[Message, ...], list[_Outcome]]:
    times = Counter(alteration.resource for alteration in alterations)
    records: list[Message] = []
    outcomes: list[_Outcome] = []
    for alteration in alterations:
        resource = alteration.resource
        if times[resource] > 1:
            refusal: Refusal | None = _bad_request(f"the resource {resource.name!r} is in the request more than once")
        else:
            planned = _plan(image, alteration, config)
            refusal = planned if isinstance(planned, Refusal) else None
            if not isinstance(planned, Refusal):
                wanted = len(records) + len(planned)
                if wanted > MAX_RECORDS_PER_REQUEST:
                    refusal = too_many_records(wanted)
                else:
                    records.extend(planned)
        outcomes.append((resource, refusal))
    return tuple(records), outcomes


def _plan(image: ClusterImage, alteration: _Alteration, config: BrokerConfig) -> list[Message] | Refusal:
    resource = alteration.resource
    names = Counter(name for name, _, _ in alteration.operations)
    repeated = [name for name, count in names.items() if count > 1]
    if repeated:
        return _bad_request(f"{', '.join(repeated)}: in the request more than once")
    without_value = [
        name for name, kind, value in alteration.operations if value is None and kind != AlterOperation.DELETE
    ]
    if without_value:
        return _bad_request(f"{', '.join(without_value)}: a value is missing")
    refusal = _check_resource(image, resource)
    if refusal is not None:
        return refusal
    current = image.configs.get(resource, {})
    try:
        planned = alteration.planned(current)
    except InvalidConfig as error:
        return Refusal(code=_invalid_code(resource), message="; ".join(error.problems))
    refusal = _check_values(resource, planned, config)
    if refusal is not None:
        return refusal
    problems = eligibility_problems(image, resource, planned)
    if problems:
        return Refusal(code=ErrorCode.INVALID_CONFIG, message="; ".join(problems))
    return list(_difference(image, resource, current, planned))


def _check_resource(image: ClusterImage, resource: ConfiguredResource) -> Refusal | None:
    if resource.type == ResourceType.TOPIC:
        if not resource.name:
            return _bad_request("topics have no properties that hold for all of them; set the broker's defaults")
        problem = topic_name_problem(resource.name)
        if problem is not None:
            return Refusal(code=ErrorCode.INVALID_TOPIC_EXCEPTION, message=problem)
        if resource.name not in image.topics:
            return Refusal(
                code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message=f"the topic {resource.name!r} does not exist"
            )
        return None
    if resource.type == ResourceType.BROKER:
        if not resource.name:
            return None
        if not (resource.name.isascii() and resource.name.isdigit()):
            return _bad_request(f"{resource.name!r} is not the number of a broker")
        # Written as the broker itself looks it up: "01" would be a broker that nobody is.
        if str(int(resource.name[:12])) != resource.name or int(resource.name) not in image.brokers:
            return Refusal(code=ErrorCode.BROKER_ID_NOT_REGISTERED, message=f"broker {resource.name} is not registered")
        return None
    if resource.type in (ResourceType.GROUP, ResourceType.CLIENT_METRICS):
        # Neither has to exist: a group may get its properties before its first member.
        return None if resource.name else _bad_request("the name of the resource is empty")
    return _bad_request(f"properties of resource type {resource.type} cannot be changed")


def _check_values(resource: ConfiguredResource, planned: Mapping[str, str], config: BrokerConfig) -> Refusal | None:
    code = _invalid_code(resource)
    match resource.type:
        case ResourceType.TOPIC:
            problems = topic_problems(planned)
        case ResourceType.GROUP:
            problems = group_problems(planned, config)
        case ResourceType.CLIENT_METRICS:
            problems = client_metrics_request_problems(planned)
            if problems:
                return _bad_request("; ".join(problems))
            problems = client_metrics_value_problems(planned)
        case _:
            problems = broker_problems(config.layers.static, planned)
    return Refusal(code=code, message="; ".join(problems)) if problems else None


def _difference(
    image: ClusterImage, resource: ConfiguredResource, current: Mapping[str, str], planned: Mapping[str, str]
) -> Iterable[Message]:
    for name in [*planned, *(name for name in current if name not in planned)]:
        if current.get(name) != planned.get(name):
            yield ConfigRecord(
                resource_type=resource.type, resource_name=resource.name, name=name, value=planned.get(name)
            )
            yield from forget_eligible(image, resource, name)


def _change(name: str, operation: int, value: str | None) -> ConfigChange:
    if operation not in AlterOperation.__members__.values():
        raise InvalidConfig(
            f"{name}: {operation} is not an operation; it must be 0 (set), 1 (delete), 2 (append) or 3 (subtract)"
        )
    return ConfigChange(name=name, operation=AlterOperation(operation), text=value)


def _refuse_lists(changes: Sequence[ConfigChange]) -> None:
    for change in changes:
        if change.operation in (AlterOperation.APPEND, AlterOperation.SUBTRACT):
            raise InvalidConfig(f"{change.name} can only be set or deleted: it is not a list")


def _invalid_code(resource: ConfiguredResource) -> ErrorCode:
    """Apache Kafka answers a wrong broker property with INVALID_REQUEST, and clients know it so (KAFKA-13609)."""
    return ErrorCode.INVALID_REQUEST if resource.type == ResourceType.BROKER else ErrorCode.INVALID_CONFIG


def _bad_request(message: str) -> Refusal:
    return Refusal(code=ErrorCode.INVALID_REQUEST, message=message)
