"""What a voter must remember of elections, in files next to the metadata log: its last vote, and whether it may have
forgotten one."""

from __future__ import annotations

import logging

from tidelog.consensus.quorum_state import (
    QUORUM_STATE_FILE_NAME,
    QuorumState,
    decode_quorum_state,
    encode_quorum_state,
)
from tidelog.consensus.settings import QuorumSettings
from tidelog.server.quorum.quorum_log import QuorumLog
from tidelog.storage.files.filesystem import FileSystem, failing_as, read_whole, replace_file

logger = logging.getLogger(__name__)

# Exists until this voter has found out what it may have forgotten (`tidelog.consensus.amnesia`).
FORGETFUL_FILE_NAME = "voter-without-past"


class DamagedQuorumState(Exception):
    """What this node must remember of elections is lost."""


class ElectionMemory:
    def __init__(self, *, settings: QuorumSettings, log: QuorumLog, filesystem: FileSystem) -> None:
        self._settings = settings
        self._log = log
        self._filesystem = filesystem
        self._state_path = f"{log.directory}/{QUORUM_STATE_FILE_NAME}"
        self._forgetful_path = f"{log.directory}/{FORGETFUL_FILE_NAME}"

    def read(self) -> QuorumState | None:
        """Raises DamagedQuorumState."""
        try:
            if self._log.state_problem is not None:
                raise ValueError(self._log.state_problem)
            return decode_quorum_state(read_whole(self._filesystem, self._state_path).decode())
        except FileNotFoundError:
            if self._log.end_offset == 0:
                return None
            reason = "it is missing"
        except ValueError as problem:
            reason = str(problem)
        if self._settings.voters == {self._settings.node_id}:
            # Nobody else votes. The log has the last epoch, and the next one is above it.
            logger.warning("recreating %s from the metadata log: %s", self._state_path, reason)
            return None
        # It may have voted in this epoch: a second vote could elect two leaders.
        raise DamagedQuorumState(f"{self._state_path}: {reason}")

    def is_forgetful(self, state: QuorumState | None) -> bool:
        """Whether this voter may have promised what it does not know of. `state` is what it has read."""
        if self._filesystem.exists(self._forgetful_path):
            return True
        return state is None and self._log.end_offset == 0 and self._log.latest_snapshot is None

    def write(self, state: QuorumState) -> None:
        """Raises StorageFailure, as the others do."""
        text = encode_quorum_state(state, self._settings.voters)
        with failing_as(f"writing {self._state_path}"):
            replace_file(self._filesystem, self._state_path, text.encode())

    def write_forgetful(self) -> None:
        with failing_as(f"writing {self._forgetful_path}"):
            replace_file(self._filesystem, self._forgetful_path, b"")

    def remove_forgetful(self) -> None:
        with failing_as(f"removing {self._forgetful_path}"):
            self._filesystem.remove(self._forgetful_path)
