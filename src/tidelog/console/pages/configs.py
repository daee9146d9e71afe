"""Configurations: the properties of topics, brokers, groups and of all brokers together, and changing one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, TypeAlias

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import Response

from tidelog.client.admin import (
    Admin,
    AlterOperation,
    ConfigAlteration,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from tidelog.client.browsing import MetadataLogUnavailable
from tidelog.console.findings.configurations import ConfiguredKind, cluster_properties, own_value, properties_of
from tidelog.console.findings.differences import cut
from tidelog.console.pages.changes import until_seen
from tidelog.console.parts import ConsoleParts, Parts
from tidelog.console.replies import CONFLICT, EXPECTED_FAILURES, FORBIDDEN, NOT_FOUND, ConsoleRefusal, Json, reply
from tidelog.metadata.image import ConfiguredResource
from tidelog.model.errors import ApiError, ErrorCode

router = APIRouter()

_SetProperties: TypeAlias = dict[ConfiguredResource, Mapping[str, str | None]]
# Of a value in a list.
_SHORT = 200

_LONGEST_VALUE = 100_000
_NOT_SHOWN = "(not shown)"


@router.get("/configs/resources")
async def resources(parts: Parts) -> Response:
    """What has properties, and what is set of them while the cluster runs. Groups are None where they may not be
    listed; `told` says whether the cluster tells what is set."""
    admin = await parts.cluster.admin()
    metadata, groups, found = await asyncio.gather(
        admin.cluster.fetch_metadata(None), _groups(admin), _set_properties(parts)
    )
    known = found or {}
    named = set(groups or ())
    # Groups have properties before they exist.
    named |= {resource.name for resource in known if resource.type == ResourceType.GROUP}
    topics = sorted(metadata.topics.items())
    return reply(
        {
            "told": found is not None,
            "cluster": _set_of(known, ConfiguredKind.CLUSTER, ""),
            "topics": [
                {"name": name, "internal": topic.internal, "set": _set_of(known, ConfiguredKind.TOPIC, name)}
                for name, topic in topics
            ],
            "brokers": [
                {
                    "name": str(node),
                    "address": f"{broker.host}:{broker.port}",
                    "set": _set_of(known, ConfiguredKind.BROKER, str(node)),
                }
                for node, broker in sorted(metadata.brokers.items())
            ],
            "groups": None
            if groups is None
            else [
                {"name": name, "kind": groups.get(name, "none yet"), "set": _set_of(known, ConfiguredKind.GROUP, name)}
                for name in sorted(named)
            ],
        }
    )


async def _groups(admin: Admin) -> dict[str, str] | None:
    """Their kinds, by name."""
    try:
        return {group.group_id: group.kind for group in await admin.list_groups()}
    except EXPECTED_FAILURES:
        return None


async def _set_properties(parts: ConsoleParts) -> _SetProperties | None:
    """From the metadata log: to describe a thousand topics would cost a broker half a second."""
    try:
        return await (await parts.cluster.metadata_log()).configs()
    except MetadataLogUnavailable:
        return None


def _set_of(known: _SetProperties, kind: ConfiguredKind, name: str) -> list[Json]:
    found = known.get(ConfiguredResource(*kind.resource(name)), {})
    return [{"name": each, "value": None if value is None else cut(value, _SHORT)} for each, value in found.items()]


@router.get("/configs/properties")
async def properties(
    parts: Parts, kind: ConfiguredKind, name: Annotated[str, Query(max_length=_LONGEST_VALUE)] = ""
) -> Response:
    _check_name(kind, name)
    return reply(await _described(await parts.cluster.admin(), kind, name))


class PropertyChange(BaseModel):
    """`value` is a text or, to reset the property, None. It may be a secret: it is checked here, because what FastAPI
    says about a value of a wrong type has the value in it."""

    kind: ConfiguredKind
    name: str = ""
    property: str
    value: object = None
    # Whether the brokers only say what they would do.
    validate_only: bool = False


@router.post("/configs/change")
async def change(parts: Parts, wanted: PropertyChange) -> Response:
    """With `validate_only` what the brokers say, otherwise the properties afterwards."""
    _check_name(wanted.kind, wanted.name)
    value = wanted.value
    if value is not None and not isinstance(value, str):
        raise ConsoleRefusal(f"the value of {wanted.property} must be a text")
    if value is not None and len(value) > _LONGEST_VALUE:
        raise ConsoleRefusal(f"the value of {wanted.property} is longer than {_LONGEST_VALUE:,} characters")
    admin = await parts.cluster.admin()
    before = await _one(admin, wanted.kind, wanted.name, wanted.property)
    refusal = await _alter(admin, wanted, value)
    if wanted.validate_only:
        return reply(
            {
                "accepted": refusal is None,
                "message": None if refusal is None else _sentence(wanted, refusal, value, before),
            }
        )
    if refusal is not None:
        raise ConsoleRefusal(_sentence(wanted, refusal, value, before), CONFLICT)
    await _seen(admin, wanted, value, before)
    return reply(await _described(admin, wanted.kind, wanted.name))


async def _alter(admin: Admin, wanted: PropertyChange, value: str | None) -> ApiError | None:
    resource = wanted.kind.resource(wanted.name)
    operation = AlterOperation.DELETE if value is None else AlterOperation.SET
    alteration = ConfigAlteration(name=wanted.property, operation=operation, value=value)
    return (await admin.alter_configs({resource: [alteration]}, validate_only=wanted.validate_only))[resource]


async def _seen(admin: Admin, wanted: PropertyChange, value: str | None, before: ConfigEntry | None) -> None:
    was = own_value(wanted.kind, before)
    if value is None and not was[0]:
        return

    async def is_seen() -> bool:
        entry = await _one(admin, wanted.kind, wanted.name, wanted.property, of_broker=False)
        now = own_value(wanted.kind, entry)
        if now[0] != (value is not None):
            return False
        return now != was or value is None or now[1] in (None, value.strip())

    await until_seen(is_seen)


async def _described(admin: Admin, kind: ConfiguredKind, name: str) -> dict[str, Json]:
    resource = kind.resource(name)
    broker = await _some_broker(admin) if kind is ConfiguredKind.CLUSTER else None
    asked = [resource] if broker is None else [resource, broker]
    if kind is ConfiguredKind.BROKER and int(name) not in (await admin.cluster.fetch_metadata(())).brokers:
        raise ConsoleRefusal(
            f"broker {name} is not there now: it is stopped or unknown, and only it knows its properties", NOT_FOUND
        )
    try:
        found = admin.raise_any(await admin.describe_configs(asked, synonyms=True, documentation=True))
    except ApiError as error:
        raise _not_described(kind, name, error) from error
    if broker is None:
        documents = properties_of(kind, found[resource])
    else:
        documents = cluster_properties(found[resource], found[broker])
    return {
        "kind": kind.value,
        "name": name,
        "asked": None if broker is None else broker.name,
        "properties": documents,
    }


async def _one(
    admin: Admin, kind: ConfiguredKind, name: str, property_name: str, *, of_broker: bool = True
) -> ConfigEntry | None:
    """One property as it is now. Of the cluster's that are not set, one of a broker (`of_broker`)."""
    resource = kind.resource(name)
    asked = [resource]
    if kind is ConfiguredKind.CLUSTER and of_broker:
        asked.append(await _some_broker(admin))
    found = admin.raise_any(await admin.describe_configs(asked, names=[property_name], synonyms=True))
    entries = [entry for each in asked for entry in found[each] if entry.name == property_name]
    return entries[0] if entries else None


async def _some_broker(admin: Admin) -> ConfigResource:
    metadata = await admin.cluster.fetch_metadata(())
    if not metadata.brokers:
        raise ConsoleRefusal("the cluster has no broker that could be asked", CONFLICT)
    return ConfigResource(ResourceType.BROKER, str(min(metadata.brokers)))


def _sentence(wanted: PropertyChange, refusal: ApiError, value: str | None, known: ConfigEntry | None) -> str:
    """Which property, which value, and what the broker says. A value that may be a secret is not repeated."""
    said = refusal.message or refusal.code.name
    if value is None:
        return f"{wanted.property} cannot be reset: {said}"
    if known is None or known.sensitive:
        return f"{wanted.property} cannot be set to this value: {said.replace(value, _NOT_SHOWN) if value else said}"
    return f"{wanted.property} cannot be set to {value!r}: {said}"


def _not_described(kind: ConfiguredKind, name: str, error: ApiError) -> Exception:
    what = "the defaults of all brokers" if kind is ConfiguredKind.CLUSTER else f"{kind.value} {name!r}"
    if error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return ConsoleRefusal(f"there is no {what}", NOT_FOUND)
    if "AUTHORIZATION" in error.code.name:
        needed = f"on the {kind.value}" if kind in (ConfiguredKind.TOPIC, ConfiguredKind.GROUP) else "on the cluster"
        return ConsoleRefusal(
            f"this client may not see the properties of {what}: it needs DescribeConfigs {needed}", FORBIDDEN
        )
    return error


def _check_name(kind: ConfiguredKind, name: str) -> None:
    if kind is ConfiguredKind.BROKER and not (name.isascii() and name.isdigit()):
        raise ConsoleRefusal(f"a broker has a number, {name!r} is none")
    if kind is not ConfiguredKind.CLUSTER and not name:
        raise ConsoleRefusal(f"the {kind.value} has no name")
