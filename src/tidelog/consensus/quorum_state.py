"""What a replica must remember of elections over a restart, and the text of the `quorum-state` file that holds it.

Forgetting it would allow a second vote in the same epoch, and so two leaders. The file's name and its writing (temp,
fsync, rename, fsync of the directory) belong to whoever drives the replica.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tidelog.model.ids import ZERO_UUID, Uuid, parse_uuid
from tidelog.model.lazy_dataclasses import dataclass

QUORUM_STATE_FILE_NAME = "quorum-state"

# Version 0 belongs to quorums with fixed voters (kraft.version 0), version 1 to those that can change them.
FIXED_VOTERS_VERSION = 0
CHANGING_VOTERS_VERSION = 1

_NOBODY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumState:
    """The highest epoch that this replica knows of, and who leads it or whom it has voted for in it."""

    epoch: int = 0
    leader_id: int | None = None
    voted_id: int | None = None
    voted_directory_id: Uuid = ZERO_UUID


def encode_quorum_state(state: QuorumState, voters: Iterable[int]) -> str:
    """One line of JSON with Kafka's keys in Kafka's order. The voters of tidelog are fixed."""
    content = {
        "clusterId": "",
        "leaderId": _NOBODY if state.leader_id is None else state.leader_id,
        "leaderEpoch": state.epoch,
        "votedId": _NOBODY if state.voted_id is None else state.voted_id,
        "appliedOffset": 0,
        "currentVoters": [{"voterId": voter} for voter in sorted(voters)],
        "data_version": FIXED_VOTERS_VERSION,
    }
    return json.dumps(content, separators=(",", ":"))


def decode_quorum_state(text: str) -> QuorumState:
    """Read either version; raises ValueError that says what is wrong with the text."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ValueError(f"the quorum state is not JSON ({error}): {text[:100]!r}") from error
    if not isinstance(content, dict):
        raise ValueError(f"the quorum state is not a JSON object: {text[:100]!r}")
    version = _integer(content, "data_version", None)
    if version not in (FIXED_VOTERS_VERSION, CHANGING_VOTERS_VERSION):
        raise ValueError(f"the quorum state has data_version {version}, only 0 and 1 are known")
    leader_id = _integer(content, "leaderId", _NOBODY)
    voted_id = _integer(content, "votedId", _NOBODY)
    epoch = _integer(content, "leaderEpoch", None)
    if epoch < 0:
        raise ValueError(f"the quorum state has the negative leaderEpoch {epoch}")
    directory_id = content.get("votedDirectoryId")
    if directory_id is not None and not isinstance(directory_id, str):
        raise ValueError(f"votedDirectoryId of the quorum state is not a text: {directory_id!r}")
    return QuorumState(
        epoch=epoch,
        leader_id=None if leader_id < 0 else leader_id,
        voted_id=None if voted_id < 0 else voted_id,
        voted_directory_id=ZERO_UUID if directory_id is None else parse_uuid(directory_id),
    )


def _integer(content: dict[str, Any], key: str, default: int | None) -> int:
    value = content.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{key} of the quorum state is not a whole number: {value!r}")
    return value
