"""Creates topics, adds partitions to them, and deletes them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body
from starlette.responses import Response

from tidelog.client.admin import Admin, NewTopic
from tidelog.client.errors import raise_any
from tidelog.console.pages.changes import until_seen
from tidelog.console.parts import Parts
from tidelog.console.replies import CONFLICT, ConsoleRefusal, reply
from tidelog.model.ids import ZERO_UUID, Uuid, format_uuid
from tidelog.network.client_connection import UnsupportedByBroker

router = APIRouter()

# The broker's own default.
_DEFAULT = -1
_MOST_PARTITIONS = 10_000
_MOST_REPLICAS = 100

Text = Annotated[str, Body()]


@router.post("/topics/create")
async def create(
    parts: Parts,
    name: Text,
    partitions: Annotated[int | None, Body(ge=1, le=_MOST_PARTITIONS)] = None,
    replication: Annotated[int | None, Body(ge=1, le=_MOST_REPLICAS)] = None,
    configs: Annotated[dict[str, str] | None, Body()] = None,
) -> Response:
    admin = await parts.cluster.admin()
    new = NewTopic(
        name=name,
        partitions=_DEFAULT if partitions is None else partitions,
        replication_factor=_DEFAULT if replication is None else replication,
        configs=configs or {},
    )
    created = raise_any(await admin.create_topics([new]))[name]

    async def has_leaders() -> bool:
        topic = (await admin.cluster.fetch_metadata([name])).topics.get(name)
        return topic is not None and all(each.leader >= 0 for each in topic.partitions)

    await until_seen(has_leaders)
    return reply({"name": name, "partitions": created.partitions, "replication": created.replication_factor})


@router.post("/topic/partitions")
async def add_partitions(
    parts: Parts, name: Text, before: Annotated[int, Body(ge=1)], count: Annotated[int, Body(ge=1, le=_MOST_PARTITIONS)]
) -> Response:
    """`before` is how many the page has shown: who has decided by another number should look again."""
    admin = await parts.cluster.admin()
    now = len(raise_any(await admin.describe_topics([name]))[name].partitions)
    if now != before:
        raise ConsoleRefusal(f"topic {name} has {now} partitions by now, and not {before}: look again", CONFLICT)
    raise_any(await admin.create_partitions({name: count}))

    async def are_there() -> bool:
        return len(raise_any(await admin.describe_topics([name]))[name].partitions) >= count

    await until_seen(are_there)
    return reply({"name": name, "partitions": count})


@router.post("/topic/delete")
async def delete(parts: Parts, name: Text, id: Text) -> Response:
    """`id` is that of the topic which the page has shown: one that was recreated meanwhile stays."""
    admin = await parts.cluster.admin()
    topic_id = await _same_id(admin, name, id)
    try:
        # Topics of old clusters have no ids, although their brokers take some.
        if topic_id == ZERO_UUID:
            raise UnsupportedByBroker(f"topic {name} has no id")
        raise_any(await admin.delete_topics_by_id([topic_id]))
    except UnsupportedByBroker:
        raise_any(await admin.delete_topics([name]))

    async def is_gone() -> bool:
        now = (await admin.cluster.fetch_metadata([name])).topics.get(name)
        return now is None or now.topic_id != topic_id

    await until_seen(is_gone)
    return reply({"name": name})


async def _same_id(admin: Admin, name: str, shown: str) -> Uuid:
    now = raise_any(await admin.describe_topics([name]))[name].topic_id
    if format_uuid(now) != shown:
        raise ConsoleRefusal(
            f"topic {name} was deleted and recreated meanwhile: its id is {format_uuid(now)} now", CONFLICT
        )
    return now
