"""A handler that raises costs its request: the reply says so in the shape of its API, and the connection stays."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from server.conftest import create_topic
from support.message_samples import sample
from support.raw_client import RawClient, produce_request
from support.served_versions import versions_on

import tidelog
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.api import request_class
from tidelog.protocol.codec import encode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tidelog.protocol.messages.metadata_response import MetadataResponse
from tidelog.protocol.schema import Message
from tidelog.server.api.catalogue import BY_KEY
from tidelog.server.declaration import ListenerKind
from tidelog.server.observability.metrics import error_codes
from tidelog.server.replies.error_replies import error_reply
from tidelog.server.routing.router import Route, Router

SERVED = versions_on(ListenerKind.BROKER)

FAILED = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "broken")
VERSIONS = [(key, version) for key, (low, high) in SERVED.items() for version in range(low, high + 1)]


@pytest.mark.parametrize(("key", "version"), VERSIONS, ids=lambda each: str(getattr(each, "name", each)))
def test_every_api_can_say_that_it_failed(key: ApiKey, version: int) -> None:
    random = Random(f"{key}-{version}")
    said = 0
    for _ in range(20):
        request = sample(request_class(key), version, random)
        reply = error_reply(BY_KEY[key], request, version, FAILED)
        if reply is None:
            continue
        encode(reply, version)
        said += said_everywhere(reply)
    assert said


def said_everywhere(reply: Message) -> bool:
    """Topics without partitions have nothing to say it for."""
    codes = set(_codes(reply))
    assert codes <= {int(ErrorCode.UNKNOWN_SERVER_ERROR)}
    return bool(codes)


def _codes(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _codes(each)
    elif isinstance(value, Message):
        for name in value.__slots__:
            if name in ("error_code", "partition_error_code"):
                if getattr(value, name):
                    yield getattr(value, name)
            else:
                yield from _codes(getattr(value, name))


def test_a_failed_produce_names_each_partition() -> None:
    request = produce_request("t", b"", partition=3)
    reply: Any = error_reply(BY_KEY[ApiKey.PRODUCE], request, 9, FAILED)
    (topic,) = reply.responses
    (partition,) = topic.partition_responses
    assert (topic.name, partition.index, partition.error_code) == ("t", 3, ErrorCode.UNKNOWN_SERVER_ERROR)


@pytest.mark.plain_python
@pytest.mark.parametrize("late", [False, True])
async def test_an_exception_in_a_handler_is_answered_and_the_connection_goes_on(
    broker: tidelog.Broker, client: RawClient, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    await create_topic(client, "t")

    async def fail_later() -> Message:
        raise ZeroDivisionError

    def fail(*_: Any) -> Any:
        if late:
            return fail_later()
        raise ZeroDivisionError

    api = BY_KEY[ApiKey.METADATA]
    asked = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    with monkeypatch.context() as patch:
        patch.setattr(Router, "_route", lambda *_: Route(api, MetadataRequest, True, fail))
        reply = await client.ask(asked, 12)
        assert list(error_codes(reply)) == [ErrorCode.UNKNOWN_SERVER_ERROR]
    assert list(error_codes(await client.ask(asked, 12))) == []


@pytest.mark.plain_python
async def test_a_reply_that_cannot_be_encoded_becomes_an_error(
    broker: tidelog.Broker, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_topic(client, "t")
    api = BY_KEY[ApiKey.METADATA]
    asked = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    with monkeypatch.context() as patch:
        answer = MetadataResponse(cluster_id=5)  # type: ignore[arg-type]
        patch.setattr(Router, "_route", lambda *_: Route(api, MetadataRequest, True, lambda *_: answer))
        reply = await client.ask(asked, 9)
        assert list(error_codes(reply)) == [ErrorCode.UNKNOWN_SERVER_ERROR]
    assert list(error_codes(await client.ask(asked, 9))) == []
