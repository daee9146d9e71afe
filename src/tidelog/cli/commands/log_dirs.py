"""`tidelog log-dirs`: what lies in the log directories of brokers, in the lines of Kafka's kafka-log-dirs."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Annotated, Any

import typer

from tidelog.cli.cluster_options import ClusterOptions
from tidelog.cli.failures import CommandFailure
from tidelog.cli.option_groups import with_groups
from tidelog.cli.session import run
from tidelog.client.admin import Admin, LogDirectoryDescription
from tidelog.model.errors import ApiError, ErrorCode

# What Kafka's tool calls the error of a directory that has failed.
_STORAGE_ERROR = "org.apache.kafka.common.errors.KafkaStorageException"


@with_groups
def log_dirs(
    # First, because another option takes over --broker-list here, which elsewhere is a name of --bootstrap-server.
    cluster: ClusterOptions,
    describe: Annotated[bool, typer.Option("--describe", help="Describe log directories (the only action).")] = (True),
    broker_list: Annotated[
        str, typer.Option("--broker-list", metavar="1,2,...", help="Only these brokers. All of them if left out.")
    ] = "",
    topic_list: Annotated[
        str, typer.Option("--topic-list", metavar="TOPIC,...", help="Only these topics. All of them if left out.")
    ] = "",
) -> None:
    """Show the log directories of brokers: partitions, their sizes, and which directory has failed.

    Sizes are in bytes. With --json the space of the disks is shown, too.

    \b
    Examples:
      tidelog log-dirs
      tidelog log-dirs --broker-list 1,2 --topic-list orders
      tidelog log-dirs --json
    """
    brokers = [_number(word) for word in broker_list.split(",") if word]
    topics = {word for word in topic_list.split(",") if word}
    found = run(_ask(cluster, brokers))
    lines = [
        "Querying brokers for log directories information",
        f"Received log directory information from brokers {','.join(map(str, found))}",
        json.dumps(_as_json(found, topics), ensure_ascii=False, separators=(",", ":")),
    ]
    cluster.show(_as_json(found, topics, with_space=True), lines)


def _number(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise typer.BadParameter(f"{word!r} is not the number of a broker", param_hint="--broker-list") from None


async def _ask(cluster: ClusterOptions, brokers: Collection[int]) -> dict[int, tuple[LogDirectoryDescription, ...]]:
    async with cluster.admin() as admin:
        known = {node.node_id for node in (await admin.describe_cluster()).nodes}
        unknown = sorted(set(brokers) - known)
        if unknown:
            raise CommandFailure(
                f"--broker-list names {','.join(map(str, unknown))}, but the cluster has only the brokers "
                f"{','.join(map(str, sorted(known)))}"
            )
        return Admin.raise_any(await admin.describe_log_dirs(brokers or None))


def _as_json(
    found: Mapping[int, Collection[LogDirectoryDescription]], topics: Collection[str], *, with_space: bool = False
) -> dict[str, Any]:
    return {
        "version": 1,
        "brokers": [
            {"broker": broker, "logDirs": [_directory(directory, topics, with_space) for directory in directories]}
            for broker, directories in found.items()
        ],
    }


def _directory(directory: LogDirectoryDescription, topics: Collection[str], with_space: bool) -> dict[str, Any]:
    described: dict[str, Any] = {
        "partitions": [
            {
                "partition": str(replica.topic_partition),
                "size": replica.size,
                "offsetLag": replica.offset_lag,
                "isFuture": replica.is_future,
            }
            for replica in directory.replicas
            if not topics or replica.topic_partition.topic in topics
        ],
        "error": _error_name(directory.error),
        "logDir": directory.path,
    }
    if with_space:
        described["totalBytes"] = directory.total_bytes
        described["usableBytes"] = directory.usable_bytes
    return described


def _error_name(error: ApiError | None) -> str | None:
    if error is None:
        return None
    return _STORAGE_ERROR if error.code == ErrorCode.KAFKA_STORAGE_ERROR else error.code.name
