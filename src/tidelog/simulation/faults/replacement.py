"""Disks that are replaced, and single log directories that fail: when that is survivable, and how it is done.

A cluster survives the loss of a disk as long as somebody else has what was on it. So a fault looks first: every replica
on the disk must have another one in sync, and of the controllers a majority must stay that knows its past. Where that
is not so the fault does nothing, as a sensible operator would.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.metadata.image import ClusterImage
from tidelog.simulation.machines.node import SimulatedNode


def may_lose_everything(node: SimulatedNode, nodes: Iterable[SimulatedNode]) -> bool:
    """Whether the disk of a node can be replaced without a loss."""
    others = [each for each in nodes if each is not node]
    # One that is about to end leaves the in-sync sets, perhaps to the replica on the disk as the last one.
    if len(others) < 2 or any(
        each.running is None or each.stopping or not each.running.knows_its_past for each in others
    ):
        return False
    if node.running is None or not node.running.knows_its_past:
        return False
    running = [each.running for each in (node, *others) if each.running is not None]
    # A controller may have written down that a replica is alone, and nobody knows yet.
    ends, applied = zip(*(each.metadata_progress for each in running), strict=True)
    if max(applied) < max(ends):
        return False
    # What one of them does not know yet, another one may have: none must know of a replica that is alone.
    images = [each.node.image for each in running]
    return all(_others_in_sync(image, node.node_id) for image in images) and _others_acknowledge(node)


def is_missed(node: SimulatedNode, nodes: Iterable[SimulatedNode]) -> bool:
    """Whether somebody still counts the replicas as in sync that were on the disk before, or its voter does not know
    its past. The controller takes them out when the node has registered again."""
    if node.running is None or not node.running.knows_its_past:
        return True
    epoch = node.running.node.broker_epoch
    others = [each.running.node.image for each in nodes if each.running is not None]
    registered = [image.brokers.get(node.node_id) for image in others]
    return any(broker is None or broker.epoch != epoch for broker in registered)


def _others_in_sync(image: ClusterImage, broker: int) -> bool:
    return all(
        {*partition.isr, *partition.eligible_leaders} - {broker}
        for _, _, partition in image.all_partitions()
        if broker in partition.replicas
    )


def _others_acknowledge(node: SimulatedNode) -> bool:
    """The leader is the first to know that nobody else is in sync any more."""
    assert node.running is not None
    leading = [replica.progress for replica in node.running.node.replicas if replica.progress is not None]
    return all(len(progress.in_sync) > 1 for progress in leading)
