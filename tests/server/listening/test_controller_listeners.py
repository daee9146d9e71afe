"""The listener of a controller asks who connects, as that of a broker does."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from server.listening.conftest import trusting
from server.listening.test_sasl_gate import USERS, VERSIONS
from support.processes import free_port
from support.raw_client import raw_client
from support.sasl_client import authenticate

import tidelog
from tidelog.network.tls import client_context
from tidelog.protocol.messages.describe_cluster_request import DescribeClusterRequest
from tidelog.security.certificates import CertificateWithKey, DevelopmentAuthority


async def test_a_controller_listener_with_sasl_over_tls(
    authority: DevelopmentAuthority, server: CertificateWithKey, tmp_path: Path
) -> None:
    store = tmp_path / "server.pem"
    store.write_bytes(server.keystore)
    port = free_port()
    properties = {
        "listeners": f"PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@127.0.0.1:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_SSL",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": USERS,
        "listener.name.controller.ssl.keystore.type": "PEM",
        "listener.name.controller.ssl.keystore.location": str(store),
    }
    address, describe = f"127.0.0.1:{port}", DescribeClusterRequest(endpoint_type=2)
    context = client_context(trusting(authority))
    async with tidelog.Broker(properties=properties):
        async with raw_client(address, context) as client:
            await authenticate(client, "PLAIN", "alice", "a-secret")
            assert (await client.ask(describe)).controller_id == 1
        async with raw_client(address, context) as client:
            assert (await client.ask(VERSIONS)).error_code == 0
            client.send(describe)
            assert await client.closed_by_broker()
        with pytest.raises(ssl.SSLCertVerificationError):
            async with raw_client(address, client_context(trusting(DevelopmentAuthority.new()))):
                pass
