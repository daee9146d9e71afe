"""Which modules are compiled, and whether this process runs them compiled.

What runs for each request of a broker, and for each record of a client, is compiled by mypyc, where a C compiler is
there, from the same sources that otherwise run as they are. The compiled modules lie beside their sources, where Python
finds them first, and are used together or not at all: compiled code calls compiled code directly. They are not used if
one of the sources has changed since, because then they might do what the sources no longer say, and not if
TIDELOG_PURE_PYTHON=1 asks for plain Python.

`hatch_build.py` loads this file alone for the list of modules, so it imports nothing of tidelog. `tidelog doctor` shows
what was chosen, and why. The loops over records are compiled in another way: `tidelog.records.implementation`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import source_hash, spec_from_file_location
from types import ModuleType
from typing import Final

SWITCH: Final = "TIDELOG_PURE_PYTHON"
# In the package `tidelog`: what the sources were when they were compiled.
DIGEST_FILE: Final = "hot_path.digest"
_SMALLEST: Final = "tidelog.model.invariants"
_REBUILD: Final = "rebuild with: pip install --editable ."

# Requests are left out: clients make them in plain Python, where calling a compiled class takes up to twice as long
# (decision 36).
MODULES: Final = (
    "tidelog.client.consumer.fetched",
    "tidelog.client.consumer.iteration",
    "tidelog.client.consumer.positions",
    "tidelog.client.consumer.reader",
    "tidelog.client.producer.batches",
    "tidelog.client.producer.delivery",
    "tidelog.client.producer.intake",
    "tidelog.client.producer.partition_choice",
    "tidelog.client.producer.partitioner",
    "tidelog.client.producer.payloads",
    "tidelog.model.errors",
    "tidelog.model.ids",
    "tidelog.model.invariants",
    "tidelog.model.ports",
    "tidelog.model.principal",
    "tidelog.model.unread",
    "tidelog.network.client_connection",
    "tidelog.network.file_sending",
    "tidelog.network.frame_receiver",
    "tidelog.network.later",
    "tidelog.network.request_memory",
    "tidelog.network.server_connection",
    "tidelog.network.system",
    "tidelog.partition.divergence",
    "tidelog.partition.leader_epochs",
    "tidelog.partition.producer_entry",
    "tidelog.partition.producers",
    "tidelog.partition.progress",
    "tidelog.partition.throttle",
    "tidelog.partition.transactions",
    "tidelog.partition.verification",
    "tidelog.protocol.api",
    "tidelog.protocol.codec",
    "tidelog.protocol.frames",
    "tidelog.protocol.messages.fetch_response",
    "tidelog.protocol.messages.produce_response",
    "tidelog.protocol.schema",
    "tidelog.records.batch",
    "tidelog.records.control",
    "tidelog.records.produce_rules",
    "tidelog.records.produced_records",
    "tidelog.records.validation",
    "tidelog.security.quotas.entities",
    "tidelog.security.quotas.rates",
    "tidelog.security.quotas.throttling",
    "tidelog.security.quotas.usage",
    "tidelog.server.api.fetch",
    "tidelog.server.api.produce",
    "tidelog.server.api.produce_checks",
    "tidelog.server.api.transactional_produce",
    "tidelog.server.configuration.topic_settings",
    "tidelog.server.fetching.nearby",
    "tidelog.server.fetching.sessions",
    "tidelog.server.observability.metrics",
    "tidelog.server.replicas.registry",
    "tidelog.server.replicas.replica",
    "tidelog.server.replicas.waits",
    "tidelog.server.replication.fetcher",
    "tidelog.server.replication.followed",
    "tidelog.server.replication.leader_answers",
    "tidelog.server.replication.session",
    "tidelog.server.replication.throttles",
    "tidelog.server.routing.context",
    "tidelog.server.routing.produce_order",
    "tidelog.server.routing.router",
    "tidelog.server.routing.throttling",
    "tidelog.storage.directories.disk_health",
    "tidelog.storage.files.local_filesystem",
    "tidelog.storage.files.open_files",
    "tidelog.storage.files.slices",
    "tidelog.storage.indexes.entry_file",
    "tidelog.storage.indexes.offset_index",
    "tidelog.storage.indexes.sparse_index",
    "tidelog.storage.indexes.time_index",
    "tidelog.storage.indexes.transaction_index",
    "tidelog.storage.log.appending",
    "tidelog.storage.log.config",
    "tidelog.storage.log.environment",
    "tidelog.storage.log.flush",
    "tidelog.storage.log.log",
    "tidelog.storage.log.reader",
    "tidelog.storage.log.results",
    "tidelog.storage.segments.batch_scan",
    "tidelog.storage.segments.segment",
    "tidelog.storage.segments.segments",
    "tidelog.sync.handover",
    "tidelog.sync.read_ahead",
)


def source_path(root: str, module: str) -> str:
    """Where a module's source is, below the directory that the package `tidelog` is in."""
    return os.path.join(root, *module.split(".")) + ".py"


def sources_digest(root: str) -> str:
    """Changes with every byte of any of the sources, and with their list. Raises OSError."""
    digest = source_hash(" ".join(MODULES).encode())
    for module in MODULES:
        with open(source_path(root, module), "rb") as file:
            digest += source_hash(file.read())
    return source_hash(digest).hex()


class SourceFinder:
    """Finds the sources of modules, whatever compiled files lie beside them."""

    def __init__(self, root: str) -> None:
        self._root = root

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith("tidelog."):
            return None
        source = source_path(self._root, name)
        # Packages are found as ever: they are not compiled.
        return spec_from_file_location(name, source) if os.path.exists(source) else None


def _choose(root: str) -> str:
    """Why the compiled modules are not used; "" if they are."""
    if not os.path.exists(source_path(root, MODULES[0]).removesuffix(".py") + EXTENSION_SUFFIXES[0]):
        return f"no compiled modules have been built for this Python; with a C compiler, {_REBUILD}"
    reason = _reason_against(root)
    if reason:
        sys.meta_path.insert(0, SourceFinder(root))
    return reason


def _reason_against(root: str) -> str:
    if os.environ.get(SWITCH, "") not in ("", "0"):
        return f"{SWITCH} is set"
    try:
        with open(os.path.join(root, "tidelog", DIGEST_FILE)) as file:
            if file.read() != sources_digest(root):
                return f"the compiled modules were built from other sources; {_REBUILD}"
        # All of them come from one build: if this one can be loaded, they all can be.
        import_module(_SMALLEST)
    except OSError as error:
        return f"the compiled modules cannot be compared with their sources ({error}); {_REBUILD}"
    except ImportError as error:
        return f"the compiled modules cannot be loaded ({error}); {_REBUILD}"
    return ""


# The build, which loads this file alone, has nothing to choose.
REASON: Final = "" if __name__ != "tidelog.hot_path" else _choose(os.path.dirname(os.path.dirname(__file__)))
COMPILED: Final = not REASON
