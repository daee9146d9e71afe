"""An archive of loaded classes (CDS), with which a Spark driver starts in 15 s instead of 20: the suite starts forty.

It fits one Java and one class path, is made by a training run on first use, and is kept in the virtual
environment whose jars it is about. Where it cannot be made, JVMs start without: slower, with the same results.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark
from support.apache_kafka import SMALL_JVM
from support.download_cache import FILL_TIMEOUT_SECONDS, Unavailable, cached

from tidelog.spark.session.java import find_java

# Set where too few drivers are started to pay for the training run.
NO_ARCHIVE = "TIDELOG_TEST_NO_CLASS_ARCHIVE"

_TRAINING = Path(__file__).with_name("spark_training_job.py")


@functools.cache
def small_spark_jvm() -> str:
    """Java options for a driver that starts quickly, as `spark.driver.extraJavaOptions` wants them."""
    options = " ".join(SMALL_JVM)
    if NO_ARCHIVE in os.environ:
        return options
    try:
        return f"{options} -Xshare:auto -XX:SharedArchiveFile={_spark_archive()}"
    except (Unavailable, OSError):
        return options


def _spark_archive() -> Path:
    java = find_java()
    if java is None:
        raise Unavailable("there is no Java")
    version = subprocess.run([java.program, "-version"], capture_output=True, check=True, timeout=60).stderr
    identity = b"\0".join((version, pyspark.__version__.encode(), _TRAINING.read_bytes()))
    name = f"spark-classes-{hashlib.sha256(identity).hexdigest()[:16]}"
    folder = cached(name, _train_spark, within=Path(sys.prefix))
    return folder / "classes.jsa"


def _train_spark(folder: Path) -> None:
    archive = folder / "classes.jsa"
    options = " ".join((*SMALL_JVM, f"-XX:ArchiveClassesAtExit={archive}"))
    command = [sys.executable, str(_TRAINING), options, str(folder / "work")]
    try:
        # The JVM outlives the job that has started it; its end of the pipe is closed when the archive is written.
        done = subprocess.run(command, capture_output=True, timeout=FILL_TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"Spark's classes were not archived within {FILL_TIMEOUT_SECONDS} s") from error
    if done.returncode != 0 or not archive.exists():
        raise Unavailable(f"Spark's classes cannot be archived: {done.stderr.decode(errors='replace')[-500:]}")
    shutil.rmtree(folder / "work")
