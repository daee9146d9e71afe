"""Everything through which a node reaches the outside, as one value."""

from __future__ import annotations

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock, Randomness
from tidelog.network.port import Network
from tidelog.storage.files.filesystem import FileSystem


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    clock: Clock
    randomness: Randomness
    filesystem: FileSystem
    network: Network
    # How many connections of clients the process has descriptors for.
    most_connections: int = (1 << 31) - 1
