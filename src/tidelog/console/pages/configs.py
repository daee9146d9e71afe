"""Configurations: the properties of topics, brokers, groups and of all brokers together, and changing one of them."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import Response

from tidelog.client.admin import (
    Admin,
    AlterOperation,
    ConfigAlteration,
    ConfigEntry,
    ConfigResource,
    GroupListing,
    ResourceType,
)
from tidelog.client.browsing import MetadataLogUnavailable
from tidelog.console.findings.configurations import (
    ConfiguredKind,
    cluster_properties,
    kind_of,
    own_value,
    properties_of,
)
from tidelog.console.findings.differences import cut
from tidelog.console.listings import Listed, listed_groups
from tidelog.console.pages.changes import until_seen
from tidelog.console.parts import Parts
from tidelog.console.replies import (
    CONFLICT,
    EXPECTED_FAILURES,
    FORBIDDEN,
    NOT_FOUND,
    REPEATED_CHARACTERS,
    ConsoleRefusal,
    Json,
    is_text,
    reply,
)
from tidelog.model.errors import ApiError, ErrorCode

router = APIRouter()

# Of a value in a list.
_SHORT = 200

_LONGEST_VALUE = 100_000
_NOT_SHOWN = "(not shown)"
_LARGEST_BROKER = (1 << 31) - 1


@router.get("/configs/resources")
async def resources(parts: Parts) -> Response:
    """What has properties. Groups are None where they may not be listed."""
    admin = await parts.cluster.watcher()
    metadata, groups = await asyncio.gather(admin.cluster.fetch_metadata(None), _groups(admin))
    return reply(
        {
            "topics": [{"name": name, "internal": topic.internal} for name, topic in sorted(metadata.topics.items())],
            "brokers": [
                {"name": str(node), "address": f"{broker.host}:{broker.port}"}
                for node, broker in sorted(metadata.brokers.items())
            ],
            "groups": None if groups is None else [{"name": each.group_id, "kind": each.kind} for each in groups.found],
            "groups_silent": [] if groups is None else list(groups.silent),
            "groups_leaderless": 0 if groups is None else groups.leaderless,
        }
    )


async def _groups(admin: Admin) -> Listed[GroupListing] | None:
    try:
        return await listed_groups(admin)
    except EXPECTED_FAILURES:
        return None


@router.get("/configs/set")
async def set_while_running(parts: Parts) -> Response:
    """What is set for which resource, from the metadata log: to describe a thousand topics would cost a broker half a
    second. It is a question of its own because a cluster may take its time to say that it does not show the log.
    """
    found: dict[ConfiguredKind, dict[str, Json]] = {kind: {} for kind in ConfiguredKind}
    try:
        known = await (await parts.cluster.metadata_log()).configs()
    except MetadataLogUnavailable as problem:
        return reply({"told": False, "problem": str(problem)})
    for resource, values in known.items():
        kind = kind_of(resource.type, resource.name)
        if kind is not None:
            found[kind][resource.name] = [
                {"name": name, "value": None if value is None else cut(value, _SHORT)} for name, value in values.items()
            ]
    return reply({"told": True, "problem": None, **{kind.value: sets for kind, sets in found.items()}})


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
    if value is not None and not is_text(value):
        # Without the value, which may be a secret.
        raise ConsoleRefusal(f"the value of {wanted.property} has half a surrogate pair, which has no bytes in UTF-8")
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
    is_number = name.isascii() and name.isdigit() and len(name) <= len(str(_LARGEST_BROKER))
    if kind is ConfiguredKind.BROKER and not (is_number and int(name) <= _LARGEST_BROKER):
        given = repr(name) if len(name) <= REPEATED_CHARACTERS else repr(name[:REPEATED_CHARACTERS]) + "..."
        raise ConsoleRefusal(f"a broker has a number from 0 to {_LARGEST_BROKER}, {given} is none")
    if kind is not ConfiguredKind.CLUSTER and not name:
        raise ConsoleRefusal(f"the {kind.value} has no name")
