"""The oldest versions of Spark that tidelog works with, in environments of their own; the newest is that of the suite.

`make test-spark-versions` takes all versions, and all tests of tests/spark/versions.
"""

from __future__ import annotations

import pytest
from support.download_cache import Unavailable
from support.spark_versions import run_tests

from tidelog.spark.session.java import JavaMissing, require_java

# Left to `make test-spark-versions`, since they take long: Spark Connect, which is tested on the newest version, and
# deaths in foreachBatch, which are tested on the newest version and on 3.5.
_NOT_ON_4_0 = "not remotely and not every_update_arrives_once"


@pytest.mark.slow
@pytest.mark.xdist_group("spark-drivers")
@pytest.mark.timeout(1500)
@pytest.mark.parametrize(
    ("version", "selection", "least"), [("3.5", "", 10), ("4.0", _NOT_ON_4_0, 16)], ids=["3.5", "4.0"]
)
def test_oldest_versions_of_spark(version: str, selection: str, least: int) -> None:
    try:
        require_java()
        report = run_tests(version, arguments=("-q", "-k", selection) if selection else ("-q",))
    except (JavaMissing, Unavailable) as problem:
        pytest.skip(f"Spark {version} cannot be tested here: {problem}")

    assert report.succeeded, report.output
    assert report.passed >= least, report.output
