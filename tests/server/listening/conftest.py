"""Brokers whose second listener asks its clients who they are; the first one asks nobody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from support.raw_client import RawClient, raw_client

import tidelog
from tidelog.network.tls import TlsSettings, client_context
from tidelog.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from tidelog.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.security.certificates import CertificateWithKey, DevelopmentAuthority
from tidelog.security.scram import ScramMechanism, derive_salted_password

HOSTS = ("localhost", "127.0.0.1")
SALT = b"0123456789abcdef"


@pytest.fixture(scope="session")
def authority() -> DevelopmentAuthority:
    return DevelopmentAuthority.new()


@pytest.fixture(scope="session")
def server(authority: DevelopmentAuthority) -> CertificateWithKey:
    return authority.issue("broker", hosts=HOSTS)


class SecuredBroker:
    def __init__(self, broker: tidelog.Broker) -> None:
        self.broker = broker
        self.open, self.secured = broker.bootstrap_servers.split(",")

    async def add_user(self, user: str, password: str, mechanism: ScramMechanism = ScramMechanism.SHA_256) -> None:
        salted = derive_salted_password(mechanism, password, SALT, 4096)
        wanted = ScramCredentialUpsertion(
            name=user, mechanism=mechanism.value, iterations=4096, salt=SALT, salted_password=salted
        )
        async with raw_client(self.open) as client:
            reply = await client.ask(AlterUserScramCredentialsRequest(upsertions=[wanted]))
        assert [each.error_code for each in reply.results] == [0], reply.results


@asynccontextmanager
async def secured_broker(protocol: str, **properties: str) -> AsyncIterator[SecuredBroker]:
    """Properties with underscores for dots; those of the listener are `listener_name_secured_...`."""
    given = {name.replace("_", "."): value for name, value in properties.items()}
    own = {
        "listeners": "PLAINTEXT://127.0.0.1:0,SECURED://127.0.0.1:0",
        "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,SECURED:{protocol}",
        "inter.broker.listener.name": "PLAINTEXT",
    }
    async with tidelog.Broker(properties={**own, **given}) as broker:
        yield SecuredBroker(broker)


async def alter(broker: SecuredBroker, **texts: str) -> tuple[int, str | None]:
    """Properties of the listener, with underscores for dots."""
    configs = [
        AlterableConfig(name=f"listener.name.secured.{name.replace('_', '.')}", config_operation=0, value=text)
        for name, text in texts.items()
    ]
    resource = AlterConfigsResource(resource_type=4, resource_name="1", configs=configs)
    async with raw_client(broker.open) as client:
        (result,) = (await client.ask(IncrementalAlterConfigsRequest(resources=[resource]))).responses
    return result.error_code, result.error_message


def key_store(identity: CertificateWithKey, path: Path) -> dict[str, str]:
    """For `secured_broker`."""
    path.write_bytes(identity.keystore)
    return {"ssl_keystore_type": "PEM", "ssl_keystore_location": str(path)}


def trusting(authority: DevelopmentAuthority, identity: CertificateWithKey | None = None, **more: str) -> TlsSettings:
    own = (
        {}
        if identity is None
        else {
            "ssl.keystore.key": identity.key.decode(),
            "ssl.keystore.certificate.chain": identity.certificate.decode(),
        }
    )
    changes = {name.replace("_", "."): value for name, value in more.items()}
    return TlsSettings.from_properties(
        {"ssl.truststore.certificates": authority.pair.certificate.decode(), **own, **changes}
    )


@asynccontextmanager
async def tls_client(address: str, settings: TlsSettings) -> AsyncIterator[RawClient]:
    async with raw_client(address, client_context(settings)) as client:
        yield client
