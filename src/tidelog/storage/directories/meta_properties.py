"""`meta.properties`: to which cluster and node a log directory belongs, and the directory's own id."""

from __future__ import annotations

from tidelog.model.ids import Uuid, format_uuid, parse_uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.storage.directories.checkpoints import CorruptCheckpoint
from tidelog.storage.files.file_names import META_PROPERTIES, STATE_FILE
from tidelog.storage.files.filesystem import FileSystem, read_whole, replace_file

_VERSION = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    cluster_id: str
    node_id: int
    # Directories formatted before KIP-858 have none.
    directory_id: Uuid | None


def write_meta_properties(filesystem: FileSystem, log_directory: str, properties: MetaProperties) -> None:
    lines = [
        "#",
        f"cluster.id={properties.cluster_id}",
        *([f"directory.id={format_uuid(properties.directory_id)}"] if properties.directory_id else []),
        f"node.id={properties.node_id}",
        f"version={_VERSION}",
        "",
    ]
    # It has recorded the old content, and would call the new one damaged.
    filesystem.remove(f"{log_directory}/{STATE_FILE}")
    replace_file(filesystem, f"{log_directory}/{META_PROPERTIES}", "\n".join(lines).encode())


def read_meta_properties(filesystem: FileSystem, log_directory: str) -> MetaProperties | None:
    """None if the directory is not formatted. Raises CorruptCheckpoint."""
    path = f"{log_directory}/{META_PROPERTIES}"
    try:
        content = read_whole(filesystem, path)
    except FileNotFoundError:
        return None
    values = {}
    for line in content.decode("utf-8", "replace").splitlines():
        if line.strip() and not line.lstrip().startswith(("#", "!")):
            name, _, value = line.partition("=")
            # Java's Properties escapes these in keys and values.
            values[name.strip()] = value.strip().replace("\\=", "=").replace("\\:", ":")
    if values.get("version") != _VERSION:
        raise CorruptCheckpoint(path, f"version {values.get('version')!r} is not {_VERSION}")
    try:
        return MetaProperties(
            cluster_id=values["cluster.id"],
            node_id=int(values["node.id"]),
            directory_id=parse_uuid(values["directory.id"]) if "directory.id" in values else None,
        )
    except KeyError as error:
        raise CorruptCheckpoint(path, f"{error.args[0]} is missing") from error
    except ValueError as error:
        raise CorruptCheckpoint(path, str(error)) from error
