"""A cluster keeps the level it was made with until somebody raises it, and writes the records of that level."""

from __future__ import annotations

from pathlib import Path

import pytest
from server.conftest import create_topic
from support.raw_client import RawClient, raw_client

import tidelog
from tidelog.metadata.records import decode_record
from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.protocol.messages.register_broker_record import RegisterBrokerRecord
from tidelog.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tidelog.records.batch import iterate_headers
from tidelog.records.record import decode_batch
from tidelog.server.quorum import active_controller

OLD = {"metadata.version": 25, "transaction.version": 2, "group.version": 1}


async def features(client: RawClient) -> tuple[dict[str, tuple[int, int]], dict[str, int]]:
    reply = await client.ask(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 4)
    return (
        {each.name: (each.min_version, each.max_version) for each in reply.supported_features},
        {each.name: each.max_version_level for each in reply.finalized_features},
    )


def registrations(data_dir: Path) -> list[int]:
    """The versions of the records by which the broker registered, in order."""
    found = []
    for log in sorted((data_dir / "__cluster_metadata-0").glob("*.log")):
        data = log.read_bytes()
        for position, header in iterate_headers(data):
            if not header.is_control:
                for record in decode_batch(data[position : position + header.size]):
                    framed = decode_record(record.value or b"")
                    found += [framed.version] if isinstance(framed.message, RegisterBrokerRecord) else []
    return found


async def test_a_new_cluster_has_the_levels_of_apache_kafka_4_3(client: RawClient) -> None:
    supported, finalized = await features(client)
    assert supported == {
        "metadata.version": (7, 30),
        "transaction.version": (0, 2),
        "group.version": (0, 1),
        "eligible.leader.replicas.version": (0, 1),
    }
    assert finalized == {name: high for name, (_, high) in supported.items()}


async def test_an_older_directory_keeps_its_level_until_it_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(active_controller, "INITIAL_FEATURES", OLD)
        async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
            await create_topic(client, "t")
    async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
        assert (await features(client))[1] == OLD
        raised = [
            FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=1)
            for name, level in (("metadata.version", 30), ("eligible.leader.replicas.version", 1))
        ]
        reply = await client.ask(UpdateFeaturesRequest(feature_updates=raised, timeout_ms=5000))
        assert reply.error_code == 0, reply.error_message
    async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
        assert (await features(client))[1] == {
            **OLD,
            "metadata.version": 30,
            "eligible.leader.replicas.version": 1,
        }
        await client.produce("t", b"still there")
    assert registrations(tmp_path) == [3, 3, 4]
