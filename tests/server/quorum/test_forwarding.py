"""Requests that pass through another node: same version, same meaning, same reply as from the controller itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from server.conftest import create_topic
from support.forwarded_requests import comparable, every_version, request_for
from support.nodes_in_process import Nodes, nodes
from support.raw_client import RawClient, raw_client

import tidelog.server.api
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.principal import ANONYMOUS, Principal
from tidelog.protocol.api import response_class
from tidelog.protocol.codec import decode_whole, encode
from tidelog.protocol.frames import LENGTH_SIZE, request_frame
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest
from tidelog.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from tidelog.protocol.messages.envelope_request import EnvelopeRequest
from tidelog.protocol.messages.produce_request import ProduceRequest
from tidelog.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tidelog.server.api.catalogue import BY_KEY
from tidelog.server.declaration import Api
from tidelog.server.observability.metrics import error_codes
from tidelog.server.quorum import answers
from tidelog.server.quorum.envelope import Forwarded, seal, unseal
from tidelog.server.replies.error_replies import refused
from tidelog.server.routing.context import RequestContext
from tidelog.server.routing.forwarding import Forwarder

THREE = {1: "broker,controller", 2: "broker,controller", 3: "broker,controller"}


class Pair:
    """A client of the active controller, and one of a node that is not."""

    def __init__(self, cluster: Nodes, controller: RawClient, other: RawClient) -> None:
        self.cluster = cluster
        self.clients = {"controller": controller, "other": other}

    def image(self) -> Any:
        number = self.cluster.controller()
        assert number is not None
        return self.cluster.running[number].node.image

    def state(self, topic: str) -> Any:
        """What the controller knows of a topic, without its id."""
        image = self.image()
        found = image.topics.get(topic)
        if found is None:
            return None
        replicas = {number: sorted(partition.replicas) for number, partition in found.partitions.items()}
        return replicas, dict(image.topic_config(topic)), dict(image.features)


@asynccontextmanager
async def pair(directory: Path) -> AsyncIterator[Pair]:
    async with nodes(directory, THREE) as cluster:
        leading = cluster.controller()
        assert leading is not None
        other = next(number for number in THREE if number != leading)
        async with raw_client(cluster.address(leading)) as one, raw_client(cluster.address(other)) as two:
            yield Pair(cluster, one, two)


@contextmanager
def unsealed(patch: pytest.MonkeyPatch) -> Iterator[list[Forwarded]]:
    """The requests that come out of envelopes."""
    seen: list[Forwarded] = []

    def record(envelope: EnvelopeRequest, apis: Mapping[int, Api]) -> Forwarded:
        seen.append(unseal(envelope, apis))
        return seen[-1]

    with patch.context() as patched:
        patched.setattr(answers, "unseal", record)
        yield seen


async def differences(clients: Pair) -> dict[tuple[ApiKey, int], str]:
    """Every forwarded API in every version, on a topic that is there and on one that is not, through both nodes."""
    found = {}
    for api_key, version in every_version():
        for exists in (True, False):
            outcomes = {}
            for via, client in clients.clients.items():
                topic = f"{api_key.name.lower()}-{version}-{exists}-{via}"
                if exists:
                    await clients.clients["controller"].ask(request_for(ApiKey.CREATE_TOPICS, 5, topic), 5)
                reply = await client.ask(request_for(api_key, version, topic), version)
                outcomes[via] = comparable(reply, topic), clients.state(topic)
                await restore_features(clients.clients["controller"])
            if outcomes["controller"] != outcomes["other"]:
                found[api_key, version] = f"{outcomes['controller']} against {outcomes['other']}"
    return found


async def restore_features(client: RawClient) -> None:
    update = FeatureUpdateKey(feature="transaction.version", max_version_level=2, upgrade_type=1)
    reply = await client.ask(UpdateFeaturesRequest(feature_updates=[update], timeout_ms=10_000))
    assert reply.error_code == 0, reply.error_message


async def test_every_version_of_every_forwarded_api_means_the_same_through_another_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pair(tmp_path) as clients:
        with unsealed(monkeypatch) as seen:
            assert await differences(clients) == {}
        # Both ways lead through an envelope, with what the client said about itself.
        times = {(each.api_key, each.version): 0 for each in seen}
        for each in seen:
            times[each.api_key, each.version] += 1
            assert (each.client_id, each.principal, each.client_address) == ("raw", ANONYMOUS, "127.0.0.1")
        assert all(times[asked] >= 4 for asked in every_version())


async def test_the_comparison_reports_a_request_that_is_encoded_again_in_the_newest_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def encode_again(self: Any, api: Api, request: Any, context: RequestContext, request_data: bytes) -> Any:
        try:
            return await self.controller.ask(request, response_class(context.api_key), 10.0)
        except ApiError as error:
            return refused(api, request, context.version, error)

    async with pair(tmp_path) as clients:
        monkeypatch.setattr(Forwarder, "send", encode_again)
        found = await differences(clients)
    lost = {(ApiKey.DELETE_TOPICS, version) for version in range(1, 6)}
    lost |= {(ApiKey.UPDATE_FEATURES, version) for version in (0, 1)}
    assert lost <= set(found)


async def test_a_request_waits_for_the_next_controller(tmp_path: Path) -> None:
    async with pair(tmp_path) as clients:
        cluster = clients.cluster
        await create_topic(clients.clients["controller"], "t", replication_factor=3)
        leading = cluster.controller()
        assert leading is not None
        await cluster.kill(leading)
        reply = await clients.clients["other"].ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=20_000), 1)
        assert [(each.name, each.error_code) for each in reply.responses] == [("t", 0)]
        assert clients.state("t") is None


async def test_the_largest_request_that_a_broker_takes_fits_into_an_envelope(tmp_path: Path) -> None:
    names = [f"{number:05}" + "x" * 31_995 for number in range(524)]
    async with pair(tmp_path) as clients:
        for client in clients.clients.values():
            reply = await client.ask(DeleteTopicsRequest(topic_names=names, timeout_ms=20_000), 1)
            assert {each.error_code for each in reply.responses} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
            assert len(reply.responses) == len(names)


def request_bytes(request: Any, version: int) -> bytes:
    pieces = request_frame(request.SCHEMA.api_key, version, 7, "someone", request)
    return b"".join(pieces)[LENGTH_SIZE:]


GOOD = request_bytes(DeleteTopicsRequest(topic_names=["missing"]), 1)
PRINCIPAL = seal(GOOD, ANONYMOUS, "127.0.0.1").request_principal
BAD_ENVELOPES = {
    "no principal": (GOOD, None, bytes(4), ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
    "garbage as principal": (GOOD, b"\0\0\x7f", bytes(4), ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
    "principal of another version": (GOOD, b"\0\1" + b"\0" * 4, bytes(4), ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
    "address of five bytes": (GOOD, PRINCIPAL, bytes(5), ErrorCode.INVALID_REQUEST),
    "no address": (GOOD, PRINCIPAL, b"", ErrorCode.INVALID_REQUEST),
    "no request": (b"", PRINCIPAL, bytes(4), ErrorCode.UNSUPPORTED_VERSION),
    "an API that is not forwarded": (
        request_bytes(ProduceRequest(), 9),
        PRINCIPAL,
        bytes(4),
        ErrorCode.INVALID_REQUEST,
    ),
    "an envelope in an envelope": (
        request_bytes(EnvelopeRequest(request_data=GOOD), 0),
        PRINCIPAL,
        bytes(4),
        ErrorCode.INVALID_REQUEST,
    ),
    "a version that is not known": (b"\0\x14\0\x63" + GOOD[4:], PRINCIPAL, bytes(4), ErrorCode.UNSUPPORTED_VERSION),
    "a body that is cut short": (GOOD[:-6], PRINCIPAL, bytes(4), ErrorCode.UNSUPPORTED_VERSION),
}


async def test_bad_envelopes_are_refused_and_the_connection_goes_on(tmp_path: Path) -> None:
    async with nodes(tmp_path, {1: "broker,controller"}) as cluster:
        voter = cluster.config(1).controller_quorum_voters[0]
        async with raw_client(f"{voter.host}:{voter.port}") as client:
            for name, (data, principal, address, code) in BAD_ENVELOPES.items():
                envelope = EnvelopeRequest(request_data=data, request_principal=principal, client_host_address=address)
                reply = await client.ask(envelope)
                assert (name, reply.error_code, reply.response_data) == (name, code, None)
            reply = await client.ask(seal(GOOD, ANONYMOUS, "::1"))
            assert reply.error_code == 0
            # The header of the reply has the correlation id of the request in the envelope.
            assert reply.response_data[:4] == (7).to_bytes(4, "big")


def test_an_envelope_keeps_principal_and_address() -> None:
    forwarded = unseal(seal(GOOD, Principal(type="User", name="ärger"), "fe80::1%eth0"), BY_KEY)
    assert (str(forwarded.principal), forwarded.client_address) == ("User:ärger", "fe80::1")
    assert (forwarded.version, forwarded.correlation_id, forwarded.client_id) == (1, 7, "someone")


@pytest.mark.parametrize(("api_key", "version"), every_version(), ids=lambda value: str(getattr(value, "name", value)))
def test_a_refusal_is_seen_in_every_version(api_key: ApiKey, version: int) -> None:
    error = ApiError(ErrorCode.REQUEST_TIMED_OUT, "too late")
    refusal = refused(BY_KEY[api_key], request_for(api_key, version, "t"), version, error)
    seen = decode_whole(response_class(api_key), encode(refusal, version), version)
    assert set(error_codes(seen)) == {ErrorCode.REQUEST_TIMED_OUT}


def test_nothing_reaches_the_controller_but_in_an_envelope() -> None:
    """A handler that sent the decoded request would encode it in another version than the client's."""
    for module in Path(tidelog.server.api.__path__[0]).glob("*.py"):
        assert "controller.ask(" not in module.read_text(), module.name


async def test_a_failing_decision_answers_only_its_own_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with pair(tmp_path) as clients:

        def fail(*arguments: object, **options: object) -> None:
            raise RuntimeError("planted")

        with monkeypatch.context() as patched:
            patched.setattr("tidelog.server.quorum.active_controller.create_topics", fail)
            for client in clients.clients.values():
                reply = await client.ask(request_for(ApiKey.CREATE_TOPICS, 5, "t"), 5)
                assert [each.error_code for each in reply.topics] == [ErrorCode.UNKNOWN_SERVER_ERROR]
        for client in clients.clients.values():
            assert (await client.ask(DescribeQuorumRequest())).error_code == 0
