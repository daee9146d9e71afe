"""What surrounds a job on Spark: its session, its errors, its progress, its workers.

    session.py         `spark_session`: this Python in the workers, nothing listening but on loopback
    java.py            is a Java here that Spark can run on
    errors.py          how an error reaches a person through Spark
    explanations.py    the same, read back out of what Spark shows
    query_progress.py  metrics in a query's progress
    worker_memory.py   what workers have loaded stays out of their garbage collections

Spark finds the daemon of the workers by its module name, `tidelog.spark.daemon`, which users configure.
"""
