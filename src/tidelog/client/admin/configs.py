"""Configurations of topics, brokers and groups: describe them, and change single properties (KIP-339)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple, TypeVar

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.routing import ask_nodes
from tidelog.client.errors import WrongUse, outcome
from tidelog.config.alteration import AlterOperation
from tidelog.config.definitions import ConfigSource, ConfigType
from tidelog.metadata.image import ResourceType
from tidelog.model.errors import ApiError
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from tidelog.protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from tidelog.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse

V = TypeVar("V")


class ConfigResource(NamedTuple):
    """What has the configuration. A broker is named by its id; the empty name is the default of all brokers."""

    type: ResourceType
    name: str

    def __str__(self) -> str:
        return f"{self.type.name.lower()} {self.name!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSynonym:
    """One of the places that a value can come from, strongest first."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry:
    """`value` is None for what must not be shown, and for what has no value."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    # UNKNOWN where the broker does not tell.
    type: ConfigType
    synonyms: tuple[ConfigSynonym, ...]
    documentation: str | None

    @property
    def is_default(self) -> bool:
        return self.source == ConfigSource.DEFAULT_CONFIG


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigAlteration:
    name: str
    operation: AlterOperation = AlterOperation.SET
    value: str | None = None


class ConfigAdmin:
    _cluster: Cluster

    async def describe_configs(
        self,
        resources: Collection[ConfigResource],
        *,
        names: Sequence[str] | None = None,
        synonyms: bool = False,
        documentation: bool = False,
        timeout_ms: float | None = None,
    ) -> dict[ConfigResource, tuple[ConfigEntry, ...] | ApiError]:
        """All properties of each resource, or (`names`) some of them."""

        async def ask(node: int | None, theirs: list[ConfigResource]) -> Mapping[ConfigResource, _Described]:
            request = DescribeConfigsRequest(
                resources=[
                    DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=names)
                    for kind, name in theirs
                ],
                include_synonyms=synonyms,
                include_documentation=documentation,
            )
            if node is None:
                reply = await self._cluster.ask_any(request, DescribeConfigsResponse)
            else:
                reply = await self._cluster.ask_node(node, request, DescribeConfigsResponse)
            return {
                ConfigResource(ResourceType(result.resource_type), result.resource_name): outcome(
                    result.error_code, result.error_message, tuple(map(_entry, result.configs))
                )
                for result in reply.results
            }

        return await self._ask_nodes("describing configurations", resources, ask, timeout_ms)

    async def alter_configs(
        self,
        alterations: Mapping[ConfigResource, Sequence[ConfigAlteration]],
        *,
        validate_only: bool = False,
        timeout_ms: float | None = None,
    ) -> dict[ConfigResource, ApiError | None]:
        """Change these properties and leave all others as they are."""

        async def ask(node: int | None, theirs: list[ConfigResource]) -> Mapping[ConfigResource, ApiError | None]:
            request = IncrementalAlterConfigsRequest(
                resources=[
                    AlterConfigsResource(
                        resource_type=resource.type,
                        resource_name=resource.name,
                        configs=[
                            AlterableConfig(name=change.name, config_operation=change.operation, value=change.value)
                            for change in alterations[resource]
                        ],
                    )
                    for resource in theirs
                ],
                validate_only=validate_only,
            )
            if node is None:
                reply = await self._cluster.ask_controller(request, IncrementalAlterConfigsResponse)
            else:
                reply = await self._cluster.ask_node(node, request, IncrementalAlterConfigsResponse)
            return {
                ConfigResource(ResourceType(entry.resource_type), entry.resource_name): outcome(
                    entry.error_code, entry.error_message, None
                )
                for entry in reply.responses
            }

        return await self._ask_nodes("altering configurations", alterations, ask, timeout_ms)

    async def _ask_nodes(
        self,
        what: str,
        resources: Collection[ConfigResource],
        ask: Callable[[int | None, list[ConfigResource]], Awaitable[Mapping[ConfigResource, V | ApiError]]],
        timeout_ms: float | None,
    ) -> dict[ConfigResource, V | ApiError]:
        async def place(left: list[ConfigResource]) -> Mapping[ConfigResource, int | ApiError | None]:
            return {resource: _node(resource) for resource in left}

        return await ask_nodes(self._cluster, what, resources, place, ask, timeout_ms=timeout_ms)


_Described = tuple[ConfigEntry, ...] | ApiError


def _node(resource: ConfigResource) -> int | None:
    """What belongs to one broker is known to that broker only; anybody can be asked about the rest."""
    if resource.type not in (ResourceType.BROKER, ResourceType.BROKER_LOGGER) or not resource.name:
        return None
    if not (resource.name.isascii() and resource.name.isdigit()):
        raise WrongUse(f"a broker is identified by its number, not by {resource.name!r}")
    return int(resource.name)


def _entry(entry: DescribeConfigsResourceResult) -> ConfigEntry:
    return ConfigEntry(
        name=entry.name,
        value=entry.value,
        source=_source(entry.config_source),
        read_only=entry.read_only,
        sensitive=entry.is_sensitive,
        type=_type(entry.config_type),
        synonyms=tuple(
            ConfigSynonym(name=synonym.name, value=synonym.value, source=_source(synonym.source))
            for synonym in entry.synonyms
        ),
        documentation=entry.documentation or None,
    )


def _source(number: int) -> ConfigSource:
    try:
        return ConfigSource(number)
    except ValueError:
        return ConfigSource.UNKNOWN


def _type(number: int) -> ConfigType:
    try:
        return ConfigType(number)
    except ValueError:
        return ConfigType.UNKNOWN
