"""Running ready pipelines in tests: inside of the session that Spark tests share, or as the command that users type."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import SparkSession
from support.class_archives import small_spark_jvm
from support.processes import ProcessFailed, start_process, tail, wait_until
from support.tidelog_process import tidelog_command

import tidelog.spark.pipelines.__main__
from tidelog.spark.pipelines.progress import Display
from tidelog.spark.pipelines.reading import pipeline_from
from tidelog.spark.pipelines.run import StopRequest, plan_job, watch
from tidelog.spark.sink.crash_points import CRASH_FILE, CRASH_POINT, GO

# A JVM is started on a machine that may be busy.
REACH_SECONDS = 600.0

_MASTER = "local[2]"
_SPARK = """
[spark]
master = "{master}"
config."spark.driver.extraJavaOptions" = "{java_options}"
"""


def run_in_session(spark: SparkSession, kind: str, tables: Mapping[str, Any], checkpoint: Path) -> str:
    """Process everything that is there, and return what was shown on the terminal."""
    run = {"once": True, "checkpoint": str(checkpoint), **tables.get("run", {})}
    pipeline = pipeline_from(kind, {**tables, "run": run})
    shown = io.StringIO()
    with Display(pipeline.run.name, shown) as display:
        watch(plan_job(spark, pipeline), display, StopRequest())
    return shown.getvalue()


class PipelineRun:
    """`tidelog pipeline run` (or spark-submit, as on a cluster) with its JVM and its workers."""

    def __init__(
        self, directory: Path, name: str, toml: str, *, halt_at: str | None = None, submit: bool = False
    ) -> None:
        settings = directory / f"{name}.toml"
        java_options = small_spark_jvm()
        settings.write_text(toml if submit else toml + _SPARK.format(master=_MASTER, java_options=java_options))
        self.output = directory / f"{name}.log"
        self._crash_file = directory / f"crash-{name}"
        halt = {} if halt_at is None else {CRASH_POINT: halt_at, CRASH_FILE: str(self._crash_file)}
        command = [tidelog_command(), "pipeline", "run", str(settings)]
        if submit:
            program = str(Path(sys.executable).with_name("spark-submit"))
            java = ["--driver-java-options", java_options, "--conf", "spark.driver.bindAddress=127.0.0.1"]
            command = [program, "--master", _MASTER, *java, tidelog.spark.pipelines.__main__.__file__, str(settings)]
            halt |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        self.process: subprocess.Popen[bytes] = start_process(command, output=self.output, environment=halt)

    def wait_until_halted(self) -> None:
        def halted() -> bool:
            if self.process.poll() is not None:
                raise ProcessFailed(f"the driver ended with {self.process.returncode}:\n{tail(self.output)}")
            return self._crash_file.exists()

        wait_until(halted, within_seconds=REACH_SECONDS, what="the crash point")

    def go_on(self) -> None:
        """Leave the crash point, alive."""
        self._crash_file.write_text(GO)

    def wait_until_shown(self, text: str, *, times: int = 1) -> None:
        def shown() -> bool:
            if self.process.poll() is not None:
                raise ProcessFailed(f"the driver ended with {self.process.returncode}:\n{tail(self.output)}")
            return self.output.read_text().count(text) >= times

        try:
            wait_until(shown, within_seconds=REACH_SECONDS, what=f"the line {text!r}")
        except TimeoutError as error:
            raise ProcessFailed(f"{error}; the driver said:\n{tail(self.output)}") from error

    def wait_until_done(self, *, code: int = 0) -> str:
        """What was shown."""
        wait_until(lambda: self.process.poll() is not None, within_seconds=REACH_SECONDS, what="the driver's end")
        if self.process.returncode != code:
            raise ProcessFailed(f"the driver ended with {self.process.returncode}:\n{tail(self.output)}")
        return self.output.read_text()

    def kill(self) -> None:
        """The driver, its JVM and all of its workers, as when their machine is lost."""
        with suppress(psutil.NoSuchProcess):
            driver = psutil.Process(self.process.pid)
            everybody = [driver, *driver.children(recursive=True)]
            for process in everybody:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGKILL)
            psutil.wait_procs(everybody, timeout=20)
        self.process.wait(20)


@contextmanager
def pipeline_run(
    directory: Path, name: str, toml: str, *, halt_at: str | None = None, submit: bool = False
) -> Iterator[PipelineRun]:
    run = PipelineRun(directory, name, toml, halt_at=halt_at, submit=submit)
    try:
        yield run
    finally:
        run.kill()
