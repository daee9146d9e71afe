"""How long a producer waits after kill -9 of the node that leads its partition, with Kafka's default timeouts.

Twice: the node only leads the partition, and the node is the active controller as well. In the second case the others
have to elect a controller before anybody can notice that a broker is gone. Beside it, the same without what tidelog
adds to Kafka here (decision 26), which is what Apache Kafka's defaults give.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Iterator

import psutil

from benchmarks.broker_process import MeasuredBroker, broker, wait_for_nodes
from benchmarks.fail_over import longest_silence

NODES = 3
ROUNDS = 3
LEADER_SECONDS = 2.0
CONTROLLER_SECONDS = 3.0
SESSION_SECONDS = 9.0
WITHOUT = ("--override", "tidelog.broker.refusal.timeout.ms=-1")
TOPIC = "fail-over"

Row = tuple[str, str, str]


def run() -> Iterator[Row]:
    cases = (("a leader", False, LEADER_SECONDS), ("a leader that is the active controller", True, CONTROLLER_SECONDS))
    for name, is_controller, bound in cases:
        silences = [_silence(is_controller=is_controller) for _ in range(ROUNDS)]
        yield (
            f"silence after kill -9 of {name}, median of {ROUNDS}",
            f"{statistics.median(silences):.1f} s ({min(silences):.1f} to {max(silences):.1f})",
            f"at most {bound:.0f} s",
        )
    silence = _silence(*WITHOUT, is_controller=False)
    yield ("the same for a leader, by its session timeout alone", f"{silence:.1f} s", f"about {SESSION_SECONDS:.0f} s")


def _silence(*options: str, is_controller: bool) -> float:
    with broker(None, "--nodes", str(NODES), *options) as target:
        wait_for_nodes(target, NODES)
        return _measure(target, is_controller=is_controller)


def _measure(target: MeasuredBroker, *, is_controller: bool) -> float:
    servers = ",".join(f"127.0.0.1:{target.port + number}" for number in range(NODES))
    victim = asyncio.run(_create_topic(servers, is_controller=is_controller))
    return longest_silence(servers, TOPIC, lambda: _kill(target, victim))


async def _create_topic(servers: str, *, is_controller: bool) -> int:
    """A topic with one partition; returns the node that leads it."""
    from tidelog.client.admin import Admin, NewTopic

    async with Admin(servers) as admin:
        controller = (await admin.describe_quorum()).leader
        assert controller is not None
        others = [number for number in range(1, NODES + 1) if number != controller]
        replicas = (controller, *others) if is_controller else (*others, controller)
        topic = NewTopic(name=TOPIC, assignment={0: replicas}, configs={"min.insync.replicas": "2"})
        Admin.raise_any(await admin.create_topics([topic]))
        return replicas[0]


def _kill(target: MeasuredBroker, number: int) -> None:
    config_file = str(target.data_dir / f"node-{number}.properties")
    for process in target.nodes():
        if config_file in process.cmdline():
            process.kill()
            return
    raise psutil.NoSuchProcess(number)
