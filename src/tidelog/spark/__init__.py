"""tidelog for Spark, through PySpark: the source, the exactly-once sink, and what a job needs around them.

Importing this package imports neither Spark nor Arrow; its modules do.
"""

from tidelog.spark.explanations import explain

__all__ = ["explain"]
