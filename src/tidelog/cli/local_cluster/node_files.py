"""What each process of a cluster on this machine starts from: a properties file and a formatted directory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from tidelog.controller.bootstrap import fresh_uuid
from tidelog.model.ids import format_uuid
from tidelog.storage.directories.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from tidelog.storage.files.local_filesystem import LocalFileSystem


def write_properties(path: Path, comment: str, properties: Mapping[str, str]) -> None:
    lines = [f"# {comment}", *(f"{name}={value}" for name, value in properties.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def format_directories(directories: Mapping[int, Path]) -> None:
    """Write the cluster's id into those that have none yet, by the number of their node."""
    cluster_id = _cluster_id(directories.values())
    filesystem = LocalFileSystem()
    for number, directory in directories.items():
        directory.mkdir(parents=True, exist_ok=True)
        if read_meta_properties(filesystem, str(directory)) is None:
            meta = MetaProperties(cluster_id=cluster_id, node_id=number, directory_id=fresh_uuid(os.urandom(16)))
            write_meta_properties(filesystem, str(directory), meta)


def _cluster_id(directories: Iterable[Path]) -> str:
    """That of the cluster that exists, or a new one."""
    for directory in directories:
        meta = read_meta_properties(LocalFileSystem(), str(directory))
        if meta is not None:
            return meta.cluster_id
    return format_uuid(fresh_uuid(os.urandom(16)))
