"""What spark-submit starts: `spark-submit .../tidelog/spark/pipelines/__main__.py orders.toml`.

tidelog has to be installed where the driver and the workers run, or be sent along with `--py-files` or `--archives`.
The master, memory and the like are those of spark-submit.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tidelog.client.errors import ClientError
from tidelog.config.definitions import InvalidConfig
from tidelog.model.errors import ApiError
from tidelog.network.client_connection import ConnectionProblem
from tidelog.spark.databases.options import InvalidDatabaseOption
from tidelog.spark.databases.store import DatabaseProblem
from tidelog.spark.mirror.progress import MirrorRefused
from tidelog.spark.outbox.routing import InvalidRoute
from tidelog.spark.pipelines.failure import PipelineFailed
from tidelog.spark.pipelines.progress import Display
from tidelog.spark.pipelines.reading import instead_of_file, read_pipeline_file
from tidelog.spark.pipelines.run import run_pipeline
from tidelog.spark.pipelines.settings import InvalidSettings
from tidelog.spark.session.java import JavaMissing

# What is shown in one line instead of with a traceback.
EXPECTED = (
    ApiError,
    ClientError,
    ConnectionProblem,
    DatabaseProblem,
    InvalidConfig,
    InvalidDatabaseOption,
    InvalidRoute,
    InvalidSettings,
    JavaMissing,
    MirrorRefused,
    PipelineFailed,
)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a pipeline that a TOML file describes, under spark-submit.")
    parser.add_argument("file", type=Path, help="the TOML file")
    parser.add_argument("--retry-for", default="", help="overrides the file")
    parser.add_argument("--service-port", type=int, help="overrides the file")
    parser.add_argument("--service-host", default="", help="overrides the file")
    given = parser.parse_args()
    instead = instead_of_file(
        retry_for=given.retry_for, service_port=given.service_port, service_host=given.service_host
    )
    try:
        pipeline = read_pipeline_file(given.file, instead=instead)
        run_pipeline(pipeline, Display(pipeline.run.name))
    except EXPECTED as error:
        sys.stderr.write(f"tidelog: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
