"""Calls `check_invariants` on what a broker holds in memory, after each event of its process.

A replica is checked when one of its offsets or epochs has moved, an image when there is a new one. What else may
change is sampled: after every `EVENTS_PER_SAMPLE` events one more replica, the coordinators' shards and all fetch
sessions. A campaign takes about a quarter longer with all that. A broken invariant ends the run there, long before a
client could notice. Readers check their side of the sessions after each poll (`simulation.workloads.workload`).
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.metadata.image import ClusterImage
from tidelog.model.errors import ErrorCode
from tidelog.server.node import Node
from tidelog.server.replicas.replica import Replica
from tidelog.server.startup import RunningNode

EVENTS_PER_SAMPLE = 32


class InvariantWatch:
    """Over one process of a broker. `running` is None until the broker serves."""

    def __init__(self, running: Callable[[], RunningNode | None]) -> None:
        self._running = running
        self._image: ClusterImage | None = None
        # By replica: what it looked like when it was last checked.
        self._seen: dict[Replica, tuple[int, ...]] = {}
        self._events = 0

    def check(self) -> None:
        """Raises InvariantBroken."""
        running = self._running()
        if running is None:
            return
        node = running.node
        image = node.image
        if image is not self._image:
            image.check_invariants(self._image)
            self._image = image
        seen = self._seen
        for replica in node.replicas:
            fingerprint = _fingerprint(replica)
            if seen.get(replica) != fingerprint:
                seen[replica] = fingerprint
                _check_replica(node, replica)
        self._events += 1
        if self._events % EVENTS_PER_SAMPLE == 0:
            node.fetch_sessions.check_invariants()
            for coordinator in (node.groups, node.transactions):
                shards = coordinator.shards()
                for shard in () if isinstance(shards, ErrorCode) else shards:
                    shard.check_invariants()
            replicas = list(node.replicas)
            if replicas:
                _check_replica(node, replicas[self._events // EVENTS_PER_SAMPLE % len(replicas)])


def _check_replica(node: Node, replica: Replica) -> None:
    """Unless its disk has failed or it is being given up: a change may have come half way then."""
    directory = node.replicas.directory_of(replica)
    if not replica.offline and not replica.log.closed and directory is not None and directory.failure is None:
        replica.check_invariants()


def _fingerprint(replica: Replica) -> tuple[int, ...]:
    log = replica.log
    return (
        log.log_start_offset,
        log.high_watermark,
        log.log_end_offset,
        log.recovery_point,
        replica.leader_epoch,
        replica.partition_epoch,
    )
