"""The log directories of a node, before their logs are loaded: locked, checked, and formatted where they are new."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from tidelog.config.broker import BrokerConfig
from tidelog.controller.bootstrap import fresh_uuid
from tidelog.model.ids import Uuid, format_uuid
from tidelog.server.failures import StartFailure, reason
from tidelog.server.ports import Ports
from tidelog.server.quorum.quorum_log import METADATA_PARTITION
from tidelog.storage.directories.checkpoints import CorruptCheckpoint
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.meta_properties import MetaProperties
from tidelog.storage.files.file_names import META_PROPERTIES, partition_directory
from tidelog.storage.recovery.damage import DamagedLog

logger = logging.getLogger(__name__)


def open_directories(config: BrokerConfig, ports: Ports) -> list[LogDirectory]:
    """Lock all directories and check that they belong to this node and to one cluster; format those that are new."""
    directories: list[LogDirectory] = []
    paths = list(dict.fromkeys([*config.log_dirs, config.metadata_log_dir]))
    try:
        for path in paths:
            directories.append(_open_directory(path, ports, required=path == config.metadata_log_dir))
        cluster_ids = {directory.meta.cluster_id for directory in directories if directory.meta is not None}
        if len(cluster_ids) > 1:
            raise StartFailure(f"the log directories {', '.join(paths)} belong to different clusters: {cluster_ids}")
        if not cluster_ids and len(config.controller_quorum_voters) > 1:
            # Each node would generate a cluster id of its own, and then refuse to talk to the others.
            raise StartFailure(
                f"{', '.join(paths)} is not formatted, and controller.quorum.voters names several nodes, which must "
                "agree on a cluster id; run `tidelog format --config FILE --cluster-id ID` with the same id for each"
            )
        cluster_id = cluster_ids.pop() if cluster_ids else format_uuid(fresh_uuid(ports.randomness.random_bytes(16)))
        for directory in directories:
            if directory.failure is not None:
                continue
            if directory.meta is None:
                if directory.holds_topics or directory.holds_metadata:
                    raise StartFailure(
                        f"{directory.path}/{META_PROPERTIES} is missing, but the directory holds partitions; restore "
                        "the file from a copy, or run `tidelog format` with the cluster id and node.id that it had"
                    )
                directory.format(
                    MetaProperties(
                        cluster_id=cluster_id,
                        node_id=config.node_id,
                        directory_id=Uuid(ports.randomness.random_bytes(16)),
                    )
                )
            elif directory.meta.node_id != config.node_id:
                raise StartFailure(
                    f"{directory.path} belongs to node {directory.meta.node_id}, but node.id={config.node_id}; "
                    "use the node.id it was formatted with, or another directory"
                )
    except BaseException:
        for directory in directories:
            directory.abandon()
        raise
    return directories


def _open_directory(path: str, ports: Ports, *, required: bool) -> LogDirectory:
    """A directory that cannot be opened is offline, as if it failed later; but nothing works without the metadata."""
    try:
        return LogDirectory.open(path, ports.filesystem, ports.randomness)
    except CorruptCheckpoint as problem:
        raise StartFailure(f"the log directory {path} cannot be used: {problem}") from problem
    except OSError as error:
        if required:
            raise StartFailure(f"cannot use the log directory {path}: {reason(error)}") from error
        logger.error("continuing without the log directory %s: %s", path, reason(error))
        return LogDirectory.offline(path, ports.filesystem, ports.randomness, error)


def directory_ids(directories: Iterable[LogDirectory]) -> list[Uuid]:
    """Of those that have one; it is in a file that may be unreadable in an offline directory."""
    return [directory.meta.directory_id or Uuid(bytes(16)) for directory in directories if directory.meta is not None]


def metadata_directory(config: BrokerConfig, directories: Sequence[LogDirectory]) -> LogDirectory:
    return next((each for each in directories if each.path == config.metadata_log_dir), directories[0])


def require_metadata(config: BrokerConfig, directories: Sequence[LogDirectory]) -> None:
    """A lone controller that has lost its metadata would take all partitions for strays. Raises DamagedLog."""
    at = metadata_directory(config, directories)
    if len(config.controller_quorum_voters) > 1 or at.holds_metadata:
        return
    for directory in directories:
        if directory.failure is None and directory.holds_topics:
            path = f"{at.path}/{partition_directory(METADATA_PARTITION)}"
            raise DamagedLog(path, f"it is missing, but {directory.path} holds the partitions of topics")


def previous_epoch(directories: Sequence[LogDirectory]) -> int:
    """The broker's epoch in the last run, if that has closed all logs cleanly; else -1."""
    epochs = {directory.clean_broker_epoch for directory in directories}
    (epoch,) = epochs if len(epochs) == 1 else (None,)
    return -1 if epoch is None else epoch
