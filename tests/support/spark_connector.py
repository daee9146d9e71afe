"""Spark's own Kafka connector beside ours: its jars, copied once from Maven Central."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyspark
from support.download_cache import Unavailable, cached, run_downloader

# Versions of the connector and of its token provider, best first: those of this Spark, then the newest pair that also
# mirrors have which do not carry everything. An older connector works with a newer Spark of the same line.
_VERSIONS = ((pyspark.__version__, pyspark.__version__), ("4.2.0", "4.2.0"), ("4.2.0", "4.1.0-preview1"))
_KAFKA_CLIENTS = "3.9.2"
_COMMONS_POOL = "2.13.1"

# Everything is named and nothing follows by itself: what else Spark's files name is in pyspark already, and they send
# Maven to other servers for it.
_DEPENDENCY = """\
    <dependency>
      <groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
"""
_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidelog.tests</groupId>
  <artifactId>spark-connector</artifactId>
  <version>1</version>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""


def connector_jars() -> list[Path]:
    """The connector and what it needs beyond Spark. Raises Unavailable where it cannot be had."""
    if shutil.which("java") is None:
        raise Unavailable("`java` is not installed")
    folder = cached(f"spark-connector-{pyspark.__version__}", _download)
    return sorted(folder.glob("*.jar"))


def connector_version(jars: list[Path]) -> str:
    """Of the connector that was found, which may not be Spark's own."""
    (name,) = [jar.stem for jar in jars if jar.name.startswith("spark-sql-kafka")]
    return name.rsplit("-", 1)[-1]


def _download(folder: Path) -> None:
    problem = Unavailable("no version was tried")
    for connector, token_provider in dict.fromkeys(_VERSIONS):
        try:
            _copy(folder, connector, token_provider)
        except Unavailable as error:
            problem = error
        else:
            return
    raise problem


def _copy(folder: Path, connector: str, token_provider: str) -> None:
    wanted = (
        ("org.apache.spark", "spark-sql-kafka-0-10_2.13", connector),
        ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", token_provider),
        ("org.apache.kafka", "kafka-clients", _KAFKA_CLIENTS),
        ("org.apache.commons", "commons-pool2", _COMMONS_POOL),
    )
    dependencies = "".join(
        _DEPENDENCY.format(group=group, artifact=artifact, version=version) for group, artifact, version in wanted
    )
    pom = folder / "pom.xml"
    pom.write_text(_POM.format(dependencies=dependencies))
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
