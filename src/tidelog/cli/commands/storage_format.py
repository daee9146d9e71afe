"""`tidelog format`: writes into the directories of a node to which cluster they belong, like Kafka's kafka-storage."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tidelog.cli.failures import CommandFailure
from tidelog.cli.output import print_lines
from tidelog.cli.properties import read_properties, split_properties
from tidelog.config.broker import BrokerConfig
from tidelog.config.definitions import InvalidConfig
from tidelog.controller.bootstrap import feature_records, fresh_uuid
from tidelog.model.ids import format_uuid, parse_uuid
from tidelog.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from tidelog.security.scram import SALT_BYTES
from tidelog.security.scram_argument import ScramArgument
from tidelog.server.quorum.first_records import write_first_records
from tidelog.storage.directories.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from tidelog.storage.files.local_filesystem import LocalFileSystem


def format_storage(
    config: Annotated[
        Path, typer.Option("--config", "-c", metavar="FILE", help="The node's server.properties file, as Kafka has it.")
    ],
    cluster_id: Annotated[
        str | None,
        typer.Option(
            "--cluster-id", "-t", metavar="ID", help="The cluster's id, the same on all nodes; random if not given."
        ),
    ] = None,
    ignore_formatted: Annotated[
        bool, typer.Option("--ignore-formatted", "-g", help="Leave directories alone that have been formatted before.")
    ] = False,
    add_scram: Annotated[
        list[str] | None,
        typer.Option(
            "--add-scram",
            "-S",
            metavar="MECHANISM=[...]",
            help="A user that the new cluster begins with: SCRAM-SHA-256=[name=alice,password=...], or with salt=, "
            "saltedpassword= (both in base64) and iterations=. Give the same to all controllers. Repeatable.",
        ),
    ] = None,
    override: Annotated[
        list[str] | None,
        typer.Option("--override", metavar="NAME=VALUE", help="Set a property on top of the file's. Repeatable."),
    ] = None,
) -> None:
    """Prepare the log.dirs of a node. Every node of a cluster needs the same cluster id.

    \b
    Examples:
      tidelog format --config node-1.properties
      tidelog format --config node-2.properties --cluster-id MkU3OEVBNTcwNTJENDM2Qg
      tidelog format --config node-1.properties --add-scram 'SCRAM-SHA-512=[name=admin,password=...]'
    """
    credentials = _credentials(add_scram or ())
    try:
        node = BrokerConfig.from_properties(
            {**read_properties(config), **split_properties("--override", override or ())}
        )
    except InvalidConfig as error:
        raise CommandFailure("; ".join(error.problems)) from error
    _format(node, _cluster_id(cluster_id), credentials, ignore_formatted=ignore_formatted)


def _cluster_id(given: str | None) -> str:
    if given is None:
        return format_uuid(fresh_uuid(os.urandom(16)))
    try:
        parse_uuid(given)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--cluster-id") from None
    return given


def _format(
    node: BrokerConfig, cluster_id: str, credentials: Sequence[UserScramCredentialRecord], *, ignore_formatted: bool
) -> None:
    filesystem = LocalFileSystem()
    directories = list(dict.fromkeys([*node.log_dirs, node.metadata_log_dir]))
    # All are looked at before the first is written, so that a refusal leaves everything as it was.
    found = {path: read_meta_properties(filesystem, path) for path in directories}
    known = {path: meta for path, meta in found.items() if meta is not None}
    if known and not ignore_formatted:
        path, meta = next(iter(known.items()))
        raise CommandFailure(
            f"{path} is already formatted, for node {meta.node_id} of cluster {meta.cluster_id}; "
            "--ignore-formatted leaves such directories alone; to format it again, delete its contents"
        )
    for path, meta in known.items():
        if (meta.cluster_id, meta.node_id) != (cluster_id, node.node_id):
            raise CommandFailure(
                f"{path} belongs to node {meta.node_id} of cluster {meta.cluster_id}, "
                f"not to node {node.node_id} of cluster {cluster_id}"
            )
    for path in directories:
        if path not in known:
            Path(path).mkdir(parents=True, exist_ok=True)
            if credentials and path == node.metadata_log_dir:
                # Before the directory counts as formatted: a cluster without its first user lets nobody in.
                records = (*feature_records(), *credentials)
                write_first_records(filesystem, path, records, now_ms=time.time_ns() // 1_000_000)
            directory_id = fresh_uuid(os.urandom(16))
            meta = MetaProperties(cluster_id=cluster_id, node_id=node.node_id, directory_id=directory_id)
            write_meta_properties(filesystem, path, meta)
            print_lines([f"Formatted {path} for node {node.node_id} of cluster {cluster_id}"])


def _credentials(arguments: Sequence[str]) -> list[UserScramCredentialRecord]:
    try:
        return [ScramArgument.parse(each).record(os.urandom(SALT_BYTES)) for each in arguments]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--add-scram") from None
