"""Ready pipelines: Spark jobs that are described by settings, without a line of code.

`settings` are what users write, `run` starts a job and shows its progress; one module for each pipeline puts the
query together: `transform`, `mirror`, `outbox`, `sink_db`. Run one with `tidelog pipeline`, or with spark-submit and
the file `__main__.py` of this package.
"""
