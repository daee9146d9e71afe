"""A Spark cluster of its own kind (standalone) on the loopback interface: a master and two workers of one core each.

The workers have different addresses, because Spark runs a task a second time only on another machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
from support.processes import free_port, start_process, stop_process, tail, wait_for_server, wait_until

START_SECONDS = 120.0
WORKER_ADDRESSES = ("127.0.0.1", "127.0.0.2")

_SPARK_HOME = Path(pyspark.__file__).parent
_REGISTERED = "Successfully registered with master"


@contextmanager
def running_spark_cluster(directory: Path) -> Iterator[str]:
    """The address of its master."""
    directory.mkdir()
    environment = {
        "SPARK_HOME": str(_SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_NO_DAEMONIZE": "1",
    }
    port = free_port()
    launcher = str(_SPARK_HOME / "bin" / "spark-class")
    with ExitStack() as stack:
        output = directory / "master.log"
        command = [launcher, "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1"]
        command += ["--port", str(port), "--webui-port", str(free_port())]
        master = start_process(
            command,
            output=output,
            environment=environment,
        )
        stack.callback(stop_process, master, hard=True)
        wait_for_server(master, port, within_seconds=START_SECONDS, output=output)
        address = f"spark://127.0.0.1:{port}"
        for number, host in enumerate(WORKER_ADDRESSES):
            output = directory / f"worker-{number}.log"
            command = [launcher, "org.apache.spark.deploy.worker.Worker", "--host", host]
            command += ["--cores", "1", "--memory", "700m", "--work-dir", str(directory / f"work-{number}")]
            command += ["--webui-port", str(free_port()), address]
            worker = start_process(
                command,
                output=output,
                environment={**environment, "SPARK_LOCAL_IP": host},
            )
            stack.callback(stop_process, worker, hard=True)
        for number in range(len(WORKER_ADDRESSES)):
            output = directory / f"worker-{number}.log"
            wait_until(
                lambda output=output: _REGISTERED in output.read_text(),  # type: ignore[misc]
                within_seconds=START_SECONDS,
                what=f"the worker's registration; it said:\n{tail(output)}",
                every_seconds=0.2,
            )
        yield address
