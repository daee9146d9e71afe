"""What each process of a cluster on this machine starts from: a properties file and a formatted directory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.controller.bootstrap import fresh_uuid
from tidelog.model.ids import format_uuid
from tidelog.storage.directories.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from tidelog.storage.files.local_filesystem import LocalFileSystem

if TYPE_CHECKING:
    from tidelog.protocol.messages.user_scram_credential_record import UserScramCredentialRecord


def write_properties(path: Path, comment: str, properties: Mapping[str, str]) -> None:
    lines = [f"# {comment}", *(f"{name}={value}" for name, value in properties.items())]
    # Properties may hold passwords, so only this user can read them, also where an earlier start has left the file.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(descriptor, 0o600)
        file.write("\n".join(lines) + "\n")


def format_directories(directories: Mapping[int, Path], users: Mapping[str, str]) -> None:
    """Write the cluster's id into those that have none yet, by the number of their node, and the users that a new
    cluster begins with, with their passwords."""
    cluster_id = _cluster_id(directories.values())
    filesystem = LocalFileSystem()
    credentials = _credentials(users)
    for number, directory in directories.items():
        directory.mkdir(parents=True, exist_ok=True)
        if read_meta_properties(filesystem, str(directory)) is None:
            if credentials:
                from tidelog.server.secure_start.first_users import write_first_users

                # Before the directory counts as formatted: a cluster without users lets nobody in.
                write_first_users(directory, credentials)
            meta = MetaProperties(cluster_id=cluster_id, node_id=number, directory_id=fresh_uuid(os.urandom(16)))
            write_meta_properties(filesystem, str(directory), meta)


def _credentials(users: Mapping[str, str]) -> Sequence[UserScramCredentialRecord]:
    if not users:
        return ()
    # Only where it is needed: it loads a part of the server.
    from tidelog.server.secure_start.first_users import credentials_of

    return credentials_of(users)


def _cluster_id(directories: Iterable[Path]) -> str:
    """That of the cluster that exists, or a new one."""
    for directory in directories:
        meta = read_meta_properties(LocalFileSystem(), str(directory))
        if meta is not None:
            return meta.cluster_id
    return format_uuid(fresh_uuid(os.urandom(16)))
