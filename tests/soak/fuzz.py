"""Fuzzed frames over all APIs on both listeners of a node, beside a client that must not notice.

`python -m soak.fuzz --frames 200000`, in the directory `tests`. Ends with status 1 if the node ended, an exception got
into its log, the other client saw an error, took 200 ms or longer for one request in a hundred, or the process needed
256 MiB.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import psutil
from support.fuzzing import FrameSender, fuzzed_frames
from support.processes import free_port, running_server
from support.served_versions import versions_on
from support.tidelog_process import tidelog_command

from tidelog.server.declaration import ListenerKind

CONNECTIONS = 8
# Not a number that random requests would name: one that removes the broker would be obeyed.
NODE_ID = 7001
P99_MS = 200.0
MEMORY_BYTES = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzReport:
    frames: int
    seconds: float
    answered: int
    closed_by_broker: int
    unanswered: int
    highest_memory_bytes: int
    bystander_rounds: int
    bystander_problem: str
    p50_ms: float
    p99_ms: float
    highest_ms: float
    # The first lines of tracebacks in the node's log, and lines that speak of something broken.
    alarms: tuple[str, ...]

    def problems(self) -> list[str]:
        """What must not be."""
        found = [f"in the log: {alarm}" for alarm in self.alarms]
        if self.bystander_problem:
            found.append(f"the other client: {self.bystander_problem}")
        if self.highest_memory_bytes >= MEMORY_BYTES:
            found.append(f"the process needed {self.highest_memory_bytes >> 20} MiB")
        return found

    def __str__(self) -> str:
        return (
            f"{self.frames} frames in {self.seconds:.0f} s: {self.answered} answered, {self.closed_by_broker} refused "
            f"by closing the connection, {self.unanswered} without an answer in time; at most "
            f"{self.highest_memory_bytes >> 20} MiB of memory; the other client made {self.bystander_rounds} rounds, "
            f"p50 {self.p50_ms:.1f} ms, p99 {self.p99_ms:.1f} ms, longest {self.highest_ms:.0f} ms"
        )


def fuzz(directory: Path, *, frames: int, seed: int, progress: Callable[[str], None] = lambda _: None) -> FuzzReport:
    port, controller_port = free_port(), free_port()
    properties = {
        "node.id": str(NODE_ID),
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"{NODE_ID}@127.0.0.1:{controller_port}",
    }

    def send_all(process: psutil.Process) -> tuple[list[FrameSender], int]:
        return _send_all(port, controller_port, frames, seed, process, progress)

    return beside_another_client(directory, port, properties, send_all, [controller_port])


def beside_another_client(
    directory: Path,
    port: int,
    properties: Mapping[str, str],
    disturb: Callable[[psutil.Process], tuple[list[FrameSender], int]],
    more_ports: Sequence[int] = (),
) -> FuzzReport:
    """Start a node with these properties, which also listens at `more_ports`, and a client of it at `port`, while
    `disturb` does what it does; it returns what has sent frames, and the most memory that it saw the process use."""
    command = [tidelog_command(), "up", "--port", str(port), "--data-dir", str(directory / "data")]
    for name, value in properties.items():
        command += ["--override", f"{name}={value}"]
    log = directory / "tidelog.log"
    with running_server(command, port=port, output=log, more_ports=more_ports):
        process = _process_at(port)
        report_file = directory / "bystander.json"
        bystander = subprocess.Popen(
            [sys.executable, "-m", "support.bystander", f"127.0.0.1:{port}", str(report_file)],
            stdin=subprocess.PIPE,
            cwd=Path(__file__).parents[1],
        )
        try:
            began = time.monotonic()
            senders, highest = disturb(process)
            seconds = time.monotonic() - began
        finally:
            with contextlib.suppress(OSError):
                bystander.communicate(timeout=60)
        if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
            raise RuntimeError(f"the broker ended: {log.read_text()[-3000:]}")
    said = json.loads(report_file.read_text())
    took = sorted(said["took_ms"]) or [0.0]
    return FuzzReport(
        frames=sum(each.sent for each in senders),
        seconds=seconds,
        answered=sum(each.answered for each in senders),
        closed_by_broker=sum(each.closed_by_broker for each in senders),
        unanswered=sum(each.unanswered for each in senders),
        highest_memory_bytes=highest,
        bystander_rounds=said["rounds"],
        bystander_problem=said["problem"],
        p50_ms=took[len(took) // 2],
        p99_ms=took[len(took) * 99 // 100],
        highest_ms=took[-1],
        alarms=_alarms(log),
    )


def _send_all(
    port: int, controller_port: int, frames: int, seed: int, process: psutil.Process, progress: Callable[[str], None]
) -> tuple[list[FrameSender], int]:
    random = Random(seed)
    targets = [
        # Clients have three times as many APIs and versions.
        (FrameSender(("127.0.0.1", port), 3 * CONNECTIONS), fuzzed_frames(versions_on(ListenerKind.BROKER), random)),
        (
            FrameSender(("127.0.0.1", controller_port), CONNECTIONS),
            fuzzed_frames(versions_on(ListenerKind.CONTROLLER), random),
        ),
    ]
    highest = process.memory_info().rss
    said = 0
    while (sent := sum(sender.sent for sender, _ in targets)) < frames:
        for sender, source in targets:
            sender.pump(source)
        highest = max(highest, process.memory_info().rss)
        if sent >= said:
            progress(f"{sent} frames, {highest >> 20} MiB")
            said += 10_000
    for sender, _ in targets:
        sender.close()
    return [sender for sender, _ in targets], highest


def _process_at(port: int) -> psutil.Process:
    for each in psutil.process_iter(["cmdline"]):
        command = each.info["cmdline"] or []
        if "up" in command and str(port) in command:
            return each
    raise RuntimeError("the broker's process is gone")


def _alarms(log: Path) -> tuple[str, ...]:
    lines = log.read_text(errors="replace").splitlines()
    found = []
    for number, line in enumerate(lines):
        if line.startswith("Traceback"):
            last = next((each for each in lines[number + 1 :] if each and not each.startswith(" ")), "")
            found.append(f"{lines[number - 1]} / {last}")
        elif "is broken" in line or "quorum of this node has failed" in line or "offline" in line:
            found.append(line)
    return tuple(dict.fromkeys(found))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=20261116)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidelog-fuzz-") as directory:
        report = fuzz(
            Path(directory), frames=options.frames, seed=options.seed, progress=lambda said: print(said, flush=True)
        )
    return judge(report)


def judge(report: FuzzReport) -> int:
    """Say what is not well; the status to exit with."""
    print(report)
    problems = report.problems()
    if report.p99_ms >= P99_MS:
        problems.append(f"the other client waits {report.p99_ms:.0f} ms at p99")
    for problem in problems:
        print(f"NOT WELL: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
