"""Ask an Apache Kafka what it says to malformed batches, and write that down for the tests that have no Java.

    python -m tools.record_verdicts

To be run from the root of the repository after `tests/support/malformed_batches.py` has changed.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.apache_kafka import KAFKA_VERSION, kafka_jars, running_apache_kafka
from support.malformed_batches import all_cases
from support.verdicts import RECORDED, ask_verdicts, record


def main() -> None:
    cases = [case for case in all_cases() if case.portable]
    with (
        tempfile.TemporaryDirectory() as directory,
        running_apache_kafka(kafka_jars(), Path(directory) / "kafka") as broker,
    ):
        verdicts = asyncio.run(ask_verdicts(broker.bootstrap_servers, cases))
    record(KAFKA_VERSION, cases, verdicts)
    print(f"{len(cases)} verdicts of Apache Kafka {KAFKA_VERSION} are in {RECORDED}")


if __name__ == "__main__":
    main()
