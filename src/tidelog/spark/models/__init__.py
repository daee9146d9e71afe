"""Small models of the protocols that keep rows exactly once, to be explored exhaustively. Nothing here runs in a job.

    spark_model.py     Spark: its checkpoint, its drivers, and what can happen to both
    sink_model.py      the sink's transactions and notes
    database_model.py  the progress in a database
    mirror_model.py    the source offsets at the target of a mirror

They call the decisions of the code itself (`sink.note`, `databases.progress`, `mirror.progress`);
`tidelog.testing.exhaustive` explores them.
"""
