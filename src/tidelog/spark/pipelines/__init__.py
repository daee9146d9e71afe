"""Ready pipelines: Spark jobs that are described by settings, without a line of code.

__main__.py       what spark-submit starts
run.py            starts Spark and the query, shows progress, stops, explains a failure
settings.py       what users write, as values
reading.py        from TOML to settings
durations.py      lengths of time in settings. Pure
transform.py      topics through SQL or a function into topics
mirror.py         one cluster into another
outbox.py         events of a database table into topics
sink_db.py        topics into a table
records.py        topics as rows
retrying.py       is a failure worth another try? Pure
failure.py        how a pipeline fails
progress.py       a query's progress, for people
health.py         how the pipeline is doing, for probes and Prometheus
service.py        /healthz and /metrics
status_file.py    by which others on this machine find a pipeline that runs
spark_version.py  which Spark they need
"""
