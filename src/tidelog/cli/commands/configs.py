"""`tidelog configs`: the options of Kafka's kafka-configs, and its lines, for topics, brokers and groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tidelog.cli.cluster_options import ClusterOptions
from tidelog.cli.failures import CommandFailure
from tidelog.cli.option_groups import with_groups
from tidelog.cli.properties import read_properties
from tidelog.cli.session import run
from tidelog.client.admin import (
    Admin,
    AlterOperation,
    ConfigAlteration,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from tidelog.config.definitions import ConfigSource, nearest_name
from tidelog.model.errors import ApiError, ErrorCode

ENTITY_TYPES = {
    "topics": ResourceType.TOPIC,
    "brokers": ResourceType.BROKER,
    "broker-loggers": ResourceType.BROKER_LOGGER,
    "groups": ResourceType.GROUP,
}

# Sources that somebody has set while the cluster was running.
_DYNAMIC = {
    ResourceType.TOPIC: ConfigSource.DYNAMIC_TOPIC_CONFIG,
    ResourceType.BROKER: ConfigSource.DYNAMIC_BROKER_CONFIG,
    ResourceType.BROKER_LOGGER: ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG,
    ResourceType.GROUP: ConfigSource.DYNAMIC_GROUP_CONFIG,
}
_BROKER_DEFAULTS = ""


@with_groups
def configs(
    describe: Annotated[bool, typer.Option("--describe", help="Show properties.")] = False,
    alter: Annotated[bool, typer.Option("--alter", help="Set and remove properties.")] = False,
    entity_type: Annotated[
        str | None, typer.Option("--entity-type", help="The kind of entity: topics, brokers or groups.")
    ] = None,
    entity_name: Annotated[
        str | None, typer.Option("--entity-name", help="The name of the topic or group, or the broker's id.")
    ] = None,
    entity_default: Annotated[
        bool, typer.Option("--entity-default", help="The defaults of all brokers instead of one broker.")
    ] = False,
    topic: Annotated[str | None, typer.Option("--topic", help="Short for --entity-type topics --entity-name.")] = None,
    broker: Annotated[
        str | None, typer.Option("--broker", help="Short for --entity-type brokers --entity-name.")
    ] = None,
    add_config: Annotated[
        str | None,
        typer.Option("--add-config", metavar="NAME=VALUE,...", help="Properties to set; lists in brackets: a=[b,c]."),
    ] = None,
    add_config_file: Annotated[
        Path | None, typer.Option("--add-config-file", metavar="FILE", help="A file with properties to set.")
    ] = None,
    delete_config: Annotated[
        str | None, typer.Option("--delete-config", metavar="NAME,...", help="Properties to remove.")
    ] = None,
    show_all: Annotated[bool, typer.Option("--all", help="With --describe: also show defaults.")] = False,
    *,
    cluster: ClusterOptions,
) -> None:
    """Describe and alter properties of topics and brokers, with the options of kafka-configs.

    Changes take effect immediately.

    \b
    Examples:
      tidelog configs --describe --entity-type topics --entity-name orders --all
      tidelog configs --alter --entity-type topics --entity-name orders --add-config retention.ms=60000
      tidelog configs --alter --topic orders --delete-config retention.ms
      tidelog configs --describe --entity-type brokers --entity-name 1
    """
    kind, name = _entity(entity_type, entity_name, entity_default, topic, broker)
    if describe == alter:
        raise typer.BadParameter("exactly one of --describe and --alter is needed")
    if describe:
        run(_describe(cluster, kind, name, show_all))
        return
    if name is None:
        raise typer.BadParameter("--alter needs --entity-name (or --entity-default for all brokers)")
    changes = _changes(add_config, add_config_file, delete_config)
    if not changes:
        raise typer.BadParameter("--alter needs --add-config, --add-config-file or --delete-config")
    run(_alter(cluster, ConfigResource(kind, name), changes))


def _entity(
    entity_type: str | None, entity_name: str | None, entity_default: bool, topic: str | None, broker: str | None
) -> tuple[ResourceType, str | None]:
    if topic is not None:
        entity_type, entity_name = "topics", topic
    elif broker is not None:
        entity_type, entity_name = "brokers", broker
    if entity_type is None:
        raise typer.BadParameter("name an entity: --entity-type topics, brokers or groups, or --topic, --broker")
    if entity_type in ("users", "clients", "ips"):
        raise typer.BadParameter(
            f"{entity_type} have commands of their own: tidelog quotas for quotas, tidelog users for passwords",
            param_hint="--entity-type",
        )
    kind = ENTITY_TYPES.get(entity_type)
    if kind is None:
        close = nearest_name(entity_type, ENTITY_TYPES)
        meant = f"; did you mean {close}?" if close else f"; it must be one of {', '.join(ENTITY_TYPES)}"
        raise typer.BadParameter(f"{entity_type!r} is not an entity type{meant}", param_hint="--entity-type")
    if entity_default:
        if kind != ResourceType.BROKER or entity_name is not None:
            raise typer.BadParameter("--entity-default goes with --entity-type brokers and without a name")
        return kind, _BROKER_DEFAULTS
    return kind, entity_name


def _changes(added: str | None, file: Path | None, deleted: str | None) -> list[ConfigAlteration]:
    to_set = {**read_properties(file), **split_list(added or "")}
    removed = [name.strip() for name in (deleted or "").split(",") if name.strip()]
    both = set(to_set) & set(removed)
    if both:
        raise typer.BadParameter(f"{', '.join(sorted(both))} cannot be both set and removed")
    changes = [ConfigAlteration(name=name, value=value) for name, value in to_set.items()]
    return changes + [ConfigAlteration(name=name, operation=AlterOperation.DELETE) for name in removed]


def split_list(text: str) -> dict[str, str]:
    """`a=1,b=[x,y]` as {"a": "1", "b": "x,y"}."""
    pairs: dict[str, str] = {}
    rest = text.strip()
    while rest:
        name, equals, after = rest.partition("=")
        if not equals or not name.strip() or "," in name:
            raise typer.BadParameter(f"{rest!r} is not of the form name=value", param_hint="--add-config")
        after = after.lstrip()
        if after.startswith("["):
            value, bracket, rest = after[1:].partition("]")
            if not bracket:
                raise typer.BadParameter(f"{after!r} has no closing bracket", param_hint="--add-config")
            rest = rest.lstrip()
            if rest and not rest.startswith(","):
                raise typer.BadParameter(f"{rest!r} follows a closing bracket", param_hint="--add-config")
            rest = rest[1:]
        else:
            value, _, rest = after.partition(",")
        pairs[name.strip()] = value.strip()
        rest = rest.strip()
    return pairs


async def _describe(cluster: ClusterOptions, kind: ResourceType, name: str | None, show_all: bool) -> None:
    async with cluster.admin() as admin:
        names = [name] if name is not None else await _all_names(admin, kind)
        resources = [ConfigResource(kind, one) for one in names]
        if kind == ResourceType.TOPIC and name is not None:
            # Brokers answer questions about a missing topic's properties with an error that names no topic.
            Admin.raise_any(await admin.describe_topics([name]))
        described = Admin.raise_any(await admin.describe_configs(resources, synonyms=True))
    shown = {resource: _selected(resource, described[resource], show_all) for resource in resources}
    lines = (line for resource, entries in shown.items() for line in (_title(resource, show_all), *map(_line, entries)))
    cluster.show([_as_json(resource, entries) for resource, entries in shown.items()], lines)


async def _all_names(admin: Admin, kind: ResourceType) -> list[str]:
    if kind == ResourceType.TOPIC:
        return [topic.name for topic in await admin.list_topics()]
    if kind == ResourceType.GROUP:
        return [group.group_id for group in await admin.list_groups()]
    brokers = [str(node.node_id) for node in (await admin.describe_cluster()).nodes]
    return [*brokers, _BROKER_DEFAULTS] if kind == ResourceType.BROKER else brokers


def _selected(resource: ConfigResource, entries: Sequence[ConfigEntry], show_all: bool) -> list[ConfigEntry]:
    ordered = sorted(entries, key=lambda entry: entry.name)
    if show_all:
        return ordered
    wanted = _DYNAMIC[resource.type]
    if resource == (ResourceType.BROKER, _BROKER_DEFAULTS):
        wanted = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    return [entry for entry in ordered if entry.source == wanted]


def _kind_name(resource: ConfigResource) -> str:
    return next(name for name, kind in ENTITY_TYPES.items() if kind == resource.type)


def _title(resource: ConfigResource, show_all: bool) -> str:
    kind = _kind_name(resource)
    if not resource.name:
        return f"Default configs for {kind} in the cluster are:"
    return f"{'All' if show_all else 'Dynamic'} configs for {kind[:-1]} {resource.name} are:"


def _line(entry: ConfigEntry) -> str:
    synonyms = ", ".join(f"{synonym.source.name}:{synonym.name}={_text(synonym.value)}" for synonym in entry.synonyms)
    sensitive = "true" if entry.sensitive else "false"
    return f"  {entry.name}={_text(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def _text(value: str | None) -> str:
    return "null" if value is None else value


def _as_json(resource: ConfigResource, entries: Sequence[ConfigEntry]) -> dict[str, object]:
    return {
        "type": _kind_name(resource),
        "name": resource.name or None,
        "configs": [
            {
                "name": entry.name,
                "value": entry.value,
                "source": entry.source.name,
                "readOnly": entry.read_only,
                "sensitive": entry.sensitive,
            }
            for entry in entries
        ],
    }


async def _alter(cluster: ClusterOptions, resource: ConfigResource, changes: Sequence[ConfigAlteration]) -> None:
    async with cluster.admin() as admin:
        result = (await admin.alter_configs({resource: changes}))[resource]
    if isinstance(result, ApiError):
        if result.code in (ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST):
            raise CommandFailure(f"{resource} was not changed: {result.message or result}") from result
        raise result
    kind = _kind_name(resource)
    changed = (
        f"config for {kind[:-1]} {resource.name}" if resource.name else f"default config for {kind} in the cluster"
    )
    document = {"type": kind, "name": resource.name or None, "changed": len(changes)}
    cluster.show(document, [f"Completed updating {changed}."])
