"""What a data directory holds, and which starts of `tidelog up` on it are refused.

A refused start has changed nothing. It is refused where it would run without data that is there: with another kind of
start than before, with fewer processes than hold partitions, or without the metadata.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import Enum
from pathlib import Path

from tidelog.cli.failures import CommandFailure
from tidelog.model.ids import TopicPartition
from tidelog.model.topics import CLUSTER_METADATA_TOPIC
from tidelog.storage.files.file_names import META_PROPERTIES, parse_partition_directory, partition_directory

_METADATA_DIRECTORY = partition_directory(TopicPartition(CLUSTER_METADATA_TOPIC, 0))
_CORE_DIRECTORY = re.compile(r"core-([1-9][0-9]*)")
_NAMED = 3


class StartKind(Enum):
    """How a data directory was started on, as it is typed."""

    SINGLE = "tidelog up"
    NODES = "tidelog up --nodes N"
    CORES = "tidelog up --cores N"


def kind_of(data_dir: Path) -> StartKind | None:
    """None for one that nothing was started on yet."""
    if (data_dir / META_PROPERTIES).exists():
        return StartKind.SINGLE
    if (data_dir / "node-1").exists():
        return StartKind.NODES
    return StartKind.CORES if core_directories(data_dir) else None


def require_kind(data_dir: Path, wanted: StartKind) -> None:
    """Raises CommandFailure for a directory of another kind."""
    found = kind_of(data_dir)
    if found in (None, wanted):
        return
    assert found is not None
    advice = f"start it with `{found.value}`, or use another --data-dir"
    if found is StartKind.SINGLE and wanted is StartKind.CORES:
        old = f"{data_dir}.single"
        advice += (
            f"; to continue with several processes, make it the directory of the first one: "
            f"mv {data_dir} {old} && mkdir {data_dir} && mv {old} {core_directory(data_dir, 1)}"
        )
    raise CommandFailure(f"{data_dir} holds the data of `{found.value}`, not of `{wanted.value}`; {advice}")


def core_directory(data_dir: Path, number: int) -> Path:
    return data_dir / f"core-{number}"


def core_directories(data_dir: Path) -> dict[int, Path]:
    """Those that exist, by the number of their process."""
    if not data_dir.is_dir():
        return {}
    names = {path: _CORE_DIRECTORY.fullmatch(path.name) for path in data_dir.iterdir() if path.is_dir()}
    return dict(sorted((int(match[1]), path) for path, match in names.items() if match is not None))


def require_access(data_dir: Path, cores: int, servers: str) -> None:
    """Raises CommandFailure if partitions would be out of reach with so many processes.

    `servers` is where the cluster would listen: part of what the user is advised to type.
    """
    directories = core_directories(data_dir)
    held = {number: partitions for number, path in directories.items() if (partitions := partitions_in(path))}
    if held and not (core_directory(data_dir, 1) / _METADATA_DIRECTORY).exists():
        path = core_directory(data_dir, 1) / _METADATA_DIRECTORY
        raise CommandFailure(
            f"{path} is missing, which says what the partitions are that {shown_processes(held)} "
            f"{'holds' if len(held) == 1 else 'hold'}; restore {core_directory(data_dir, 1)} from a copy"
        )
    beyond = {number: partitions for number, partitions in held.items() if number > cores}
    if beyond:
        raise too_few(data_dir, cores, max(directories), beyond, servers)


def too_few(
    data_dir: Path, cores: int, before: int, beyond: Mapping[int, Collection[TopicPartition]], servers: str
) -> CommandFailure:
    """What is said when processes beyond `cores` hold partitions."""
    left = ",".join(str(number) for number in range(1, cores + 1))
    option = "" if servers == "127.0.0.1:9092" else f" -b {servers}"
    details = "; ".join(f"process {number} holds {_shown(partitions)}" for number, partitions in beyond.items())
    return CommandFailure(
        f"with --cores {cores} partitions in {data_dir} would be out of reach: {details}. Start with --cores {before}. "
        f"To use fewer, start so, move the partitions with `tidelog cluster{option} --spread-over {left} --wait`, "
        f"stop, and start with --cores {cores}"
    )


def partitions_in(directory: Path) -> list[TopicPartition]:
    """The partitions of topics that have their files there, without those that are being deleted."""
    found = (parse_partition_directory(path.name) for path in directory.iterdir() if path.is_dir())
    return sorted(each for each in found if each is not None and each.topic != CLUSTER_METADATA_TOPIC)


def shown_processes(numbers: Collection[int]) -> str:
    ordered = [str(number) for number in sorted(numbers)]
    if len(ordered) == 1:
        return f"process {ordered[0]}"
    return f"processes {', '.join(ordered[:-1])} and {ordered[-1]}"


def _shown(partitions: Collection[TopicPartition]) -> str:
    """The first ones; those that users have created before internal ones."""
    ordered = sorted(partitions, key=lambda each: (each.topic.startswith("__"), each))
    names = ", ".join(map(str, ordered[:_NAMED]))
    return names if len(ordered) <= _NAMED else f"{names} and {len(ordered) - _NAMED} more"
