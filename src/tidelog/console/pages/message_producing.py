"""Producing one record. The topic has to exist already, and internal topics belong to the brokers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from tidelog.client.config import OptionValue
from tidelog.client.producer.delivery import RecordMetadata
from tidelog.client.producer.producer import Producer
from tidelog.console.access import MOST_BODY_BYTES
from tidelog.console.findings.record_drafts import BadDraft, RecordDraft, read_draft
from tidelog.console.parts import ConsoleParts, Parts
from tidelog.console.records.places import topic_partitions
from tidelog.console.replies import BAD_REQUEST, ConsoleRefusal, reply
from tidelog.model.topics import CLUSTER_METADATA_TOPIC, INTERNAL_TOPICS

router = APIRouter()

# Nobody waits longer for one record.
_MOST_SECONDS = 25
_OPTIONS: Mapping[str, OptionValue] = {
    "max.block.ms": 10_000,
    # It is sent at once.
    "linger.ms": 0,
    # How large a record may be is the topic's business, and the broker says it in a sentence.
    "max.request.size": MOST_BODY_BYTES,
    "buffer.memory": 2 * MOST_BODY_BYTES,
}
_TOO_LATE = 504
_QUICK_BYTES = 64 << 10


@router.post("/messages/produce")
async def produce(parts: Parts, request: Request) -> Response:
    body = await request.body()
    # To go through megabytes of JSON takes seconds.
    draft = await asyncio.to_thread(_draft, body) if len(body) > _QUICK_BYTES else _draft(body)
    await _check_topic(parts, draft)
    stored = await _send(parts, draft)
    return reply({"partition": stored.partition, "offset": stored.offset, "timestamp_ms": stored.timestamp_ms})


def _draft(body: bytes) -> RecordDraft:
    """Raises ConsoleRefusal."""
    try:
        return read_draft(json.loads(body))
    except BadDraft as problem:
        raise ConsoleRefusal(str(problem)) from problem
    except (ValueError, RecursionError) as problem:
        raise ConsoleRefusal("the request is not JSON") from problem


async def _check_topic(parts: ConsoleParts, draft: RecordDraft) -> None:
    """Raises ApiError for a topic that does not exist: a producer could make the broker create it."""
    internal, partitions = await topic_partitions(await parts.cluster.admin(), draft.topic)
    if internal or draft.topic in INTERNAL_TOPICS or draft.topic == CLUSTER_METADATA_TOPIC:
        raise ConsoleRefusal(f"{draft.topic} is an internal topic: only brokers write to it", BAD_REQUEST)
    if draft.partition is not None and draft.partition not in partitions:
        raise ConsoleRefusal(
            f"there is no partition {draft.partition}: {draft.topic} has the partitions 0 to {len(partitions) - 1}"
        )


async def _send(parts: ConsoleParts, draft: RecordDraft) -> RecordMetadata:
    """With a producer of its own: records are produced here once in a while."""
    producer = Producer(config={**parts.cluster.properties, **_OPTIONS})
    producer.cluster.allow_auto_create = False
    try:
        async with asyncio.timeout(_MOST_SECONDS):
            async with producer:
                delivery = await producer.send(
                    draft.topic,
                    draft.value,
                    key=draft.key,
                    headers=draft.headers,
                    partition=draft.partition,
                    timestamp_ms=draft.timestamp_ms,
                )
                return await delivery
    except TimeoutError:
        raise ConsoleRefusal(
            f"the brokers have not confirmed the record within {_MOST_SECONDS} s: it may be stored or not, so look "
            "before you produce it again",
            _TOO_LATE,
        ) from None
