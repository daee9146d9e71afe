"""`partition.metadata`: the id of the topic that a partition's directory belongs to.

Names can be reused after a deletion, ids never are: this file keeps a broker from taking an old topic's log for that
of a new topic of the same name (KIP-516).
"""

from __future__ import annotations

from tidelog.model.ids import ZERO_UUID, Uuid, format_uuid, parse_uuid
from tidelog.storage.directories.checkpoints import CorruptCheckpoint
from tidelog.storage.files.file_names import PARTITION_METADATA
from tidelog.storage.files.filesystem import FileSystem, read_whole, replace_file


def write_partition_metadata(filesystem: FileSystem, directory: str, topic_id: Uuid) -> None:
    text = f"version: 0\ntopic_id: {format_uuid(topic_id)}"
    replace_file(filesystem, f"{directory}/{PARTITION_METADATA}", text.encode())


def read_partition_metadata(filesystem: FileSystem, directory: str) -> Uuid | None:
    """None if there is no file. Raises CorruptCheckpoint."""
    path = f"{directory}/{PARTITION_METADATA}"
    try:
        content = read_whole(filesystem, path)
    except FileNotFoundError:
        return None
    fields = {}
    for line in content.decode("utf-8", "replace").splitlines():
        name, _, value = line.partition(":")
        fields[name.strip()] = value.strip()
    # A higher version may add lines; these two stay.
    if not fields.get("version", "").isdigit() or "topic_id" not in fields:
        raise CorruptCheckpoint(path, "it must hold a version and a topic_id")
    try:
        topic_id = parse_uuid(fields["topic_id"])
    except ValueError as error:
        raise CorruptCheckpoint(path, str(error)) from error
    if topic_id == ZERO_UUID:
        raise CorruptCheckpoint(path, "the topic id is the reserved id of sixteen zero bytes")
    return topic_id
