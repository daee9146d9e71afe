"""Ask an Apache Kafka what it answers under each set of ACLs, and write that down for the tests that have no Java.

    python -m tools.record_access_verdicts

To be run from the root of the repository after `tests/support/access_cases.py` has changed. It takes some minutes.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.access_verdicts import RECORDED, ask_apache_kafka, record, running_kafka_with_acls
from support.apache_kafka import KAFKA_VERSION, kafka_jars


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as directory,
        running_kafka_with_acls(kafka_jars(), Path(directory) / "kafka") as addresses,
    ):
        verdicts = asyncio.run(ask_apache_kafka(addresses))
    record(KAFKA_VERSION, verdicts)
    print(f"{sum(map(len, verdicts.values()))} verdicts of Apache Kafka {KAFKA_VERSION} are in {RECORDED}")


if __name__ == "__main__":
    main()
