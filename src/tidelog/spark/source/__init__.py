"""The source: topics as a DataFrame, with the options and columns of Spark's own Kafka connector.

A micro-batch, downwards: `readers` (Spark calls) → `cluster` and `ranges` (the driver plans) → `fetch` and `batches`
(a task reads).

    readers.py       the classes that Spark calls
    options.py       what users write, checked
    schema.py        the columns
    cluster.py       the driver's questions to the brokers: partitions, first and last offsets
    offsets.py       offsets as Spark writes them into its checkpoint. Pure
    ranges.py        what a micro-batch reads, how it is split over tasks, what is missing. Pure
    fetch.py         a task reads one range
    batches.py       record batches as Arrow batches
    progress.py      what a query's progress says about its source. Pure
    self_limited.py  read limits on Spark 4.0 and 4.1
"""
