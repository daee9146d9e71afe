"""Small models of the protocols that keep rows exactly once, to be explored exhaustively. Nothing here runs in a job.

`spark_model` is Spark: its checkpoint, what a driver does with it, and what can happen to both. `sink_model` puts the
sink's transactions and notes beside it, `database_model` the progress in a database, `mirror_model` that of a mirror.
They call the decisions of the code itself (`tidelog.spark.sink.note`, `tidelog.spark.databases.progress`,
`tidelog.spark.mirror.progress`); `tidelog.testing.exhaustive` explores them.
"""
