"""What holds in every Python process that Spark starts for a data source.

    planning.py  which process this is, and planning a write where Spark asks for it
    errors.py    how an error reaches a person through Spark
    memory.py    what a worker has loaded stays out of its garbage collections

The module from which Spark forks its workers is `tidelog.spark.daemon`: users configure it by that name.
"""
