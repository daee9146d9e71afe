"""Kafka Streams with exactly_once_v2: its jar, copied once from Maven Central, and a program that copies a topic."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from support.apache_kafka import KAFKA_VERSION, SMALL_JVM, require_java
from support.download_cache import cached, run_downloader

_PROGRAM = Path(__file__).with_name("StreamsCopy.java")
TIMEOUT_SECONDS = 150

# What else it needs comes with Apache Kafka, except RocksDB: the program keeps its counts in memory.
_POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidelog.tests</groupId>
  <artifactId>kafka-streams</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-streams</artifactId><version>{KAFKA_VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


def streams_jars() -> Path:
    """Raises Unavailable."""
    require_java()
    return cached(f"kafka-streams-{KAFKA_VERSION}", _download)


def _download(folder: Path) -> None:
    pom = folder / "pom.xml"
    pom.write_text(_POM)
    run_downloader(
        (
            "mvn",
            "--quiet",
            "--batch-mode",
            "--file",
            str(pom),
            "dependency:copy-dependencies",
            f"-DoutputDirectory={folder}",
            "-DincludeScope=runtime",
        ),
        directory=folder,
    )


def count_words(jars: Path, directory: Path, settings: Mapping[str, str], source: str, sink: str, records: int) -> None:
    """Run until `records` records of the source are counted, by key, in the sink. Raises CalledProcessError."""
    given = {**settings, "state.dir": str(directory)}
    subprocess.run(
        [require_java(), "-Xmx512m", *SMALL_JVM, "-cp", f"{jars}/*", str(_PROGRAM), source, sink, str(records)],
        input=json.dumps(given),
        text=True,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
