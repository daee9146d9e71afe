"""Damage to what is known to have been stored: it is reported, and never cut off.

A log may lose its tail in a crash, because the last writes were not complete or not on the device. Everything below
what is known to be committed must be there at the next start. If it is not, a disk, another program or a person has
changed the files, and only a person (or another replica) can say what to do about it.
"""

from __future__ import annotations

from tidelog.model.topics import CLUSTER_METADATA_TOPIC


class DamagedLog(Exception):
    """A log that lacks something that was stored in it. Nothing has been changed on disk because of that."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} is damaged: {reason}")
        self.path = path
        self.reason = reason


def remedy_for(topic: str, *, voters: int) -> str:
    """What an operator can do about it."""
    if topic != CLUSTER_METADATA_TOPIC:
        return (
            "restore the file from a copy; or, if the partition has other replicas that are in sync, stop this broker, "
            "delete the partition's directory and start again: it is fetched from the leader"
        )
    if voters > 1:
        return (
            "nothing was changed; restore the file from a copy, or, while a majority of the other controllers works, "
            "delete this node's metadata directory, run `tidelog format` with the same cluster id and start again: the "
            "metadata is fetched from them"
        )
    return (
        "nothing was changed; restore the file from a copy. This node is the only controller, so nobody else has the "
        "metadata; `tidelog verify` shows what else is damaged"
    )
