"""The sink: a DataFrame into topics, each micro-batch exactly once.

A micro-batch, downwards: `writers` or `foreach_batch` (Spark calls) → `delivery` (which kind, the plan) → `batch`, the
default kind → `encode` in the tasks, `publish` in the driver → `note_store` and `note` (is it in the topics already?).

    writers.py         entrance: `format("tidelog")`
    foreach_batch.py   entrance: `foreachBatch(exactly_once_batch(...))`
    running_query.py   which query a foreachBatch function works for
    options.py         what users write, checked
    columns.py         the columns that make a record
    delivery.py        the kind of delivery, and the plan of a micro-batch
    modes.py           what the kinds have in common
    batch.py           atomicity=batch: tasks encode, the driver publishes
    task.py            atomicity=task: each task has a transaction
    prepared/          atomicity=prepared: the same, decided in one transaction
    sending.py         delivery=at_least_once, and tasks that send by themselves
    plan.py            the values that travel between driver and tasks
    encode.py          rows to record batches, with encode_columns.py
    staging.py         files for outputs that are too large to travel
    locations.py       files on this machine and elsewhere
    topics.py          numbers of partitions, and topics that are missing
    states.py          the steps of a micro-batch, as a table
    publish.py         the driver's transaction, with publish_errors.py
    note.py            what a micro-batch leaves in its transaction, and what follows from it. Pure
    note_store.py      notes on the cluster
    batch_identity.py  what makes two micro-batches the same. Pure
    checkpoint.py      reads Spark's checkpoint
    event_loop.py      coroutines for code that runs on no event loop
    reports.py         rows, bytes and times, for the query's progress
    crash_points.py    where tests stop a job
    errors.py          what the sink raises
"""
