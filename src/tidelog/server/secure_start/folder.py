"""The folder `security` in a data directory: made with the first start, kept with all others.

    ca.pem, ca.key       the authority that clients trust, and its key
    keystore.pem         key and certificate of the nodes; replaced before it expires, or when the address changes
    passwords.json       of the administrator, and of the nodes among themselves
    client.properties, librdkafka.conf, tidelog.toml
                         what clients need to connect as the administrator; written with each start

Only the user who starts tidelog can read any of it.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.config.listeners import SecurityProtocol
from tidelog.server.secure_start.settings import ADMIN, NODE, SecuritySecrets, client_files

if TYPE_CHECKING:
    # Not at run time before it is needed: who starts without --secure does not wait for OpenSSL.
    from tidelog.security.certificates import DevelopmentAuthority

FOLDER = "security"
_AUTHORITY, _AUTHORITY_KEY, _KEYSTORE, _PASSWORDS = "ca.pem", "ca.key", "keystore.pem", "passwords.json"
_PASSWORD_BYTES = 24
# A broker that runs for a while must not end up with a certificate that has run out.
_RENEW_BEFORE = timedelta(days=30)
_ALWAYS = ("localhost", "127.0.0.1", "::1")


class DamagedSecurityFolder(Exception):
    """Something in the folder is missing or cannot be read; the message says what, and the remedy."""


def is_secured(data_dir: Path) -> bool:
    """Whether it was ever started so."""
    return (data_dir / FOLDER / _PASSWORDS).exists()


def prepare_folder(
    data_dir: Path,
    host: str,
    protocol: SecurityProtocol = SecurityProtocol.SASL_SSL,
    *,
    now: datetime | None = None,
) -> SecuritySecrets:
    """Make what is missing. `host` is the address that brokers listen on, and that clients connect to.

    Raises DamagedSecurityFolder.
    """
    at = now if now is not None else datetime.now(UTC)
    folder = (data_dir / FOLDER).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    passwords = _passwords(folder)
    authority = _authority(folder, at)
    # Listening on every interface, a node is reached by names that are not known here.
    hosts = dict.fromkeys([*_ALWAYS, *([] if host in ("", "0.0.0.0", "::") else [host])])
    _renew_keystore(folder, authority, list(hosts), at)
    return SecuritySecrets(
        protocol=protocol,
        authority=folder / _AUTHORITY,
        keystore=folder / _KEYSTORE,
        admin_password=passwords[ADMIN],
        node_password=passwords[NODE],
    )


def write_client_files(data_dir: Path, files: SecuritySecrets, servers: str) -> None:
    for name, content in client_files(files, servers).items():
        _write(data_dir / FOLDER / name, content.encode())


def _passwords(folder: Path) -> dict[str, str]:
    path = folder / _PASSWORDS
    if not path.exists():
        made = {user: secrets.token_urlsafe(_PASSWORD_BYTES) for user in (ADMIN, NODE)}
        _write(path, json.dumps(made).encode())
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        return {user: str(read[user]) for user in (ADMIN, NODE)}
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedSecurityFolder(f"{path} is damaged; restore it from a copy") from error


def _authority(folder: Path, now: datetime) -> DevelopmentAuthority:
    from tidelog.security.certificates import CertificateWithKey, DevelopmentAuthority

    certificate, key = folder / _AUTHORITY, folder / _AUTHORITY_KEY
    if not key.exists() and not certificate.exists():
        pair = DevelopmentAuthority.new(now=now).pair
        _write(certificate, pair.certificate)
        _write(key, pair.key)
    try:
        return DevelopmentAuthority(CertificateWithKey(certificate=certificate.read_bytes(), key=key.read_bytes()))
    except (OSError, ValueError) as error:
        raise DamagedSecurityFolder(
            f"{certificate} and {key} are missing or damaged; restore them, or delete both and {_KEYSTORE} for a new "
            "authority, which all clients have to be given"
        ) from error


def _renew_keystore(folder: Path, authority: DevelopmentAuthority, hosts: Collection[str], now: datetime) -> None:
    from tidelog.security.certificates import certificate_covers

    path = folder / _KEYSTORE
    try:
        if certificate_covers(_certificate_in(path.read_bytes()), hosts, now + _RENEW_BEFORE):
            return
    except (OSError, ValueError):
        pass  # Missing or damaged: in both cases a new one is as good.
    _write(path, authority.issue("tidelog", hosts=hosts, now=now).keystore)


def _certificate_in(keystore: bytes) -> bytes:
    return keystore[keystore.index(b"-----BEGIN CERTIFICATE") :]


def _write(path: Path, content: bytes) -> None:
    """Readable by this user alone from the first byte on, and either whole or not there."""
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
