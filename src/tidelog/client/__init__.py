"""The client for asyncio: `Producer`, `Consumer`, `Admin` and `ExactlyOnceLoop`. Without asyncio: `tidelog.sync`.

producer/        records into topics
consumer/        records out of topics, alone or in a group
admin/           administration of a cluster
exactly_once.py  consume, process and produce, with the offsets in the transaction
transactions/    the transactions of a producer
offsets/         offsets of groups and of partitions, on the brokers
cluster/         the way to the brokers: connections, metadata, retries
config.py        what users give, checked and typed
config_files.py  options in files
options.py       the options as typed fields: names, defaults, meanings
security_options.py
                 the options for TLS and SASL
offset_reset.py  auto.offset.reset
errors.py        what the client raises
metrics.py       how clients measure themselves
local_pipelines.py
                 pipelines on Spark that this user runs on this machine
arrow.py         records as `pyarrow.RecordBatch`, and back
"""
