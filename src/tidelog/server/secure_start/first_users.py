"""The users that a new cluster begins with: written into its directories before its first start."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tidelog.controller.bootstrap import feature_records
from tidelog.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from tidelog.security.scram import SALT_BYTES, ScramMechanism
from tidelog.security.scram_argument import ScramArgument
from tidelog.server.quorum.first_records import write_first_records
from tidelog.storage.files.local_filesystem import LocalFileSystem


def credentials_of(users: Mapping[str, str]) -> list[UserScramCredentialRecord]:
    """Of users with these passwords, for both mechanisms: clients of other languages may know only one of them."""
    return [
        ScramArgument(mechanism=mechanism, name=user, password=password).record(os.urandom(SALT_BYTES))
        for user, password in users.items()
        for mechanism in ScramMechanism
    ]


def write_first_users(directory: Path, credentials: Sequence[UserScramCredentialRecord]) -> None:
    """Into the directory of the metadata log, which must exist and not have been started on. All controllers of a
    cluster get the same."""
    records = (*feature_records(), *credentials)
    write_first_records(LocalFileSystem(), str(directory), records, now_ms=time.time_ns() // 1_000_000)
