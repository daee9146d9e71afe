"""What tasks hand to the driver. Spark before 4.0 has no data sources in Python, and needs no such type either."""

from __future__ import annotations

try:
    from pyspark.sql.datasource import WriterCommitMessage
except ImportError:

    class WriterCommitMessage:  # type: ignore[no-redef]
        """What a task hands to the driver."""


__all__ = ["WriterCommitMessage"]
