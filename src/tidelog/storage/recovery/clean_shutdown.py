"""`.kafka_cleanshutdown`: the proof that every log of a directory was closed cleanly, so that none needs recovery.

It holds the broker epoch of the run that ended, with which the next registration tells the controller that nothing
was lost (KIP-966). It is removed before the logs are loaded: a crash from there on must not look like a clean shutdown.
"""

from __future__ import annotations

import json

from tidelog.storage.files.file_names import CLEAN_SHUTDOWN_FILE
from tidelog.storage.files.filesystem import FileSystem, read_whole, replace_file

UNKNOWN_BROKER_EPOCH = -1


def write_clean_shutdown(filesystem: FileSystem, log_directory: str, broker_epoch: int) -> None:
    text = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    replace_file(filesystem, f"{log_directory}/{CLEAN_SHUTDOWN_FILE}", text.encode())


def take_clean_shutdown(filesystem: FileSystem, log_directory: str) -> int | None:
    """Remove the marker. Returns the broker epoch it held (-1 if it held none), or None if there was no marker."""
    broker_epoch = read_clean_shutdown(filesystem, log_directory)
    if broker_epoch is not None:
        filesystem.remove(f"{log_directory}/{CLEAN_SHUTDOWN_FILE}")
        filesystem.sync_directory(log_directory)
    return broker_epoch


def read_clean_shutdown(filesystem: FileSystem, log_directory: str) -> int | None:
    """The same, and the marker stays."""
    try:
        content = read_whole(filesystem, f"{log_directory}/{CLEAN_SHUTDOWN_FILE}")
    except FileNotFoundError:
        return None
    try:
        broker_epoch = json.loads(content)["brokerEpoch"]
    except (ValueError, KeyError, TypeError):
        # Older versions of Kafka leave an empty file: the mark is its existence.
        return UNKNOWN_BROKER_EPOCH
    return broker_epoch if isinstance(broker_epoch, int) else UNKNOWN_BROKER_EPOCH
