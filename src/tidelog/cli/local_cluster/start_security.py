"""How what `tidelog up` starts is reached: by everybody who reaches its ports, or with TLS and a password."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from tidelog.cli.failures import CommandFailure
from tidelog.cli.local_cluster.data_directory import kind_of
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.server.secure_start.folder import (
    FOLDER,
    DamagedSecurityFolder,
    is_secured,
    prepare_folder,
    write_client_files,
)
from tidelog.server.secure_start.settings import ADMIN, LISTENER, SecuritySecrets, node_security

_DEFAULT_ADDRESS = "127.0.0.1:9092"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartSecurity:
    """Of all nodes that one command starts."""

    data_dir: Path
    secrets: SecuritySecrets | None = None
    # Of the listener for clients.
    listener: str = "PLAINTEXT"
    # Besides addresses.
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def users(self) -> Mapping[str, str]:
        """With their passwords: known to a cluster from its first moment on."""
        return {} if self.secrets is None else self.secrets.users

    @property
    def client_file(self) -> Path | None:
        """What this command's own clients, and the user's, need besides the address."""
        return None if self.secrets is None else self.data_dir / FOLDER / "client.properties"

    def options(self, servers: str) -> str:
        """What commands need to connect, as it is typed."""
        address = "" if servers == _DEFAULT_ADDRESS else f" -b {servers}"
        return address if self.client_file is None else f"{address} --command-config {self.client_file}"

    def listening(self, servers: str) -> list[str]:
        """Write what clients need, now that the address is known, and say where it is."""
        if self.secrets is None:
            return []
        write_client_files(self.data_dir, self.secrets, servers)
        folder = self.data_dir / FOLDER
        return [
            f"only with TLS and a password (SASL_SSL, SCRAM-SHA-512); the user {ADMIN} may do everything:",
            f"  Java, Spark:       {folder}/client.properties",
            f"  confluent-kafka:   {folder}/librdkafka.conf",
            f'  tidelog:           tidelog.Producer(config=tidelog.read_config("{folder}/tidelog.toml"))',
        ]


def start_security(data_dir: Path, host: str, *, secure: bool, alone: bool = False) -> StartSecurity:
    """`alone`: for a single node. Raises CommandFailure if the data directory was started in another way before."""
    require_same_security(data_dir, secure=secure)
    if not secure:
        return StartSecurity(data_dir=data_dir)
    try:
        secrets = prepare_folder(data_dir, host)
    except DamagedSecurityFolder as error:
        raise CommandFailure(str(error)) from error
    return StartSecurity(
        data_dir=data_dir, secrets=secrets, listener=LISTENER, properties=node_security(secrets, alone=alone)
    )


def require_same_security(data_dir: Path, *, secure: bool) -> None:
    """Raises CommandFailure: what was started securely is not opened to everybody by leaving out an option, and what
    was not has no administrator."""
    if kind_of(data_dir) is None:
        return
    was_secure = is_secured(data_dir)
    if was_secure and not secure:
        raise CommandFailure(f"{data_dir} was made with --secure; start it with --secure, or use another --data-dir")
    if secure and not was_secure:
        raise CommandFailure(
            f"{data_dir} was made without --secure, so it has no administrator who could log in; use another "
            "--data-dir, or set up security by hand: docs/guide/security.md"
        )
