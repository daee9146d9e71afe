"""Listeners with TLS on real connections: who is let in and as whom, and new certificates without a restart."""

from __future__ import annotations

import asyncio
import ssl
import time
from pathlib import Path

import pytest
import uvloop
from server.conftest import create_topic
from server.listening.conftest import HOSTS, SecuredBroker, alter, key_store, secured_broker, tls_client, trusting
from server.listening.test_sasl_gate import principals
from support.identities import pkcs12_key_store
from support.processes import HANG_SECONDS
from support.raw_client import raw_client
from support.sasl_client import Refused, authenticate

from tidelog.model.errors import ErrorCode
from tidelog.model.principal import ANONYMOUS, Principal
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.metadata_request import MetadataRequest
from tidelog.security.certificates import CertificateWithKey, DevelopmentAuthority
from tidelog.server.failures import StartFailure
from tidelog.server.listening import listeners


async def is_served(broker: SecuredBroker, authority: DevelopmentAuthority) -> bool:
    async with tls_client(broker.secured, trusting(authority)) as client:
        return bool((await client.ask(MetadataRequest(topics=()))).brokers)


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_records_come_back_as_they_were_sent(
    loop: str, version: str, authority: DevelopmentAuthority, server: CertificateWithKey, tmp_path: Path
) -> None:
    async def produce_and_fetch() -> None:
        store = key_store(server, tmp_path / "server.pem")
        async with (
            secured_broker("SSL", **store) as broker,
            tls_client(broker.secured, trusting(authority, ssl_enabled_protocols=version)) as client,
        ):
            encryption = client._writer.get_extra_info("ssl_object")
            assert encryption.version() == version
            topic_id = await create_topic(client, "encrypted")
            # Of several records' and buffers' size, so that a reply from a file would be seen.
            sent = [bytes([number]) * 100_000 for number in range(8)]
            for value in sent:
                assert (await client.produce("encrypted", value)).error_code == 0
            partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=10_000_000)
            fetch = FetchRequest(
                max_wait_ms=1000,
                min_bytes=700_000,
                max_bytes=10_000_000,
                topics=[FetchTopic(topic_id=topic_id, partitions=[partition])],
            )
            (topic,) = (await client.ask(fetch, 16)).responses
            records = bytes(topic.partitions[0].records)
            assert all(value in records for value in sent)
            assert principals(broker) == [ANONYMOUS]

    with asyncio.Runner(loop_factory=uvloop.new_event_loop if loop == "uvloop" else None) as runner:
        runner.run(produce_and_fetch())


async def test_whoever_speaks_no_tls_is_closed(server: CertificateWithKey, tmp_path: Path) -> None:
    store = key_store(server, tmp_path / "server.pem")
    async with secured_broker("SSL", **store) as broker, raw_client(broker.secured) as client:
        client.send(MetadataRequest(topics=()))
        # The broker may say in TLS why.
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await asyncio.wait_for(client._reader.readexactly(1000), HANG_SECONDS)


async def test_a_client_of_another_authority_does_not_connect(server: CertificateWithKey, tmp_path: Path) -> None:
    async with secured_broker("SSL", **key_store(server, tmp_path / "server.pem")) as broker:
        with pytest.raises(ssl.SSLCertVerificationError):
            await is_served(broker, DevelopmentAuthority.new())


async def test_certificates_of_clients_are_principals(
    authority: DevelopmentAuthority, server: CertificateWithKey, tmp_path: Path
) -> None:
    properties = {
        **key_store(server, tmp_path / "server.pem"),
        "ssl_truststore_type": "PEM",
        "ssl_truststore_certificates": authority.pair.certificate.decode(),
        "listener_name_secured_ssl_client_auth": "required",
        "ssl_principal_mapping_rules": "RULE:^CN=([^,]+),OU=Services.*$/$1/U,RULE:^CN=admin$/boss/",
    }
    async with secured_broker("SSL", **properties) as broker:
        for subject, principal in (("CN=orders,OU=Services,O=Example", "ORDERS"), ("CN=admin", "boss")):
            async with tls_client(broker.secured, trusting(authority, authority.issue(subject))) as client:
                assert (await client.ask(MetadataRequest(topics=()))).brokers
                assert principals(broker) == [Principal(type="User", name=principal)]
        # No rule is for it.
        async with tls_client(broker.secured, trusting(authority, authority.issue("CN=other"))) as client:
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await client.ask(MetadataRequest(topics=()))
        # No certificate, and one that is not trusted.
        for identity in (None, DevelopmentAuthority.new().issue("CN=admin")):
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError, ssl.SSLError)):
                async with tls_client(broker.secured, trusting(authority, identity)) as client:
                    await client.ask(MetadataRequest(topics=()))


async def test_with_sasl_certificates_are_asked_for_by_the_listener_only(
    authority: DevelopmentAuthority, server: CertificateWithKey, tmp_path: Path
) -> None:
    properties = {
        **key_store(server, tmp_path / "server.pem"),
        "ssl_truststore_type": "PEM",
        "ssl_truststore_certificates": authority.pair.certificate.decode(),
        "ssl_client_auth": "required",
        "sasl_enabled_mechanisms": "SCRAM-SHA-256",
    }
    async with secured_broker("SASL_SSL", **properties) as broker:
        await broker.add_user("alice", "a-secret")
        async with tls_client(broker.secured, trusting(authority)) as client:
            await authenticate(client, "SCRAM-SHA-256", "alice", "a-secret")
            assert principals(broker) == [Principal(type="User", name="alice")]
        async with tls_client(broker.secured, trusting(authority)) as client:
            with pytest.raises(Refused):
                await authenticate(client, "SCRAM-SHA-256", "alice", "b-secret")
    async with secured_broker("SASL_SSL", **properties, listener_name_secured_ssl_client_auth="required") as broker:
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError, ssl.SSLError)):
            async with tls_client(broker.secured, trusting(authority)) as client:
                await authenticate(client, "SCRAM-SHA-256", "alice", "a-secret")


async def served_certificate(broker: SecuredBroker, authority: DevelopmentAuthority) -> bytes:
    async with tls_client(broker.secured, trusting(authority)) as client:
        found: bytes = client._writer.get_extra_info("ssl_object").getpeercert(True)
        return found


async def test_new_files_are_new_certificates_for_new_connections(
    authority: DevelopmentAuthority, server: CertificateWithKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listeners, "CHANGE_CHECK_SECONDS", 0.05)
    store = tmp_path / "server.pem"
    async with (
        secured_broker("SSL", **key_store(server, store)) as broker,
        tls_client(broker.secured, trusting(authority)) as old,
    ):
        before = await served_certificate(broker, authority)
        assert before == await served_certificate(broker, authority)
        # What cannot be used changes nothing.
        store.write_bytes(b"-----BEGIN NOTHING-----")
        await asyncio.sleep(0.3)
        assert before == await served_certificate(broker, authority)
        replacement = tmp_path / "new.pem"
        replacement.write_bytes(authority.issue("broker", hosts=HOSTS).keystore)
        replacement.rename(store)
        deadline = time.monotonic() + HANG_SECONDS
        while before == await served_certificate(broker, authority):
            assert time.monotonic() < deadline
        assert (await old.ask(MetadataRequest(topics=()))).brokers


async def test_an_altered_property_is_a_new_certificate(
    authority: DevelopmentAuthority, server: CertificateWithKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listeners, "CHANGE_CHECK_SECONDS", 0.05)
    bundle = tmp_path / "new.p12"
    bundle.write_bytes(pkcs12_key_store(authority.issue("broker", hosts=HOSTS), authority, "changeit"))
    async with secured_broker("SSL", **key_store(server, tmp_path / "server.pem")) as broker:
        before = await served_certificate(broker, authority)
        assert await alter(
            broker, ssl_keystore_location=str(bundle), ssl_keystore_type="PKCS12", ssl_keystore_password="changeit"
        ) == (0, None)
        deadline = time.monotonic() + HANG_SECONDS
        while before == await served_certificate(broker, authority):
            assert time.monotonic() < deadline
        after = await served_certificate(broker, authority)
        # What cannot be used is not stored.
        code, message = await alter(broker, ssl_keystore_location="/nowhere")
        assert (code, message) == (
            ErrorCode.INVALID_REQUEST,
            "ssl.keystore.location=/nowhere cannot be read: No such file or directory",
        )
        code, message = await alter(broker, ssl_keystore_password="another")
        assert code == ErrorCode.INVALID_REQUEST
        assert "ssl.keystore.password is wrong" in (message or "")
        await broker.broker.running._listeners.refresh()
        assert await served_certificate(broker, authority) == after
        code, message = await alter(broker, ssl_client_auth="required")
        assert code == ErrorCode.INVALID_REQUEST
        assert "listener.name.secured.ssl.client.auth cannot be changed while the broker runs" in (message or "")


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({}, "ssl.keystore.location is missing"),
        ({"ssl_keystore_location": "/nowhere.p12"}, "ssl.keystore.location=/nowhere.p12 cannot be read"),
    ],
)
async def test_a_listener_without_a_certificate_is_not_opened(properties: dict[str, str], said: str) -> None:
    with pytest.raises(StartFailure) as raised:
        async with secured_broker("SSL", **properties):
            pass
    assert said in str(raised.value)
    assert "the listener SECURED://127.0.0.1:0 cannot be opened" in str(raised.value)


async def test_wrong_rules_and_users_are_named_when_a_listener_opens(
    server: CertificateWithKey, tmp_path: Path
) -> None:
    store = key_store(server, tmp_path / "server.pem")
    for protocol, properties, said in (
        ("SSL", {"ssl_principal_mapping_rules": "RULE:("}, "ssl.principal.mapping.rules"),
        ("SASL_SSL", {"sasl_enabled_mechanisms": "PLAIN"}, "listener.name.secured.plain.sasl.jaas.config is missing"),
        (
            "SASL_SSL",
            {
                "sasl_enabled_mechanisms": "PLAIN",
                "listener_name_secured_plain_sasl_jaas_config": "org.example.Other required user_a=s3cret;",
            },
            "must have the login module",
        ),
        (
            "SASL_SSL",
            {
                "sasl_enabled_mechanisms": "OAUTHBEARER",
                "sasl_oauthbearer_jwks_endpoint_url": "ftp://localhost/keys",
            },
            "must begin with https://, http:// or file://",
        ),
    ):
        with pytest.raises(StartFailure) as raised:
            async with secured_broker(protocol, **store, **properties):
                pass
        assert said in str(raised.value)
        assert "s3cret" not in str(raised.value)
