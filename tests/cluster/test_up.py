"""`tidelog up --nodes` as a user runs it: one node dies and is started again alone, Ctrl-C or a death ends the rest."""

from __future__ import annotations

import contextlib
import json
import signal
from pathlib import Path

import psutil
import pytest
from support.acknowledged import SteadyProducer, check_nothing_lost, read_values
from support.cluster_processes import QUICK
from support.processes import HANG_SECONDS, start_process, stop_process, tail, wait_for_server, wait_until
from support.tidelog_command import run_tidelog
from support.tidelog_process import tidelog_command

from tidelog import Admin

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]


def cluster_state(servers: str) -> dict[str, object]:
    state: dict[str, object] = json.loads(run_tidelog("cluster", "-b", servers, "--json").stdout)
    return state


def status_of(servers: str, node: int) -> str:
    nodes = cluster_state(servers)["nodes"]
    assert isinstance(nodes, list)
    return str(next(each["status"] for each in nodes if each["id"] == node))


def is_whole(servers: str) -> bool:
    partitions = cluster_state(servers)["partitions"]
    assert isinstance(partitions, dict)
    return status_of(servers, 2) == "unfenced" and not partitions["underReplicated"]


def test_a_node_that_died_is_started_again_alone_and_rejoins(tmp_path: Path) -> None:
    data = tmp_path / "data"
    overrides = [part for name, value in QUICK.items() for part in ("--override", f"{name}={value}")]
    command = (tidelog_command(), "up", "--nodes", "3", "--port", "0", "--data-dir", str(data), *overrides)
    output, again_output = tmp_path / "up.log", tmp_path / "again.log"
    up = start_process(command, output=output)
    again = None
    try:
        wait_until(lambda: "Ctrl-C" in output.read_text(), what="the announcement")
        servers = output.read_text().split("bootstrap.servers=")[1].split()[0]
        second = servers.split(",")[1]
        first = servers.split(",")[0]
        run_tidelog("topics", "-b", first, "--create", "--topic", "kept", "--replication-factor", "3")
        (node,) = [each for each in psutil.Process(up.pid).children() if "node-2.properties" in str(each.cmdline())]
        with SteadyProducer(servers, "kept") as producer:
            wait_until(lambda: len(producer.acknowledged) > 50, what="the first records")
            node.kill()
            wait_until(lambda: status_of(first, 2) == "fenced", what="that node 2 is fenced")
            before = len(producer.acknowledged)
            wait_until(lambda: len(producer.acknowledged) > before, what="records without node 2")
        # What the command says is what has to be typed.
        wait_until(lambda: "start it again with" in output.read_text(), what="the advice")
        advice = output.read_text().split("start it again with: tidelog ")[1].splitlines()[0]
        again = start_process((tidelog_command(), *advice.split()), output=again_output)
        wait_for_server(again, int(second.rpartition(":")[2]), output=again_output)
        wait_until(lambda: is_whole(first), what="that node 2 is in sync again")
        assert producer.failures == []
        check_nothing_lost(producer, read_values(servers, "kept", at_least=producer.sent))
        children = psutil.Process(up.pid).children()
        up.send_signal(signal.SIGINT)
        assert up.wait(60) == 0, tail(output)
        assert not any(each.is_running() for each in children)
        assert again.poll() is None
    finally:
        stop_process(up)
        if again is not None:
            stop_process(again)


async def test_the_nodes_are_announced_when_topics_can_be_placed_on_all_of_them(tmp_path: Path) -> None:
    output, data = tmp_path / "up.log", tmp_path / "data"
    command = (tidelog_command(), "up", "--nodes", "3", "--port", "0", "--data-dir", str(data))
    up = start_process(command, output=output)
    try:
        wait_until(lambda: "bootstrap.servers=" in output.read_text(), what="the announcement", every_seconds=0.01)
        servers = output.read_text().split("bootstrap.servers=")[1].split()[0]
        async with Admin(servers) as admin:
            await admin.create_topic("on-all", replication_factor=3)
    finally:
        stop_process(up)


def test_the_nodes_end_when_the_command_is_killed(tmp_path: Path) -> None:
    output, data = tmp_path / "up.log", tmp_path / "data"
    command = (tidelog_command(), "up", "--nodes", "2", "--port", "0", "--data-dir", str(data))
    up = start_process(command, output=output)
    children: list[psutil.Process] = []
    try:
        wait_until(lambda: "Ctrl-C" in output.read_text(), what="the announcement")
        children = psutil.Process(up.pid).children()
        up.kill()
        up.wait(HANG_SECONDS)
        _, left = psutil.wait_procs(children, timeout=HANG_SECONDS)
        assert left == []
    finally:
        stop_process(up, hard=True)
        for each in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
    for number in (1, 2):
        log = (data / f"node-{number}.log").read_text()
        assert "stopping: the process that started this one has ended" in log
        assert "INFO stopped" in log.splitlines()[-1]
